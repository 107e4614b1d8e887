"""RED adds exactly one test that fails for want of the behaviour; each rule has its honest neighbour."""

from dataclasses import replace
from typing import Any

import pytest

from gates_support import (
    CASE,
    DIED,
    Files,
    Played,
    by_commit,
    evidence,
    failing,
    judge,
    play,
    result,
    src,
    suite,
)
from redgreenrefactor.gates.rules.failure_reason import how_it_failed
from redgreenrefactor.model.evidence import (
    CollectError,
    Kind,
    Missing,
    Place,
    Reach,
    Rules,
    Status,
    SuiteRun,
    TestResult,
    Trial,
)
from redgreenrefactor.model.handoff import ErrorDetails, Handoff
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.verdict import FindingType, Outcome, Ruling, TestOutcome
from redgreenrefactor.model.workflow import PhaseName

RED = PhaseName.RED
OLD: Files = {
    "thing.py": "def half(x):\n    return x / 2\n",
    "test_thing.py": "from thing import half\n\n\ndef test_halves():\n    assert half(4) == 2\n",
}
NEW_TEST = """

def test_doubles():
    from thing import double

    assert double(2) == 4
"""


def with_test(text: str, files: Files = OLD, **more: str) -> dict[str, str]:
    """Return the files with something appended to the test file, and others put in place."""
    after = {**files, **{path.replace("__", "/") + ".py": src(body) for path, body in more.items()}}
    after["test_thing.py"] = after.get("test_thing.py", "") + "\n\n" + src(text)
    return after


def written(text: str, *, before: Files = OLD, **more: str) -> Played:
    return play(RED, before, with_test(text, before, **more))


def accepted(played: Played) -> bool:
    return played.verdict.ruling is Ruling.ACCEPTED


# --- the ordinary turn


def test_one_failing_test_is_accepted() -> None:
    played = written(NEW_TEST)
    assert accepted(played), played.told
    assert played.verdict.test_result is TestOutcome.FAIL
    assert played.facts["tests"] == ["test_thing.py::test_doubles"]
    assert played.facts["failure"].startswith("test_thing.py:")


def test_how_the_new_test_failed_is_noted_with_its_lines_and_within_bounds() -> None:
    long = failing("t.py::a", exception="ValueError", message="one\ntwo" + "x" * 900, line=7)
    assert how_it_failed(long).startswith("t.py:7: ValueError: one\ntwox")
    assert len(how_it_failed(long)) == 600
    bare = failing("t.py::a", exception="AssertionError", message="AssertionError: 1 != 2", line=0)
    assert how_it_failed(bare) == "AssertionError: 1 != 2"


def test_the_new_test_is_run_alone_and_twice_with_other_seeds() -> None:
    alone = [trial for trial in written(NEW_TEST).asked if trial.tests and not trial.overlay]
    assert [(trial.seed, trial.trace, trial.probe) for trial in alone] == [(1, True, True), (2, False, True)]


def test_a_test_of_its_own_file_may_fail_to_import_what_is_planned() -> None:
    played = play(
        RED,
        {},
        {"test_thing.py": "from thing import double\n\n\ndef test_it():\n    assert double(2) == 4\n"},
    )
    assert accepted(played), played.told
    assert played.facts["tests"] == ["test_thing.py::test_it"]


def test_a_name_missing_in_the_planned_module_will_do() -> None:
    files = {"thing.py": "A = 1\n"}
    after = {
        **files,
        "test_thing.py": "from thing import B\n\n\nclass TestB:\n    def test_it(self):\n        assert B\n",
    }
    played = play(RED, files, after)
    assert accepted(played), played.told
    assert played.facts["tests"] == ["test_thing.py::TestB::test_it"]


def test_in_a_file_with_other_tests_a_failing_import_takes_them_down() -> None:
    played = play(
        RED, OLD, {**OLD, "test_thing.py": "from thing import double\n" + OLD["test_thing.py"] + NEW_TEST}
    )
    assert played.types == [FindingType.COMPILATION_ERROR]
    assert "stub" in str(played.verdict.findings[0].hint)


def test_another_module_that_is_missing_is_a_compilation_error() -> None:
    played = play(
        RED,
        {},
        {"test_thing.py": "import nonesuch_at_all\n\n\ndef test_it():\n    assert nonesuch_at_all.it()\n"},
    )
    assert played.types == [FindingType.COMPILATION_ERROR]


def test_a_test_that_does_not_parse_is_a_compilation_error() -> None:
    played = play(RED, OLD, {**OLD, "test_thing.py": "def test_it(:\n"})
    assert played.types == [FindingType.COMPILATION_ERROR]


def test_a_file_that_did_not_collect_before_is_nobodys_fault_now() -> None:
    before = {**OLD, "test_broken.py": "import nonesuch_at_all\n"}
    assert accepted(play(RED, before, with_test(NEW_TEST, before)))


# --- what RED may change


def test_changing_nothing_is_nothing_done() -> None:
    assert play(RED, OLD, OLD).types == [FindingType.NOTHING_DONE]


