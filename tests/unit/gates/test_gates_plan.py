"""PLAN keeps the list honestly and answers with its first open box."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates_support import NO_FILES, Files, Played, changes, evidence, judge, plan_of
from redgreenrefactor.gates.plan import Answer, read_answer
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling
from redgreenrefactor.model.workflow import PhaseName

PLAN = PhaseName.PLAN
LISTED: Files = {"test-list.md": "changed\n"}
OPENING = Handoff(PLAN, PLAN)


def answer(description: str | None, **more: Any) -> str:
    case = None
    if description is not None:
        case = {"description": description, "testFile": "tests/test_a.py", "implFile": "a.py"}
        case |= {key: more.pop(key) for key in ("testFile", "implFile") if key in more}
    return json.dumps({"currentTest": case, **more})


def planned(
    message: str,
    before: Plan,
    after: Plan,
    *,
    files: Files = LISTED,
    handoff: Handoff = OPENING,
    **facts: Any,
) -> Played:
    return judge(
        evidence(
            PLAN,
            NO_FILES,
            files,
            case=None,
            report=Report(message),
            handoff=handoff,
            plan_before=before,
            plan_after=after,
            **facts,
        )
    )


def after_a_cycle(case: str, phase: PhaseName = PhaseName.REFACTOR, **facts: Any) -> Handoff:
    return Handoff(phase, PLAN, cycle_number=1, current_test=Case(case, "tests/test_a.py", "a.py"), **facts)


EMPTY = Plan()


def test_the_first_list_with_its_first_item_is_accepted_in_the_lists_own_words() -> None:
    played = planned(answer("ADDS *two* numbers."), EMPTY, plan_of("o adds two numbers", "o divides"))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert played.verdict.case == Case("adds two numbers", "tests/test_a.py", "a.py")


def test_paths_are_given_back_in_plain_form() -> None:
    played = planned(answer("a", testFile="./tests//test_a.py", implFile="a.py"), EMPTY, plan_of("o a"))
    assert played.verdict.case == Case("a", "tests/test_a.py", "a.py")


def test_nothing_is_ever_run() -> None:
    assert planned(answer("a"), EMPTY, plan_of("o a")).asked == []


def test_a_finished_case_is_ticked_and_the_next_one_named() -> None:
    played = planned(answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=after_a_cycle("a"))
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told


def test_a_covered_case_may_be_ticked_although_no_refactor_followed() -> None:
    handoff = after_a_cycle("a", PhaseName.RED, outcome=Outcome.COVERED)
    played = planned(answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=handoff)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told


def test_a_case_that_is_only_red_may_not_be_ticked() -> None:
    handoff = after_a_cycle("a", PhaseName.RED)
    played = planned(answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=handoff)
    assert played.types == [FindingType.MALFORMED_HANDOFF]


@pytest.mark.parametrize("said", [None, "b"])
def test_a_forgotten_tick_is_all_that_is_told(said: str | None) -> None:
    given = plan_of("o a", "o b") if said else plan_of("o a")
    played = planned(answer(said), given, given, files=NO_FILES, handoff=after_a_cycle("a"))
    assert played.types == [FindingType.NOTHING_DONE], played.told


def test_null_with_open_cases_is_told_how_many() -> None:
    played = planned(answer(None), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=after_a_cycle("a"))
    assert "currentTest is null, but 1 box is open, first 'b'" in played.told


def test_when_every_box_is_ticked_null_is_the_answer() -> None:
    played = planned(answer(None), plan_of("o a"), plan_of("x a"), handoff=after_a_cycle("a"))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert played.verdict.case is None


EARNED = Handoff(PLAN, PLAN, previous=Handoff(PLAN, PLAN, completed_tests=("a",)))
RELISTED = Handoff(PLAN, PLAN, cycle_number=1, carried_from="c0ffee")  # after --approve


@pytest.mark.parametrize(
    ("handoff", "before", "after", "files"),
    [
        (OPENING, plan_of("x a"), plan_of("x a"), NO_FILES),  # an earlier feature's list
        (EARNED, plan_of("x a"), plan_of("x a"), NO_FILES),
        (EARNED, plan_of("o a"), plan_of("x a"), LISTED),  # ticked for the run before
        (OPENING, plan_of("x a", "o b"), plan_of("x a"), LISTED),  # given up
        (RELISTED, plan_of("x a", "o b"), plan_of("x a"), LISTED),  # which nobody has approved
    ],
)
def test_a_run_that_has_worked_no_case_is_not_over(
    handoff: Handoff, before: Plan, after: Plan, files: Files
) -> None:
    message = answer(None, dropped=[{"description": "b", "reason": "not asked"}])
    played = planned(message, before, after, files=files, handoff=handoff)
    assert played.types == [FindingType.MALFORMED_HANDOFF], played.told
    assert "covered" in (played.verdict.findings[0].hint or "")


@pytest.mark.parametrize("emptied", [plan_of("x a"), EMPTY])
def test_a_person_who_leaves_no_open_box_ends_the_run(emptied: Plan) -> None:
    played = planned(answer(None), emptied, emptied, files=NO_FILES, handoff=RELISTED)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told
    assert played.verdict.case is None


def test_a_new_feature_goes_below_the_ticked_boxes_of_the_last() -> None:
    played = planned(answer("b"), plan_of("x a"), plan_of("x a", "o b"))
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told


def test_a_box_the_preceding_run_earned_may_be_ticked() -> None:
    earlier = EARNED
    played = planned(answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=earlier)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told


def test_an_earlier_run_that_completed_nothing_earns_nothing() -> None:
    earlier = Handoff(PLAN, PLAN, previous=Handoff(PLAN, PLAN))
    played = planned(answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b"), handoff=earlier)
    assert played.types == [FindingType.MALFORMED_HANDOFF]


def test_a_list_that_already_says_what_is_to_be_done_need_not_change() -> None:
    played = planned(answer("a"), plan_of("o a"), plan_of("o a"), files=NO_FILES)
    assert played.verdict.ruling is Ruling.ACCEPTED


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        (answer("b"), EMPTY, plan_of("o a", "o b")),  # not the first
        (answer("c"), EMPTY, plan_of("o a", "o b")),  # not on the list
        (answer(None), EMPTY, plan_of("o a")),  # open boxes left
        (answer(None), EMPTY, EMPTY),  # a list without an item
        (answer("a"), plan_of("x a"), plan_of("x a")),  # nothing open
        (answer("b"), plan_of("o a", "o b"), plan_of("x a", "o b")),  # ticked, not earned
        (answer("b"), plan_of("x a", "o b"), plan_of("o b")),  # a done item gone
        (answer("b"), plan_of("x a", "o b"), plan_of("x A2", "o b")),  # a done item reworded
        (answer("a"), plan_of("x a", "o b"), plan_of("o a", "o b")),  # a done item opened
        (answer("a"), plan_of("o a", "o b"), plan_of("o a")),  # an open item gone
        (answer("a", dropped=[{"description": "c"}]), plan_of("o a", "o b"), plan_of("o a")),
        (answer("a", testFile="../test_a.py"), EMPTY, plan_of("o a")),
        (answer("a", testFile="/test_a.py"), EMPTY, plan_of("o a")),
        (answer("a", implFile="."), EMPTY, plan_of("o a")),
        (answer("a", implFile="a\\b.py"), EMPTY, plan_of("o a")),
        (answer("a", implFile="a\0.py"), EMPTY, plan_of("o a")),
        (answer("a", implFile="a\\n.py"), EMPTY, plan_of("o a")),
        (answer("a", implFile="a\u200b.py"), EMPTY, plan_of("o a")),
        (answer("a", implFile="./tests/test_a.py"), EMPTY, plan_of("o a")),
        ("no JSON here", EMPTY, plan_of("o a")),
        ("{}", EMPTY, plan_of("o a")),
        ('{"currentTest": "a"}', EMPTY, plan_of("o a")),
        ('{"currentTest": {"description": "a", "testFile": "t.py"}}', EMPTY, plan_of("o a")),
        (answer(" "), EMPTY, plan_of("o a")),
        (answer("a", dropped=[1]), EMPTY, plan_of("o a")),
        (answer("a", dropped={"description": "b"}), EMPTY, plan_of("o a")),
    ],
)
def test_an_answer_or_a_list_that_does_not_tell_the_truth_is_malformed(
    message: str, before: Plan, after: Plan
) -> None:
    played = planned(message, before, after)
    assert set(played.types) == {FindingType.MALFORMED_HANDOFF}, played.told


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        (answer("b"), plan_of("o a", "o b"), plan_of("o b", "o a")),  # another order
        (answer("z"), plan_of("o a"), plan_of("o z", "o a")),  # a new one first
        (
            answer("b", dropped=[{"description": "A", "reason": "the same"}]),
            plan_of("o a", "o b"),
            plan_of("o b"),
        ),
        (answer("b"), plan_of("x a", "x a", "o b"), plan_of("x a", "x a", "o b", "o c")),  # twins
        (answer("a", dropped=None), EMPTY, plan_of("o a")),
        (
            '{"current_test": {"description": "a", "test_file": "t/test_a.py", "impl_file": "a.py"}}',
            EMPTY,
            plan_of("o a"),
        ),
    ],
)
def test_planning_as_people_do_is_accepted(message: str, before: Plan, after: Plan) -> None:
    played = planned(message, before, after)
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told


def test_one_of_two_equal_done_items_taken_away_is_noticed() -> None:
    played = planned(answer("b"), plan_of("x a", "x a", "o b"), plan_of("x a", "o b"))
    assert played.types == [FindingType.MALFORMED_HANDOFF]


def test_no_list_at_all_is_nothing_done() -> None:
    played = planned(answer(None), EMPTY, EMPTY, files=NO_FILES)
    assert played.types == [FindingType.NOTHING_DONE]


def test_a_finished_case_left_open_is_nothing_done() -> None:
    played = planned(answer("a"), plan_of("o a"), plan_of("o a"), files=NO_FILES, handoff=after_a_cycle("a"))
    assert played.types == [FindingType.NOTHING_DONE]


def test_a_finished_case_left_open_in_a_changed_list_is_malformed() -> None:
    handoff = after_a_cycle("a")
    played = planned(answer("a"), plan_of("o a"), plan_of("o a", "o b"), handoff=handoff)
    assert played.types == [FindingType.MALFORMED_HANDOFF]


@pytest.mark.parametrize("path", ["a.py", "tests/test_a.py", "tdd.properties", "docs/test-list.md"])
def test_anything_but_the_list_is_out_of_bounds(path: str) -> None:
    played = planned(answer("a"), EMPTY, plan_of("o a"), files={**LISTED, path: "x\n"})
    assert played.types == [FindingType.SCOPE_VIOLATION]


def test_without_an_answer_the_list_is_looked_at_all_the_same() -> None:
    played = planned("Done.", plan_of("x a", "o b", "o c"), plan_of("x a", "x b"))
    assert played.types == [FindingType.MALFORMED_HANDOFF] * 2  # what it meant to drop is not known
    assert "holds no JSON object" in played.told
    assert "'b' is ticked" in played.told
    played = planned("Done.", EMPTY, EMPTY, files=NO_FILES)
    assert played.types == [FindingType.NOTHING_DONE, FindingType.MALFORMED_HANDOFF]


def test_out_of_bounds_weighs_more_than_a_missing_answer() -> None:
    played = planned("nothing", EMPTY, plan_of("o a"), files={**LISTED, "a.py": "x\n"})
    gravest = played.verdict.gravest
    assert gravest is not None
    assert gravest.type is FindingType.SCOPE_VIOLATION
    assert FindingType.MALFORMED_HANDOFF in played.types


def test_rewritten_history_weighs_most() -> None:
    played = planned(answer("a"), EMPTY, plan_of("o a"), rewritten=("main was moved",))
    assert played.types == [FindingType.HISTORY_REWRITTEN]


def test_the_list_of_a_project_in_a_subfolder_is_its_own() -> None:
    assert planned(answer("a"), EMPTY, plan_of("o a"), prefix="app/").verdict.ruling is Ruling.ACCEPTED


def test_a_list_in_another_folder_is_told_where_it_belongs() -> None:
    played = planned(answer("a"), EMPTY, EMPTY, prefix="app/", changes=changes({}, LISTED))
    assert "test-list.md: PLAN changes only app/test-list.md" in played.told
    assert "the first open item is none: app/test-list.md holds no item" in played.told
    assert "write app/test-list.md" in str(played.verdict.findings[0].hint)


def test_the_last_of_several_answers_counts() -> None:
    told = f"First {answer('a')} then\n```json\n{answer('b')}\n```\nand {{that}} is {{}} it."
    read = read_answer(told)
    assert isinstance(read, Answer)
    assert read.case is not None
    assert read.case.description == "b"


def test_an_answer_too_deep_to_read_is_passed_over() -> None:
    deep = '{"a":' * 5_000
    assert isinstance(read_answer(deep + answer("a")), Answer)


@given(st.text())
def test_any_text_is_read_without_a_fault(text: str) -> None:
    assert isinstance(read_answer(text), Answer | str)


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(["currentTest", "current_test", "dropped", "description", "testFile", "implFile", "x"])


@given(
    st.text(max_size=10),
    st.dictionaries(keys, json_values | st.dictionaries(keys, json_values)),
    st.text(max_size=10),
)
def test_any_object_is_read_without_a_fault(before: str, body: dict[str, Any], after: str) -> None:
    assert isinstance(read_answer(before + json.dumps(body) + after), Answer | str)


# --- tests stay tests, and code stays code

TESTS = "def test_a():\n    assert a() == 1\n"
CODE = "def a():\n    return 1\n"


@pytest.mark.parametrize(
    ("names", "files"),
    [
        ({"implFile": "tests/test_b.py"}, {"tests/test_b.py": TESTS}),
        ({"implFile": "cart.test.js"}, {"cart.test.js": "it('adds', () => {})\n"}),
        ({"implFile": "conftest.py"}, {}),
        ({"implFile": "sub/pytest.ini"}, {}),
        ({"testFile": "b.py"}, {"b.py": CODE}),
    ],
    ids=["tests as code", "tests of another language", "a conftest", "configuration", "code as tests"],
)
def test_a_case_does_not_make_code_of_tests_or_tests_of_code(names: dict[str, str], files: Files) -> None:
    played = planned(answer("a", **names), EMPTY, plan_of("o a"), files={**LISTED, **files})
    assert FindingType.MALFORMED_HANDOFF in played.types


@pytest.mark.parametrize(
    ("names", "files"),
    [
        ({"implFile": "tests/test_b.py"}, {}),
        ({"implFile": "test_rig.py"}, {"test_rig.py": CODE}),
        ({"implFile": "db.py"}, {"db.py": "def test_connection():\n    return 1\n"}),
        ({"testFile": "b.py"}, {"b.py": ""}),
        ({"testFile": "checks.py"}, {"checks.py": TESTS}),
        ({"testFile": "tests/helpers.py"}, {"tests/helpers.py": CODE}),
        ({"testFile": "src/lib.rs"}, {"src/lib.rs": "fn main() {}\n"}),
        ({"testFile": "broken.py"}, {"broken.py": "def :\n"}),
    ],
    ids=[
        "new",
        "code with a test's name",
        "a test in code",
        "empty",
        "tests with no test's name",
        "helpers",
        "rust",
        "broken",
    ],
)
def test_files_with_odd_names_are_fine_for_what_they_hold(names: dict[str, str], files: Files) -> None:
    played = planned(answer("a", **names), EMPTY, plan_of("o a"), files={**LISTED, **files})
    assert not [item for item in played.verdict.findings if "holds" in item.message], played.told


# --- later cases, planned ahead


def later(*descriptions: str, **files: str) -> list[dict[str, str]]:
    place = {"testFile": "tests/test_a.py", "implFile": "a.py", **files}
    return [{"description": text, **place} for text in descriptions]


def test_later_open_boxes_may_be_planned_along_with_the_first() -> None:
    message = answer("a", upcoming=later("B.", "c", testFile="./tests/test_b.py"))
    played = planned(message, EMPTY, plan_of("o a", "o b", "o c"))
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told
    assert played.verdict.upcoming == (
        Case("B.", "tests/test_b.py", "a.py"),
        Case("c", "tests/test_b.py", "a.py"),
    )


@pytest.mark.parametrize(
    ("upcoming", "told"),
    [
        (later("d"), "upcoming names 'd', which is no open item"),
        (later("done"), "upcoming names 'done', which is no open item"),
        (later("b", implFile="../a.py"), "implFile '../a.py' lies outside"),
        (later("b", implFile=".Git/hooks/a.py"), "implFile '.Git/hooks/a.py' lies outside"),
        (later("b", implFile="./tdd.properties"), "'tdd.properties' is neither a test nor code"),
        (later("b", implFile="tests/test_a.py"), "the same file"),
        (later("b", implFile=" "), "upcoming 'b' needs a description"),
        ([{"description": "b"}], "upcoming"),
        ("b", "upcoming"),
    ],
)
def test_what_comes_later_is_an_open_box_inside_the_project(upcoming: Any, told: str) -> None:
    played = planned(answer("a", upcoming=upcoming), plan_of("x done"), plan_of("x done", "o a", "o b"))
    assert played.types == [FindingType.MALFORMED_HANDOFF]
    assert told in played.told


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            '{"currentTest": {"description": "a"},}',
            """double quotes after '{"currentTest": {"description": "a"},'""",
        ),
        ('Done. {"currentTest": {"description": "a"}', "expecting ',' delimiter after"),
        ("[" * 9 + '{"currentTest": None}', """expecting value after '{"currentTest": '"""),
        ('"currentTest": null', "holds no JSON object with the key currentTest"),
        ("I named the currentTest.", "holds no JSON object with the key currentTest"),
        ('{"upcoming": [{}], "currentTest": null,}', "cannot be read"),
        ('{"currentTest": ' + "1" * 5_000 + "}", "no JSON object"),
        ('{so} {"a": "currentTest"}', "holds no JSON object with the key currentTest"),
        ('{"currentTest": ' + '{"a":' * 100_000, "holds no JSON object with the key currentTest"),
    ],
)
def test_json_that_breaks_off_is_said_to_and_where(message: str, said: str) -> None:
    assert said in str(read_answer(message))
