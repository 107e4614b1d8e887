from dataclasses import replace

from redgreenrefactor.model.handoff import Handoff, State
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.run_report import Patch, RunReport, report_object, run_report
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName
from told_runs import GREEN_1, LAST, OPENING, PLAN_1, RED_1, REFACTOR_1, REJECTED, RUN, entries


def reported(*handoffs: Handoff, at_work: bool = False) -> RunReport:
    """Return the report of handoffs in the order they were written."""
    found = run_report([Entry("c0ffee", note) for note in reversed(handoffs)], {}, at_work=at_work)
    assert found is not None
    return found


def test_a_run_is_told_cycle_by_cycle_in_the_order_it_happened() -> None:
    report = run_report(entries(), {f"{2:040x}": Patch("plan: a list", "diff --git a/x b/x")})

    assert report is not None
    assert [cycle.outcome for cycle in report.cycles] == ["done", "covered", "closed"]
    assert [turn.name for turn in report.turns] == [
        "1-PLAN-1", "1-RED-1", "1-GREEN-1", "1-GREEN-2", "1-REFACTOR-1", "2-PLAN-1", "2-RED-1", "2-RED-2", "3-PLAN-1",
    ]  # fmt: skip
    assert [turn.accepted for turn in report.cycles[0].turns] == [True, True, False, True, True]
    assert report.turns[0].patch.subject == "plan: a list"
    assert report.turns[1].patch == Patch()
    assert (report.status, report.began, report.whole, report.cases_open) == (
        "complete",
        OPENING.timestamp,
        True,
        0,
    )


def test_where_there_is_no_handoff_nothing_is_told() -> None:
    assert run_report([], {}) is None


def test_a_run_says_how_it_stands() -> None:
    stopped, aborted = (replace(RED_1, state=state) for state in (State.STOPPED, State.ABORTED))

    assert reported(OPENING, RED_1).status == "cut off"
    assert reported(OPENING, RED_1, at_work=True).status == "running"
    assert reported(OPENING, stopped).status == "stopped"
    assert reported(OPENING, aborted).status == "failed"
    assert reported(OPENING, RED_1).cases_open == 2
    assert reported(OPENING, REFACTOR_1).cases_open == 1


def test_a_cycle_that_was_given_up_differs_from_one_in_work() -> None:
    aborted = replace(RED_1, state=State.ABORTED, error="no", attempts=3, retries=1)

    assert reported(OPENING, PLAN_1, aborted).cycles[0].outcome == "failed"
    assert reported(OPENING, PLAN_1, RED_1).cycles[0].outcome == "unfinished"
    assert reported(OPENING, replace(REJECTED, phase=PhaseName.PLAN, next_phase=PhaseName.PLAN)).cycles[
        0
    ].outcome == ("unfinished")
    assert reported(OPENING, PLAN_1, aborted).turns[-1].name == "1-RED-2"


def test_rounds_of_a_review_end_as_the_reviewer_says() -> None:
    review = replace(RED_1, phase=PhaseName.REVIEW, next_phase=PhaseName.CODE, outcome=Outcome.FEEDBACK)

    assert reported(OPENING, review).cycles[0].outcome == "feedback"


def test_what_was_carried_to_a_commit_of_the_users_is_told_once() -> None:
    carried = replace(RED_1, carried_from="c0ffee")

    assert [turn.handoff for turn in reported(OPENING, RED_1, carried).turns] == [RED_1]


def test_the_end_of_a_long_run_is_told_without_its_beginning() -> None:
    report = reported(GREEN_1, REFACTOR_1)

    assert (report.began, report.whole) == ("", False)
    assert run_report([Entry("c0ffee", replace(LAST, carried_from="c0ffee"))], {}) is not None


def test_json_holds_every_turn_with_its_note_and_its_diff() -> None:
    report = run_report(entries(), {})
    assert report is not None
    told = report_object(report)

    assert (told["runId"], told["status"], told["casesDone"], told["startedAt"]) == (
        RUN, "complete", 2, OPENING.timestamp,
    )  # fmt: skip
    assert [cycle["test"] for cycle in told["cycles"]] == ["1 is I", "1994 is <b>MCMXCIV</b>", None]
    first = told["cycles"][0]["turns"][2]
    assert (first["turn"], first["ruling"], first["handoff"]["error"]) == (
        "1-GREEN-1",
        "rejected",
        REJECTED.error,
    )
    assert told["cycles"][1]["turns"][1]["commit"] is None
