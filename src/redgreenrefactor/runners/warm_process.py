"""Processes that have a runner and what it needs loaded; every probe is a fork of one, and ends with all it started."""

import contextlib
import json
import os
import selectors
import tempfile
import threading
import time
import weakref
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.filesystem import remove
from redgreenrefactor.model.evidence import Manner
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.output import OutputStream
from redgreenrefactor.sandbox.policy import Level, MountMode, writable
from redgreenrefactor.sandbox.process import Finished, Interrupt

SEED = 1  # of hashes, where a probe asks for none
SEEDS = (SEED, 2)  # for which processes are kept loaded: what nearly all probes ask for
_LOADING = 60.0  # seconds until a process is given up that is still not loaded
_PATIENCE = 0.5  # seconds for one to end that waits for orders
_KEPT = 4_000_000  # bytes of what a probe prints
_ENDED = "the process that was kept loaded was ended by what it ran"
STALE = "what was loaded changes from run to run"
STUCK = "the process that was kept loaded was kept from its work by what it ran"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Runner:
    """How the runner is started that shall be kept loaded, and where."""

    line: str
    folder: Path
    env: Mapping[str, str]  # without what names the order
    order: Json  # what it shall know before any probe: the same for all of them
    seed: int  # of its hashes: fixed when an interpreter starts
    cage: Cage | None
    interrupt: Interrupt | None


@dataclass
class WarmProcesses:
    """All processes that one run keeps loaded, one for each checkout and seed, and what their suite is known to import."""

    modules: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # by line
    _loaded: dict[tuple[str, Path, int], "WarmProcess"] = field(
        default_factory=dict[tuple[str, Path, int], "WarmProcess"]
    )
    _refused: dict[tuple[str, tuple[str, ...]], str] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], str]
    )

    def learn(self, line: str, modules: tuple[str, ...]) -> None:
        """Know what the whole suite imports from installed packages; whatever holds more than that is ended."""
        self.modules[line] = modules
        for key, known in list(self._loaded.items()):
            if key[0] == line and not known.modules <= set(modules):
                self._loaded.pop(key).close()

    def at(self, runner: Runner, parent: Path) -> "WarmProcess | str":
        """Return the process for a checkout, loaded; why there is none, if it cannot be kept loaded."""
        key, modules = (runner.line, runner.folder, runner.seed), self.modules.get(runner.line, ())
        known = self._loaded.get(key)
        if known is not None and known.alive:
            return known
        if why := self._refused.get((runner.line, modules)):
            return why
        loaded = WarmProcess(runner, modules, parent)
        if why := loaded.refused:
            self._refused[runner.line, modules] = why
            loaded.close()
            return why
        self._loaded[key] = loaded
        return loaded

    def close(self) -> None:
        """End all of them."""
        for loaded in self._loaded.values():
            loaded.close()
        self._loaded.clear()


