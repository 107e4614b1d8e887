"""Answers the questions of gates, by running tests on clean checkouts; what is known is not run again."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar, cast

from redgreenrefactor.model.events import Emit, SuiteEnded, SuiteStarted
from redgreenrefactor.model.evidence import (
    NO_COVERAGE,
    UNANSWERED,
    Coverage,
    Guise,
    Inquiry,
    Judgement,
    Manner,
    Measure,
    SuiteRun,
    TestResult,
    Trial,
)
from redgreenrefactor.model.verdict import Verdict, left_out
from redgreenrefactor.mutation.detection import SEED
from redgreenrefactor.ports import Results, Snapshots, Suite

Answer = TypeVar("Answer")
Key = tuple[str, Trial]
DIFFERS = "a test gave another result in a process that was kept loaded"
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
    warm: bool = False  # whether probes may be forks of a process that has the runner loaded
    _known: dict[Key, SuiteRun] = field(default_factory=dict[Key, SuiteRun])
    _usual: float = 0.0  # seconds the whole suite took last
    _compared: bool = False  # whether a warm run of this turn has given what the cold one gave
    _cold: str = ""  # why the probes of this turn are started cold, where they should not have to be

    def judge(self, judgement: Inquiry[Answer]) -> Answer:
        """Let a gate ask until it knows enough, and return what it says: its verdict, mostly."""
        spent, late = 0.0, dict[str, None]()
        self._compared, self._cold = False, ""
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
            return cast("Answer", self._told(said, late)) if isinstance(said, Verdict) else said

    def _told(self, said: Verdict, late: Mapping[str, None]) -> Verdict:
        """Return a verdict that tells what was left out, and what was done in another way than usual."""
        told = left_out(said, late) if late else said
        return replace(told, facts=replace(told.facts, cold_probes=self._cold)) if self._cold else told

    def measure_anew(self, known: Mapping[Key, SuiteRun] | None = None) -> Mapping[Key, SuiteRun]:
        """Forget what is known, or take this instead; return what was known."""
        before, self._known = self._known, dict(known or {})
        return before

    def answer(self, trial: Trial) -> SuiteRun:
        """Return what these tests do on that tree."""
        key = self._key(trial)
        if key not in self._known and self._warms(trial):
            self._answer_warm(trial)
        if key not in self._known:
            self._known[key] = self._run(trial)
        return self._known[key]

    def _warms(self, trial: Trial) -> bool:
        """Tell whether a trial may be answered warm: whole suites, and whatever asks for chance, are started cold."""
        other = trial.command or trial.coverage or trial.repeat or trial.keeps
        return self.warm and not self._cold and bool(trial.tests) and not other and trial.seed in (None, SEED)

    def _answer_warm(self, trial: Trial) -> None:
        """Know what a fork says, if the first of this turn, of the unchanged tests, says what the cold run said."""
        plain, whole = (
            replace(trial, overlay=(), disguise=Guise.OPEN),
            self._known.get(self._key(Trial(trial.commit))),
        )
        if not self._compared and whole is not None:
            run = self._run(plain, warm=True)
            if run.answered and same_results(run, whole):
                self._compared, self._known[self._key(plain)] = True, run
            elif run.answered:
                self._cold = DIFFERS
        if self._compared and self._key(trial) not in self._known:
            run = self._run(trial, warm=True)
            if run.answered:
                self._known[self._key(trial)] = run

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
        asked = replace(trial, commit="", probe=False, spare="", keeps=False, limit=None, number=0, of=0)
        return self.workspace.fingerprint(trial.commit), asked

    def _limit(self, trial: Trial) -> float | None:
        """Return how long a probe may take: a mutant often makes a loop endless."""
        usual = PATIENCE + TIMES * self._usual
        return min(trial.limit or usual, usual) if trial.probe else None

    def _run(self, trial: Trial, *, warm: bool = False) -> SuiteRun:
        beyond = trial.probe or trial.overlay or trial.tests or trial.coverage or trial.command
        purpose = "probe" if beyond else "suite"
        self.emit(SuiteStarted(purpose, trial.asks, trial.number, trial.of))
        run = self._measured(trial, self.workspace.checkout(trial.commit, dict(trial.overlay)), warm=warm)
        if not run.answered:
            self._cold, self.warm = run.cold, bool(run.cold)  # without a word: this suite is never run so
            return run
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
                warm=run.warm,
            ),
        )
        return run

    def _measured(self, trial: Trial, folder: Path, *, warm: bool) -> SuiteRun:
        """Run what the trial asks for in its folder."""
        if trial.coverage:
            started = self.clock()
            coverage = self.meter(folder)
            return SuiteRun(coverage=coverage, seconds=self.clock() - started)
        suite = self.suite_of(trial.command) if trial.command and self.suite_of else self.suite
        manner = Manner(
            trial.tests,
            trial.trace,
            trial.disguise,
            trial.seed,
            self._limit(trial),
            keeps=trial.keeps,
            warm=warm,
        )
        return suite.run(folder, manner)


def same_results(warm: SuiteRun, cold: SuiteRun) -> bool:
    """Tell whether tests that were run alone and warm did what they had done in the whole suite."""
    alike = all(
        name in cold.results and _outcome(result) == _outcome(cold.results[name])
        for name, result in warm.results.items()
    )
    errors = {(error.file, error.exception) for error in cold.errors}
    known = all((error.file, error.exception) in errors for error in warm.errors)
    return alike and known and bool(warm.results or warm.errors) and warm.tampering == cold.tampering


def _outcome(result: TestResult) -> tuple[str, str | None, str]:
    return result.status, result.kind, result.exception
