"""What the orchestrator measured itself, and the measurements a gate may still ask for."""

from collections.abc import Callable, Collection, Generator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.model.verdict import Verdict
from redgreenrefactor.model.workflow import PhaseName

TestId = str
TestKey = tuple[str, str]  # file, qualified name


class Status(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # outside the test's own body: set-up, tear-down
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


class Kind(StrEnum):
    """Why a test did not pass."""

    ASSERTION = "assertion"  # an assertion, pytest.fail, DID NOT RAISE
    MISSING = "missing-symbol"  # ImportError, AttributeError, NameError
    NOT_IMPLEMENTED = "not-implemented"
    SYNTAX = "syntax"
    UNWRITTEN = "unwritten"  # a file outside the project is not there
    EXCEPTION = "exception"
    SETUP = "setup"
    EXIT = "exit"


@frozen
class Place:
    """A line of a file, relative to the project where it lies inside."""

    file: str
    line: int
    function: str = ""


@frozen
class Missing:
    """The name that an import, a look-up or an attribute access did not find."""

    name: str | None  # the module, or the name
    owner: str | None = None  # the module or type it was looked for in


@frozen
class Hook:
    """What a file of the project provides and was in force: a way into the runner, or something that serves a test."""

    name: str  # of a hook; of a test's: `fixture NAME`, `set-up NAME`, `decorators`, or a name in its text
    code: str  # the same for the same code, wherever it stands
    file: str = field(compare=False)
    line: int = field(compare=False)


@frozen
class TestResult:
    """One test's result, worst report first: a test with any failed part has failed."""

    __test__ = False  # not for pytest

    id: TestId
    status: Status
    file: str = ""
    function: str = ""  # qualified name of what was defined, e.g. TestAdd.test_zero
    line: int = 0  # where it is defined
    defined_in: str = ""  # another file, for a test inherited from a base class elsewhere
    kind: Kind | None = None
    exception: str = ""
    message: str = ""
    frames: tuple[Place, ...] = ()  # the traceback, outermost first
    missing: Missing | None = None
    seconds: float = 0.0
    around: frozenset[Hook] = frozenset()  # fixtures, set-ups, helpers, whatever it names
    given: str = ""  # a digest of its parameter set, where the runner may know that by its number alone

    @property
    def passed(self) -> bool:
        """Whether it counts as green."""
        return self.status is Status.PASSED

    @property
    def failed(self) -> bool:
        """Whether it ran and did not hold."""
        return self.status in (Status.FAILED, Status.ERROR)

    @property
    def silenced(self) -> bool:
        """Whether it was kept from holding or not: skipped, or expected to fail."""
        return not self.passed and not self.failed

    @property
    def key(self) -> TestKey:
        """What all its parameter sets share."""
        return self.file, self.function

    @property
    def origin(self) -> TestKey:
        """The definition all parameter sets and inheriting classes of one test share."""
        return (self.defined_in, self.function.rpartition(".")[2]) if self.defined_in else self.key


@frozen
class CollectError:
    """A file whose tests could not be collected."""

    file: str
    message: str
    exception: str = ""
    place: Place | None = None
    missing: Missing | None = None

    @property
    def line(self) -> int | None:
        """The line of the file itself where that ends; None where it ends in what the file imports."""
        return self.place.line if self.place and self.place.file == self.file else None


@frozen
class Replacement:
    """Something of the runner, the language or another file that was not what it had been when the tests were over."""

    owner: str  # a module or class by its dotted name, a file of the project by its path
    name: str
    file: str = field(compare=False)  # where it was written, if that is in the project
    line: int = field(compare=False)


@frozen
class Lookup:
    """A question about its surroundings that a line of the project asked while tests ran."""

    what: str  # modules, environment, arguments, frames, process
    file: str
    line: int


@frozen
class Reach:
    """What the tests' process used of the project and of the machine."""

    files: frozenset[str] = frozenset()  # of the project, loaded or opened
    opened: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])  # file → by whom
    imported: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    missed: frozenset[str] = frozenset()  # modules that it asked for and did not get
    programs: int = 0  # that it started
    lookups: frozenset[Lookup] = frozenset()
    hiding: Mapping[str, str] = field(default_factory=dict[str, str])  # installed module → file instead
    replaced: frozenset[Replacement] = frozenset()