@pytest.mark.parametrize(
    "text",
    [
        "def double(x):\n    pass",
        'def double(x):\n    """Return twice as much."""',
        "def double(x):\n    return 0",
        "def double(x):\n    raise NotImplementedError",
        "class Doubler:\n    def __init__(self, by):\n        self.by = by\n\n    def apply(self, x):\n        ...",
        "from typing import Any\n\n\ndef double(x: Any) -> Any:\n    raise NotImplementedError('later')",
    ],
)
def test_a_stub_in_the_planned_file_is_fine(text: str) -> None:
    after = with_test(NEW_TEST)
    after["thing.py"] = OLD["thing.py"] + "\n\n" + src(text)
    assert accepted(play(RED, OLD, after))


@pytest.mark.parametrize(
    "text",
    [
        "def triple(x):\n    return x * 3",
        "LIMIT = len('abc')",
        "print('hello')",
        "def half(x):\n    raise NotImplementedError",  # buries the code that works
    ],
)
def test_behaviour_in_the_planned_file_is_out_of_bounds(text: str) -> None:
    after = with_test(NEW_TEST)
    after["thing.py"] = OLD["thing.py"] + "\n\n" + src(text)
    assert play(RED, OLD, after).types == [FindingType.SCOPE_VIOLATION]


def test_editing_or_deleting_code_is_out_of_bounds() -> None:
    edited = {**with_test(NEW_TEST), "thing.py": "def half(x):\n    return x // 2\n"}
    assert play(RED, OLD, edited).types == [FindingType.SCOPE_VIOLATION]
    deleted = with_test(NEW_TEST)
    del deleted["thing.py"]
    assert play(RED, OLD, deleted).types == [FindingType.SCOPE_VIOLATION]


@pytest.mark.parametrize("path", ["other.py", "README.md", "src/helper.py"])
def test_anything_else_is_out_of_bounds(path: str) -> None:
    assert play(RED, OLD, {**with_test(NEW_TEST), path: "A = 1\n"}).types == [FindingType.SCOPE_VIOLATION]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pkg/__init__.py", ""),
        ("pkg/__init__.py", '"""A package."""\n'),
        ("tests/helpers.py", "A = 1\n"),
        ("tests/data/a.json", "{}\n"),
        ("conftest.py", "A = 1\n"),
    ],
)
def test_markers_helpers_and_data_of_the_tests_are_fine(path: str, text: str) -> None:
    assert accepted(play(RED, OLD, {**with_test(NEW_TEST), path: text}))


def test_a_marker_with_code_is_out_of_bounds() -> None:
    played = play(RED, OLD, {**with_test(NEW_TEST), "pkg/__init__.py": "import os\n"})
    assert played.types == [FindingType.SCOPE_VIOLATION]


def test_the_list_and_the_settings_are_out_of_bounds() -> None:
    after = {**with_test(NEW_TEST), "test-list.md": "x\n", "tdd.properties": "x\n"}
    assert play(RED, OLD, after).types == [FindingType.SCOPE_VIOLATION] * 2


def test_other_languages_are_not_read_for_stubs() -> None:
    case = replace(CASE, impl_file="thing.rs")
    played = play(RED, OLD, {**with_test(NEW_TEST), "thing.rs": "fn double() {}\n"}, case=case)
    assert FindingType.SCOPE_VIOLATION not in played.types


def test_the_configuration_of_the_runner_is_left_alone() -> None:
    played = play(RED, OLD, {**with_test(NEW_TEST), "pytest.ini": "[pytest]\n"})
    assert played.types == [FindingType.TEST_TAMPERING]


# --- existing tests


@pytest.mark.parametrize(
    "after",
    [
        OLD["test_thing.py"].replace("== 2", "> 0"),
        OLD["test_thing.py"].replace("test_halves", "test_half"),
        "def test_halves():\n    assert 1\n",
    ],
)
def test_an_edited_or_lost_test_is_tampering(after: str) -> None:
    played = play(RED, OLD, {**OLD, "test_thing.py": after + NEW_TEST})
    assert set(played.types) == {FindingType.TEST_TAMPERING}


def test_a_deleted_test_file_is_tampering() -> None:
    before = {**OLD, "test_other.py": "def test_other():\n    assert 1\n"}
    played = play(RED, before, with_test(NEW_TEST))
    assert played.types == [FindingType.TEST_TAMPERING]


def test_a_test_that_shadows_another_one_is_tampering() -> None:
    played = written("def test_halves():\n    from thing import double\n    assert double(2) == 4")
    assert FindingType.TEST_TAMPERING in played.types


def test_a_twin_from_before_the_turn_is_nobodys_fault_now() -> None:
    before = {
        **OLD,
        "test_thing.py": OLD["test_thing.py"] + "\n\ndef test_halves():\n    assert half(2) == 1\n",
    }
    assert accepted(play(RED, before, with_test(NEW_TEST, before)))


def test_comments_layout_imports_and_helpers_around_existing_tests_are_free() -> None:
    text = "# about halves\nimport math\n\nfrom thing import half\n\n\ndef make():\n    return math.pi\n\n\ndef test_halves():\n\n    assert half( 4 ) == 2\n"
    assert accepted(play(RED, OLD, {**OLD, "test_thing.py": text + NEW_TEST}))


def test_one_more_parameter_set_is_one_new_test() -> None:
    text = '@pytest.mark.parametrize("x", [2])\ndef test_halves(x):\n    assert half(x) == 1\n'
    before = {**OLD, "test_thing.py": "import pytest\nfrom thing import half\n\n\n" + text}
    after = {**OLD, "test_thing.py": before["test_thing.py"].replace("[2]", "[2, 3]")}
    played = play(RED, before, after)
    assert accepted(played), played.told
    assert played.facts["tests"] == ["test_thing.py::test_halves[3]"]


