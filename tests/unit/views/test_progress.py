from dataclasses import replace

from views_samples import TAMPERED, rejected, suite, turn

from redgreenrefactor.model.events import (
    Event,
    Judged,
    ModelAnswered,
    RunStarted,
    SessionBegan,
    SessionReported,
    TurnStarted,
)
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import Ruling, Verdict
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.views.lines import ASCII, Ink
from redgreenrefactor.views.progress import Progress

TDD = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
BEGUN = RunStarted("r", "roman", "/p", "pytest", "per-test", phases=TDD)
TRIED_AGAIN = (rejected(TAMPERED), turn(PhaseName.GREEN, attempt=2))


def after(*events: Event, ink: Ink | None = None) -> Progress:
    progress = Progress(ink or Ink())
    for event in (BEGUN, *events):
        progress.notice(event)
    return progress


def track(*events: Event, width: int = 80, ink: Ink | None = None) -> str:
    return "".join(span.text for span in after(*events, ink=ink).track(width))


def figures(*events: Event, width: int = 100, ink: Ink | None = None) -> str:
    return "".join(span.text for span in after(*events, ink=ink).figures("1:23", width))


def working(phase: PhaseName, done: int, to_do: int) -> TurnStarted:
    return replace(turn(phase), done=done, to_do=to_do)


def judged(seconds: float, phase: PhaseName = PhaseName.REFACTOR) -> Judged:
    return Judged(phase, 1, 1, Verdict(Ruling.ACCEPTED), "c0ffee", "refactor: x", seconds)


def begun(allowance: float | None) -> SessionBegan:
    role = Role(RoleName.TEST, "", "")
    brief = Brief(role, PhaseName.RED, 1, 1, "r", "", "", allowance_usd=allowance)
    return SessionBegan(brief, "api", "/p", "c0ffee")


def answered(tokens: int, usd: float | None = None) -> ModelAnswered:
    return ModelAnswered("p", "m", "m", Usage(tokens, cost_usd=usd), 1.0, "stop")


def reported(tokens: int, usd: float | None = None) -> SessionReported:
    return SessionReported(Report("", usage=Usage(tokens, cost_usd=usd)), 1.0)


def test_the_track_tells_what_is_done_what_is_worked_at_and_what_comes() -> None:
    assert track(turn(PhaseName.PLAN)) == "cycle 1 · PLAN → red → green → refactor"
    assert track(turn(PhaseName.GREEN)) == "cycle 1 · plan ✓ → red ✓ → GREEN → refactor"
    assert track(turn(PhaseName.GREEN), ink=ASCII) == "cycle 1 - plan ok -> red ok -> GREEN -> refactor"
    assert track() == ""


def test_a_later_attempt_tells_why_the_one_before_was_rejected() -> None:
    assert track(*TRIED_AGAIN).endswith("GREEN → refactor · attempt 2 after TestTampering")
    assert track(*TRIED_AGAIN, judged(1.0, PhaseName.GREEN), turn(PhaseName.REFACTOR)).endswith("REFACTOR")
    assert track(turn(PhaseName.GREEN, attempt=2)).endswith(" · attempt 2")


def test_a_narrow_track_gives_up_the_cycle_first_and_then_the_reason() -> None:
    assert track(*TRIED_AGAIN, width=66).startswith(
        "plan ✓ → red ✓ → GREEN → refactor · attempt 2 after Test"
    )
    assert track(*TRIED_AGAIN, width=60) == "plan ✓ → red ✓ → GREEN → refactor · attempt 2"
    assert track(*TRIED_AGAIN, width=20) == "plan ✓ → red ✓ → GR…"


def test_a_run_inside_another_has_its_own_track_and_the_other_one_comes_back() -> None:
    outer = replace(BEGUN, phases=(PhaseName.CODE, PhaseName.REVIEW))
    inner = [outer, turn(PhaseName.CODE), BEGUN, turn(PhaseName.RED)]
    assert track(*inner) == "cycle 1 · plan ✓ → RED → green → refactor"
    assert track(*inner, turn(PhaseName.REVIEW)) == "cycle 1 · code ✓ → REVIEW"
    assert track(turn(PhaseName.DIAGNOSE)) == "cycle 1 · DIAGNOSE"


def test_progress_over_the_cases_and_what_is_left() -> None:
    assert figures(working(PhaseName.RED, 2, 4)) == "▰▰▱▱▱▱▱ 2 of 7 done · 1:23"
    assert figures(working(PhaseName.PLAN, 3, 4)) == "▰▰▰▱▱▱▱ 3 of 7 done · 1:23"
    assert figures(working(PhaseName.RED, 20, 79), ink=ASCII) == "##........ 20 of 100 done - 1:23"
    later = figures(judged(50, PhaseName.GREEN), judged(40), working(PhaseName.RED, 3, 3))
    assert later.endswith(" 3 of 7 done · 1:23 · about 6 min left")
    within = figures(judged(90), judged(70, PhaseName.RED), working(PhaseName.GREEN, 3, 3))
    assert within.endswith("about 5 min left")
    assert "left" not in figures(judged(20), working(PhaseName.GREEN, 6, 0))


def test_before_the_first_list_no_progress_is_made_up() -> None:
    assert figures(working(PhaseName.PLAN, 0, 0)) == "1:23"


def test_the_last_whole_run_of_the_tests_is_told() -> None:
    events = (suite(3, 0), turn(), suite(3, 1), suite(0, 1, purpose="probe"))
    assert figures(*events) == "3 passed, 1 failed · 1:23"


def test_what_sessions_used_is_told_while_they_work_and_counted_once() -> None:
    during = (turn(), begun(None), answered(1000, 0.25), answered(500, 0.25))
    assert figures(*during) == "1.5k tokens · 0.50 USD · 1:23"
    assert figures(*during, reported(1600, 0.5)) == "1.6k tokens · 0.50 USD · 1:23"
    assert figures(*during, SessionReported(Report(""), 1.0)) == "1.5k tokens · 0.50 USD · 1:23"
    assert figures(turn(), answered(500)) == "500 tokens · 1:23"


def test_what_is_left_of_the_budget_is_told() -> None:
    assert figures(turn(), begun(5.0)) == "5.00 USD left · 1:23"
    during = (turn(), begun(5.0), answered(1000, 0.25))
    assert figures(*during) == "1k tokens · 0.25 USD, 4.75 left · 1:23"
    assert "0.50 USD, 4.50 left" in figures(*during, reported(2000, 0.5), turn(PhaseName.GREEN))


def test_a_narrow_terminal_has_fewer_figures_and_keeps_cases_and_money() -> None:
    events = (suite(12, 1), working(PhaseName.RED, 2, 4), begun(5.0), answered(1000, 0.25))
    whole = "▰▰▱▱▱▱▱ 2 of 7 done · 12 passed, 1 failed · 1k tokens · 0.25 USD, 4.75 left · 1:23"
    assert figures(*events) == whole
    assert figures(*events, width=60) == "▰▰▱▱▱▱▱ 2 of 7 done · 0.25 USD, 4.75 left · 1:23"
    assert figures(*events, width=45) == "▰▰▱▱▱▱▱ 2 of 7 done · 0.25 USD, 4.75 left"
    assert figures(*events, width=40) == "▰▰▱▱▱▱▱ 2 of 7 done"
    assert figures(*events, width=12) == "▰▰▱▱▱▱▱ 2 o…"
