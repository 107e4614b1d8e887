"""A run as its notes tell it: two cases, one covered, a rejected attempt at each; as values, and in a real repository."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.facts import CoverageFigure, Facts, Minimality, MutantCounts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, UncommittedAttempt
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from repos import Repo

RUN = "20260111-103000-e7c1"
ONE, TWO = (
    Case("1 is I", "test_roman.py", "roman.py"),
    Case("1994 is <b>MCMXCIV</b>", "test_roman.py", "roman.py"),
)
FEATURE = "# Roman numerals\n\n1 is I & so on\n"
WHY = "test_roman.py was edited in GREEN"
USAGE = Usage(10, 20, 300, 0, 0.05)

OPENING = Handoff(
    PhaseName.PLAN, PhaseName.PLAN, RUN, FEATURE, timestamp="2026-01-11T10:30:00Z", pending_tests=()
)
PLAN_1 = replace(
    OPENING,
    next_phase=PhaseName.RED,
    cycle_number=1,
    current_test=ONE,
    pending_tests=(TWO.description,),
    timestamp="2026-01-11T10:31:00Z",
    agent="api",
    attempts=1,
    usage=USAGE,
    seconds=4.0,
)
RED_1 = replace(
    PLAN_1,
    phase=PhaseName.RED,
    next_phase=PhaseName.GREEN,
    test_result=TestOutcome.FAIL,
    timestamp="2026-01-11T10:32:00Z",
    facts=Facts(tests=("test_roman.py::test_one",), failure="assert None == 'I'"),
)
DETAILS = ErrorDetails("TestTampering", WHY)
REJECTED = replace(
    RED_1,
    phase=PhaseName.GREEN,
    error=WHY,
    error_details=DETAILS,
    test_result=None,
    timestamp="2026-01-11T10:33:00Z",
    findings=(Finding(FindingType.TEST_TAMPERING, WHY, "test_roman.py", 3, "Leave tests alone."),),
    facts=Facts(),
)
GREEN_1 = replace(
    RED_1,
    phase=PhaseName.GREEN,
    next_phase=PhaseName.REFACTOR,
    test_result=TestOutcome.PASS,
    timestamp="2026-01-11T10:34:00Z",
    retries=1,
    attempts=2,
    findings=(Finding(FindingType.NOT_MINIMAL, "more than needed", severity=Severity.WARNING),),
    facts=Facts(
        minimality=Minimality(80, 5, ("roman.py:4",)),
        mutants=MutantCounts(4, 3, missed=("roman.py:2",)),
        coverage=CoverageFigure(92.5, 90.0, "coverage.py"),
        judged_seconds=3.0,
        suite_seconds=1.0,
    ),
)
REFACTOR_1 = replace(
    GREEN_1,
    phase=PhaseName.REFACTOR,
    next_phase=PhaseName.PLAN,
    completed_tests=(ONE.description,),
    timestamp="2026-01-11T10:35:00Z",
    attempts=1,
    findings=(),
    facts=Facts(),
)
PLAN_2 = replace(
    PLAN_1,
    cycle_number=2,
    current_test=TWO,
    completed_tests=(ONE.description,),
    pending_tests=(),
    timestamp="2026-01-11T10:36:00Z",
    uncommitted=(
        UncommittedAttempt(PhaseName.RED, 2, 1, "NothingDone", "RED changed nothing", "2026-01-11T10:37:00Z"),
    ),
)
RED_2 = replace(
    PLAN_2,
    phase=PhaseName.RED,
    next_phase=PhaseName.PLAN,
    outcome=Outcome.COVERED,
    test_result=TestOutcome.PASS,
    completed_tests=(ONE.description, TWO.description),
    timestamp="2026-01-11T10:38:00Z",
    attempts=2,
    uncommitted=(),
    facts=Facts(mutants=MutantCounts(2, 1)),
)
LAST = replace(
    RED_2,
    phase=PhaseName.PLAN,
    next_phase=PhaseName.COMPLETE,
    state=State.COMPLETE,
    cycle_number=3,
    current_test=None,
    outcome=None,
    test_result=None,
    timestamp="2026-01-11T10:39:00Z",
    attempts=1,
    facts=Facts(),
)
NOTHING_DONE = replace(
    PLAN_2,
    phase=PhaseName.RED,
    next_phase=PhaseName.RED,
    error="RED changed nothing",
    error_details=ErrorDetails("NothingDone", "RED changed nothing"),
    uncommitted=(),
)
TURNS = (PLAN_1, RED_1, GREEN_1, REFACTOR_1, PLAN_2, RED_2, LAST)


def entries() -> list[Entry]:
    """Return the whole run, newest first, its attempts among its handoffs."""
    told = [OPENING, PLAN_1, RED_1, REJECTED, GREEN_1, REFACTOR_1, PLAN_2, NOTHING_DONE, RED_2, LAST]
    commits = ["" if note is NOTHING_DONE else f"{number:040x}" for number, note in enumerate(told, 1)]
    return [Entry(*both) for both in reversed(list(zip(commits, told, strict=True)))]


def record(repo: Repo, turns: Sequence[Handoff] = TURNS, opening: Handoff = OPENING) -> list[str]:
    """Put the run into a repository: a commit a turn with its note, the rejected attempt beside; return the commits."""
    commits = [repo.head() if repo.git("rev-list", "--all", "-n1") else repo.commit("chore: start")]
    for number, turn in enumerate(turns, 1):
        if turn.phase is PhaseName.GREEN and turn.retries:
            attempt = repo.commit("feat: by force", {"test_roman.py": "assert True\n"})
            repo.git("update-ref", f"refs/tdd/attempts/{turn.run_id}/1-GREEN-1", attempt)
            repo.git("reset", "-q", "--hard", commits[-1])
            _note(repo, {attempt: replace(REJECTED, run_id=turn.run_id)})
        file = "test_roman.py" if turn.phase is PhaseName.RED else "roman.py"
        commits.append(repo.commit(f"turn {number}: {turn.phase}", {file: f"LINE = '<{number}>'\n" * number}))
    _note(repo, dict(zip(commits, (opening, *turns), strict=True)))
    return commits


def _note(repo: Repo, notes: dict[str, Handoff]) -> None:
    with closing(open_repository(repo.path, repo.env)) as repository:
        GitLedger(repository).write(notes)
