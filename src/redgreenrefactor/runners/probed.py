"""A suite with a probe inside its runner: a result for every test."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from redgreenrefactor.model.evidence import (
    ALL,
    UNANSWERED,
    CollectError,
    Manner,
    Measure,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners.report import Heard, read
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.runners.warm_process import SEED, STALE, STUCK, Runner, warms
from redgreenrefactor.sandbox import process

PROBES = Path(__file__).with_name("probes")
_OUTPUT = 8000  # characters of what was printed that are kept

_R = TypeVar("_R", TestResult, CollectError)
_Variables = Callable[[Mapping[str, str]], Mapping[str, str]]


@frozen
class ProbeInsertion:
    """How a probe gets into a command."""

    line: str  # what the shell is given
    variables: _Variables  # what is added to the environment, and taken out again by the probe
    current_folder_first: bool = False  # where imports are looked for
    alone: bool = False  # nothing but the runner is started by the line, once


@frozen
class Hearing:
    """How a probed command ended, and what its probe had to say."""

    ended: process.Finished
    heard: Heard
    folder: Path
    canary: str


@frozen
class ProbedSuite:
    """Tests whose runner carries a probe."""

    command: str
    where: SuiteContext
    probing: ProbeInsertion

    @property
    def measure(self) -> Measure:
        """A result for every test."""
        return Measure.PER_TEST

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        """Run the tests, or just these, in a checkout of the project; never raises for what tests do.

        One that shall be warm and cannot be is not answered, and says why where that is worth a word.
        """
        if not manner.warm:
            return told(listen(self.where, self.probing, folder, manner), self.where)
        hearing = listen_warm(self.where, self.probing, folder, manner)
        if isinstance(hearing, str):
            return replace(UNANSWERED, cold=hearing)
        return replace(told(hearing, self.where), warm=True)


def listen(where: SuiteContext, probing: ProbeInsertion, folder: Path, manner: Manner) -> Hearing:
    """Run a command with its probe and return what came of it."""
    ask = _Asking.of(where, probing, folder, manner)
    with where.drop() as drop, (drop / "report").open("x+b") as report:
        (drop / "order").write_text(json.dumps(ask.order(drop)), encoding="utf-8")
        around = {**ask.around, "RGR_PROBE": str(drop / "order")}
        ended = where.run(probing.line, folder, manner, env=around, drop=drop)
        # What we have opened is what is read, whatever has been put in its place.
        heard = read(report, ask.nonce)
    if where.warm is not None and not manner.tests and heard.modules:
        where.warm.learn(probing.line, heard.modules)
    return Hearing(ended, heard, folder, ask.canary)


def listen_warm(where: SuiteContext, probing: ProbeInsertion, folder: Path, manner: Manner) -> Hearing | str:
    """Run a command with its probe in a fork of a process that has it loaded; return why not, if that cannot be."""
    ask = _Asking.of(where, probing, folder, manner)
    if where.warm is None or not probing.alone or not warms(manner, ask.env):
        return ""
    limit = min(where.timeout, manner.limit or where.timeout)
    for _ in range(2):  # what was loaded may have changed since
        cage, seed = where.cage(folder, manner), manner.seed or SEED
        runner = Runner(probing.line, folder, ask.around, ask.order(folder), seed, cage, where.interrupt)
        loaded = where.warm.at(runner, where.runs())
        if isinstance(loaded, str):
            return loaded
        with loaded.place() as drop, (drop / "report").open("x+b") as report:
            ended = loaded.run(ask.order(drop), drop, limit)
            if not isinstance(ended, str):
                heard = read(report, ask.nonce)
                stuck = heard.finished if ended.timed_out else not heard.sessions
                return STUCK if stuck else Hearing(ended, heard, folder, ask.canary)
        if ended != STALE:
            return ended
    return STALE


@frozen
class _Asking:
    """What one run is asked, wherever it is started."""

    env: Mapping[str, str]  # as the tests find it
    added: Mapping[str, str]  # so that the probe is found
    asked: Mapping[str, Any]
    nonce: str
    canary: str

    @classmethod
    def of(cls, where: SuiteContext, probing: ProbeInsertion, folder: Path, manner: Manner) -> "_Asking":
        env = where.prepared(folder, keeps=manner.keeps)
        if manner.seed is not None:
            env = {**env, "PYTHONHASHSEED": str(manner.seed)}
        asked = {
            "folder": str(folder.absolute()),
            "homes": [str(home.absolute()) for home in where.homes],
            "tests": list(manner.tests),
            "trace": manner.trace,
            "disguise": manner.disguise,
            "seed": manner.seed,
            "modules": where.warm is not None and not manner.tests,
            "current_folder_first": probing.current_folder_first,
        }
        canary = secrets.token_hex(8) if manner.canaries else ""
        return cls(env, probing.variables(env), asked, secrets.token_hex(16), canary)

    @property
    def around(self) -> Mapping[str, str]:
        """The environment the process is started with."""
        return {**self.env, **self.added}

    def order(self, drop: Path) -> dict[str, Any]:
        """Return what the probe is told, which writes into a folder of its own."""
        names = [*self.added, *(["PYTHONHASHSEED"] if self.asked["tests"] else [])]
        return {
            **self.asked,
            "report": str(drop / "report"),
            "scratch": str(drop / "scratch"),
            "nonce": self.nonce,
            "canary": self.canary,
            "environ": {name: self.env.get(name) for name in names},
        }


def told(hearing: Hearing, where: SuiteContext, *, exits_as_runner: bool = True) -> SuiteRun:
    """Return the run that a probe told of; canaries are no part of it."""
    heard, ended = hearing.heard, hearing.ended
    exit_codes = [max((ending.exit_code for ending in heard.endings), default=1)]
    exit_codes += [ended.exit_code] if exits_as_runner else []
    translate = translation(hearing.folder, where.project)
    results = {
        name: _translated(result, translate)
        for name, result in heard.results.items()
        if name not in heard.canaries
    }
    errors = tuple(_translated(error, translate) for error in heard.errors)
    finished = heard.finished and not ended.timed_out
    running = heard.running if heard.running not in heard.canaries else None
    return SuiteRun(
        results=results,
        errors=errors,
        exit_code=ended.exit_code,
        finished=finished,
        timed_out=ended.timed_out,
        seconds=ended.seconds,
        output=translate(printed(ended, hearing.canary)),
        tampering=tuple(dict.fromkeys(_tampering(hearing, exit_codes))),
        executed=heard.executed,
        deselected=frozenset(heard.deselected),
        hooks=frozenset(heard.hooks),
        reach=heard.reach,
        foreign=tuple(sorted(heard.foreign)),
        cut_off=None if finished else running,
    )


def printed(ended: process.Finished, canary: str = "") -> str:
    """Return the end of what was printed, without the lines that name a canary."""
    text = (ended.stdout + b"\n" * bool(ended.stdout and ended.stderr) + ended.stderr).decode(
        "utf-8", "replace"
    )
    if canary and canary in text:
        text = "".join(line for line in text.splitlines(keepends=True) if canary not in line)
    return text[-_OUTPUT:]


def translation(folder: Path, project: Path) -> Callable[[str], str]:
    """Return what turns paths of the checkout into the person's own."""
    spellings = sorted({str(folder), str(folder.absolute()), str(folder.resolve())}, key=len, reverse=True)

    def translate(text: str) -> str:
        for spelling in spellings:
            text = text.replace(spelling, str(project))
        return text

    return translate


def _translated(result: _R, translate: Callable[[str], str]) -> _R:
    return replace(result, message=translate(result.message)) if result.message else result


def _tampering(hearing: Hearing, exit_codes: Sequence[int]) -> Iterator[str]:
    """Yield what shows that somebody stands between the tests and us."""
    heard = hearing.heard
    for name in sorted(heard.canaries & heard.results.keys()):
        status = heard.results[name].status
        if status in (Status.PASSED, Status.XPASSED, Status.XFAILED):
            yield f"A test of ours that always fails was reported as {status}."
    for name, exception in heard.flipped.items():
        if name not in heard.canaries:
            yield f"{name} raised {exception}, but was reported as passed."
    broken = heard.errors or any(
        result.failed for name, result in heard.results.items() if name not in heard.canaries
    )
    if heard.finished and broken and 0 in exit_codes:
        yield "The runner exited with 0, although tests failed."
