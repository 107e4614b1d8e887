"""A git folder that a held session gets in place of the real one: whatever it does there, the real one is safe.

It borrows the repository's objects, which are shown read-only inside, and has refs, index and settings of its
own. What the session committed is taken over afterwards, object by object: no git of ours ever runs in it.
"""

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.errors import GitError
from redgreenrefactor.filesystem import below, head_of, remove
from redgreenrefactor.git.executable import decoded, encoded
from redgreenrefactor.git.refs import Refs, update_refs
from redgreenrefactor.git.repository import Repository, quoted, setting
from redgreenrefactor.model.values import frozen

BORROWED = "shared-objects"  # where the repository's own objects are shown inside
MODULES = "modules"
SHOWN = ("hooks", MODULES, "lfs")  # what else of the repository is shown, read-only
COPIED = ("info/exclude", "info/attributes", "shallow")
OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
OBJECT = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38}([0-9a-f]{24})?|pack/pack-[0-9a-f]+\.(pack|idx)")
LARGEST_TEXT = 64 << 20
MOST_FILES, MOST_BYTES = 200_000, 1 << 30  # that a session may have added when all is checked out
SECTIONS = ("core.", "user.", "filter.", "diff.", "merge.", "branch.", "submodule.", "init.", "pull.", "lfs.")
NOT_TAKEN = (
    "core.worktree",
    "core.bare",
    "core.sshcommand",
    "core.askpass",
    "core.editor",
    "core.pager",
    "core.fsmonitor",
    "core.hookspath",
    "core.excludesfile",
    "core.attributesfile",
)
EXTENSIONS = ("extensions.objectformat", "extensions.partialclone")
USERINFO = re.compile(r"(?<=://)[^/@]*@")


@frozen
class Taken:
    """What came of a session's commits."""

    refs: Refs | None = None  # as the session left them; None: it had no git folder of its own
    before: Refs | None = None
    warnings: tuple[str, ...] = ()