def test_a_parameter_set_changed_under_its_id_is_tampering() -> None:
    head = "import pytest\nfrom thing import half\n\n\n"
    old = '@pytest.mark.parametrize("x, y", [pytest.param(4, 2, id="a")])\ndef test_halves(x, y):\n    assert half(x) == y\n'
    new = old.replace('pytest.param(4, 2, id="a")', 'pytest.param(2, 1, id="a"), pytest.param(3, 2, id="b")')
    played = play(RED, {**OLD, "test_thing.py": head + old}, {**OLD, "test_thing.py": head + new})
    assert FindingType.TEST_TAMPERING in played.types


def test_an_asserting_helper_of_existing_tests_is_left_alone() -> None:
    helped = "from thing import half\n\n\ndef half_is(x, y):\n    assert half(x) == y\n\n\ndef test_halves():\n    half_is(4, 2)\n"
    before = {**OLD, "test_thing.py": helped}
    emptied = {**OLD, "test_thing.py": helped.replace("    assert half(x) == y", "    half(x)") + NEW_TEST}
    assert FindingType.TEST_TAMPERING in play(RED, before, emptied).types
    assert accepted(play(RED, before, with_test(NEW_TEST, before)))
    wider = helped.replace("def half_is(x, y):", "def half_is(x, y, by=1):").replace("== y", "== y * by")
    played = play(RED, before, {**OLD, "test_thing.py": wider + NEW_TEST})
    assert accepted(played), played.told


@pytest.mark.parametrize(
    ("path", "added"),
    [
        ("test_thing.py", "\n\nhalf = {4: 2}.get\n"),
        ("test_thing.py", "\n\nfor name in ['half']:\n    globals()[name] = {4: 2}.get\n"),
    ],
)
def test_tests_that_are_cut_off_from_the_code_are_seen(path: str, added: str) -> None:
    head, _, rest = OLD["test_thing.py"].partition("\n\n")
    cut = f"{head}{added}\n{rest}"
    played = play(RED, OLD, {**OLD, path: cut + NEW_TEST})
    assert FindingType.TEST_TAMPERING in played.types, played.told
    assert "no longer notice" in played.told


def test_what_a_class_of_tests_gains_is_held_against_mutants() -> None:
    test = (
        "import thing\n\n\nclass TestHalf:\n    def test_halves(self):\n        assert thing.half(4) == 2\n"
    )
    before = {**OLD, "test_thing.py": test}
    cut = "    thing.half = {4: 2}.get\n"
    more = f"{test}\n    def test_doubles(self):\n        assert thing.double(2) == 4\n"
    played = play(RED, before, {**before, "test_thing.py": more.replace("TestHalf:\n", f"TestHalf:\n{cut}")})
    assert FindingType.TEST_TAMPERING in played.types, played.told
    assert accepted(play(RED, before, {**before, "test_thing.py": more}))


def test_what_is_imposed_on_other_tests_may_leave_them_as_they_are() -> None:
    before = {**OLD, "conftest.py": "A = 1\n"}
    autouse = "import pytest\n\nA = 1\n\n\n@pytest.fixture(autouse=True)\ndef quiet():\n    pass\n"
    played = play(RED, before, {**with_test(NEW_TEST), "conftest.py": autouse, "tests/data.json": "{}"})
    assert accepted(played), played.told
    assert [trial for trial in played.asked if ("conftest.py", "A = 1\n") in trial.overlay]


def test_covered_needs_the_planned_file_to_be_loaded() -> None:
    covered = with_test("\n\ndef test_quarters():\n    assert half(half(8)) == 2\n")
    reaches = {"other.py": False, "thing.py": True}
    for file, honest in reaches.items():

        def watched(trial: Trial, run: SuiteRun, file: str = file) -> SuiteRun:
            return replace(run, reach=Reach(frozenset({"test_thing.py", file}))) if trial.trace else run

        played = play(RED, OLD, covered, rules=Rules(retries=0), bend=watched)
        assert (played.verdict.outcome is Outcome.COVERED) == honest, played.told
        assert ("about something else" in played.told) != honest


def test_a_way_into_the_runner_is_tampering() -> None:
    hook = "def pytest_runtest_makereport(item, call):\n    pass\n"
    found = play(RED, OLD, {**with_test(NEW_TEST), "conftest.py": hook})
    assert found.types == [FindingType.TEST_TAMPERING]
    assert accepted(
        play(RED, {**OLD, "conftest.py": hook}, {**with_test(NEW_TEST), "conftest.py": f"\n{hook}"})
    )


# --- exactly one


def test_no_new_test_is_none_added() -> None:
    played = play(
        RED, OLD, {**OLD, "test_thing.py": OLD["test_thing.py"] + "\n\ndef check_doubles():\n    assert 0\n"}
    )
    assert played.types == [FindingType.NO_TEST_ADDED]


def test_a_new_test_that_the_projects_settings_deselect_is_none_and_named() -> None:
    name = "test_thing.py::test_doubles"
    old = suite(result("test_thing.py::test_halves"), deselected=frozenset({"test_slow.py::test_old"}))
    now = replace(old, deselected=old.deselected | {name})
    played = judge(evidence(RED, OLD, with_test(NEW_TEST)), by_commit(old, old, now))
    assert played.types == [FindingType.NO_TEST_ADDED]
    assert f"{name} is there, but the project's settings deselect it" in played.told


