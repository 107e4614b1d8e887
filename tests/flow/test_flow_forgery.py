"""Who writes branch, notes and refs as he likes does not get a history through that was not made test by test."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pasts import NOTES, Past
from stage import CASES, CODE, TEST, code, suite

Files = Mapping[str, str]


def root(past: Past) -> str:
    return past.repo.git("rev-list", "--max-parents=0", "HEAD")


def noted(past: Past, commit: str, body: Mapping[str, Any]) -> None:
    past.repo.git("notes", NOTES, "add", "-f", "-F", "-", commit, stdin=json.dumps(body))


def types(past: Past, span: str | None = None, **flags: Any) -> set[str]:
    verified = past.verify(span, **flags)
    each = [*verified.cycles, *verified.rounds]
    return {str(f.type) for f in (*verified.findings, *(f for cycle in each for f in cycle.findings))}


def edited(subject: str, **files: str) -> Callable[[str, dict[str, str]], Files]:
    """Return an edit of the files of one commit and of all after it."""
    seen: list[str] = []

    def edit(found: str, before: dict[str, str]) -> Files:
        seen.extend([found] if found == subject else [])
        return {**before, **files} if seen else before

    return edit


# --- what a note says of the rules it was judged by


def test_a_red_that_never_failed_is_not_excused_by_a_note_that_says_warned(plain: Past) -> None:
    """The project's settings say `cover`: a test that passes at once has to be proved."""
    blind = suite(1) + "\n\ndef test_subtract() -> None:\n    assert calc.add(6, 3) == 9\n"
    plain.rewrite(
        lambda s, files: {**files, TEST: blind} if "test_subtract" in files.get(TEST, "") else files
    )
    red = plain.commits()[f"test: {CASES[1]}"]
    plain.forge(red, outcome="warned", testResult="PASS")
    assert "MalformedHandoff" in types(plain)


@pytest.mark.slow
def test_tests_that_tell_more_than_an_exit_code_are_asked_for_it(past: Past) -> None:
    """Two tests in one RED, and a note that claims that nobody could count them."""
    two = suite(1) + suite(3)[len(suite(1)) :]
    past.rewrite(
        lambda s, files: (
            {**files, TEST: two, **({CODE: code(3)} if s != f"test: {CASES[1]}" else {})}
            if "test_subtract" in files.get(TEST, "")
            else files
        )
    )
    for subject in (f"test: {CASES[1]}", f"feat: {CASES[1]}", "refactor: say what is returned"):
        past.forge(past.commits()[subject], evidence="exit-code")
    assert "TooManyTests" in types(past)


@pytest.mark.slow
def test_a_broken_test_from_before_is_not_excused_by_a_warning_in_the_note(past: Past) -> None:
    old = 'def test_old() -> None:\n    assert open("README.md").read()\n'
    past.repo.git("branch", "work")
    past.repo.git("reset", "-q", "--hard", root(past))
    onto = past.repo.commit("test: the readme", {"tests/test_old.py": old})
    past.repo.git("checkout", "-q", "work")
    gone: list[str] = []

    def edit(subject: str, files: dict[str, str]) -> Files:
        gone.extend(["x"] if subject == f"feat: {CASES[1]}" else [])
        return {**files, "README.md": "" if gone else files["README.md"]}

    past.rewrite(edit, onto)
    told = {"type": "LegacyBroken", "message": "known", "severity": "warning"}
    past.forge(past.commits()[f"feat: {CASES[1]}"], findings=[told])
    assert "LegacyBroken" in types(past)


@pytest.mark.slow
def test_a_covered_case_is_proved_again_however_little_time_the_branch_allows(past: Past) -> None:
    past.repo.git("reset", "-q", "--hard", past.commits()[f"plan: tick {CASES[0]!r}"])
    before = past.note("HEAD")
    blind = suite(1) + "\n\ndef test_subtract() -> None:\n    assert callable(calc.add)\n"
    red = past.repo.commit(f"test: {CASES[1]}", {TEST: blind})
    claim = {
        "phase": "RED", "nextPhase": "PLAN", "testResult": "PASS", "outcome": "covered", "evidence": "per-test",
        "tests": [f"{TEST}::test_subtract"], "completedTests": list(CASES[:2]), "pendingTests": [],
    }  # fmt: skip
    noted(past, red, {**before, **claim})
    assert "UnexpectedPass" in types(past)


