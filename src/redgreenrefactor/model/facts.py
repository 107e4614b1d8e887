"""What a gate learns about a turn, as its note says it; the keys stand beside those of the handoff."""

from redgreenrefactor.model.codec import Sparse
from redgreenrefactor.model.values import frozen


@frozen
class Counts(Sparse):
    """What a run of the suite came to; where only an exit code is known, that."""

    exit_code: int | None = None
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    total: int | None = None
    seconds: float | None = None


LATE = " (probe.budget was used up)"
MISTAKES = "how many mistakes in the new code the new test notices"
NEEDED = "how much of the change the new test needs"
TOUCHED = "whether further tests that were touched are still run"
QUESTIONS = {  # what may stay unmeasured, as it is asked
    MISTAKES: "does the test notice mistakes in the code?",
    NEEDED: "does the test need all of the change?",
    TOUCHED: "are tests that were touched still run?",
}
NO_COUNTS = Counts()


@frozen
class MutantCounts(Sparse):
    """How many mutants of the code the new test notices, and the places of some."""

    tried: int
    noticed: int
    examples: tuple[str, ...] | None = None  # that were noticed
    missed: tuple[str, ...] | None = None  # by the new test
    others: tuple[str, ...] | None = None  # of those: noticed by other tests


@frozen
class Minimality:
    """How much of a change the new test needs."""

    share: int  # per cent
    hunks: int
    unneeded: tuple[str, ...]  # places


@frozen
class CoverageFigure(Sparse):
    """How much of the changed code the tests reach, per cent; why that is not known, if it is not."""

    percent: float | None
    wanted: float
    tool: str = ""
    why: str = ""


@frozen
class Complexity(Sparse):
    """How many ways lead through the code that REFACTOR changed; why that is not known, if it is not."""

    before: int | None = None
    after: int | None = None
    why: str = ""


@frozen
class Facts(Sparse):
    """What was learned; nothing that was not looked at, and nothing that it does not say."""

    evidence: str = ""  # per-test or exit-code
    unmeasured: tuple[str, ...] = ()  # what could not be measured, or was left out for want of time
    cold_probes: str = ""  # why each probe had to be a process of its own
    judged_seconds: float | None = None  # that the gate took, its runs of tests included,
    suite_seconds: float | None = None  # and of these the runs of the whole suite
    expected: int | None = None  # tests that a task's Red had to write
    test_files: tuple[str, ...] | None = None  # that a task's Red has written
    suite: Counts | None = None
    failure: str | None = None  # how the new test failed
    tests: tuple[str, ...] | Counts | None = None  # ids of the new tests; after CODE, what the suite came to
    written: int | None = None  # tests that a task's Red has defined
    mutants: MutantCounts | None = None
    wrong_expectation: str = ""  # what the new test did when it was made to expect something else
    minimality: Minimality | None = None
    mended: tuple[str, ...] = ()  # tests that failed before the run
    coverage: CoverageFigure | None = None
    refactored: tuple[str, ...] | None = None  # paths
    complexity: Complexity | None = None
    output: str | None = None  # the end of what rejected tests printed
    unmet: tuple[str, ...] = ()  # criteria of a task
    dropped: tuple[str, ...] = ()  # open items of the list that PLAN gave up
    message: str | None = None  # the session's last
    verdict: str = ""  # approve or feedback
    title: str | None = None
    body: str | None = None
    feedback: str | None = None

    @property
    def owes(self) -> bool:
        """Whether something was left out for want of time, and is for the next turn to measure."""
        return any(name.endswith(LATE) for name in self.unmeasured)

    @property
    def new_tests(self) -> tuple[str, ...]:
        """The ids of the tests that were written."""
        return self.tests if isinstance(self.tests, tuple) else ()

    @property
    def counts(self) -> Counts:
        """What the suite came to after CODE."""
        return self.tests if isinstance(self.tests, Counts) else NO_COUNTS


NO_FACTS = Facts()
NOTICED = "failed as it should"  # with a wrong expectation
