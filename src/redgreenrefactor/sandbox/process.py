"""The only starter of processes: short commands of our own, and foreign programs with all they start."""

import contextlib
import errno
import fcntl
import functools
import os
import select
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.filesystem import beyond_standard_streams
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.output import PIECE, OutputStream, Tell

if TYPE_CHECKING:
    from redgreenrefactor.sandbox.cage import Cage, HeldCommand
    from redgreenrefactor.sandbox.disk import Meter

_WIDE = 1 << 20  # bytes in a pipe; the most that an ordinary user is given
_NOT_EXECUTABLE = 126  # as shells answer
_OFTEN = 1.0  # seconds between two looks at how much room is left, which cost nothing
# Imported, for a script is compiled with every start; after the language's own modules: some of ours are called like them.
_STARTED = f"import sys; sys.path.append({os.path.dirname(__file__)!r}); from keeper import main; main()"  # noqa: PTH120
_KEEPER = (sys.executable, "-I", "-S", "-c", _STARTED)


@frozen
class Finished:
    """How a process ended, and what it printed."""

    exit_code: int  # negative: killed by that signal
    stdout: bytes  # whole from `call`; from `run` at most what was to be kept, and a line about the rest
    stderr: bytes
    timed_out: bool = False
    seconds: float = 0.0


class Interrupt:
    """A request to stop, from SIGINT, SIGTERM or SIGHUP, that strikes only where somebody waits.

    It is made once and stands for good: whoever waits on it afterwards is struck at once.
    """

    def __init__(self) -> None:
        self.requested: str | None = None
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._open = weakref.finalize(self, _close, self._reading, self._writing)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable with the request."""
        return self._reading

    def close(self) -> None:
        """Give the descriptors back; the request can still be made and checked, but not waited for."""
        self._open()

    @contextlib.contextmanager
    def listen(self) -> Generator[None]:
        """Turn the three signals into requests inside this context; only valid in the main thread."""
        with contextlib.ExitStack() as stack:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                before = signal.getsignal(number)
                if number == signal.SIGHUP and before == signal.SIG_IGN:
                    continue  # started under nohup: it shall outlive the terminal
                signal.signal(number, lambda number, _frame: self.request(signal.Signals(number).name))
                stack.callback(signal.signal, number, signal.SIG_DFL if before is None else before)
            yield

    def request(self, reason: str) -> None:
        """Strike whoever waits, now or later; the first reason stays. Safe in signal handlers and threads."""
        self.requested = self.requested or reason
        if self._open.alive:
            with contextlib.suppress(BlockingIOError):  # full of earlier requests, which do as well
                os.write(self._writing, b"!")

    def check(self) -> None:
        """Raise InterruptedRunError if a stop was requested."""
        if self.requested:
            raise InterruptedRunError(f"The run was interrupted by {self.requested}.")

    def pause(self, seconds: float) -> None:
        """Return after that time; raise InterruptedRunError as soon as a stop is, or has been, requested."""
        self.check()
        waiting = select.poll()
        waiting.register(self, select.POLLIN)
        waiting.poll(max(0.0, seconds) * 1000)
        self.check()


def call(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b"") -> Finished:
    """Run a short command of our own to its end, whatever is pressed or requested; all its output is kept."""
    began = time.monotonic()
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=env,
        input=stdin or None,
        stdin=None if stdin else subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=True,
    )
    return Finished(done.returncode, done.stdout, done.stderr, seconds=time.monotonic() - began)


def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a long-lived partner of our own, with pipes on its standard input and output."""
    partner = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # A wide pipe lets it write on while we read; not every system has one to give.
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(cast("IO[bytes]", partner.stdout), fcntl.F_SETPIPE_SZ, _WIDE)
    return partner


