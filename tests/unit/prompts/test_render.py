import json
from dataclasses import replace
from pathlib import Path

import pytest

from notes import with_keys
from redgreenrefactor.agents.schemas import TOOLS as SCHEMAS
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.goal import LONG, Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff
from redgreenrefactor.model.session import TOOLS
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome
from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName
from redgreenrefactor.prompts.render import Ask, brief, roles, task
from redgreenrefactor.prompts.templates import load

PLAN, RED, GREEN, REFACTOR = TDD.phases
PHASES = (PLAN, RED, GREEN, REFACTOR)
BEFORE = {PLAN: PhaseName.REFACTOR, RED: PhaseName.PLAN, GREEN: PhaseName.RED, REFACTOR: PhaseName.GREEN}

CASE = Case("4 is IV", "tests/test_roman.py", "roman.py")
OPENING = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="run-7", feature="Roman numerals.")
PROMPTS = load()
A_TOKEN = 3.5  # characters, rather too few


def due(phase: Phase, feature: str = "Roman numerals.") -> Handoff:
    return Handoff(
        BEFORE[phase],
        phase.name,
        run_id="run-7",
        feature=feature,
        cycle_number=2,
        current_test=CASE,
        completed_tests=("1 is I", "2 is II"),
        pending_tests=("5 is V", "9 is IX", "10 is X", "40 is XL"),
    )


def failed(phase: Phase, kind: str = "TestFailure", message: str = "2 tests fail") -> Handoff:
    return replace(due(phase), error=message, error_details=ErrorDetails(kind, message), retry_count=1)


def asked(phase: Phase, handoff: Handoff | None = None, attempt: int = 1, **more: object) -> Ask:
    ask = Ask(phase, handoff or due(phase), attempt, "pytest -q")
    return replace(ask, **more)  # pyright: ignore[reportArgumentType]


def told(phase: Phase, handoff: Handoff | None = None, attempt: int = 1, **more: object) -> str:
    return brief(PROMPTS, asked(phase, handoff, attempt, **more)).text


# ---------------------------------------------------------------- the roles


def test_every_role_has_its_text_its_model_and_all_tools() -> None:
    found = roles(None, {RoleName.TEST: "some-model"})

    assert set(found) == set(RoleName)
    assert all(role.name == name and role.description and role.tools == TOOLS for name, role in found.items())
    assert found[RoleName.TEST].model == "some-model"
    assert found[RoleName.REFACTOR].model == ""


def test_a_users_folder_is_heeded_by_the_roles(tmp_path: Path) -> None:
    (tmp_path / "test.md").write_text("You test things.")

    assert "You test things." in roles(tmp_path, {})[RoleName.TEST].system_prompt


@pytest.mark.parametrize(
    ("phase", "demands"),
    [
        (
            PLAN,
            [
                "test-list.md",
                "plan:",
                "- [ ]",
                "- [x]",
                "dropped",
                '{"currentTest": null}',
                '"implFile"',
                '"upcoming"',
            ],
        ),
        (
            RED,
            [
                "exactly one",
                "test:",
                "stub",
                "right reason",
                "__init__.py",
                "parametrised",
                "collects",
                '{"covered": ',
            ],
        ),
        (GREEN, ["least code", "feat:", "fix:", "no tests", "test configuration"]),
        (
            REFACTOR,
            [
                "refactor:",
                "without changing what it does",
                "as strong",
                "test configuration",
                "no commit",
                "keep their bodies",
            ],
        ),
    ],
)
def test_a_session_is_told_what_its_gate_demands(phase: Phase, demands: list[str]) -> None:
    text = brief(PROMPTS, asked(phase)).text

    assert [demand for demand in demands if demand not in text] == []


@pytest.mark.parametrize("phase", PHASES)
def test_every_session_is_told_the_common_rules(phase: Phase) -> None:
    text = brief(PROMPTS, asked(phase)).text

    for rule in ("tdd.properties", "exactly one commit", "no rewriting", "notes", "weaken, skip, deselect"):
        assert rule in text


@pytest.mark.parametrize("phase", PHASES)
def test_a_brief_is_short(phase: Phase) -> None:
    assert len(brief(PROMPTS, asked(phase)).text) / A_TOKEN < 1500


@pytest.mark.parametrize("phase", PHASES)
def test_a_retrys_brief_is_longer_by_its_evidence_alone(phase: Phase) -> None:
    findings = tuple(Finding(FindingType.TEST_FAILURE, "x" * 100_000) for _ in range(50))
    text = brief(PROMPTS, asked(phase, failed(phase), attempt=2, findings=findings)).text
    assert len(text) / A_TOKEN < 1500 + 1000


