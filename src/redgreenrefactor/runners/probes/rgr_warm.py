"""A process that has the runner and installed packages in memory, and becomes a run of tests in a fork, again and again.

It stands where the runner has loaded its probe and nothing of the project. What is forked goes on from there as if
it had been started for it. The process itself cannot be read or traced by what it forks, shares no descriptor with
it, and ends all that a run has left before the next one begins.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
_CONFIGURATION = (
    *("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("pyproject.toml", "tox.ini", "setup.cfg", "setup.py"),
)
_NAMES_FILE = (".ini", ".cfg", ".toml")  # of an argument that is read for what it says
_LEFT_BEHIND = ("net/tcp", "net/tcp6", "net/udp", "net/udp6", "sysvipc/shm", "sysvipc/sem", "sysvipc/msg")
_STANDARD = 2  # the last of the descriptors that everybody has


class _RefusedError(Exception):
    """Why this process cannot serve."""


class Kept:
    """A process on its way to where it waits for orders, with nothing of the project in it."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._asked = asked
        self._streams = [_identity(number) for number in range(_STANDARD + 1)]  # before anybody moves them
        _load(asked["warm"]["modules"])
        self._apart = {name: _loaded_apart(name) for name in ("rgr_disguise", "rgr_lines")}

    def provide(self, name: str) -> None:
        """Let a module of ours be found that was loaded beforehand, for runs that ask for it."""
        sys.modules.update(self._apart[name])

    def continued(self, made_of: Callable[[], Any]) -> dict[str, Any]:
        """Serve orders for good; return, in a process of its own for each, what that one is asked."""
        told = self._asked["warm"]
        channel = os.open(told["orders"], os.O_RDONLY), os.open(told["answers"], os.O_WRONLY)
        orders, answers = channel
        try:
            parent = _Parent(self._asked, channel, self._streams, made_of)
        except _RefusedError as why:
            _say(answers, refused=str(why))
            os._exit(0)
        _say(answers, ready=True)
        waiting = b""
        while True:
            waiting += os.read(orders, 65_536)
            line, ended, rest = waiting.partition(b"\n")
            if ended:
                waiting = rest
                order = parent.answered(line)
                if order is not None:
                    return order
            elif not waiting:
                os._exit(0)


def _load(modules: list[str]) -> None:
    """Import what earlier runs have imported from installed packages, as far as that can be had."""
    for name in modules:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001, S112 - it may only ever be there by somebody else's doing
                continue


def _loaded_apart(name: str) -> dict[str, Any]:
    """Import a module of ours; return it with all that came along, and let no run find what it has not loaded."""
    before = set(sys.modules)
    importlib.import_module(name)
    return {loaded: sys.modules.pop(loaded) for loaded in list(sys.modules) if loaded not in before}


