"""What a pull request tells about the work behind it: rounds, results, cases, cost, and how to check all of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry, total_usage
from redgreenrefactor.model.session import dollars
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName

FEEDBACK_LIMIT = 1000  # characters of a round's feedback


@dataclass(frozen=True, slots=True)
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
    notes = [entry.handoff.extra for entry in told.history]
    coded = next((entry.handoff for entry in told.history if entry.handoff.phase is PhaseName.CODE), None)
    lines = [
        f"- Task: `{told.task_id}`, made with `rgr tdd`",
        f"- Tests, as run by the orchestrator: {_tests(coded)}",
        f"- Minimality: {_minimality(told.inner)}",
        f"- Coverage: {_coverage([*told.inner, *([coded] if coded else [])])}",
        f"- Cost: {_cost(notes)}",
    ]
    return "\n".join(lines)


def _tests(coded: Handoff | None) -> str:
    tests = _mapping(coded.extra.get("tests") if coded else None)
    if "total" in tests:
        return ", ".join(f"{tests.get(key, 0)} {key}" for key in ("passed", "failed", "skipped"))
    return "exit code 0" if tests.get("exitCode") == 0 else "not counted"


def _minimality(inner: Sequence[Handoff]) -> str:
    found = [_mapping(handoff.extra.get("minimality")) for handoff in inner]
    hunks = sum(_number(item.get("hunks")) for item in found)
    unneeded = sum(len(cast("list[Any]", item.get("unneeded") or [])) for item in found)
    if not hunks:
        return "not measured"
    needed = hunks - unneeded
    return f"{100 * needed / hunks:.0f} % ({needed:g} of {hunks:g} pieces of code are needed by a test)"


def _coverage(handoffs: Sequence[Handoff]) -> str:
    for handoff in reversed(handoffs):
        found = handoff.extra.get("coverage")
        share: Any = (
            _mapping(found).get("share", _mapping(found).get("percent")) if isinstance(found, dict) else found
        )
        if isinstance(share, int | float):
            return f"{share:g} %"
    return "not measured"


def _cost(notes: Sequence[Mapping[str, Any]]) -> str:
    usage = total_usage(notes)
    if usage is None:
        return "not told by the agents"
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    tokens = f"{read} tokens in, {usage.output_tokens} out"
    return tokens if usage.cost_usd is None else f"{dollars(usage.cost_usd)} ({tokens})"


def _rounds(history: Sequence[Entry]) -> str:
    return "\n".join(
        line
        for entry in reversed(history)
        if entry.handoff.phase is PhaseName.REVIEW and entry.handoff.carried_from is None
        for line in _round(entry.handoff)
    )


def _round(handoff: Handoff) -> Iterator[str]:
    if handoff.outcome is Outcome.FEEDBACK:
        words = " ".join(str(handoff.extra.get("feedback") or "").split())[:FEEDBACK_LIMIT]
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


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) else 0