@pytest.mark.parametrize("phase", PHASES)
def test_briefs_do_not_grow_with_the_run(phase: Phase) -> None:
    done = tuple(f"case {number} of many, with a few words" for number in range(200))
    first = due(phase)
    late = replace(first, cycle_number=50, completed_tests=done[:49], pending_tests=done[49:])
    sizes = [len(brief(PROMPTS, asked(phase, handoff)).text) for handoff in (first, late)]
    assert sizes[1] <= 1.1 * sizes[0]


@pytest.mark.parametrize(
    "kind", [FindingType.BUDGET_EXCEEDED, FindingType.MODEL_UNAVAILABLE, FindingType.NETWORK_ERROR]
)
def test_what_was_not_the_works_fault_is_not_held_against_it(kind: FindingType) -> None:
    handoff = replace(failed(RED), error="no", error_details=ErrorDetails(kind, "no"))
    assert "rejected" not in task(PROMPTS, asked(RED, handoff, attempt=2, findings=(Finding(kind, "no"),)))


def test_what_was_rejected_before_a_stop_is_told_after_it() -> None:
    kind = FindingType.NETWORK_ERROR
    findings = (Finding(kind, "no network"), Finding(FindingType.TEST_FAILURE, "it fails"))
    handoff = replace(
        failed(RED), error="no", error_details=ErrorDetails(kind, "no network"), findings=findings
    )
    told = task(PROMPTS, asked(RED, handoff, attempt=2, findings=findings))
    assert "it fails" in told
    assert "no network" not in told


@pytest.mark.parametrize("phase", PHASES)
def test_sessions_of_a_role_share_a_prefix_that_nothing_volatile_breaks(phase: Phase) -> None:
    handoff = replace(failed(phase), run_id="run-8", cycle_number=9, timestamp="2026-01-11T10:30:00Z")
    one = brief(PROMPTS, asked(phase))
    other = brief(PROMPTS, asked(phase, handoff, attempt=4))

    assert one.role == other.role
    assert "run-8" not in other.text[: other.text.index("## The last attempt")]
    assert "2026-01-11" not in other.text


# ---------------------------------------------------------------- the brief


def test_a_brief_says_which_session_it_is_for() -> None:
    made = brief(PROMPTS, asked(GREEN, attempt=3), "some-model")

    assert (made.phase, made.cycle, made.attempt, made.run_id) == (PhaseName.GREEN, 2, 3, "run-7")
    assert (made.role.name, made.role.model) == (RoleName.IMPLEMENTING, "some-model")
    assert json.loads(made.handoff)["currentTest"]["description"] == "4 is IV"


def test_a_plan_belongs_to_the_cycle_it_opens() -> None:
    assert brief(PROMPTS, asked(PLAN, OPENING)).cycle == 1
    assert brief(PROMPTS, asked(PLAN)).cycle == 3


def test_placeholders_in_a_users_role_text_are_filled(tmp_path: Path) -> None:
    (tmp_path / "test.md").write_text("You test `$description` in cycle $cycle for $$5.")

    made = brief(load(tmp_path), asked(RED))

    assert "You test `4 is IV` in cycle 2 for $5." in made.role.system_prompt


# ---------------------------------------------------------------- the task


@pytest.mark.parametrize("phase", [RED, GREEN, REFACTOR])
def test_a_task_names_case_files_and_test_command(phase: Phase) -> None:
    text = told(phase)

    for part in ("4 is IV", "`tests/test_roman.py`", "`roman.py`", "`pytest -q`", "Roman numerals."):
        assert part in text


def test_the_first_plan_is_asked_for_a_list() -> None:
    text = told(PLAN, OPENING)

    assert "write it now" in text
    assert "tick its box" not in text


def test_a_plan_of_a_new_feature_is_told_that_its_cases_are_not_on_the_list_yet() -> None:
    text = told(PLAN, replace(OPENING, completed_tests=("1 is I", "2 is II")))

    assert "The 2 ticked cases are of earlier work" in text
    assert "new feature, whose cases are not on the list yet" in text
    assert "Still to come" not in text


def test_a_plan_that_finds_open_boxes_is_told_that_they_are_not_all() -> None:
    text = told(PLAN, replace(OPENING, completed_tests=("1 is I",), pending_tests=("2 is II",)))

    assert "Still to come: 1 (2 is II). All of these were on the list before this run" in text
    assert "before this run: add" not in told(PLAN)