class StandIn:
    """The stand-in of one checkout's git folder."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._home = repository.cache / "stand-in"
        self.folder = self._home / "git"
        self.temporary = self._home / "tmp"

    def make(self, refs: Refs, head: str) -> None:
        """Make it anew, as the repository is now."""
        self.remove()
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "logs", BORROWED):
            (self.folder / name).mkdir(parents=True)
        self.temporary.mkdir()
        self.temporary.chmod(0o1777)
        self._put_files(refs)
        base = {"head": head, "refs": dict(refs.oids)}
        (self._home / "base.json").write_text(json.dumps(base), encoding="utf-8")

    def remove(self) -> None:
        """Leave nothing of it."""
        with suppress(OSError):
            remove(self._home)

    def shown(self) -> Iterator[tuple[Path, Path]]:
        """Yield what is shown inside it, read-only: the path there, and where it lies."""
        common, here = self._repository.common_dir, self._repository.git_dir
        yield here / BORROWED, common / "objects"
        for store in object_stores(common / "objects")[1:]:
            yield store, store
        for name in SHOWN:
            source = (here if name == MODULES else common) / name  # every checkout has submodules of its own
            if source.is_dir() and not source.is_symlink():
                (self.folder / name).mkdir(exist_ok=True)
                yield here / name, source

    def _put_files(self, refs: Refs) -> None:
        common, own = self._repository.common_dir, self._repository.git_dir
        (self.folder / "HEAD").write_bytes((own / "HEAD").read_bytes())
        lines = "".join(f"{oid} {name}\n" for name, oid in sorted(refs.oids.items()))
        (self.folder / "packed-refs").write_bytes(encoded(lines))
        alternates = encoded(f"{quoted(own / BORROWED)}\n")
        (self.folder / "objects/info/alternates").write_bytes(alternates)
        for source in (own / "index", *own.glob("sharedindex.*")):
            if source.is_file():
                shutil.copyfile(source, self.folder / source.name)
        for name in COPIED:
            with suppress(OSError):
                shutil.copyfile(common / name, self.folder / name)
        with suppress(OSError):
            shutil.copyfile(own / "info/sparse-checkout", self.folder / "info/sparse-checkout")
        (self.folder / "config").write_bytes(encoded("".join(self._settings())))

    def _settings(self) -> Iterator[str]:
        """Yield the user's settings that matter to commits, without anything secret; nothing can be signed inside."""
        known = self._repository.config
        formatted = any(name in known for name in EXTENSIONS)
        yield f"[core]\n\trepositoryformatversion = {int(formatted)}\n\tbare = false\n\tlogallrefupdates = true\n"
        for key, value in known.items():
            wanted = key.startswith(SECTIONS) or key in EXTENSIONS or key.startswith("remote.")
            if wanted and key not in (*NOT_TAKEN, "core.repositoryformatversion", "core.logallrefupdates"):
                yield setting(key, USERINFO.sub("", value))
        # Ours stands above the user's in the list: it is what keeps our own git from running any.
        own = self._repository.git.attempt("config", "--local", "--get", "core.hooksPath")
        hooks = decoded(own.stdout).strip()
        if hooks and not hooks.startswith(("/", "~")):
            yield setting("core.hookspath", hooks)
        yield "[commit]\n\tgpgsign = false\n[tag]\n\tgpgsign = false\n[gc]\n\tauto = 0\n"

    # --- afterwards

    def take_over(self, base: str, own: str | None) -> Taken:
        """Take over what the session committed; of commits that were made here, those that unfold beyond reason go."""
        taken, head = self.take(own), self._repository.objects.resolve("HEAD")
        if taken.refs is None and head and head != base:
            try:
                require_bounded(self._repository, base, head)
            except GitError as problem:
                self._repository.git.raw("update-ref", "HEAD", base)
                self._repository.git.raw("read-tree", "--reset", base)
                told = (
                    f"the session's commits are not kept ({problem.message}); its files are as it left them"
                )
                return replace(taken, warnings=(*taken.warnings, told))
        return taken

    def take(self, own: str | None) -> Taken:
        """Bring what was committed in it into the repository, the own branch and new refs included; then remove it.

        Refs that were there before are left alone, whatever it says about them.
        """
        base = self._base()
        if base is None:
            self.remove()
            return Taken()
        before = Refs(base[1])
        later = Refs(self._refs(before))
        head = self._head(later) or base[0]
        try:
            self._take(before, later, own, (base[0], head))
        except (GitError, OSError) as problem:
            why = problem.message if isinstance(problem, GitError) else str(problem.strerror)
            told = f"the session's commits could not be taken over ({why}); its files are as it left them"
            return Taken(later, before, (told,))
        finally:
            self.remove()
        return Taken(later, before)

    def _take(self, before: Refs, later: Refs, own: str | None, heads: tuple[str, str]) -> None:
        new = {name: oid for name, oid in later.oids.items() if name not in before.oids and name != own}
        base, head = heads
        if head == base and not new:
            return
        self._import({head, *new.values()} - {base}, base)
        require_bounded(self._repository, base, head)
        git = self._repository.git
        taken = [f"create {name} {oid}" for name, oid in new.items() if self._free(name)]
        if head != base:
            taken.append(f"update {own or 'HEAD'} {head} {base}")
        update_refs(git, taken)
        if head != base:
            git.raw("read-tree", "--reset", head)

    def _free(self, name: str) -> bool:
        git = self._repository.git
        return git.attempt("check-ref-format", name).exit_code == 0 and not self._repository.objects.resolve(
            name
        )

    def _import(self, oids: set[str], base: str) -> None:
        """Bring these objects and all they need: set apart first, so that only plain files with the right names count."""
        if not oids:
            return
        copy = self._home / "copied"
        for name, source in _plain_files(self.folder / "objects"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(source, copy / name, follow_symlinks=False)  # copying would fill the holes of a file
        git = self._repository.git
        wanted = encoded("".join(f"{oid}\n" for oid in sorted(oids)) + f"^{base}\n")
        borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(copy)}
        pack = git.raw("pack-objects", "--quiet", "--revs", "--stdout", stdin=wanted, env=borrowed)
        git.raw("unpack-objects", "-q", "--strict", stdin=pack)
        for oid in oids:
            git.raw("cat-file", "-e", oid)

    def _base(self) -> tuple[str, dict[str, str]] | None:
        try:
            found = cast("dict[str, Any]", json.loads((self._home / "base.json").read_text(encoding="utf-8")))
            return str(found["head"]), dict(found["refs"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _head(self, refs: Refs) -> str | None:
        """Return the commit the session ended on."""
        text = (text_of(self.folder / "HEAD") or "").strip()
        if text.startswith("ref: "):
            return refs.oids.get(text.removeprefix("ref: ").strip())
        return text if OID.fullmatch(text) else None

    def _refs(self, before: Refs) -> dict[str, str]:
        """Return the refs it has now; one that cannot be read is as it was."""
        packed = text_of(self.folder / "packed-refs")
        rows = [line.split(" ", 1) for line in packed.splitlines()] if packed is not None else []
        found = {row[1]: row[0] for row in rows if len(row) > 1 and OID.fullmatch(row[0])}
        if packed is None:
            found = dict(before.oids)
        files = (entry for entry in below(self.folder / "refs") if not entry.is_dir(follow_symlinks=False))
        for path in (Path(entry.path) for entry in files):
            text = (text_of(path) or "").strip()
            if OID.fullmatch(text):
                found[str(path.relative_to(self.folder))] = text
        return found


def require_bounded(repository: Repository, base: str, head: str) -> None:
    """Refuse a commit that would unfold to more than anybody means to write: it is checked out later."""
    objects = repository.objects
    before, after = (found.tree if (found := objects.commit(oid)) else "" for oid in (base, head))
    size = 0
    if objects.extent(after) <= objects.extent(before) + MOST_FILES:
        new = [node.oid for _, _, node in objects.differences(before, after) if node]
        asked = encoded("".join(f"{oid}\n" for oid in new))
        told = repository.git.raw("cat-file", "--batch-check=%(objectsize)", stdin=asked)
        size = sum(int(line) for line in told.split(b"\n") if line.isdigit())
        if size <= MOST_BYTES:
            return
    what = f"{size >> 30} GiB" if size else f"{MOST_FILES} files"
    raise GitError(f"they unfold to more than {what}", hint="Leave large files out of the commits.")


def object_stores(objects: Path) -> list[Path]:
    """Return where a repository's objects lie: its own folder, and those it borrows from."""
    found: list[Path] = []
    waiting = [objects]
    while waiting:
        store = waiting.pop(0)
        if store in found:
            continue
        found.append(store)
        with suppress(OSError, ValueError):
            lines = (store / "info/alternates").read_text("utf-8", "surrogateescape").splitlines()
            waiting += [
                Path(os.path.normpath(store / line)) for line in lines if line and line[0] not in '#"'
            ]
    return found


def _plain_files(objects: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of an object store that are what they seem to be."""
    if objects.is_symlink():
        return
    for file in (Path(entry.path) for entry in below(objects)):
        name = str(file.relative_to(objects))
        if OBJECT.fullmatch(name) and stat.S_ISREG(file.lstat().st_mode):
            yield name, file


def text_of(file: Path) -> str | None:
    """Return what is in a file, None if it is not a plain file of sensible size."""
    try:
        return decoded(head_of(file, LARGEST_TEXT, follow=False))
    except OSError:
        return None
