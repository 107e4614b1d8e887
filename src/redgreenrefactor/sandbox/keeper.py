"""The parent of one foreign program and of everything it leaves behind: none of it outlives this script.

`main` is called in a session of its own by `python -I -S -c … CONTROL STATUS GRACE CTYPE RULES PROGRAM [ARGUMENT...]`.
It ends the tree when the program ends, and when CONTROL, the reading end of a pipe, comes to its end: so it
is enough that whoever holds the other end dies. STATUS, the writing end of another pipe, is told the
program's exit code, as its last line, once nothing is left. GRACE is how many seconds lie between asking with
SIGTERM and ending with SIGKILL. CTYPE is the `LC_CTYPE` the program shall find: the interpreter may have put
its own there. RULES is a descriptor to read from what holds the program (see `restrictions.py`), nothing if nothing does.

Every run of a program pays for its start. So it is compiled once and imports only what is built into the
interpreter, and `_ctypes`; and it waits for two things at once with a thread, not with `select` and signals.
"""

import _thread
import errno
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal
else:
    import _signal as signal
    import posix as os

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
LANDLOCK = 444  # the first of three system calls, the same everywhere

NOT_EXECUTABLE = 126  # as shells answer
NOT_FOUND = 127


def library(name: str, *arguments: object) -> int:
    """Call a function of the C library and return what it answers; -1 where it cannot be reached."""
    try:
        import _ctypes  # noqa: PLC0415 - a fifth of what all of `ctypes` costs; some interpreters lack it
    except ImportError:
        return -1
    address = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # pyright: ignore[reportArgumentType]
    return int(_ctypes.call_function(address, arguments))


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process, where the system has it and the interpreter can reach it."""
    if sys.platform == "linux":
        library("prctl", option, value, 0, 0, 0)


def send(target: int, number: int) -> bool:
    """Whether the signal could be sent to this process or, if negative, to this group."""
    try:
        os.kill(target, number)
    except OSError:
        return False
    return True


def strike(pid: int) -> bool:
    """Whether the process could be ended; its group goes first, because a group cannot escape by forking."""
    group = os.getpgid(pid)
    if group != os.getpgid(0):  # as long as the program has not begun its own session
        send(-group, signal.SIGKILL)
    return send(pid, signal.SIGKILL)


def contents_of(descriptor: int) -> bytes:
    """Return what can be read from the descriptor, and close it."""
    try:
        return b"".join(iter(lambda: os.read(descriptor, 65_536), b""))
    finally:
        os.close(descriptor)


def children_of(process: int | str) -> list[int]:
    """Return the processes right below one, by the kernel's own list.

    It may miss some while others end, but never all; and it is fast enough to catch up with a runaway.
    """
    threads = os.listdir(f"/proc/{process}/task")
    lists = (os.open(f"/proc/{process}/task/{thread}/children", os.O_RDONLY) for thread in threads)
    return [int(pid) for pid in b" ".join(map(contents_of, lists)).split()]


class Tree:
    """The program and all that came of it, as far as it is below this process."""

    def __init__(self, program: int) -> None:
        self.program = program
        self.code: int | None = None

    def children(self) -> list[int]:
        """Return processes right below this one: not none, as long as there is one."""
        try:
            if os.readlink("/proc/self") == str(
                os.getpid()
            ):  # or it speaks of others, whom nobody here can signal
                return children_of("self")
        except OSError:
            pass  # there is no `/proc`, or a kernel that keeps no list
        return [self.program] if self.code is None else []

    def reap(self, options: int = os.WNOHANG) -> bool:
        """Collect whoever has ended, with 0 for options at least one; whether a child is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, options)
                if pid == 0:
                    return True
                if pid == self.program:
                    self.code = os.waitstatus_to_exitcode(status)
                options = os.WNOHANG
        except ChildProcessError:
            return False

    def ask(self, grace: float) -> None:
        """Ask everybody once to end; return when all have, or when the grace is over."""
        deadline = time.monotonic() + grace
        asked: set[int] = set()
        step = 0.005
        while self.reap() and time.monotonic() < deadline:
            groups = {os.getpgid(pid) for pid in self.children()}
            for group in groups - asked:
                send(-group, signal.SIGTERM)
            asked |= groups
            time.sleep(step)
            step = min(step * 1.5, 0.1)

    def end(self) -> None:
        """Leave nothing but what this user may not end.

        Orphans become children of this process, so striking its children again and again reaches everybody.
        """
        send(-self.program, signal.SIGKILL)
        while self.reap():
            struck = [pid for pid in self.children() if strike(pid)]
            if not struck:
                break
            self.reap(0)