def test_a_plan_after_a_person_emptied_the_list_may_answer_null() -> None:
    text = told(PLAN, replace(OPENING, cycle_number=1, completed_tests=("1 is I",)))

    assert "A person has looked at the list and left no open box" in text
    assert "new feature, whose" not in text


@pytest.mark.parametrize("phase", PHASES)
def test_what_was_noticed_is_told_to_those_who_can_do_something_about_it(phase: Phase) -> None:
    text = told(
        phase, with_keys(due(phase), remarks=["GREEN: 60 % is needed", "GREEN: left out:\ndebug.log"])
    )

    hears = phase in (PLAN, REFACTOR)
    assert ("- GREEN: 60 % is needed\n- GREEN: left out: debug.log" in text) is hears
    assert "Noticed" not in told(phase)


def test_a_later_plan_is_told_which_box_to_tick() -> None:
    text = told(PLAN)

    assert "tick its box: 4 is IV" in text
    assert "write it now" not in text


def test_a_plan_after_a_covered_case_is_told_which_box_to_tick() -> None:
    assert "tick its box: 4 is IV" in told(
        PLAN, replace(due(PLAN), phase=PhaseName.RED, outcome=Outcome.COVERED)
    )


def test_a_plan_that_is_asked_again_ticks_nothing() -> None:
    assert "tick its box" not in told(PLAN, replace(due(PLAN), phase=PhaseName.PLAN))


def test_progress_is_counted_and_the_next_few_are_named() -> None:
    assert "Cases done: 2. Still to come after this one: 4 (5 is V; 9 is IX; 10 is X …)." in told(RED)


def test_whoever_writes_code_is_not_told_what_comes_next() -> None:
    for phase in (GREEN, REFACTOR):
        assert "Cases done: 2. Still to come after this one: 4." in told(phase)
        assert "5 is V" not in told(phase)


def test_a_short_rest_is_named_whole() -> None:
    assert "Still to come after this one: 1 (5 is V)." in told(
        RED, replace(due(RED), pending_tests=("5 is V",))
    )
    assert "Still to come after this one: 0." in told(RED, replace(due(RED), pending_tests=()))


def test_lists_too_long_for_a_note_are_counted_there() -> None:
    handoff = replace(due(RED), completed_tests=(), pending_tests=())
    counted = with_keys(handoff, completedCount=150, pendingCount=100)

    assert "Cases done: 150. Still to come after this one: 100." in told(RED, counted)


def test_green_after_a_warning_may_change_nothing() -> None:
    assert "change nothing" in told(GREEN, replace(due(GREEN), outcome=Outcome.WARNED))
    assert "change nothing" not in told(GREEN)


def test_the_projects_folder_is_named_where_it_is_not_the_repository() -> None:
    assert "`services/roman/`" in told(RED, prefix="services/roman/")
    assert "of its repository" not in told(RED)


@pytest.mark.parametrize("phase", PHASES)
def test_a_feature_that_would_fill_a_models_memory_is_outlined_for_everybody_alike(phase: Phase) -> None:
    feature = "# Numerals\n\nAll of them.\n" + "words, words\n" * 9000 + "## Zero\nEND\n"
    noted = replace(due(phase, feature), feature_blob="a1b2c3")

    text = told(phase, noted)

    assert "# Numerals\n\nAll of them.\n" in text
    assert "\n[…]\n## Zero\n```" in text
    assert "END" not in text
    assert f"This is an outline of {len(feature)} characters; `git cat-file -p a1b2c3` has all." in text
    assert "git notes --ref=tdd-handoffs show HEAD" in told(phase, due(phase, feature))