def run(
    command: str | Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes | FileIO = b"",  # what it reads, or the pipe from which it does
    timeout: float | None = None,
    interrupt: Interrupt | None = None,
    on_stderr: Tell | None = None,
    on_stdout: Tell | None = None,
    keep: int = 4_000_000,
    grace: float = 2.0,
    cage: "Cage | None" = None,
) -> Finished:
    """Run somebody else's program, or a line of shell; when this returns or raises, nothing of it is running any more.

    Not even SIGKILL on this process leaves anything behind. When time is up or a stop is requested, the
    program and its descendants are asked with SIGTERM and ended with SIGKILL after the grace; leftovers of a
    program that has ended are ended at once. A held one that takes too much room on disk is ended, too, and the
    last line of its standard error says so. Lines are passed on as they come. A program that cannot be
    started answers as in a shell: exit code 127 or 126, and the reason on its standard error. A cage holds the
    program and all it starts; one that cannot be closed is a program that cannot be started.
    """
    began, cage = time.monotonic(), cage or _nothing_held()
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    if interrupt is not None:
        interrupt.check()
    with contextlib.ExitStack() as stack:
        try:
            held = stack.enter_context(cage.hold(argv, cwd, env))
            tree = stack.enter_context(_grown(held, cwd, stdin, grace=grace))
        except OSError as problem:
            return _not_started(argv[0], problem)
        stdout = OutputStream(tree.stdout, keep, on_stdout)
        stderr = OutputStream(tree.stderr, keep, on_stderr)
        watch = _Watch(tree, stdin, interrupt, None if timeout is None else began + timeout, held.meter)
        watch.until_gone(stdout, stderr)
        code = cage.exit_code(_exit_code(watch.told, tree.keeper.wait()))
    code, seconds = code or (-signal.SIGKILL if watch.too_much else 0), time.monotonic() - began
    return Finished(code, stdout.kept(), stderr.kept() + watch.complaint, watch.timed_out, seconds)


def _nothing_held() -> "Cage":
    from redgreenrefactor.sandbox.cage import NO_MEANS, Cage  # noqa: PLC0415 - commands that only look need none of it
    from redgreenrefactor.sandbox.policy import Policy  # noqa: PLC0415

    return Cage(NO_MEANS, Policy())


def _not_started(program: str, problem: OSError) -> Finished:
    """Answer as a shell does for a program with more arguments than the system takes; nothing else is expected."""
    if problem.errno != errno.E2BIG:
        raise problem
    return Finished(_NOT_EXECUTABLE, b"", os.fsencode(f"{program}: {problem.strerror}\n"))


@frozen
class _Tree:
    """A program and everything below its keeper, and our ends of the pipes to them."""

    keeper: subprocess.Popen[bytes]
    control: FileIO  # closed: the keeper ends the tree
    status: FileIO  # at its end: the tree is gone
    stdin: FileIO | None
    stdout: FileIO
    stderr: FileIO


@contextlib.contextmanager
def _grown(held: "HeldCommand", cwd: Path, fed: bytes | FileIO, *, grace: float) -> Generator[_Tree]:
    """Have a keeper start the program; leaving the context, for whatever reason, leaves nothing of it."""
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        heard, control = _pipe(theirs, ours)
        status, told = _pipe(ours, theirs)
        stdout, printed = _pipe(ours, theirs)
        stderr, complained = _pipe(ours, theirs)
        given = fed if isinstance(fed, FileIO) else subprocess.DEVNULL
        read, stdin = _pipe(theirs, ours) if isinstance(fed, bytes) and fed else (given, None)
        rules = () if held.rules is None else (held.rules,)
        passed = (heard.fileno(), told.fileno())
        keeper = subprocess.Popen(
            [
                *_KEEPER,
                *map(str, passed),
                str(grace),
                held.env.get("LC_CTYPE", ""),
                *map(str, rules or [""]),
                *held.argv,
            ],
            cwd=cwd,
            env=held.env,
            stdin=read,
            stdout=printed,
            stderr=complained,
            pass_fds=(*passed, *rules, *held.descriptors),
            start_new_session=True,
        )
        theirs.close()
        try:
            yield _Tree(keeper, control, status, stdin, stdout, stderr)
        finally:
            control.close()
            keeper.wait()


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[FileIO, FileIO]:
    """Return the two ends of a new pipe, each to be closed by its owner."""
    reading, writing = map(beyond_standard_streams, os.pipe())
    return reader.enter_context(FileIO(reading, "rb")), writer.enter_context(FileIO(writing, "wb"))


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _exit_code(told: bytes, keeper: int) -> int:
    """Return what the keeper said last: others may have got hold of its pipe, but it outlives them or is killed."""
    last = told.rpartition(b"\n")[2]
    return int(last) if last and not keeper else keeper or -signal.SIGKILL