def test_settings_of_a_later_commit_do_not_judge_what_was_made_before_it(plain: Past) -> None:
    """The code was wrong all the time; then somebody set a test command that does not mind."""
    last = plain.commits()[f"plan: tick {CASES[0]!r}"]
    lenient = (
        'retry.backoff=0\nprobe.budget=0.001\ntest.command=grep -q "def test" calc.py tests/test_calc.py\n'
    )
    plain.rewrite(
        lambda s, files: {p: t.replace("a + b", "a * 9 + b") if p == CODE else t for p, t in files.items()}
    )
    plain.repo.git("reset", "-q", "--hard", plain.commits()[f"plan: tick {CASES[0]!r}"])
    before = plain.note("HEAD")
    mine = plain.repo.commit("chore: mine", {"tdd.properties": lenient})
    noted(plain, mine, {**before, "carriedFrom": last})
    verified = plain.verify()
    assert "TestFailure" in {f.type for cycle in verified.cycles for f in cycle.findings}


# --- what a note says of its case


@pytest.mark.slow
def test_the_files_of_a_case_stay_those_that_were_planned(past: Past) -> None:
    """RED's note calls the test file an implementation, so that GREEN may write to it."""
    weak = suite(2).replace("== 3", "is not None")
    past.rewrite(edited(f"feat: {CASES[1]}", **{TEST: weak}))
    case = {"description": CASES[1], "testFile": "tests/test_other.py", "implFile": TEST}
    for subject in (f"test: {CASES[1]}", f"feat: {CASES[1]}", "refactor: say what is returned"):
        past.forge(past.commits()[subject], currentTest=case)
    assert "MalformedHandoff" in types(past)


def carried(plain: Past, subject: str, **keys: Any) -> None:
    """Slip a commit of the user's in after a turn, with a note that carries the turn's on; the rest is as it was."""
    commits = plain.commits()
    after = commits[subject]
    rest = plain.repo.git("rev-list", "--reverse", f"{after}..HEAD").split()
    note = plain.note(after)
    plain.repo.git("reset", "-q", "--hard", after)
    mine = plain.repo.commit("docs: mine", {"mine.txt": "x\n"})
    noted(plain, mine, {**note, "carriedFrom": after, **keys})
    for commit in rest:
        plain.repo.git("cherry-pick", "--allow-empty", commit)
        plain.repo.git("notes", NOTES, "copy", commit, "HEAD")


def test_a_handoff_that_was_carried_over_truly_holds(plain: Past) -> None:
    carried(plain, f"test: {CASES[1]}")
    assert types(plain) == set()


@pytest.mark.parametrize(
    "keys",
    [
        {"currentTest": {"description": CASES[1], "testFile": "tests/test_other.py", "implFile": TEST}},
        {"tests": ["tests/test_calc.py::test_add"]},
        {"outcome": "warned"},
        {"completedTests": list(CASES)},
        {"testResult": "PASS"},
        {"feature": "another"},
    ],
    ids=str,
)
def test_a_handoff_that_was_changed_on_the_way_is_found(plain: Past, keys: dict[str, Any]) -> None:
    carried(plain, f"test: {CASES[1]}", **keys)
    assert types(plain) & {"HistoryRewritten", "MalformedHandoff"}


def test_a_run_does_not_begin_with_a_handoff_carried_from_nowhere(plain: Past) -> None:
    """The first cycle never was one; a note that claims to be carried over stands where it should have ended."""
    end = plain.commits()["refactor: no changes needed"]
    for commit in plain.repo.git("rev-list", f"{end}~").split():
        plain.repo.git("notes", NOTES, "remove", "--ignore-missing", commit)
    plain.forge(end, carriedFrom=plain.repo.git("rev-parse", f"{end}~"))
    assert "HistoryRewritten" in types(plain)


def test_boxes_are_not_earned_by_what_an_opening_note_says(plain: Past) -> None:
    """All boxes are ticked when the first case is done."""
    first = plain.commits()["plan: list the cases"]
    plain.repo.git("reset", "-q", "--hard", root(plain))
    listed = plain.repo.git("show", f"{first}:test-list.md")
    early = listed.replace(f"- [ ] {CASES[1]}", f"- [x] {CASES[1]}") + "\n"
    head = plain.repo.commit("plan: list the cases", {"test-list.md": early})
    noted(
        plain, head, {**plain.note(first), "completedTests": [CASES[1]], "pendingTests": [], "testList": None}
    )
    plain.forge(root(plain), completedTests=[CASES[1]])
    red = plain.repo.commit(f"test: {CASES[0]}", {TEST: suite(1)})
    body = {
        **plain.note(head),
        "phase": "RED",
        "nextPhase": "GREEN",
        "testResult": "FAIL",
        "evidence": "exit-code",
    }
    noted(plain, red, body)
    assert "MalformedHandoff" in types(plain)