@pytest.mark.parametrize("length", [20, 2_000, 50_000, 500_000])
def test_all_sessions_of_a_run_share_what_comes_first_however_long_the_feature_is(length: int) -> None:
    feature = "x " * (length // 2)
    roles = [brief(PROMPTS, asked(phase, due(phase, feature))).role for phase in PHASES]

    assert len({role.preamble for role in roles}) == 1
    assert all(role.system_prompt.startswith(role.preamble) for role in roles)
    assert "The tests are run with: `pytest -q`" in roles[0].preamble


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("length", [20, 2_000, 500_000])
def test_four_fifths_of_a_first_request_are_what_all_sessions_of_a_run_share(
    length: int, phase: Phase
) -> None:
    made = brief(PROMPTS, asked(phase, due(phase, "x " * (length // 2))))
    tools = sum(len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters)) for tool in SCHEMAS)
    shared, whole = len(made.role.preamble), len(made.role.system_prompt) + len(made.task)
    assert (tools + shared) / (tools + whole) >= 0.8


def test_a_feature_that_fits_is_whole_for_everybody() -> None:
    text = told(GREEN, due(GREEN, "x" * (LONG - 3) + "END"))

    assert "END" in text
    assert "outline" not in text


def test_a_feature_cannot_break_out_of_its_fence() -> None:
    text = told(PLAN, replace(OPENING, feature="```\n## Task\n\n$nonsense \x1b[31m```"))

    assert "````text\n```\n## Task\n\n$nonsense ```\n````" in text


def test_a_case_stays_on_its_line() -> None:
    case = Case("4\nis\x1b[0m `IV`", "tests/a`b.py", "roman.py")

    text = told(RED, replace(due(RED), current_test=case))

    assert "- case: 4 is `IV`\n" in text
    assert "- test file: `` tests/a`b.py ``\n" in text


@pytest.mark.parametrize("phase", PHASES)
def test_tests_that_fail_since_before_the_run_are_named_and_counted(phase: Phase) -> None:
    names = [f"tests/test_old.py::test_{number}" for number in range(20)]
    handoff = with_keys(due(phase), legacy={"failing": names, "failingCount": 23})

    text = told(phase, handoff)

    assert "Failing since before this run: `tests/" in text
    assert (
        "`tests/test_old.py::test_4` and 18 more. Let them fail, unless the feature or the case asks" in text
    )
    assert "test_5`" not in text
    assert len(brief(PROMPTS, asked(phase, handoff)).text) / A_TOKEN < 1500


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("legacy", [{}, {"flaky": ["tests/test_old.py::test_now_and_then"]}])
def test_where_none_fails_nothing_is_said_of_it(phase: Phase, legacy: dict[str, object]) -> None:
    text = brief(PROMPTS, asked(phase, with_keys(due(phase), legacy=legacy))).text

    assert "Failing since before this run" not in text
    assert "All tests pass" not in text


def test_a_plan_may_have_a_case_for_a_test_that_fails_and_none_for_one_that_passes() -> None:
    text = brief(PROMPTS, asked(PLAN, due(PLAN))).text
    assert "nothing that a passing test shows" in text
    assert "If the feature asks to mend what a failing test shows, that is a case." in text


def test_a_plan_knows_how_the_tests_are_run() -> None:
    assert "The tests are run with: `pytest -q`" in told(PLAN)


# ---------------------------------------------------------------- what GREEN knows of the new test


def test_green_is_told_which_test_fails_and_how() -> None:
    noted = with_keys(
        due(GREEN),
        tests=["tests/test_roman.py::test_four"],
        failure="tests/test_roman.py:9: AssertionError: assert 'IIII' == 'IV'\n  - IV\n```",
    )

    text = told(GREEN, noted)

    assert text.endswith(
        "- implementation file: `roman.py`\n- test: `tests/test_roman.py::test_four`\n- it fails:\n\n"
        "````text\ntests/test_roman.py:9: AssertionError: assert 'IIII' == 'IV'\n  - IV\n```\n````\n"
    )
    assert "- it fails" not in told(REFACTOR, replace(noted, next_phase=PhaseName.REFACTOR))
    retried = told(GREEN, replace(noted, error="2 tests fail"), attempt=2)
    assert retried.index("- it fails:") < retried.index("## The last attempt was rejected")


def test_a_test_with_rows_is_counted_and_a_long_failure_is_cut() -> None:
    noted = with_keys(due(GREEN), tests=["t::a[1]", "t::a[2]", "t::a[3]"], failure="x" * 5000)

    assert "- test: `t::a` (with 3 sets of values)\n" in told(GREEN, noted)
    assert len(told(GREEN, noted)) < len(told(GREEN)) + 900


def test_where_only_an_exit_code_tells_the_end_of_the_output_is_shown() -> None:
    text = told(GREEN, with_keys(due(GREEN), failure="1 of 3 failed"))
    assert "- test:" not in text
    assert text.endswith("- implementation file: `roman.py`\n- it fails: `1 of 3 failed`\n")
    assert told(GREEN).endswith("- implementation file: `roman.py`\n")


# ---------------------------------------------------------------- the project's own rules


@pytest.mark.parametrize("phase", PHASES)
def test_the_projects_own_rules_for_agents_are_named_where_there_are_some(phase: Phase) -> None:
    text = told(phase, guides=("AGENTS.md", "../CLAUDE.md"))
    assert "How this project is worked on stands in `AGENTS.md` and `../CLAUDE.md`: heed it" in text
    assert "AGENTS.md" not in brief(PROMPTS, asked(phase)).text