def test_only_a_stub_is_no_test() -> None:
    played = play(RED, OLD, {**OLD, "thing.py": OLD["thing.py"] + "\n\ndef double(x):\n    pass\n"})
    assert played.types == [FindingType.NO_TEST_ADDED]


def test_two_new_tests_are_too_many() -> None:
    played = written(NEW_TEST + NEW_TEST.replace("doubles", "doubles_again"))
    assert played.types == [FindingType.TOO_MANY_TESTS]


TWO = "from thing import double\n\n\ndef test_a():\n    assert double(2) == 4\n\n\ndef test_b():\n    double(3)\n"


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (
            {"test_thing.py": TWO},
            [FindingType.COMPILATION_ERROR, FindingType.TOO_MANY_TESTS, FindingType.MEANINGLESS_TEST],
        ),
        (
            {"test_thing.py": TWO, "thing.py": "def double(x):\n    raise NotImplementedError\n"},
            [FindingType.TOO_MANY_TESTS, FindingType.MEANINGLESS_TEST],
        ),
        (
            {"test_thing.py": TWO, "thing.py": "def double(x):\n    return x + x\n"},
            [FindingType.SCOPE_VIOLATION, FindingType.TOO_MANY_TESTS, FindingType.MEANINGLESS_TEST],
        ),
        (
            {"test_a.py": "def test_a(:\n", "test_b.py": "import nonesuch_at_all\n"},
            [FindingType.COMPILATION_ERROR, FindingType.COMPILATION_ERROR],
        ),
    ],
    ids=["no module", "a stub", "code", "two files"],
)
def test_a_rejection_names_everything_that_is_wrong(after: Files, found: list[FindingType]) -> None:
    assert play(RED, {}, after).types == found


def test_several_parameter_sets_are_one_test() -> None:
    played = written(
        'import pytest\n@pytest.mark.parametrize("x", [1, 2, 3])\ndef test_doubles(x):\n    from thing import double\n    assert double(x) == 2 * x'
    )
    assert accepted(played), played.told
    assert len(played.facts["tests"]) == 3


def test_a_test_that_several_classes_inherit_is_one() -> None:
    inherited = [
        failing(
            f"test_thing.py::{name}::test_it",
            function="Base.test_it",
            defined_in="base_tests.py",
            message="assert",
        )
        for name in ("TestA", "TestB")
    ]
    after = {
        **OLD,
        "test_thing.py": OLD["test_thing.py"] + "# more\n",
        "tests/base_tests.py": "class Base:\n    def test_it(self):\n        assert self.make()\n",
    }
    runs = by_commit(suite(), suite(), suite(*inherited), lambda _trial: suite(*inherited))
    played = judge(evidence(RED, OLD, after), runs)
    assert accepted(played), played.told


# --- what it is worth


@pytest.mark.parametrize(
    "body",
    [
        "assert False",
        "assert 1 + 1 == 3",
        "expected = 4\n    assert expected == 5",
        "raise AssertionError('todo')",
        "import pytest\n    pytest.fail('todo')",
        "from thing import double\n    double(2)",
        "from thing import double\n    assert True",
    ],
)
def test_a_test_that_can_never_pass_or_never_fail_is_meaningless(body: str) -> None:
    assert written(f"def test_doubles():\n    {body}").types == [FindingType.MEANINGLESS_TEST]


@pytest.mark.parametrize(
    "text",
    [
        "def test_it():\n    items = [3, 1]\n    half_all(items)\n    assert items == [1.5, .5]",
        "def test_it():\n    heard = []\n    subscribe(heard.append)\n    assert heard == [1]",
        "def test_it():\n    heard = []\n    def note(x):\n        heard.append(x)\n    subscribe(note)\n    assert heard == [1]",
        "def double_is(x, y):\n    assert half(x) == y\n\n\ndef test_it():\n    double_is(2, 4)",
        "import pytest\ndef test_it():\n    try:\n        half('a')\n    except ValueError:\n        return\n    except TypeError:\n        pass\n    pytest.fail('text was halved')",
        "def test_it():\n    for x in [half(1)]:\n        assert x == 7",
        "def test_it():\n    if half(2):\n        assert half(1) == 7",
        "import unittest\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(half(2), 7)",
    ],
)
def test_ordinary_ways_to_assert_are_fine(text: str) -> None:
    stubs = "\n\ndef half_all(items):\n    pass\n\n\ndef subscribe(listener):\n    pass\n"
    head = OLD["test_thing.py"].replace("import half", "import half, half_all, subscribe")
    before = {"thing.py": OLD["thing.py"] + stubs, "test_thing.py": head}
    played = play(RED, before, with_test(text, before))
    if "unittest" in text:
        assert FindingType.MEANINGLESS_TEST not in played.types
    else:
        assert accepted(played), played.told


@pytest.mark.parametrize(
    "head",
    ["from thing import *", "try:\n    from thing import double\nexcept ImportError:\n    double = None"],
)
def test_however_the_planned_code_is_imported_the_test_has_a_meaning(head: str) -> None:
    after = {
        "thing.py": "def double(x):\n    return 0\n",
        "test_thing.py": f"{head}\n\n\ndef test_it():\n    assert double(2) == 4\n",
    }
    played = play(RED, {}, after)
    assert accepted(played), played.told


