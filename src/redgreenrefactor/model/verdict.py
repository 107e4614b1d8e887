"""What a gate says about a turn."""

from collections.abc import Iterable
from enum import StrEnum

from redgreenrefactor.model.facts import LATE, NO_FACTS, Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.values import frozen, replace


class FindingType(StrEnum):
    """Everything that can be wrong with a turn, the gravest first."""

    HISTORY_REWRITTEN = "HistoryRewritten"
    TEST_TAMPERING = "TestTampering"
    SCOPE_VIOLATION = "ScopeViolation"
    MALFORMED_HANDOFF = "MalformedHandoff"
    NOTHING_DONE = "NothingDone"
    COMPILATION_ERROR = "CompilationError"
    NO_TEST_ADDED = "NoTestAdded"
    TOO_FEW_TESTS = "TooFewTests"
    TOO_MANY_TESTS = "TooManyTests"
    UNEXPECTED_PASS = "UnexpectedPass"  # noqa: S105
    WRONG_FAILURE = "WrongFailure"
    MEANINGLESS_TEST = "MeaninglessTest"
    TEST_FAILURE = "TestFailure"
    LEGACY_BROKEN = "LegacyBroken"
    FLAKY_TEST = "FlakyTest"
    COVERAGE_TOO_LOW = "CoverageTooLow"
    NOT_MINIMAL = "NotMinimal"
    TIMEOUT = "Timeout"
    AGENT_FAILURE = "AgentFailure"
    RATE_LIMITED = "RateLimited"
    NETWORK_ERROR = "NetworkError"
    MODEL_UNAVAILABLE = "ModelUnavailable"
    BUDGET_EXCEEDED = "BudgetExceeded"
    UNDECIDED = "Undecided"


GRAVITY = {kind: rank for rank, kind in enumerate(FindingType)}


STOPPING = frozenset(
    {
        FindingType.RATE_LIMITED,
        FindingType.NETWORK_ERROR,
        FindingType.MODEL_UNAVAILABLE,
        FindingType.BUDGET_EXCEEDED,
        FindingType.UNDECIDED,
    }
)
"""What ends an invocation at once: another attempt would not be any better, and this one is not counted."""


NOT_READY = frozenset({FindingType.UNDECIDED, FindingType.MODEL_UNAVAILABLE})
"""Of those, what has to be mended around us before anything can go on; the others only take time or money."""


class Severity(StrEnum):
    """An error rejects; a warning is only recorded and shown."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Finding:
    """One thing that is wrong: what, where, and what to do instead."""

    type: FindingType
    message: str
    file: str | None = None
    line: int | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR


class Ruling(StrEnum):
    """The three values of a verdict."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


class TestOutcome(StrEnum):
    """What the orchestrator measured, as the note says it."""

    __test__ = False  # not for pytest

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"


class Outcome(StrEnum):
    """How an accepted phase differs from the ordinary one."""

    COVERED = "covered"
    WARNED = "warned"
    APPROVED = "approved"
    FEEDBACK = "feedback"


@frozen
class Verdict:
    """A ruling with its reasons, and what was learned on the way."""

    ruling: Ruling
    findings: tuple[Finding, ...] = ()
    test_result: TestOutcome | None = None
    outcome: Outcome | None = None
    case: Case | None = None
    facts: Facts = NO_FACTS
    final: bool = False  # rejected for good: no retry could mend it
    upcoming: tuple[Case, ...] = ()  # cases that come after it, as far as they are planned

    @property
    def gravest(self) -> Finding | None:
        """The finding that decides, the first of its rank."""
        errors = [finding for finding in self.findings if finding.severity is Severity.ERROR]
        return min(errors, key=lambda finding: GRAVITY[finding.type], default=None)


def left_out(verdict: Verdict, names: Iterable[str]) -> Verdict:
    """Return a verdict that tells, in its note and as a warning, what there was no time to measure."""
    late = tuple(f"{name}{LATE}" for name in names)
    facts = replace(verdict.facts, unmeasured=(*verdict.facts.unmeasured, *late))
    warnings = (
        Finding(
            FindingType.UNDECIDED,
            f"not measured: {name}",
            hint="The next turn does it; a larger probe.budget lets this one.",
            severity=Severity.WARNING,
        )
        for name in late
    )
    return replace(verdict, findings=(*verdict.findings, *warnings), facts=facts)


def rule(
    *findings: Finding,
    test_result: TestOutcome | None = None,
    outcome: Outcome | None = None,
    case: Case | None = None,
    upcoming: tuple[Case, ...] = (),
    facts: Facts = NO_FACTS,
) -> Verdict:
    """Return the verdict these findings lead to: errors reject, what is not the work's doing leaves it undecided."""
    errors = {finding.type for finding in findings if finding.severity is Severity.ERROR}
    if errors - STOPPING:
        ruling = Ruling.REJECTED
    elif errors:
        ruling = Ruling.UNDECIDED
    else:
        ruling = Ruling.ACCEPTED
    return Verdict(ruling, findings, test_result, outcome, case, facts, upcoming=upcoming)