class WarmProcess:
    """One process that has its runner loaded and waits for orders, held as suites are."""

    def __init__(self, runner: Runner, modules: tuple[str, ...], parent: Path) -> None:
        self.modules = set(modules)
        self._runner = runner
        self._stack = contextlib.ExitStack()
        self._end = Interrupt()
        self.close = weakref.finalize(self, self._stack.close)
        self.drop = Path(tempfile.mkdtemp(dir=parent)).resolve()
        self._stack.callback(_removed, self.drop)
        self._orders = self._fifo("orders", os.O_RDWR)
        self._answers = self._fifo("answers", os.O_RDONLY)
        self._gone = self._start(modules)
        told = self._heard(_LOADING)
        for name in ("orders", "answers", "order"):  # from now on, nobody else finds the way
            (self.drop / name).unlink(missing_ok=True)
        self.refused = "" if told.get("ready") else str(told.get("refused") or "it could not be kept loaded")

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self.close.alive and not _readable(self._gone)

    @contextlib.contextmanager
    def place(self) -> Generator[Path]:
        """Provide a folder for what one run has to say; afterwards nothing of any run is left."""
        try:
            yield Path(tempfile.mkdtemp(dir=self.drop))
        finally:
            with contextlib.suppress(OSError):  # it may have been closed
                for entry in list(self.drop.iterdir()):
                    _removed(entry)

    def run(self, order: Json, place: Path, limit: float) -> Finished | str:
        """Run an order in a fork; return how it ended, or why that says nothing: whoever wants to know starts cold."""
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            printed: list[OutputStream] = []
            for name in ("stdout", "stderr"):
                os.mkfifo(place / name, 0o600)
                source = FileIO(os.open(place / name, os.O_RDONLY | os.O_NONBLOCK), "rb")
                printed.append(OutputStream(stack.enter_context(source), _KEPT, None))
            asked = {**order, "stdout": str(place / "stdout"), "stderr": str(place / "stderr")}
            (place / "order").write_text(json.dumps(asked), encoding="utf-8")
            self._orders.write(os.fsencode(place / "order") + b"\n")
            told = self._heard(limit, *printed)
            for stream in printed:
                stream.finish()
            kept = [stream.kept() for stream in printed]
        seconds = time.monotonic() - began
        if not told.get("clean"):  # the next run is to find what this one has found
            self.close()
        if told.get("late"):
            return Finished(-9, kept[0], kept[1], timed_out=True, seconds=seconds)
        if told.get("stale"):
            return STALE
        return Finished(told["exit"], kept[0], kept[1], seconds=seconds) if "exit" in told else _ENDED

    def _fifo(self, name: str, way: int) -> FileIO:
        os.mkfifo(self.drop / name, 0o600)
        opened = os.open(self.drop / name, way | os.O_NONBLOCK)
        return self._stack.enter_context(FileIO(opened, "r+b" if way == os.O_RDWR else "rb"))

    def _start(self, modules: tuple[str, ...]) -> FileIO:
        """Have it started and kept by a thread; return what comes to its end when it is gone."""
        runner, cage = self._runner, self._runner.cage
        told = {
            "orders": str(self.drop / "orders"),
            "answers": str(self.drop / "answers"),
            "modules": list(modules),
            "own": _own_places(cage),
            "alone": cage is not None and cage.level is Level.BUBBLEWRAP and not cage.policy.network,
        }
        (self.drop / "order").write_text(json.dumps({**runner.order, "warm": told}), encoding="utf-8")
        env = {**runner.env, "PYTHONHASHSEED": str(runner.seed), "RGR_PROBE": str(self.drop / "order")}
        reading, writing = os.pipe()
        gone = self._stack.enter_context(FileIO(reading, "rb"))
        held = cage.also(*writable(self.drop)) if cage else None
        keeping = threading.Thread(target=_keep, args=(runner, env, held, self._end, writing), daemon=True)
        keeping.start()
        self._stack.callback(keeping.join)
        self._stack.callback(_dismiss, self._orders, gone, self._end)
        return gone

    def _heard(self, limit: float, *printed: OutputStream) -> dict[str, Any]:
        """Return its next answer; nothing if it is gone first, `late` if its time is up."""
        until, interrupt, text = time.monotonic() + limit, self._runner.interrupt, b""
        with selectors.DefaultSelector() as waiting:
            for source in (self._answers, self._gone, *([interrupt] if interrupt else ())):
                waiting.register(source, selectors.EVENT_READ)
            for stream in printed:
                waiting.register(stream.source, selectors.EVENT_READ, stream)
            while (left := until - time.monotonic()) > 0:
                ready = {key.fileobj: key.data for key, _ in waiting.select(left)}
                for source, stream in ready.items():
                    if stream is not None and stream.read() == b"":
                        waiting.unregister(source)
                text += (self._answers.read(65_536) or b"") if self._answers in ready else b""
                if interrupt is not None and interrupt in ready:
                    self.close()
                    interrupt.check()
                if b"\n" in text or self._gone in ready:
                    return _answer(text)
        return {"late": True}


def _keep(runner: Runner, env: Mapping[str, str], cage: Cage | None, end: Interrupt, gone: int) -> None:
    """Run the process until it ends, or is ended; then close what tells so."""
    try:
        with contextlib.suppress(Exception):  # it ends one way or another, and is started cold
            process.run(runner.line, cwd=runner.folder, env=env, interrupt=end, cage=cage, keep=_KEPT)
    finally:
        os.close(gone)


def _dismiss(orders: FileIO, gone: FileIO, end: Interrupt) -> None:
    """Let a process end that waits for orders, and end one that does not listen."""
    orders.close()
    if not _readable(gone, _PATIENCE):
        end.request("the end")


def _own_places(cage: Cage | None) -> list[str]:
    """Return the folders that are new for every held program, and that runs in one cage would share."""
    if cage is None or cage.level is Level.OFF:
        return []
    inner = ["/dev/shm", *map(str, cage.policy.of(MountMode.SCRATCH))]  # noqa: S108
    return ["$TMPDIR", *(inner if cage.level is Level.BUBBLEWRAP else ())]


def _answer(text: bytes) -> dict[str, Any]:
    try:
        told: Any = json.loads(text.partition(b"\n")[0])
    except ValueError:
        return {}
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _readable(source: FileIO, within: float = 0) -> bool:
    with selectors.DefaultSelector() as waiting:
        waiting.register(source, selectors.EVENT_READ)
        return bool(waiting.select(within))


def _removed(path: Path) -> None:
    with contextlib.suppress(OSError):
        remove(path)


def warms(manner: Manner, env: Mapping[str, str]) -> bool:
    """Tell whether a run can be made of a process whose hashes were seeded when it was loaded."""
    return manner.warm and (manner.seed in SEEDS or (manner.seed is None and "PYTHONHASHSEED" not in env))