class _Parent:
    """What forks, and what it knows of the state that every run shall find."""

    def __init__(
        self,
        asked: dict[str, Any],
        channel: tuple[int, int],
        streams: list[tuple[int, int]],
        made_of: Callable[[], Any],
    ) -> None:
        if sys.platform != "linux" or not hasattr(os, "fork"):
            raise _RefusedError("there is no fork here")
        self._prctl = _control()
        self._channel = channel
        self._made_of = made_of
        self._look_at_threads()
        self._look_at_modules([asked["folder"], *asked["homes"]])
        self._open = _Descriptors(streams, channel)
        self._look_at_memory()
        if self._prctl(PR_SET_DUMPABLE, 0) or self._prctl(PR_SET_CHILD_SUBREAPER, 1):
            raise _RefusedError("this process cannot be kept from what it forks")
        _children()
        self._mounted = _mount_points()
        self._own = [os.path.expandvars(place) for place in asked["warm"]["own"]]
        self._alone: bool = asked["warm"]["alone"]
        self._found = self._surroundings()
        _refuse_plugins(asked["folder"])
        self._files = _files_loaded()
        self._read = self._sources(asked["folder"])
        self._folder: str = asked["folder"]
        gc.freeze()

    def answered(self, place: bytes) -> dict[str, Any] | None:
        """Have a run made of a fork, and tell how it ended; return its order in the fork itself."""
        with open(place, encoding="utf-8") as file:  # noqa: PTH123
            order: dict[str, Any] = json.load(file)
        if self._sources(self._folder) != self._read:
            _say(self._channel[1], stale=True)
            return None
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            return _become(order, self._open, self._prctl)
        code = _exit_code(os.waitpid(child, 0)[1])
        _end_all()
        _say(self._channel[1], exit=code, clean=self._tidied())
        return None

    # --- what is in memory

    def _look_at_threads(self) -> None:
        if len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
            raise _RefusedError("threads live after loading")

    def _look_at_modules(self, folders: list[str]) -> None:
        from rgr_records import is_installed  # noqa: PLC0415 - in a circle otherwise

        roots = {spelled.rstrip(os.sep) + os.sep for f in folders for spelled in (f, os.path.realpath(f))}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str):
                continue
            if any(file.startswith(root) and not is_installed(file, root) for root in roots):
                raise _RefusedError("the runner loads {} of the project before any test".format(name))  # noqa: UP032

    def _look_at_memory(self) -> None:
        """Refuse where something is in memory that all forks would share."""
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
            if any(line.split()[1][1::2] == "ws" for line in maps):
                raise _RefusedError("what was loaded shares memory with what it starts")

    # --- what is around

    def _sources(self, folder: str) -> dict[str, Any]:
        """Return what the state in memory was made of: files that were loaded, and settings that were read."""
        found: dict[str, Any] = {place: _content(place) for place in _configured_by(folder)}
        found[""] = list(map(_stamp, self._files)), self._made_of()
        return found

    def _surroundings(self) -> tuple[Any, ...]:
        """Return what this process alone and its forks have around them, as far as a run could leave something there."""
        entries = {place: sorted(_below(place, self._mounted)) for place in self._own}
        kept = [_content(f"/proc/{name}") for name in _LEFT_BEHIND] if self._alone else []
        return entries, [(text or b"").count(b"\n") for text in kept]

    def _tidied(self) -> bool:
        """Take away what a run has left in places that are new for every run; tell whether all is as it was."""
        import shutil  # noqa: PLC0415

        for place in self._own:
            known = set(self._found[0][place])
            for path in _below(place, self._mounted, known):
                if path not in known:
                    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        os.unlink(path)  # noqa: PTH108
        return self._surroundings() == self._found


def _refuse_plugins(folder: str) -> None:
    """Refuse where plug-ins are named in the settings: they are loaded by now, and may be the project's own."""
    texts = [
        *(_content(place) or b"" for place in _configured_by(folder)),
        b"addopts " + _joined(sys.argv[1:]),
    ]
    if any(re.search(rb"(?s)addopts.{0,2000}?[\s\"'\[]-p[\s\"',=]*(?!no:)[\w.]", text) for text in texts):
        raise _RefusedError("the settings name plug-ins")


def _joined(words: list[str]) -> bytes:
    return os.fsencode(" ".join(words))


class _Descriptors:
    """What is open in a process that forks: each fork has its own of everything, and the channel not at all."""

    def __init__(self, streams: list[tuple[int, int]], channel: tuple[int, int]) -> None:
        self._channel = channel
        self._moved: list[tuple[int, str]] = []  # what is one of the standard streams, and which
        self._temporary: dict[
            tuple[int, int], list[int]
        ] = {}  # files without a name, in which output is caught
        names = dict(zip(reversed(streams), ("stderr", "stdout", "stdin")))  # noqa: B905 - Python 3.8
        for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
            if number in channel or not _is_open(number):
                continue
            found = os.fstat(number)
            identity = found.st_dev, found.st_ino
            if identity in names:
                self._moved.append((number, names[identity]))
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and found.st_size == 0:
                self._temporary.setdefault(identity, []).append(number)
            elif identity != _identity_of_nothing():
                raise _RefusedError("what was loaded keeps a file open")

    def renew(self, order: dict[str, Any]) -> None:
        """Close the channel, and give this process streams and files of its own."""
        for descriptor in self._channel:
            os.close(descriptor)
        ways = {
            "stdin": os.open(os.devnull, os.O_RDONLY),
            "stdout": os.open(order["stdout"], os.O_WRONLY),
            "stderr": os.open(order["stderr"], os.O_WRONLY),
        }
        for number, name in self._moved:
            _put(ways[name], number)
        for opened in ways.values():
            os.close(opened)
        for numbers in self._temporary.values():
            with _temporary_file() as made:
                for number in numbers:
                    _put(made.fileno(), number)


