"""The files of a workspace, opened so that no path, link, mount or race leads out of it, or into its git folder."""

import errno
import os
import secrets
import stat
import struct
import sys
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from posixpath import join, normpath

from redgreenrefactor.model.values import frozen

LINKS = 40  # links a path may lead over, as in the kernel
_OPENAT2 = 437
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 1, 2, 4, 8
_STAYING = _NO_XDEV | _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH
_TO_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY  # all that is needed to go through a folder
_PERMISSIONS = 0o777

Permit = Callable[[str], None]  # raises RefusedError for a file that may not be written


class RefusedError(Exception):
    """A call that was not carried out; the message tells a model why, and what to do instead."""


@frozen
class Found:
    """A regular file: where it really lies, and what it holds, up to what was asked for."""

    path: str
    size: int
    content: bytes


@frozen
class _Place:
    """A name in a folder that is open: whatever happens to the path meanwhile, it means this folder."""

    folder: int
    name: str
    path: str  # from the workspace, links resolved


class Files:
    """What the file tools can reach: regular files with one name below one folder, its git folder apart.

    Every path is walked folder by folder, each opened inside the one before without following links, on the
    same mount. Links are read and walked like the rest, so that those that stay inside work. Files are written
    beside their place and renamed, in the folder that the walk has opened.
    """

    def __init__(self, root: Path, *, portable: bool = False) -> None:
        self.root = root
        self._bases = tuple(dict.fromkeys(map(str, (root.absolute(), root.resolve()))))
        self.folder = os.open(root, _TO_PASS | os.O_CLOEXEC)
        self._open = weakref.finalize(self, os.close, self.folder)
        self._mount = _mount(self.folder)
        self._strict = None if portable else _openat2(self.folder)
        self._closed = _git_folders(root)

    def close(self) -> None:
        """Give the workspace's descriptor back; nothing can be opened any more."""
        self._open()

    # --- what tools do

    def read(self, path: str, most: int) -> Found:
        """Return the file, with at most so many bytes of its content."""
        with self._place(path) as place, self._regular(place) as file:
            return Found(place.path, os.fstat(file).st_size, _content(file, most))

    def write(self, path: str, content: bytes, permit: Permit) -> tuple[str, bool]:
        """Put the content at the path, folders included; return where it really lies and whether it is new."""
        with self._place(path, permit=permit) as place:
            before = self._replaceable(place)
            self._replace(place, content, before)
            return place.path, before is None

    def rewrite(self, path: str, most: int, change: Callable[[Found], bytes], permit: Permit) -> str:
        """Replace what a file of at most so many bytes holds by what the change makes of it; return where it really lies."""
        with self._place(path) as place:
            permit(place.path)
            with self._regular(place) as file:
                before = os.fstat(file)
                found = Found(place.path, before.st_size, _content(file, most + 1))
            if len(found.content) > most:
                raise RefusedError(f"{place.path} has grown to more than {most} bytes; nothing was changed")
            self._replace(place, change(found), before)
            return place.path

    def kind(self, path: str) -> str:
        """Return what is at the path: a `file`, a `folder`, something `other` or, an empty text, nothing."""
        try:
            with self._place(path) as place:
                mode = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"

    def names(self, path: str) -> list[str]:
        """Return what is in a folder, not the git folder, sorted, folders with a closing slash."""
        with self._place(path) as place:
            opened = self._opened(place.folder, place.name, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._require_open(opened, path)
                with os.scandir(opened) as entries:
                    return sorted(entry.name + "/" * entry.is_dir(follow_symlinks=False) for entry in entries)
            finally:
                os.close(opened)

    def where(self, path: str) -> str:
        """Return where a path really lies, seen from the workspace; a missing end is taken as it is."""
        with self._place(path) as place:
            return place.path

    # --- paths

    def relative(self, path: str) -> str:
        """Return a path as seen from the workspace; one that is written as leading out of it is refused."""
        if not path.strip() or "\0" in path:
            raise RefusedError(f"{path!r} is no path")
        if path.startswith("~"):
            raise RefusedError(f"{path} is outside: give a path inside {self.root}")
        pure = normpath(path)
        if pure.startswith("/"):
            pure = "/" + pure.lstrip("/")
            base = next((base for base in self._bases if pure == base or pure.startswith(f"{base}/")), None)
            if base is None:
                raise RefusedError(f"{path} is outside: only files inside {self.root} can be used")
            pure = normpath(pure[len(base) :].lstrip("/") or ".")
        if pure == ".." or pure.startswith("../"):
            raise RefusedError(f"{path} leads out of {self.root}")
        return pure

    @contextmanager
    def _place(self, path: str, *, permit: Permit | None = None) -> Generator[_Place]:
        """Walk to the folder a path's last name is in; with a permit for the file, make folders that are missing."""
        walk = _Walk(self, path, permit)
        try:
            place = walk.end()
            if permit is not None:
                permit(place.path)
            yield place
        finally:
            walk.close()

    def step(self, folder: int, name: str, path: str) -> int:
        """Open a folder inside another one, to go through it; the caller closes it."""
        step = self._opened(folder, name, _TO_PASS)
        try:
            self._require_open(step, path)
        except RefusedError:
            os.close(step)
            raise
        return step

    def _require_open(self, folder: int, path: str) -> None:
        status = os.fstat(folder)
        if (status.st_dev, status.st_ino) in self._closed:
            raise RefusedError(f"{path} is the git folder, which file tools do not touch")

    # --- opening

    def _opened(self, folder: int, name: str, flags: int, mode: int = 0) -> int:
        """Open one name inside a folder: no link, no other mount; the caller closes it."""
        flags |= os.O_NOFOLLOW | os.O_CLOEXEC
        if flags & os.O_DIRECTORY == 0:
            flags |= os.O_NONBLOCK | os.O_NOCTTY
        try:
            if self._strict is not None:
                return self._strict(folder, name, flags, mode)
            opened = os.open(name, flags, mode, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise RefusedError(_MOUNTED.format(name)) from None
            if error.errno == errno.ELOOP:
                raise RefusedError(f"{name} became a link while it was being opened") from None
            raise
        if _mount(opened) != self._mount:
            os.close(opened)
            raise RefusedError(_MOUNTED.format(name))
        return opened

    @contextmanager
    def _regular(self, place: _Place) -> Generator[int]:
        """Open a regular file with one name for reading."""
        _require_regular(place, os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
        file = self._opened(place.folder, place.name, os.O_RDONLY)
        try:
            _require_regular(place, os.fstat(file))
            yield file
        finally:
            os.close(file)

    # --- writing

    def _replaceable(self, place: _Place) -> os.stat_result | None:
        """Return what is known about the file that is to be replaced, None if there is none."""
        try:
            status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        _require_regular(place, status)
        os.close(self._opened(place.folder, place.name, os.O_RDONLY))  # on this mount
        return status

    def _replace(self, place: _Place, content: bytes, before: os.stat_result | None) -> None:
        """Put the content beside the place, then in it at once; owner and permissions stay."""
        partial = f".{place.name[:100]}.{secrets.token_hex(6)}.part"
        file = self._opened(place.folder, partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with closing(os.fdopen(file, "wb")) as stream:
                stream.write(content)
                if before is not None:
                    with suppress(OSError):
                        os.fchown(file, before.st_uid, before.st_gid)
                    os.fchmod(file, before.st_mode & _PERMISSIONS)
            os.rename(partial, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        except OSError:
            with suppress(OSError):
                os.unlink(partial, dir_fd=place.folder)
            raise


class _Walk:
    """One path, walked part by part; every folder it goes through stays open until it is closed."""

    def __init__(self, files: Files, path: str, permit: Permit | None) -> None:
        self._files = files
        self._path = path
        self._permit = permit
        self._todo = deque(files.relative(path).split("/"))
        self._trail = [(files.folder, ".")]
        self._opened: list[int] = []
        self._links = 0

    def close(self) -> None:
        """Give back the folders on the way."""
        for folder in self._opened:
            os.close(folder)

    def end(self) -> _Place:
        """Return the last name and its folder, all links on the way and at the end followed."""
        while self._todo:
            part = self._todo.popleft()
            if part == "..":
                self._up()
            elif part not in ("", ".") and (place := self._down(part)):
                return place
        folder, path = self._trail[-1]
        return _Place(folder, ".", path)

    def _up(self) -> None:
        if len(self._trail) == 1:
            raise RefusedError(f"{self._path} leads out of {self._files.root} by a link")
        self._trail.pop()

    def _down(self, part: str) -> _Place | None:
        """Go on with a name; return its place if it is the last and no link."""
        folder, above = self._trail[-1]
        path = normpath(join(above, part))
        if _is_git(part):
            raise RefusedError(f"{self._path} is in the git folder, which file tools do not touch")
        target = _link(folder, part)
        if target is not None:
            self._follow(target)
        elif self._todo:
            self._make(folder, part, path)
            self._opened.append(self._files.step(folder, part, path))
            self._trail.append((self._opened[-1], path))
        else:
            return _Place(folder, part, path)
        return None

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > LINKS:
            raise RefusedError(f"{self._path} leads over too many links")
        if target.startswith("/"):
            del self._trail[1:]
            try:
                target = self._files.relative(target)
            except RefusedError:
                raise RefusedError(f"{self._path} leads out of {self._files.root} by a link") from None
        self._todo.extendleft(reversed(target.split("/")))

    def _make(self, folder: int, name: str, path: str) -> None:
        """Make a folder that is missing, if a file is to be written below it and may be."""
        if self._permit is None:
            return
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            self._permit(normpath(join(path, *self._todo)))
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)


_MOUNTED = "{} lies on another mount, which is not part of the workspace"


def _require_regular(place: _Place, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise RefusedError(f"{place.path} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"{place.path} is not a regular file")
    if status.st_nlink > 1:
        raise RefusedError(
            f"{place.path} has {status.st_nlink} names (hard links), of which some may lie outside; copy it with Bash first"
        )


def _content(file: int, most: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as stream:
        return stream.read(most)


def _is_git(name: str) -> bool:
    return name.casefold() == ".git"


def _link(folder: int, name: str) -> str | None:
    """Return where a link leads, None if the name is none."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _git_folders(root: Path) -> frozenset[tuple[int, int]]:
    """Return the identities of the workspace's git folder, wherever a pointer says that it is."""
    places = [root / ".git"]
    if places[0].is_file():
        pointer = (root / ".git").read_text("utf-8", "surrogateescape")
        places.append(root / pointer.removeprefix("gitdir:").strip())
    found: set[tuple[int, int]] = set()
    for place in places:
        with suppress(OSError, ValueError):
            status = place.stat()
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def _mount(file: int) -> str:
    """Return what files of one mount have in common, as far as the system tells."""
    with suppress(OSError), open(f"/proc/self/fdinfo/{file}", encoding="ascii") as lines:  # noqa: PTH123
        for line in lines:
            if line.startswith("mnt_id:"):
                return line
    return str(os.fstat(file).st_dev)


def _openat2(root: int) -> Callable[[int, str, int, int], int] | None:
    """Return the kernel's own way to open without being led astray, None where it has none."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415

    libc = ctypes.CDLL(None, use_errno=True)

    def opened(folder: int, name: str, flags: int, mode: int) -> int:
        how = struct.pack("QQQ", flags, mode, _STAYING)
        file: int = libc.syscall(_OPENAT2, folder, os.fsencode(name), how, len(how))
        if file < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), name)
        return file

    try:
        os.close(opened(root, ".", _TO_PASS | os.O_CLOEXEC, 0))
    except OSError:
        return None
    return opened
