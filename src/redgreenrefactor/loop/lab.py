"""Answers the questions of gates, by running tests on clean checkouts; what is known is not run again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Verdict, left_out
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.detection import SEED
from redgreenrefactor.ports import Results, Snapshots, Suite

Answer = TypeVar("Answer")
Key = tuple[str, Trial]
DIFFERS = "a test gave another result in a process that was kept loaded"
SEEDS = (None, SEED, SEED + 1)  # of trials that may be answered warm
SEVERAL, WORTHWHILE = 2, 1.0  # so many runs that take so many seconds are worth a checkout each
PROOF = 2  # so often slower: cores are busy, or checkouts take longer than tests
PATIENCE, TIMES = 10.0, 3  # a probe may take so many seconds, and so many times what the suite takes


class Judge(Protocol):
    """Answers the questions of gates, as the lab does."""

    def judge(self, judgement: Judgement) -> Verdict:
        """Let a gate ask until it knows enough, and return its verdict."""
        ...

    def keep_result(self, commit: str) -> str | None:
        """Keep what the suite does on a commit, if that is known; return what it is asked for with later."""
        ...


def in_turn(work: Sequence[Callable[[], SuiteRun]]) -> list[SuiteRun]:
    """Return what each of these returns, done one after the other."""
    return [each() for each in work]


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
    jobs: Callable[[], int] = lambda: 1  # how many runs that do not depend on each other are made at a time
    side_by_side: Callable[[Sequence[Callable[[], SuiteRun]]], list[SuiteRun]] = in_turn
    _known: dict[Key, SuiteRun] = field(default_factory=dict[Key, SuiteRun])
    _usual: float = 0.0  # seconds the whole suite took last
    _began: float = 0.0  # when this turn's gate did,
    _suites: float = 0.0  # and the seconds that runs of the whole suite have taken since
    _pace: float = 0.0  # seconds the last run took, of whatever
    _slower: int = 0  # how often runs side by side took longer than one after the other would have
    _compared: set[int] = field(
        default_factory=set[int]
    )  # seeds: a warm run of this turn gave what the cold one gave
    _cold: str = ""  # why the probes of this turn are started cold, where they should not have to be

    def judge(self, judgement: Inquiry[Answer]) -> Answer:
        """Let a gate ask until it knows enough, and return what it says: its verdict, mostly."""
        spent, late = 0.0, dict[str, None]()
        self._compared, self._cold = set(), ""
        self._began, self._suites = self.clock(), 0.0
        try:
            question = next(judgement)
            while True:
                if question.spare and spent >= self.probe_budget and self._key(question) not in self._known:
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
        """Return a verdict that tells what was left out, what was done in another way than usual, and how long it took."""
        told = left_out(said, late) if late else said
        facts = replace(
            told.facts,
            cold_probes=self._cold,
            judged_seconds=round(self.clock() - self._began, 3) or None,
            suite_seconds=round(self._suites, 3) or None,
        )
        return replace(told, facts=facts)

    def measure_anew(self, known: Mapping[Key, SuiteRun] | None = None) -> Mapping[Key, SuiteRun]:
        """Forget what is known, or take this instead; return what was known."""
        before, self._known = self._known, dict(known or {})
        return before

    def answer(self, trial: Trial) -> SuiteRun:
        """Return what these tests do on that tree."""
        key = self._key(trial)
        if key not in self._known and self._warms(trial):
            self._compare(trial)
        if key not in self._known:
            self._answer_together(trial)
        if key not in self._known and self._forks(trial):
            self._keep([trial], warm=True)
        if key not in self._known:
            self._keep([trial], warm=False)
        return self._known[key]

    def answer_ahead(self, trials: Iterable[Trial]) -> None:
        """Know what the next of these will say that are not known yet, as many as are run at a time, if that saves time."""
        waiting = self._waiting(trials)[: self.jobs()]
        if waiting:
            self._answer_together(replace(waiting[0], along=tuple(waiting[1:])))

    def _waiting(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials whose answers are not known yet, each question once."""
        asked = {self._key(trial): trial for trial in trials}
        return [trial for key, trial in asked.items() if key not in self._known]

    def _answer_together(self, trial: Trial) -> None:
        """Know what a trial says and those that are asked next, run side by side, where that takes less time."""
        warm = self._forks(trial)
        several = [one for one in self._waiting((trial, *trial.along)) if self._forks(one) is warm]
        jobs, expected = self.jobs(), len(several) * (self._pace if trial.tests else self._usual)
        hopeless = self._slower >= PROOF or jobs < SEVERAL or len(several) < SEVERAL
        if hopeless or expected < WORTHWHILE:
            return
        started = self.clock()
        for first in range(0, len(several), jobs):
            self._keep(several[first : first + jobs], warm=warm)
        self._slower += self.clock() - started > expected

    def _keep(self, trials: Sequence[Trial], *, warm: bool) -> None:
        """Know what these trials say, as far as they are answered."""
        for trial, run in zip(trials, self._run(trials, warm=warm), strict=True):
            if run.answered:
                self._known[self._key(trial)] = run

    def _warms(self, trial: Trial) -> bool:
        """Tell whether a trial may be answered warm: whole suites, and whatever asks for chance, are started cold."""
        other = trial.command or trial.coverage or trial.repeat or trial.keeps
        return self.warm and not self._cold and bool(trial.tests) and not other and trial.seed in SEEDS

    def _forks(self, trial: Trial) -> bool:
        """Tell whether a trial is answered by a fork: with its seed, forks of this turn say what is true."""
        return self._warms(trial) and (trial.seed or SEED) in self._compared

    def _compare(self, trial: Trial) -> None:
        """Find out, once a turn and seed, whether a fork says of the unchanged tests what the cold run has said."""
        whole, seed = self._known.get(self._key(Trial(trial.commit))), trial.seed or SEED
        if whole is None or seed in self._compared:
            return
        told: dict[Key, SuiteRun] = {}
        unchanged = replace(trial, overlay=(), along=())
        for plain in dict.fromkeys((unchanged, replace(unchanged, disguise=Guise.OPEN))):
            [run] = self._run([plain], warm=True)
            if not run.answered:
                return
            told[self._key(plain)] = run
            if same_results(run, whole):
                self._compared.add(seed)
                self._known.update(told)
                return
        self._cold = DIFFERS

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
        asked = replace(
            trial, commit="", probe=False, spare="", keeps=False, limit=None, number=0, of=0, along=()
        )
        return self.workspace.fingerprint(trial.commit), asked

    def _limit(self, trial: Trial) -> float | None:
        """Return how long a probe may take: a mutant often makes a loop endless."""
        usual = PATIENCE + TIMES * self._usual
        return min(trial.limit or usual, usual) if trial.probe else None

    def _run(self, trials: Sequence[Trial], *, warm: bool) -> list[SuiteRun]:
        """Run trials, several at the same time in a checkout each; they are told of in their order."""
        self._announce(trials[0])
        work: list[Callable[[], SuiteRun]] = []
        for lane, trial in enumerate(trials):
            folder = self.workspace.checkout(trial.commit, dict(trial.overlay), lane)
            work.append(partial(self._measured, trial, folder, warm=warm))
        runs = self.side_by_side(work) if len(work) > 1 else [work[0]()]
        for lane, (trial, run) in enumerate(zip(trials, runs, strict=True)):
            if lane:
                self._announce(trial)
            runs[lane] = self._noted(trial, run, lane)
        return runs

    def _announce(self, trial: Trial) -> None:
        self.emit(SuiteStarted(_purpose(trial), trial.asks, trial.number, trial.of))

    def _noted(self, trial: Trial, run: SuiteRun, lane: int) -> SuiteRun:
        """Return a run with what it did to its checkout, told of and remembered for the next one."""
        if not run.answered:
            self._cold, self.warm = run.cold, bool(run.cold)  # without a word: this suite is never run so
            return run
        purpose = _purpose(trial)
        if purpose == "suite":
            run = replace(run, disturbed=self.workspace.disturbed(lane))
            self._usual = run.seconds
            self._suites += run.seconds
        self._pace = run.seconds
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
            canaries=not trial.overlay,  # of what nobody has committed, only what tests do counts
        )
        return suite.run(folder, manner)


def _purpose(trial: Trial) -> str:
    beyond = trial.probe or trial.overlay or trial.tests or trial.coverage or trial.command
    return "probe" if beyond else "suite"


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


def brought_by_red(history: Iterable[Entry], past: Snapshots, path: str) -> bool:
    """Tell whether a RED of these turns has brought a file that was not the code it was planned for."""
    return any(
        change.path == path and change.before is None
        for entry in history
        if entry.handoff.phase is PhaseName.RED and entry.handoff.error is None
        if entry.handoff.current_test and past.prefix + entry.handoff.current_test.impl_file != path
        for change in past.changes(None, entry.commit)
    )
