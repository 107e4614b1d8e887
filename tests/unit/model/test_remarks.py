"""What rejected nothing is handed on through its cycle, to those who come later."""

from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import Turn, accepted, rejected
from redgreenrefactor.model.facts import Facts, MutantCounts
from redgreenrefactor.model.goal import Plan
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.planning import LONGEST_REMARK, MOST_REMARKS
from redgreenrefactor.model.values import replace
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, Severity, Verdict, rule
from redgreenrefactor.model.workflow import PhaseName

OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r")


def warned(*messages: str, missed: tuple[str, ...] = ()) -> Verdict:
    found = [Finding(FindingType.NOT_MINIMAL, text, severity=Severity.WARNING) for text in messages]
    counts = MutantCounts(9, 0, missed=missed, others=("b.py:3",) if missed else None)
    return rule(*found, facts=Facts(mutants=counts))


def turn(name: PhaseName) -> Turn:
    return Turn(TDD.phase(name), 1, 1, Plan(), "t")


def after(handoff: Handoff, name: PhaseName, verdict: Verdict) -> Handoff:
    return from_json(to_json(accepted(handoff, turn(name), verdict)))


def test_what_was_noticed_is_handed_on_until_the_next_plan() -> None:
    here = after(OPENING, PhaseName.PLAN, warned("left out: debug.log"))
    here = after(here, PhaseName.RED, replace(warned(missed=("b.py:1",)), outcome=Outcome.COVERED))
    here = after(here, PhaseName.GREEN, warned("60 % is needed", missed=("a.py:1", "a.py:2", "b.py:3")))
    noticed = (
        "PLAN: left out: debug.log",
        "GREEN: 60 % is needed",
        "GREEN: the new test does not notice mutants at a.py:1, a.py:2",
    )
    assert here.remarks == noticed
    again = rejected(here, turn(PhaseName.REFACTOR), rule(Finding(FindingType.TEST_FAILURE, "x")), retries=3)
    assert again.remarks == noticed
    here = after(again, PhaseName.REFACTOR, warned("a doubt"))
    assert here.remarks == (*noticed, "REFACTOR: a doubt")
    assert after(here, PhaseName.PLAN, warned()).remarks == ()


def test_only_so_much_is_handed_on() -> None:
    many = tuple(f"a.py:{number}" for number in range(9))
    here = after(OPENING, PhaseName.RED, warned(*("x" * 5000 for _ in range(20)), missed=many))
    assert len(here.remarks) == MOST_REMARKS
    assert {len(text) for text in here.remarks[:-1]} == {LONGEST_REMARK}
    assert here.remarks[-1].endswith("a.py:0, a.py:1, a.py:2 and 6 more")