class _Watch:
    """Feeds a program, listens to it, and has its tree ended when time or room is up or a stop is requested."""

    def __init__(
        self,
        tree: _Tree,
        stdin: bytes | FileIO,
        interrupt: Interrupt | None,
        deadline: float | None,
        meter: "Meter | None",
    ) -> None:
        self.told = b""
        self.timed_out = False
        self.too_much = ""  # what it has taken
        self._meter = meter
        self._look = time.monotonic() + _OFTEN
        self._gone = False
        self._interrupted = False
        self._tree = tree
        self._unfed = memoryview(stdin if isinstance(stdin, bytes) else b"")
        self._interrupt = interrupt
        self._deadline = deadline
        self._selector = selectors.DefaultSelector()

    def until_gone(self, *streams: OutputStream) -> None:
        """Return when nothing of the tree is left; raise InterruptedRunError if it was ended by request."""
        with self._selector:
            self._watch(self._tree.status, self._hear)
            for stream in streams:
                self._watch(stream.source, functools.partial(self._take_in, stream))
            if self._tree.stdin is not None:
                os.set_blocking(self._tree.stdin.fileno(), False)
                feed = functools.partial(self._feed, self._tree.stdin)
                self._selector.register(self._tree.stdin, selectors.EVENT_WRITE, feed)
            if self._interrupt is not None:
                self._watch(self._interrupt, functools.partial(self._stop, self._interrupt))
            while not self._gone:
                self._step()
        for stream in streams:
            stream.finish()
        if self._interrupt is not None and self._interrupted:
            self._interrupt.check()

    @property
    def complaint(self) -> bytes:
        """What is said about a program that has taken too much."""
        return os.fsencode(f"\nended by the sandbox: {self.too_much}\n") if self.too_much else b""

    def _watch(self, source: FileIO | Interrupt, then: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, then)

    def _step(self) -> None:
        """Take care of whatever comes next, be it the end of patience."""
        moments = [self._deadline, self._look if self._meter else None]
        due = min((moment for moment in moments if moment is not None), default=None)
        for key, _ in self._selector.select(None if due is None else max(0.0, due - time.monotonic())):
            key.data()
        self._measure()
        if self._deadline is not None and time.monotonic() >= self._deadline and not self._gone:
            self._deadline = None
            self.timed_out = True
            self._tree.control.close()

    def _measure(self) -> None:
        """Now and then, end the tree if it has taken too much room."""
        if self._meter is None or self._gone or time.monotonic() < self._look:
            return
        self.too_much = self._meter.over(self._tree.keeper.pid)
        self._look = time.monotonic() + _OFTEN
        if self.too_much:
            self._meter = None
            self._tree.control.close()

    def _hear(self) -> None:
        """Take in what the keeper says; its last word is the end of the pipe."""
        said = self._tree.status.read(PIECE)
        self.told = (self.told + said)[-PIECE:]
        self._gone = not said

    def _take_in(self, stream: OutputStream) -> None:
        if stream.read() == b"":
            self._selector.unregister(stream.source)

    def _feed(self, stdin: FileIO) -> None:
        """Write as much as the program takes; what it refuses for good is none of our concern."""
        try:
            written = stdin.write(self._unfed[:PIECE]) or 0  # None: not ready after all
        except BrokenPipeError:
            written = len(self._unfed)
        self._unfed = self._unfed[written:]
        if not self._unfed:
            self._selector.unregister(stdin)
            stdin.close()

    def _stop(self, interrupt: Interrupt) -> None:
        self._selector.unregister(interrupt)
        self._interrupted = True
        self._tree.control.close()