def test_a_fixture_called_test_something_is_no_test() -> None:
    text = "import pytest\nfrom thing import App\n\n\n@pytest.fixture\ndef test_client():\n    return App()\n\n\ndef test_it(test_client):\n    assert test_client.get() == 1\n"
    error = CollectError(
        "test_thing.py", "No module named 'thing'", "ModuleNotFoundError", missing=Missing("thing")
    )
    played = judge(
        evidence(RED, {}, {"test_thing.py": text}),
        by_commit(suite(), suite(), suite(errors=(error,)), lambda _trial: DIED),
    )
    assert accepted(played), played.told


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.XFAILED, Status.XPASSED])
def test_a_silenced_test_is_meaningless(status: Status) -> None:
    runs = by_commit(suite(), suite(), suite(result("test_thing.py::test_doubles", status)))
    played = judge(evidence(RED, OLD, with_test(NEW_TEST)), runs)
    assert played.types == [FindingType.MEANINGLESS_TEST]


# --- why it fails


def told(one: TestResult, text: str = NEW_TEST, **more: str) -> Played:
    """Judge a turn whose new test fails like this, whenever it is run."""
    old = result("test_thing.py::test_halves")
    runs = by_commit(suite(), suite(old), suite(old, one), lambda _trial: suite(one))
    after = with_test(text, OLD, **more)
    return judge(evidence(RED, OLD, after), runs)


NAME = "test_thing.py::test_doubles"
LINE = 9  # of the call in the new test


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": Kind.ASSERTION},
        {"kind": Kind.MISSING, "missing": Missing("double", "thing"), "frames": (Place("test_thing.py", 7),)},
        {"kind": Kind.MISSING, "missing": Missing("thing"), "frames": (Place("test_thing.py", 7),)},
        {"kind": Kind.NOT_IMPLEMENTED, "frames": (Place("test_thing.py", LINE), Place("thing.py", 2))},
        {"kind": Kind.EXCEPTION, "exception": "TypeError", "frames": (Place("test_thing.py", LINE),)},
        {
            "kind": Kind.EXCEPTION,
            "exception": "KeyError",
            "frames": (Place("test_thing.py", LINE), Place("thing.py", 2)),
        },
    ],
)
def test_failing_for_want_of_the_behaviour_is_right(facts: dict[str, Any]) -> None:
    text = "\n\ndef test_doubles():\n    from thing import double\n\n    assert double(2) == 4\n"
    after = OLD["test_thing.py"] + "\n\n" + src(text)
    line = next(n for n, x in enumerate(after.splitlines(), 1) if "double(2)" in x)
    frames = tuple(Place(f.file, line if f.line == LINE else f.line) for f in facts.get("frames", ()))
    played = told(failing(NAME, **dict[str, Any](facts, frames=frames, line=line - 3)), text)
    assert accepted(played), played.told


@pytest.mark.parametrize(
    ("text", "one"),
    [
        # a package that is not there
        (
            "def test_doubles():\n    import nonesuch\n    assert nonesuch.double(2) == 4",
            failing(
                NAME,
                Kind.MISSING,
                exception="ModuleNotFoundError",
                missing=Missing("nonesuch"),
                frames=(Place("test_thing.py", 9),),
            ),
        ),
        # a typo
        (
            "def test_doubles():\n    from thing import double\n    assert dubble(2) == 4",
            failing(
                NAME,
                Kind.MISSING,
                exception="NameError",
                missing=Missing("dubble"),
                frames=(Place("test_thing.py", 10),),
            ),
        ),
        # a file that is not there
        (
            "def test_doubles():\n    text = open('no.txt').read()\n    from thing import double\n    assert double(text) == 4",
            failing(NAME, Kind.EXCEPTION, exception="FileNotFoundError", frames=(Place("test_thing.py", 9),)),
        ),
        # a file nobody made, below a fixture of the runner's
        (
            "def test_doubles(tmp_path):\n    text = (tmp_path / 'no.txt').read_text()\n    from thing import double\n    assert double(text) == 4",
            failing(NAME, Kind.UNWRITTEN, exception="FileNotFoundError", frames=(Place("test_thing.py", 9),)),
        ),
        # a fixture that nobody knows
        (
            "def test_doubles(nobody):\n    from thing import double\n    assert double(nobody) == 4",
            result(NAME, Status.ERROR, kind=Kind.SETUP, exception="FixtureLookupError", line=8),
        ),
        # a fixture of conftest.py that fails for reasons of its own
        (
            "def test_doubles(table):\n    from thing import double\n    assert double(table) == 4",
            result(
                NAME,
                Status.ERROR,
                kind=Kind.SETUP,
                exception="FileNotFoundError",
                line=8,
                frames=(Place("conftest.py", 6),),
            ),
        ),
    ],
)
def test_failing_for_any_other_reason_is_wrong(text: str, one: TestResult) -> None:
    conftest = "import pytest\n\n\n@pytest.fixture\ndef table():\n    return open('table.csv').read()\n"
    gravest = told(one, text, conftest=conftest).verdict.gravest
    assert gravest is not None
    assert gravest.type is FindingType.WRONG_FAILURE