NO_REACH = Reach()


class Measure(StrEnum):
    """How much a suite run tells."""

    PER_TEST = "per-test"
    EXIT_CODE = "exit-code"


@frozen
class Coverage:
    """How much of the code the tests reach, as the project's own coverage tool says."""

    tool: str = ""  # none: nothing was measured
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])  # reached, all
    why: str = ""  # nothing was measured

    def percent(self, files: Collection[str] = ()) -> float | None:
        """Return how much of these files was reached, of everything where none of them was measured."""
        counted = [self.files[name] for name in files if name in self.files] or list(self.files.values())
        reached, every = (sum(pair[side] for pair in counted) for side in (0, 1))
        return round(100 * reached / every, 1) if every else None


NO_COVERAGE = Coverage(why="coverage was not measured")


@frozen
class SuiteRun:
    """One run of the project's tests with an id, a status and a kind for every test."""

    results: Mapping[TestId, TestResult] = field(default_factory=dict[TestId, TestResult])
    errors: tuple[CollectError, ...] = ()
    exit_code: int = 0
    finished: bool = True  # the runner came to its end and said so
    timed_out: bool = False
    answered: bool = True  # False: it may be left out, and the budget for probes was used up first
    measure: Measure = Measure.PER_TEST
    seconds: float = 0.0
    output: str = ""  # the end of what it printed
    tampering: tuple[str, ...] = ()  # signs that the runner itself was interfered with
    disturbed: tuple[str, ...] = ()  # files of the commit that were changed on disk while the tests ran
    executed: Mapping[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    deselected: frozenset[TestId] = frozenset()  # collected, but kept from running by the project's settings
    hooks: frozenset[Hook] = frozenset()
    reach: Reach = NO_REACH
    foreign: tuple[str, ...] = ()  # files of the project that were loaded from outside the checkout
    cut_off: TestId | None = None  # the test that was running when the run died or its time was up
    coverage: Coverage = NO_COVERAGE
    warm: bool = False  # by a fork of a process that has the runner loaded
    cold: str = ""  # why it could not be, where it was to be

    @cached_property
    def ids(self) -> frozenset[TestId]:
        """Every test that was collected."""
        return frozenset(self.results)

    @cached_property
    def passed(self) -> frozenset[TestId]:
        """The tests that passed."""
        return frozenset(name for name, result in self.results.items() if result.passed)

    @cached_property
    def files(self) -> frozenset[str]:
        """The files that its tests stand in."""
        return frozenset(result.file for result in self.results.values())

    @cached_property
    def uncollected(self) -> frozenset[str]:
        """The files that could not be collected."""
        return frozenset(error.file for error in self.errors)

    @property
    def green(self) -> bool:
        """Whether a person would call this run green."""
        if self.measure is Measure.EXIT_CODE:
            return self.finished and self.exit_code == 0
        return self.finished and not self.errors and not any(r.failed for r in self.results.values())


UNANSWERED = SuiteRun(finished=False, answered=False)


class Guise(StrEnum):
    """What the project's code sees of the runner."""

    OPEN = ""
    HIDDEN = "hidden"  # nothing: no frame, name, module or variable
    APART = "apart"  # everything, run in the way that hides it: what fails here fails because of the way
    IN_PLACE = "in place"  # the runner's frames alone
    AS_SAID = "as said"  # nothing, unless texts of the tests say their names: they may be data


@frozen
class Manner:
    """How tests are run."""

    tests: tuple[TestId, ...] = ()  # none: the whole suite
    trace: bool = False
    disguise: Guise = Guise.OPEN
    seed: int | None = None
    limit: float | None = None  # in seconds, where the usual one is too generous
    keeps: bool = False
    warm: bool = False  # by a fork of a process that has the runner loaded, or not at all
    canaries: bool = True  # with tests of ours that must fail, to see whether the runner tells the truth


ALL = Manner()


@frozen
class Trial:
    """A question: run these tests, on this commit's tree, with these files replaced."""

    commit: str
    overlay: tuple[tuple[str, str | None], ...] = ()  # path → new text, None takes the file away
    tests: tuple[TestId, ...] = ()  # none: the whole suite
    trace: bool = False  # also say which lines were executed
    disguise: Guise = Guise.OPEN
    seed: int | None = None  # for whatever happens at random: hashes, random, numpy, hypothesis
    limit: float | None = None  # in seconds, where these tests are known to take less than probes may
    probe: bool = False  # beyond the suite runs a turn needs, and done in a few times what the suite takes
    spare: str = ""  # what it is for, if that may be left out once probe.budget is used up
    repeat: int = 0  # a different number asks for a measurement of its own
    coverage: bool = False  # nothing but how much of the code the tests reach
    command: str = ""  # this command instead of the tests
    keeps: bool = False  # what is compiled may serve later runs: no session has written any of it
    number: int = 0  # which it is of the questions that are asked in a row,
    of: int = 0  # and how many of them there are, where the rule that asks them knows
    along: tuple["Trial", ...] = ()  # will be asked next, whatever this one says: may run at the same time

    @property
    def asks(self) -> str:
        """What it is to find out, in words for people; nothing for a plain run of the whole suite."""
        words = (
            (self.coverage, "how much of the change do the tests run?"),
            (self.command, "does the criterion hold?"),
            (self.spare, self.spare),
            (self.disguise is not Guise.OPEN, "is it the same if the code sees no tests?"),
            (self.overlay and self.probe, "do the tests notice wrong code?"),
            (self.overlay, "do the tests from before still pass?"),
            (self.trace, "which code do the tests run?"),
            (self.repeat or self.seed is not None, "does the test say the same again?"),
            (self.tests, "does the test say the same when it runs alone?"),
        )
        return next((question for asked, question in words if asked), "")


Found = TypeVar("Found")
Inquiry = Generator[Trial, SuiteRun, Found]  # asks for runs of the tests, and comes to something
Judgement = Inquiry[Verdict]


@frozen
class File:
    """A file's mode and content on one side of a change; large and binary ones have no text."""

    mode: str
    oid: str
    text: str | None = None


@frozen
class Change:
    """What happened to one path between two commits; the path is relative to the repository."""

    path: str
    before: File | None
    after: File | None

    @property
    def old_text(self) -> str | None:
        """What it held before."""
        return self.before.text if self.before else None

    @property
    def new_text(self) -> str | None:
        """What it holds now."""
        return self.after.text if self.after else None


@frozen
class Rules:
    """The settings a gate judges by."""

    red_on_pass: str = "cover"  # noqa: S105
    legacy_on_break: str = "block"
    legacy_tests: str = "keep"
    minimality_min: float | None = None
    coverage_min: float | None = None
    retries: int = 3


DEFAULT_RULES, NO_PLAN = Rules(), Plan()


@frozen
class Evidence:
    """What *we* measured about a turn; suite runs are asked for."""

    phase: PhaseName
    case: Case | None
    base: str  # the commit the phase began from
    head: str  # the sealed commit
    opening: str  # the commit the run began from: its tests are the legacy
    changes: tuple[Change, ...]
    report: Report
    handoff: Handoff
    ours: frozenset[TestId] = frozenset()  # tests that earlier runs of ours have written
    earlier: tuple[Change, ...] = ()  # of the turn before, where this one has to know what it wrote
    roles: Mapping[str, bool] = field(default_factory=dict[str, bool])  # misleading files: the tests'?
    plan_before: Plan = NO_PLAN
    plan_after: Plan = NO_PLAN
    rewritten: tuple[str, ...] = ()  # what was done to history and refs
    pushed: tuple[str, ...] = ()  # what has reached a remote
    prefix: str = ""  # the project's folder inside the repository, with a slash, or nothing
    command: str = ""  # the test command
    rules: Rules = DEFAULT_RULES
    read: Callable[[str, str], str | None] = lambda _commit, _path: None  # of a commit: it never changes
    brought: Callable[[str], bool] = lambda _path: False  # by a RED of this run, beside its planned code

    @property
    def test_file(self) -> str:
        """The file that is planned for the test; nothing where no case is worked on."""
        return self.case.test_file if self.case else ""

    @property
    def impl_file(self) -> str:
        """The file that is planned for the code; nothing where no case is worked on."""
        return self.case.impl_file if self.case else ""

    def text(self, file: str, commit: str = "") -> str | None:
        """Return what a file, as the project names it, holds now, or at another commit."""
        return self.read(commit or self.head, f"{self.prefix}{file}")
