"""What rejected nothing is handed on through its cycle, to those who come later."""

from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import Turn, accepted, rejected
from redgreenrefactor.model.goal import Plan
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.remarks import LONGEST, MOST, remarks_of
from redgreenrefactor.model.verdict import Finding, FindingType, Severity, Verdict, rule
from redgreenrefactor.model.workflow import PhaseName

OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r")


def warned(*messages: str, **facts: object) -> Verdict:
    found = [Finding(FindingType.NOT_MINIMAL, text, severity=Severity.WARNING) for text in messages]
    return rule(*found, facts=facts)


def turn(name: PhaseName) -> Turn:
    return Turn(TDD.phase(name), 1, 1, Plan(), "t")


def after(handoff: Handoff, name: PhaseName, verdict: Verdict) -> Handoff:
    return from_json(to_json(accepted(handoff, turn(name), verdict)))


def test_what_was_noticed_is_handed_on_until_the_next_plan() -> None:
    here = after(OPENING, PhaseName.PLAN, warned("left out: debug.log"))
    here = after(here, PhaseName.RED, warned())
    here = after(
        here, PhaseName.GREEN, warned("60 % is needed", mutants={"tried": 4, "missed": ["a.py:1", "a.py:2"]})
    )
    noticed = [
        "PLAN: left out: debug.log",
        "GREEN: 60 % is needed",
        "GREEN: the new test does not notice mistakes at a.py:1, a.py:2",
    ]
    assert remarks_of(here) == noticed
    again = rejected(here, turn(PhaseName.REFACTOR), rule(Finding(FindingType.TEST_FAILURE, "x")), retries=3)
    assert remarks_of(again) == noticed
    here = after(again, PhaseName.REFACTOR, warned("a doubt"))
    assert remarks_of(here) == [*noticed, "REFACTOR: a doubt"]
    assert "remarks" not in after(here, PhaseName.PLAN, warned()).extra


def test_only_so_much_is_handed_on() -> None:
    many = {"mutants": {"missed": [f"a.py:{number}" for number in range(9)]}}
    here = after(OPENING, PhaseName.RED, warned(*("x" * 5000 for _ in range(20)), **many))
    assert len(remarks_of(here)) == MOST
    assert {len(text) for text in remarks_of(here)[:-1]} == {LONGEST}
    assert remarks_of(here)[-1].endswith("a.py:0, a.py:1, a.py:2 and 6 more")


def test_what_is_no_list_of_texts_says_nothing() -> None:
    assert remarks_of(Handoff(PhaseName.RED, PhaseName.GREEN, extra={"remarks": {"a": 1}})) == []
    assert remarks_of(Handoff(PhaseName.RED, PhaseName.GREEN, extra={"remarks": ["a", 1]})) == ["a"]
    assert "remarks" not in after(OPENING, PhaseName.RED, warned(mutants=3)).extra
