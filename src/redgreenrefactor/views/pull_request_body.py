"""What a pull request tells about the work behind it: rounds, results, cases, cost, and how to check all of it."""

from collections.abc import Iterator, Sequence

from redgreenrefactor.model.facts import NO_COUNTS
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry, expense_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import used

FEEDBACK_LIMIT = 1000  # characters of a round's feedback


@frozen
class PullRequestMatter:
    """What the body is made of."""

    task_id: str
    words: str  # the reviewer's own
    base: str
    branch: str
    history: Sequence[Entry]  # of the task, newest first
    inner: Sequence[Handoff] = ()  # of the runs that were its coder
    checkable: bool = True  # the handoffs are where the branch is


def body(told: PullRequestMatter) -> str:
    """Return the text of a pull request."""
    parts = [
        told.words,
        "---",
        f"### How this was made\n\n{_facts(told)}",
        f"### Reviews\n\n{_rounds(told.history)}",
    ]
    if cases := _cases(told.inner):
        parts.append(f"### Cases\n\n{cases}")
    if told.checkable:
        parts.append(_check(told))
    return "\n\n".join(part for part in parts if part.strip()) + "\n"


def _facts(told: PullRequestMatter) -> str:
    usage = expense_of(told.history).usage
    coded = next((entry.handoff for entry in told.history if entry.handoff.phase is PhaseName.CODE), None)
    lines = [
        f"- Task: `{told.task_id}`, made with `rgr tdd`",
        f"- Tests, as run by the orchestrator: {_tests(coded)}",
        f"- Minimality: {_minimality(told.inner)}",
        f"- Coverage: {_coverage([*told.inner, *([coded] if coded else [])])}",
        f"- Cost: {used(usage) if usage else 'not told by the agents'}",
    ]
    return "\n".join(lines)


def _tests(coded: Handoff | None) -> str:
    tests = coded.facts.counts if coded else NO_COUNTS
    if tests.total is not None:
        return f"{tests.passed or 0} passed, {tests.failed or 0} failed, {tests.skipped or 0} skipped"
    return "exit code 0" if tests.exit_code == 0 else "not counted"


def _minimality(inner: Sequence[Handoff]) -> str:
    found = [handoff.facts.minimality for handoff in inner if handoff.facts.minimality]
    hunks = sum(item.hunks for item in found)
    if not hunks:
        return "not measured"
    needed = hunks - sum(len(item.unneeded) for item in found)
    return f"{100 * needed / hunks:.0f} % ({needed:g} of {hunks:g} pieces of code are needed by a test)"


def _coverage(handoffs: Sequence[Handoff]) -> str:
    for handoff in reversed(handoffs):
        figure = handoff.facts.coverage
        if figure and figure.percent is not None:
            return f"{figure.percent:g} %"
    return "not measured"


def _rounds(history: Sequence[Entry]) -> str:
    return "\n".join(
        line
        for entry in reversed(history)
        if entry.handoff.phase is PhaseName.REVIEW and entry.handoff.carried_from is None
        for line in _round(entry.handoff)
    )


def _round(handoff: Handoff) -> Iterator[str]:
    if handoff.outcome is Outcome.FEEDBACK:
        words = " ".join((handoff.facts.feedback or "").split())[:FEEDBACK_LIMIT]
        yield f"{handoff.cycle_number}. feedback: {words}"
    else:
        yield f"{handoff.cycle_number}. {handoff.outcome or 'reviewed'}"


def _cases(inner: Sequence[Handoff]) -> str:
    done = dict.fromkeys(text for handoff in inner for text in handoff.completed_tests)
    return "\n".join(f"- [x] {text}" for text in done)


def _check(told: PullRequestMatter) -> str:
    return (
        "### Check it\n\n"
        "Every turn left its verdict as a note on its commit. In a clone:\n\n"
        "```sh\n"
        f"git fetch origin {told.branch} 'refs/notes/tdd-handoffs:refs/notes/tdd-handoffs'\n"
        f"git switch {told.branch}\n"
        f"rgr verify origin/{told.base}..{told.branch}\n"
        "```"
    )
