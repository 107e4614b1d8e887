"""When the next cycle can be opened without asking anybody, and what a cycle leaves to those who plan."""

import json

from redgreenrefactor.errors import some_of
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.goal import Case, Plan, comparable, ticked
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.verdict import Outcome, Severity, Verdict
from redgreenrefactor.model.workflow import PhaseName

OURSELVES = "rgr"  # who is said to have planned where no session was asked
LONGEST_REASON = 500  # characters of what a session asks PLAN for
MOST_REMARKS, LONGEST_REMARK = 8, 400  # that are handed on, the newest; characters of one
MOST_MISSED = 3  # mutants that a remark names


def next_case(handoff: Handoff) -> Case | None:
    """Return the case of a cycle that nobody has to plan: the latest PLAN has named its files, and all went smoothly."""
    smooth = handoff.error is None and not handoff.replan
    if handoff.next_phase is not PhaseName.PLAN or handoff.phase is PhaseName.PLAN or not smooth:
        return None
    first = comparable(handoff.pending_tests[0]) if handoff.pending_tests else None
    return next((case for case in handoff.upcoming if comparable(case.description) == first), None)


def opened(text: str, plan: Plan, handoff: Handoff, case: Case) -> str | None:
    """Return the list with the finished case ticked, None where the next open box would not be the planned case."""
    done = comparable(handoff.current_test.description) if handoff.current_test else None
    item = next((each for each in plan.open if each.key == done), None)
    rest = [each for each in plan.open if each is not item]
    if item is None or not rest or rest[0].key != comparable(case.description) or "\ufffd" in text:
        return None  # a person has changed the list since, or it is no UTF-8 and could not be written back
    return ticked(text, item)


def answer(case: Case, upcoming: tuple[Case, ...]) -> str:
    """Return what PLAN answers that names these cases."""
    later = tuple(each for each in upcoming if comparable(each.description) != comparable(case.description))
    return json.dumps({"currentTest": written(case), "upcoming": written(later)}, ensure_ascii=False)


def reason_to_plan(
    handoff: Handoff, phase: PhaseName, attempt: int, asked: str, verdict: Verdict
) -> str | None:
    """Return why the list has to be looked at after this turn, or one before it in its cycle; None where it has not."""
    if phase is PhaseName.PLAN:
        return None
    warned = any(finding.severity is Severity.WARNING for finding in verdict.findings)
    found = (
        f"{phase} asks for it: {asked[:LONGEST_REASON]}" if asked else "",
        f"{phase} needed a retry" if attempt > 1 else "",
        f"{phase} left a warning" if warned else "",
    )
    return handoff.replan or next(filter(None, found), None)


def remarks_after(handoff: Handoff, phase: PhaseName, verdict: Verdict) -> tuple[str, ...]:
    """Return what was noticed in the cycle and rejected nothing, for the sessions that come later."""
    opens = phase in (PhaseName.PLAN, PhaseName.CODE)  # what was noticed before belongs to another cycle
    earlier = () if opens else handoff.remarks
    warnings = [finding.message for finding in verdict.findings if finding.severity is Severity.WARNING]
    new = [f"{phase}: {text}"[:LONGEST_REMARK] for text in (*warnings, *_missed(verdict))]
    return (*earlier, *new)[-MOST_REMARKS:]


def _missed(verdict: Verdict) -> list[str]:
    covers = verdict.outcome is Outcome.COVERED  # its mutants are of code from before
    found = None if covers else verdict.facts.mutants
    missed = [place for place in found.missed or () if place not in (found.others or ())] if found else []
    return [f"the new test does not notice mutants at {some_of(missed, MOST_MISSED)}"] if missed else []