def _put(opened: int, number: int) -> None:
    """Let a descriptor stand for what another does."""
    os.dup2(opened, number, inheritable=os.get_inheritable(number))


def _temporary_file() -> Any:
    import tempfile  # noqa: PLC0415 - whoever has such files has loaded it

    return tempfile.TemporaryFile(buffering=0)


def _identity(number: int) -> tuple[int, int]:
    """Return what tells an open file from all others, or what no file has."""
    try:
        found = os.fstat(number)
    except OSError:
        return (-1, number)
    return found.st_dev, found.st_ino


def _identity_of_nothing() -> tuple[int, int]:
    found = os.stat(os.devnull)  # noqa: PTH116
    return found.st_dev, found.st_ino


def _become(order: dict[str, Any], opened: _Descriptors, prctl: Callable[[int, int], int]) -> dict[str, Any]:
    """Make this fork a process like one that was started; return what it is asked."""
    try:
        opened.renew(order)
        os.setsid()
        prctl(PR_SET_DUMPABLE, 1)
        importlib.invalidate_caches()
        chance: Any = sys.modules.get("numpy.random")
        if chance is not None:
            chance.seed()
    except BaseException:  # noqa: BLE001 - whatever it is, this must not go on as the parent
        os._exit(70)
    return order


def _control() -> Callable[[int, int], int]:
    """Return what sets an attribute of this process, and tells 0 where it could."""
    known = sys.modules.get("_ctypes")
    try:
        import _ctypes  # noqa: PLC0415 - a fifth of what all of `ctypes` costs; some interpreters lack it
    except ImportError as error:
        raise _RefusedError("this interpreter cannot be kept from what it forks") from error
    if known is None:
        del sys.modules["_ctypes"]  # no run is to find what it has not loaded
    library: Any = _ctypes
    address: Any = library.dlsym(library.dlopen(None, 0), "prctl")
    return lambda option, value: int(library.call_function(address, (option, value, 0, 0, 0)))


def _children() -> list[int]:
    """Return the processes right below this one, by the kernel's own list."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    except OSError as error:
        raise _RefusedError("the system does not tell what a run has left") from error
    return found


def _end_all() -> None:
    """End whatever has become of a run: orphans become children of this process, so none is out of reach."""
    while True:
        for pid in _children():
            for target in (-pid, pid):
                try:
                    os.kill(target, signal.SIGKILL)
                except OSError:
                    continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _exit_code(status: int) -> int:
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _configured_by(folder: str) -> Iterator[str]:
    """Yield the files that say how the runner is set up, wherever it looks for them."""
    root = folder.rstrip(os.sep)
    places = {os.getcwd(), root}  # noqa: PTH109
    for word in sys.argv[1:]:
        path = os.path.abspath(word.partition("=")[2] or word.partition("::")[0])  # noqa: PTH100
        if path.endswith(_NAMES_FILE):
            yield path
        while path.startswith(root + os.sep):
            places.add(path)
            path = os.path.dirname(path)  # noqa: PTH120
    for place in places:
        for name in _CONFIGURATION:
            yield os.path.join(place, name)  # noqa: PTH118


def _below(place: str, mounted: frozenset[str], known: set[str] | None = None) -> Iterator[str]:
    """Yield what lies below a folder and belongs to it: what is mounted there does not.

    Of what is not known only the topmost: it will be removed.
    """
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for entry in entries:
        if entry.path not in mounted:
            yield entry.path
            if entry.is_dir(follow_symlinks=False) and (known is None or entry.path in known):
                yield from _below(entry.path, mounted, known)


def _mount_points() -> frozenset[str]:
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        escaped = [line.split(b" ")[4] for line in file]
    return frozenset(
        os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found.group(1), 8)]), path))
        for path in escaped
    )


def _files_loaded() -> list[str]:
    """Return the files of all modules; to go through these again would copy the pages they lie on after every fork."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({file for file in files if isinstance(file, str)})


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ino


def _content(path: str) -> bytes | None:
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return None
        with os.fdopen(os.dup(opened), "rb") as file:
            return file.read(1 << 20)
    finally:
        os.close(opened)


def _is_open(number: int) -> bool:
    """Tell whether a descriptor is more than the one by which descriptors were listed."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _say(answers: int, **facts: Any) -> None:
    os.write(answers, json.dumps(facts).encode() + b"\n")