def test_a_method_that_a_class_of_the_planned_file_lacks_is_wanting_wherever_it_is_made() -> None:
    one = failing(
        NAME, Kind.MISSING, missing=Missing("twice", "Number"), frames=(Place("test_thing.py", 99),)
    )
    assert not accepted(told(one))
    assert accepted(told(one, thing=f"{OLD['thing.py']}\n\nclass Number:\n    pass\n"))


def test_a_file_that_the_code_was_to_write_where_the_test_has_gone_is_wanting() -> None:
    text = "def test_doubles(monkeypatch):\n    from thing import double\n    double(2)\n    assert open('two').read() == '4'"
    one = failing(NAME, Kind.UNWRITTEN, exception="FileNotFoundError", frames=(Place("test_thing.py", 11),))
    assert accepted(told(one, text))


@pytest.mark.parametrize(
    ("more", "frames", "status"),
    [
        (
            {"tests__helpers": "from thing import Thing\n\n\ndef make(**more):\n    return Thing(**more)\n"},
            (Place("test_thing.py", 10), Place("tests/helpers.py", 5)),
            Status.FAILED,
        ),
        (
            {
                "conftest": "import pytest\nfrom thing import Thing\n\n\n@pytest.fixture\ndef made():\n    return Thing(by=2)\n"
            },
            (Place("conftest.py", 7),),
            Status.ERROR,
        ),
    ],
)
def test_an_error_of_a_helper_that_calls_the_planned_code_is_right(
    more: dict[str, str], frames: tuple[Place, ...], status: Status
) -> None:
    text = "def test_doubles():\n    from helpers import make\n    assert make(by=2).double() == 4"
    kind = Kind.SETUP if status is Status.ERROR else Kind.EXCEPTION
    one = result(
        NAME, status, kind=kind, exception="TypeError", message="unexpected keyword", frames=frames, line=8
    )
    played = told(one, text, **more)
    assert accepted(played), played.told


def test_an_error_of_set_up_that_calls_the_planned_code_is_right() -> None:
    text = src("""
        import unittest

        from thing import Thing


        class TestThing(unittest.TestCase):
            def setUp(self):
                self.thing = Thing(by=2)

            def test_it(self):
                self.assertEqual(self.thing.double(), 4)
    """)
    one = result(
        "test_more.py::TestThing::test_it",
        Status.ERROR,
        kind=Kind.SETUP,
        exception="TypeError",
        line=10,
        frames=(Place("test_more.py", 8, "setUp"),),
    )
    runs = by_commit(suite(), suite(), suite(one), lambda _trial: suite(one))
    played = judge(evidence(RED, OLD, {**OLD, "test_more.py": text}), runs)
    assert accepted(played), played.told


def test_where_nothing_was_planned_any_failure_will_do() -> None:
    one = failing(NAME, Kind.EXCEPTION, exception="OSError")
    runs = by_commit(suite(), suite(), suite(one), lambda _trial: suite(one))
    assert accepted(judge(evidence(RED, OLD, with_test(NEW_TEST), case=None), runs))


def test_a_failing_test_without_a_readable_definition_is_judged_by_its_kind() -> None:
    assertion = failing("gen.txt::1", Kind.ASSERTION)
    error = failing("gen.txt::1", Kind.EXCEPTION, exception="OSError")
    after = {**OLD, "tests/gen.txt": "1\n"}
    for one, right in ((assertion, True), (error, False)):
        runs = by_commit(suite(), suite(), suite(one), lambda _trial, one=one: suite(one))  # type: ignore[misc]
        assert accepted(judge(evidence(RED, OLD, after), runs)) is right


# --- the rest of the suite


def test_a_test_of_this_run_that_breaks_is_a_failure() -> None:
    old, new = "test_thing.py::test_halves", failing(NAME)
    runs = by_commit(suite(), suite(result(old)), suite(failing(old), new), lambda _trial: suite(new))
    assert judge(evidence(RED, OLD, with_test(NEW_TEST)), runs).types == [FindingType.TEST_FAILURE]


def test_a_test_that_disappears_is_tampering() -> None:
    other, new = result("test_other.py::test_x"), failing(NAME)
    runs = by_commit(suite(), suite(other), suite(new), lambda _trial: suite(new))
    assert judge(evidence(RED, OLD, with_test(NEW_TEST)), runs).types == [FindingType.TEST_TAMPERING]


def test_a_runner_that_was_interfered_with_is_tampering() -> None:
    new = failing(NAME)
    runs = by_commit(suite(), suite(), suite(new, tampering=("a canary passed",)), lambda _trial: suite(new))
    assert FindingType.TEST_TAMPERING in judge(evidence(RED, OLD, with_test(NEW_TEST)), runs).types


def test_a_runner_that_dies_is_tampering() -> None:
    runs = by_commit(suite(), suite(), DIED)
    assert judge(evidence(RED, OLD, with_test(NEW_TEST)), runs).types == [FindingType.TEST_TAMPERING]


# --- again and again


@pytest.mark.parametrize("seed", [1, 2])
def test_a_test_that_passes_when_run_alone_is_flaky(seed: int) -> None:
    def flaky(trial: Trial, run: SuiteRun) -> SuiteRun:
        return suite(result(NAME)) if trial.seed == seed else run

    played = play(RED, OLD, with_test(NEW_TEST), bend=flaky)
    assert played.types == [FindingType.FLAKY_TEST]


OWN = "\n\ndef test_copies():\n    def double(x):\n        return 0\n\n    assert double(2) == 4\n"


