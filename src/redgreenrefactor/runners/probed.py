"""A suite with a probe inside its runner: a result for every test."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from redgreenrefactor.model.evidence import (
    ALL,
    CollectError,
    Manner,
    Measure,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.runners.report import Heard, read
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.sandbox import process

PROBES = Path(__file__).with_name("probes")
_OUTPUT = 8000  # characters of what was printed that are kept

_R = TypeVar("_R", TestResult, CollectError)
_Variables = Callable[[Mapping[str, str]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ProbeInsertion:
    """How a probe gets into a command."""

    line: str  # what the shell is given
    variables: _Variables  # what is added to the environment, and taken out again by the probe
    current_folder_first: bool = False  # where imports are looked for


@dataclass(frozen=True, slots=True)
class Hearing:
    """How a probed command ended, and what its probe had to say."""

    ended: process.Finished
    heard: Heard
    folder: Path
    canary: str


@dataclass(frozen=True, slots=True)
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
        """Run the tests, or just these, in a checkout of the project; never raises for what tests do."""
        return told(listen(self.where, self.probing, folder, manner), self.where)


def listen(where: SuiteContext, probing: ProbeInsertion, folder: Path, manner: Manner) -> Hearing:
    """Run a command with its probe and return what came of it."""
    env = where.prepared(folder, keeps=manner.keeps)
    if manner.seed is not None:
        env = {**env, "PYTHONHASHSEED": str(manner.seed)}
    added = probing.variables(env)
    nonce, canary = secrets.token_hex(16), secrets.token_hex(8)
    with where.drop() as drop, (drop / "report").open("x+b") as report:
        order = {
            "report": str(drop / "report"),
            "scratch": str(drop / "scratch"),
            "nonce": nonce,
            "canary": canary,
            "folder": str(folder.absolute()),
            "homes": [str(home.absolute()) for home in where.homes],
            "tests": list(manner.tests),
            "trace": manner.trace,
            "disguise": manner.disguise,
            "seed": manner.seed,
            "environ": {name: env.get(name) for name in added},
            "current_folder_first": probing.current_folder_first,
        }
        (drop / "order").write_text(json.dumps(order), encoding="utf-8")
        around = {**env, **added, "RGR_PROBE": str(drop / "order")}
        ended = where.run(probing.line, folder, manner, env=around, drop=drop)
        # What we have opened is what is read, whatever has been put in its place.
        return Hearing(ended, read(report, nonce), folder, canary)


def told(hearing: Hearing, where: SuiteContext, *, exits_as_runner: bool = True) -> SuiteRun:
    """Return the run that a probe told of; canaries are no part of it."""
    heard, ended = hearing.heard, hearing.ended
    exit_codes = [max((ending.exit_code for ending in heard.endings), default=1)]
    exit_codes += [ended.exit_code] if exits_as_runner else []
    translate = _translation(hearing.folder, where.project)
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


def _translation(folder: Path, project: Path) -> Callable[[str], str]:
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
