"""Answers the questions of gates, by running tests on clean checkouts; what is known is not run again."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar, cast

from redgreenrefactor.model.events import Emit, SuiteEnded, SuiteStarted
from redgreenrefactor.model.evidence import (
    NO_COVERAGE,
    UNANSWERED,
    Coverage,
    Judgement,
    Manner,
    Measure,
    Question,
    SuiteRun,
    Trial,
)
from redgreenrefactor.model.verdict import Verdict, left_out
from redgreenrefactor.ports import Results, Snapshots, Suite

Answer = TypeVar("Answer")
Key = tuple[str, Trial]
PATIENCE, TIMES = 10.0, 3  # a probe may take so many seconds, and so many times what the suite takes


class Judge(Protocol):
    """Answers the questions of gates, as the lab does."""

    def judge(self, judgement: Judgement) -> Verdict:
        """Let a gate ask until it knows enough, and return its verdict."""
        ...

    def keep_result(self, commit: str) -> str | None:
        """Keep what the suite does on a commit, if that is known; return what it is asked for with later."""
        ...


@dataclass
class Lab:
    """The measurements of one invocation: tests, trees, and what is already known about them."""

    workspace: Snapshots
    suite: Suite
    emit: Emit
    clock: Callable[[], float]
    probe_budget: float
    meter: Callable[[Path], Coverage] = lambda _: NO_COVERAGE  # how much of a checkout the tests reach
    results: Results | None = None  # what earlier processes have measured, and later ones may want to know
    suite_of: Callable[[str], Suite] | None = None  # what runs another command than the tests'
    _known: dict[Key, SuiteRun] = field(default_factory=dict[Key, SuiteRun])
    _usual: float = 0.0  # seconds the whole suite took last

    def judge(self, judgement: Generator[Question, SuiteRun, Answer]) -> Answer:
        """Let a gate ask until it knows enough, and return what it says: its verdict, mostly."""
        spent, late = 0.0, dict[str, None]()
        try:
            question = next(judgement)
            while True:
                if question.spare and spent >= self.probe_budget:
                    late[question.spare] = None
                    question = judgement.send(UNANSWERED)
                    continue
                started = self.clock()
                answer = self.answer(question)
                spent += self.clock() - started if question.spare else 0.0
                question = judgement.send(answer)
        except StopIteration as end:
            said: Answer = end.value
            return cast("Answer", left_out(said, late)) if late and isinstance(said, Verdict) else said

    def measure_anew(self, known: Mapping[Key, SuiteRun] | None = None) -> Mapping[Key, SuiteRun]:
        """Forget what is known, or take this instead; return what was known."""
        before, self._known = self._known, dict(known or {})
        return before

    def answer(self, trial: Trial) -> SuiteRun:
        """Return what these tests do on that tree."""
        key = self._key(trial)
        if key not in self._known:
            self._known[key] = self._run(trial)
        return self._known[key]

    def keep_result(self, commit: str) -> str | None:
        """Keep what the whole suite does on that tree, if it is known; return what a later process asks for it with."""
        fingerprint, trial = self._key(Trial(commit))
        known = self._known.get((fingerprint, trial))
        return self.results.keep(fingerprint, known) if self.results and known else None

    def recall(self, receipts: Iterable[str]) -> None:
        """Know again what earlier processes have measured, as far as it is still there and unchanged."""
        for receipt in receipts:
            found = self.results.recall(receipt) if self.results else None
            if found is not None:
                fingerprint, run = found
                self._known[fingerprint, Trial("")] = run
                self._usual = run.seconds

    def _key(self, trial: Trial) -> Key:
        """Commits whose trees differ only in the list of cases have the same results."""
        asked = replace(trial, commit="", probe=False, spare="", keeps=False, limit=None)
        return self.workspace.fingerprint(trial.commit), asked

    def _limit(self, trial: Trial) -> float | None:
        """Return how long a probe may take: a mutant often makes a loop endless."""
        usual = PATIENCE + TIMES * self._usual
        return min(trial.limit or usual, usual) if trial.probe else None

    def _run(self, trial: Trial) -> SuiteRun:
        beyond = trial.probe or trial.overlay or trial.tests or trial.coverage or trial.command
        purpose = "probe" if beyond else "suite"
        self.emit(SuiteStarted(purpose))
        run = self._measured(trial, self.workspace.checkout(trial.commit, dict(trial.overlay)))
        if purpose == "suite":
            run = replace(run, disturbed=self.workspace.disturbed())
            self._usual = run.seconds
        self.emit(
            SuiteEnded(
                purpose=purpose,
                passed=len(run.passed),
                failed=sum(result.failed for result in run.results.values()) + len(run.errors),
                total=len(run.results) + len(run.errors),
                seconds=run.seconds,
                per_test=run.measure is Measure.PER_TEST,
                exit_code=run.exit_code,
            ),
        )
        return run

    def _measured(self, trial: Trial, folder: Path) -> SuiteRun:
        """Run what the trial asks for in its folder."""
        if trial.coverage:
            started = self.clock()
            coverage = self.meter(folder)
            return SuiteRun(coverage=coverage, seconds=self.clock() - started)
        suite = self.suite_of(trial.command) if trial.command and self.suite_of else self.suite
        manner = Manner(
            trial.tests, trial.trace, trial.disguise, trial.seed, self._limit(trial), keeps=trial.keeps
        )
        return suite.run(folder, manner)
