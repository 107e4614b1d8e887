"""What a process does to itself before it becomes a program that is held; only the keeper imports this."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from redgreenrefactor.sandbox.keeper import LANDLOCK, PR_SET_DUMPABLE, library, prctl
else:
    import posix as os

    from keeper import LANDLOCK, PR_SET_DUMPABLE, library, prctl

PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
MOST_CAPABILITIES = 64
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 1 << 5, 1 << 12, 1 << 14, 1 << 18
MS_KEPT = 0b1110  # what a user may not take away: no set-uid programs, no devices, no programs
SIOCSIFFLAGS = 0x8914
UP_AND_RUNNING = 0x41


class Restrictions:
    """What a process does to itself before it becomes the program: all of it, or the program is not started.

    One rule a line; lines end with NUL, because paths may hold anything else.

    - `rlimit NUMBER VALUE`: use no more than this of something
    - `victim`: be the first to go when memory runs out
    - `join FILE`: join the group whose file this is
    - `landlock FILES NETWORK SCOPES`: from now on, only what is allowed, for these kinds of access
    - `allow KINDS PATH`: these kinds of access, below this path
    - `bind MODE SOURCE//TARGET`: show the source in the target's place: `rw`, `ro`, or `no` for an empty folder
    - `loopback`: no network but among the program's own processes, or no TCP if that cannot be had
    - `capabilities NUMBER...`: keep no more than these, even as root
    - `seccomp HEX`: refuse system calls by this filter
    - `offline HEX`: by this one instead, where `loopback` could not be had
    """

    def __init__(self, text: bytes) -> None:
        self.lines = [line.split(b" ") for line in text.split(b"\0") if line]

    def of(self, kind: bytes) -> list[list[bytes]]:
        """Return what the rules of a kind say."""
        return [words[1:] for words in self.lines if words[0] == kind]

    def obey(self) -> None:
        """Do all of it; raise if something cannot be done."""
        for number, value in self.of(b"rlimit"):
            lower(int(number), int(value))
        for _ in self.of(b"victim"):
            write("/proc/self/oom_score_adj", b"500", must=False)
        for words in self.of(b"join"):
            write(b" ".join(words).decode(), b"0", must=True)
        alone = self.stand_apart()
        for files, network, scopes in self.of(b"landlock"):
            tcp = int(network) if self.of(b"loopback") and not alone else 0
            self.restrict(int(files), tcp, int(scopes))
        for kept in self.of(b"capabilities"):
            for number in range(MOST_CAPABILITIES):
                if b"%d" % number not in kept:
                    library("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
        offline = self.of(b"offline") if not alone else []
        for (text,) in offline or self.of(b"seccomp"):
            filtered(bytes.fromhex(text.decode()))

    def stand_apart(self) -> bool:
        """Whether this process now has a network of its own; it has a view of its own where one is wanted."""
        binds = [(mode, b" ".join(words)) for mode, *words in self.of(b"bind")]
        space = CLONE_NEWNS if binds else 0
        alone = bool(self.of(b"loopback")) and unshared(CLONE_NEWNET | space)
        if alone:
            open_loopback()
        if binds:
            succeeded("a view of its own", 0 if alone or unshared(space) else -1)
            show(binds)
        return alone

    def restrict(self, files: int, network: int, scopes: int) -> None:
        """Allow nothing of these kinds but what the rules allow."""
        wanted = b"".join(part.to_bytes(8, sys.byteorder) for part in (files, network, scopes))
        size = 24 if scopes else 16 if network else 8
        ruleset = succeeded("landlock", library("syscall", LANDLOCK, wanted[:size], size, 0))
        for kinds, *words in self.of(b"allow"):
            place = os.open(b" ".join(words), os.O_PATH | os.O_CLOEXEC)
            rule = int(kinds).to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
            succeeded("a rule", library("syscall", LANDLOCK + 1, ruleset, 1, rule, 0))
            os.close(place)
        succeeded("no new privileges", library("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        succeeded("landlock", library("syscall", LANDLOCK + 2, ruleset, 0))
        os.close(ruleset)


def succeeded(what: str, answer: int) -> int:
    """Return the answer; raise OSError if it says no."""
    if answer < 0:
        raise OSError(f"{what} was refused")
    return answer


def lower(number: int, value: int) -> None:
    """Make a limit this low, unless it is lower already."""
    import resource  # noqa: PLC0415

    _, hard = resource.getrlimit(number)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (most, most))


def write(path: str, content: bytes, *, must: bool) -> None:
    """Write into a file that is there; if it cannot be, raise where it must."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, content)
        os.close(file)
    except OSError:
        if must:
            raise


def unshared(spaces: int) -> bool:
    """Whether this process now has such spaces of its own."""
    user, group = os.getuid(), os.getgid()
    if library("unshare", spaces if user == 0 else CLONE_NEWUSER | spaces) != 0:
        return False
    if user:
        prctl(PR_SET_DUMPABLE, 1)  # or these files are root's
        write("/proc/self/setgroups", b"deny", must=False)
        write("/proc/self/uid_map", b"%d %d 1" % (user, user), must=True)
        write("/proc/self/gid_map", b"%d %d 1" % (group, group), must=True)
    return True


def open_loopback() -> None:
    """Make this process's own network work, with nobody else in it."""
    import _socket  # noqa: PLC0415
    import fcntl  # noqa: PLC0415

    talk = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = b"lo".ljust(16, b"\0") + UP_AND_RUNNING.to_bytes(2, sys.byteorder) + bytes(22)
    fcntl.ioctl(talk.fileno(), SIOCSIFFLAGS, request)
    talk.close()


def show(binds: list[tuple[bytes, bytes]]) -> None:
    """Show things in other places; they are all found before the first one covers something."""
    mount(None, b"/", MS_REC | MS_PRIVATE)
    wanted = [(mode, *paths.split(b"//", 1)) for mode, paths in binds]
    found = [os.open(source or b"/", os.O_PATH | os.O_CLOEXEC) for _, source, _ in wanted]
    for (mode, _, name), source in zip(wanted, found, strict=True):
        target = b"/" + name
        if mode == b"no":
            mount(b"tmpfs", target, MS_RDONLY)
        else:
            mount(b"/proc/self/fd/%d" % source, target, MS_BIND | MS_REC)
        if mode == b"ro":
            mount(None, target, MS_REMOUNT | MS_BIND | MS_RDONLY | os.statvfs(target).f_flag & MS_KEPT)
        os.close(source)


def mount(source: bytes | None, target: bytes, flags: int) -> None:
    """Mount something; `tmpfs` is a folder in memory."""
    succeeded(f"mounting {target!r}", library("mount", source, target, source, flags, None))


def filtered(program: bytes) -> None:
    """Have the kernel refuse system calls of this process by the program."""
    address = id(program) + bytes.__basicsize__ - 1  # where the interpreter keeps the content
    order = (len(program) // 8).to_bytes(8, sys.byteorder) + address.to_bytes(8, sys.byteorder)
    library("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    succeeded("a filter", library("prctl", PR_SET_SECCOMP, 2, order, 0, 0))