@pytest.mark.parametrize(
    ("reach", "honest"),
    [
        (Reach(frozenset({"test_thing.py", "conftest.py"})), False),
        (Reach(frozenset({"test_thing.py", "thing.py"})), True),
        (Reach(frozenset({"test_thing.py", "data/table.json"})), True),
        (Reach(programs=1), True),
        (Reach(frozenset({"test_thing.py"}), missed=frozenset({"thing"})), True),
        (Reach(frozenset({"test_thing.py"}), missed=frozenset({"typing_extensions"})), False),
        (Reach(), True),  # nobody watched
    ],
)
def test_a_test_that_uses_nothing_of_the_project_tests_only_itself(reach: Reach, honest: bool) -> None:
    def watched(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, reach=reach) if trial.trace else run

    assert play(RED, OLD, with_test(OWN), bend=watched).types == (
        [] if honest else [FindingType.MEANINGLESS_TEST]
    )


def test_what_cannot_be_imported_yet_is_not_repeated() -> None:
    played = play(
        RED, {}, {"test_thing.py": "import thing\n\n\ndef test_it():\n    assert thing.double(2) == 4\n"}
    )
    assert accepted(played)
    assert not [trial for trial in played.asked if trial.tests and not trial.overlay]


# --- a test that passes at once

AGAIN = Handoff(RED, RED, error="passes", error_details=ErrorDetails(FindingType.UNEXPECTED_PASS, "passes"))
HONEST = "def test_halves_six():\n    assert half(6) == 3"
BLIND = "def test_multiplies():\n    assert 2 * 3 == 6"


def passing(text: str, **facts: Any) -> Played:
    return play(RED, OLD, with_test(text), **facts)


def test_a_test_that_passes_is_asked_for_once_more() -> None:
    played = passing(HONEST)
    assert played.types == [FindingType.UNEXPECTED_PASS]
    assert played.verdict.test_result is TestOutcome.PASS


def test_an_honest_test_that_passes_again_is_covered_when_it_notices_broken_code() -> None:
    played = passing(HONEST, handoff=AGAIN)
    assert accepted(played), played.told
    assert played.verdict.outcome is Outcome.COVERED
    assert played.verdict.test_result is TestOutcome.PASS
    assert played.facts["mutants"]["noticed"] > 0
    assert "missed" not in played.facts["mutants"]


def test_of_a_covered_case_the_mutants_that_its_test_misses_are_named() -> None:
    loose = "def test_half_is_less():\n    assert 2 <= half(4) <= 3"
    played = passing(loose, handoff=AGAIN)
    assert played.verdict.outcome is Outcome.COVERED, played.told
    assert played.facts["mutants"]["missed"] == [
        "thing.py:2: 'return x / 2' has a value that is off by one: a number, a letter or an item"
    ]


@pytest.mark.parametrize("text", [BLIND, "def test_callable():\n    assert callable(half) == True"])
def test_a_test_that_notices_nothing_is_not_covered(text: str) -> None:
    def nothing_seen(trial: Trial, run: SuiteRun) -> SuiteRun:
        return replace(run, executed={}) if trial.trace else run

    played = passing(text, handoff=AGAIN, bend=nothing_seen)
    assert played.types == [FindingType.MEANINGLESS_TEST]
    assert "thing.py gives: every function and class in it may just raise an error" in played.told


def test_a_test_of_a_list_the_code_never_saw_is_not_covered() -> None:
    played = passing(
        "def test_halves_nothing():\n    words = ['a']\n    half(6)\n    assert words == ['a']", handoff=AGAIN
    )
    assert played.types == [FindingType.UNEXPECTED_PASS]
    assert "noticed none" in played.told


SAYS_COVERED = Report('Halving is there.\n{"covered": "half() halves any number"}')


def test_a_session_that_says_covered_is_not_asked_again_if_the_proof_bears_it_out() -> None:
    played = passing(HONEST, report=SAYS_COVERED)
    assert played.verdict.outcome is Outcome.COVERED, played.told


def test_the_word_alone_proves_nothing() -> None:
    played = passing(BLIND, report=SAYS_COVERED)
    assert played.types == [FindingType.MEANINGLESS_TEST], played.told


def test_a_test_that_only_asks_for_something_is_meaningless() -> None:
    played = written("def test_doubles():\n    from thing import double\n\n    assert double(2) is not None")
    assert played.types == [FindingType.MEANINGLESS_TEST]
    assert "any object may come back" in played.told


def test_without_retries_nobody_is_asked_again() -> None:
    played = passing(HONEST, rules=Rules(retries=0))
    assert played.verdict.outcome is Outcome.COVERED


def test_abort_never_gives_in() -> None:
    played = passing(HONEST, handoff=AGAIN, rules=Rules(red_on_pass="abort"))
    assert played.types == [FindingType.UNEXPECTED_PASS]


def test_warn_goes_on_with_a_warning() -> None:
    played = passing(HONEST, handoff=AGAIN, rules=Rules(red_on_pass="warn"))
    assert accepted(played)
    assert played.verdict.outcome is Outcome.WARNED
    assert [item.type for item in played.warnings] == [FindingType.UNEXPECTED_PASS]


def test_a_passing_test_is_first_of_all_judged_by_what_else_is_wrong() -> None:
    played = passing("def test_nothing():\n    half(6)", handoff=AGAIN)
    assert played.types == [FindingType.MEANINGLESS_TEST]
    assert played.verdict.test_result is TestOutcome.PASS