def encoded(text: str) -> bytes:
    """Return the bytes that the interpreter read this text from."""
    return text.encode(sys.getfilesystemencoding(), "surrogateescape")


def execute(argv: list[str], env: dict[bytes, bytes]) -> int:
    """Become the program; return what a shell would answer if that cannot be."""
    name = encoded(argv[0])
    folders = env.get(b"PATH", b"/bin:/usr/bin").split(b":") if name else []
    code, reason = NOT_FOUND, "not found"
    for place in [name] if b"/" in name else [(folder or b".") + b"/" + name for folder in folders]:
        try:
            os.execve(place, argv, env)
        except OSError as problem:
            if problem.errno not in {errno.ENOENT, errno.ENOTDIR}:
                code, reason = NOT_EXECUTABLE, str(problem.strerror)
    os.write(2, name + encoded(f": {reason}\n"))
    return code


def launch(argv: list[str], env: dict[bytes, bytes], rules: bytes) -> int:
    """Start the program in a session of its own, held by the rules; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = NOT_EXECUTABLE
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # should it manage to have its keeper killed
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores them
            signal.signal(number, signal.SIG_DFL)
        if rules:
            obey(rules)
        code = execute(argv, env)
    except Exception as problem:  # noqa: BLE001 - whatever it is, a program that is not held is not started
        os.write(2, encoded(f"the sandbox could not be set up: {problem}\n"))
    finally:
        os._exit(code)  # noqa: SLF001


def obey(rules: bytes) -> None:
    """Do to this process what holds it; only who is held pays for the code."""
    if TYPE_CHECKING:
        from redgreenrefactor.sandbox.restrictions import Restrictions  # noqa: PLC0415
    else:
        from restrictions import Restrictions  # noqa: PLC0415
    Restrictions(rules).obey()


def environment(ctype: str) -> dict[bytes, bytes]:
    """Return the environment as it was before the interpreter started."""
    env = {name: value for name, value in posix.environ.items() if name != b"LC_CTYPE"}
    return env | {b"LC_CTYPE": encoded(ctype)} if ctype else env


class Keeper:
    """Ends the tree on whichever comes first: the program's end, or the end of the control pipe."""

    def __init__(self, tree: Tree, status: int) -> None:
        self.tree = tree
        self.status = status
        self.turn = _thread.allocate_lock()  # never given back: who comes second waits to be ended

    def obey(self, control: int, grace: float) -> None:
        """Wait for the end of the control pipe; then end the tree, asking first."""
        while os.read(control, 1):
            pass
        self.turn.acquire()
        try:
            self.tree.ask(grace)
            self.finish()
        finally:
            os._exit(1)  # noqa: SLF001

    def wait(self) -> None:
        """Wait for the program's end; then end what it left behind."""
        try:
            if hasattr(os, "waitid"):
                # It is not collected yet: as long as it is there, nobody else gets its number.
                os.waitid(os.P_PID, self.tree.program, os.WEXITED | os.WNOWAIT)
            else:
                self.tree.reap(0)
        finally:  # it may just have been collected by the other thread
            self.turn.acquire()
            self.finish()

    def finish(self) -> None:
        """Leave nothing, say how the program ended, and be gone."""
        self.tree.end()
        code = -signal.SIGKILL if self.tree.code is None else self.tree.code
        os.write(self.status, b"\n%d" % code)
        os._exit(0)  # noqa: SLF001


def main() -> None:
    """Keep the program that the arguments name."""
    control, status, grace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    rules = contents_of(int(sys.argv[5])) if sys.argv[5] else b""
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)  # noqa: FBT003
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, no exit code is kept
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_DUMPABLE, 0)  # or the program could write to the status pipe through /proc
    tree = Tree(launch(sys.argv[6:], environment(sys.argv[4]), rules))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in (0, 1):
        os.close(descriptor)
    keeper = Keeper(tree, status)
    _thread.start_new_thread(keeper.obey, (control, grace))
    keeper.wait()