def test_after_another_error_a_passing_test_is_asked_for_once_more() -> None:
    other = replace(AGAIN, error_details=ErrorDetails(FindingType.TEST_TAMPERING, "x"))
    assert passing(HONEST, handoff=other).types == [FindingType.UNEXPECTED_PASS]


def test_an_error_on_the_way_through_other_files_says_nothing_about_the_planned_code() -> None:
    frames = (Place("test_thing.py", 1), Place("/usr/lib/json.py", 3), Place("tests/data.txt", 1))
    one = failing(NAME, Kind.EXCEPTION, exception="ValueError", frames=frames)
    assert told(one).types == [FindingType.WRONG_FAILURE]


def test_values_that_ought_to_be_equal_may_be_compared_with_their_like() -> None:
    text = "from thing import Money\n\n\ndef test_equal():\n    assert Money(5) == Money(5)\n"
    code = "class Money:\n    def __init__(self, n):\n        self.n = n\n"
    played = play(RED, {}, {"test_thing.py": text, "thing.py": code})
    assert accepted(played), played.told


# --- what no code has a say in


@pytest.mark.parametrize(
    "claim",
    [
        "total is NotImplemented and 1 == 2",
        "total == 2 and one == two",
        "total == 2 == 3",
        "total and 1 == 2",
    ],
)
def test_a_part_of_an_assertion_that_fails_by_itself_can_never_pass(claim: str) -> None:
    given = "    total = half(4)\n    one = 1\n    two = 2\n"
    played = written(f"def test_doubles():\n{given}    assert {claim}\n    assert total == 5\n")
    assert played.types == [FindingType.MEANINGLESS_TEST]
    assert "fails whatever the code does" in played.told


@pytest.mark.parametrize(
    "body",
    [
        "assert half(4) == 3 and 1 == 1",
        "one = 1\nassert one == 1 and half(4) == 3\nassert half(4) == 4",
        "assert 0 < half(4) < 1",
        "if half(4):\n    assert half(4) == 3 and 1 == 2",  # whether it comes to that is for the code to say
    ],
)
def test_a_part_that_holds_by_itself_does_no_harm(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    played = written(f"def test_doubles():\n{lines}")
    assert accepted(played), played.told


# --- what must not be come to


@pytest.mark.parametrize(
    "body",
    [
        "for part in parts(4):\n    assert False, part",
        "if parts(4):\n    assert False",
        "while parts(4):\n    assert False",
        "if parts(4) != [4]:\n    assert False",
        "try:\n    parts(4)\nexcept TypeError as error:\n    assert False, error",
        "try:\n    parts(4)\nexcept ValueError:\n    return\nassert False, 'not refused'",
        "try:\n    parts(4)\n    assert False\nexcept ValueError as error:\n    assert '4' in str(error)",
        "def never(_):\n    assert False\n\nleave = subscribe(never)\nleave()",
    ],
)
@pytest.mark.parametrize(
    "code", [None, "def parts(n):\n    return [1]\n\n\ndef subscribe(listener):\n    return listener(1)\n"]
)
def test_what_fails_by_itself_may_stand_where_code_must_not_lead_to(body: str, code: str | None) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"from thing import parts, subscribe\n\n\ndef test_it():\n{lines}"
    files = {} if code is None else {"thing.py": code}
    fine = code is None or "TypeError" not in body  # it passes there at once
    played = play(RED, files, {**files, "test_thing.py": text})
    assert accepted(played) or not fine, played.told


@pytest.mark.parametrize(
    "body",
    [
        "parts(4)\nassert False",
        "import pytest\nif parts(4) is not None:\n    pass\npytest.fail('not yet')",
        "found = parts(4)\nfor number in (1, 2):\n    assert False, found",
    ],
)
def test_what_fails_by_itself_wherever_code_leads_can_never_pass_though_the_code_is_not_there(
    body: str,
) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    played = play(RED, {}, {"test_thing.py": f"from thing import parts\n\n\ndef test_it():\n{lines}"})
    assert played.types == [FindingType.MEANINGLESS_TEST]
    assert "whatever comes back, it fails in line" in played.told


# --- what the code makes of the test's own classes


@pytest.mark.parametrize("of", ["(Model)", "(Plain, metaclass=Meta)", ""])
def test_a_class_of_the_test_may_be_the_codes_to_fill(of: str) -> None:
    code = "class Model:\n    pass\n\n\nclass Meta(type):\n    pass\n"
    text = f"""
        from thing import Meta, Model


        class Plain:
            pass


        def test_a_flag_becomes_a_switch():
            class Lights{of}:
                green = False

            lights = Lights()
            lights.green(True)
            assert lights.green.on
    """
    played = play(RED, {"thing.py": code}, {"thing.py": code, "test_thing.py": text})
    assert played.types == ([] if of else [FindingType.WRONG_FAILURE])


def test_a_class_beside_the_test_may_be_the_codes_to_fill_too() -> None:
    code = "class Model:\n    pass\n"
    text = "from thing import Model\n\n\nclass Lights(Model):\n    green = False\n\n\ndef test_it():\n    Lights().green(True)\n"
    played = play(
        RED, {"thing.py": code}, {"thing.py": code, "test_thing.py": f"{text}    assert Lights.green.on\n"}
    )
    assert accepted(played), played.told
