"""Who writes branch, notes and refs as he likes does not get a history through that was not made test by test."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pasts import NOTES, Past
from stage import CASES, CODE, PLAIN, PLAIN_SETTINGS, TEST, Stage, calculator, code, suite

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.loop.workflows import PLAIN as PLAIN_TASK
from repos import Repo

Files = Mapping[str, str]
pytestmark = pytest.mark.long


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
    assert "MeaninglessTest" in types(past)


@pytest.mark.slow
def test_a_test_weakened_in_refactor_is_found_however_little_time_the_branch_allows(past: Past) -> None:
    weak = suite(2).replace("== 9", "is not None")
    past.rewrite(edited("refactor: say what is returned", **{TEST: weak}))
    assert "TestTampering" in types(past)


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


# --- what no turn accounts for


def test_turns_below_a_second_opening_are_not_left_out(plain: Past) -> None:
    """One run id, two openings: only the part above the second one would be looked at."""
    plain.rewrite(
        lambda s, files: {p: t.replace("== 9", "!= 0") if p == TEST else t for p, t in files.items()}
    )
    wrong = {f"test: {CASES[0]}": {CODE: code(1)}}
    plain.rewrite(lambda s, files: {**files, **wrong.get(s, {})})
    commits = plain.commits()
    end = commits["refactor: no changes needed"]
    old = plain.note(root(plain))
    for commit in plain.repo.git("rev-list", f"{end}..HEAD").split():
        plain.forge(commit, cycleNumber=plain.note(commit)["cycleNumber"] - 1)
    opening: dict[str, Any] = {**old, "previous": plain.note(end)}
    noted(plain, end, opening)
    assert not plain.verify(f"{root(plain)}..HEAD").ok


def test_a_run_that_cannot_be_judged_is_not_passed_over_for_one_that_can(plain: Past) -> None:
    """A commit that claims to be the work of a task file nobody can read."""
    head = plain.note("HEAD")
    stray = plain.repo.commit("feat: by hand", {"more.py": "x = 1\n"})
    body = {
        **head,
        "runId": "20260101-000000-aaaa",
        "phase": "CODE",
        "nextPhase": "COMPLETE",
        "cycleNumber": 1,
    }
    noted(plain, stray, {**body, "workflow": PLAIN_TASK.name, "currentTest": None, "testResult": "PASS"})
    with pytest.raises(NotReadyError):
        plain.verify(f"{root(plain)}..HEAD")


def test_a_test_of_the_run_that_is_weakened_on_top_of_it_is_found(plain: Past) -> None:
    plain.repo.commit("fix: a typo", {TEST: suite(1), CODE: code(1)})
    assert "TestTampering" in types(plain)
    assert "TestTampering" in types(plain, f"{root(plain)}..HEAD")


def test_a_test_of_the_run_that_is_changed_with_its_code_between_cycles_is_told_of(past: Past) -> None:
    last = past.commits()[f"plan: tick {CASES[0]!r}"]
    past.repo.git("reset", "-q", "--hard", last)
    note = past.note("HEAD")
    mine = past.repo.commit(
        "fix: a typo", {TEST: suite(1).replace("== 9", "!= 0"), CODE: code(1).replace("+", "*")}
    )
    noted(past, mine, {**note, "carriedFrom": last})
    verified = past.verify()
    assert verified.ok
    assert any("as it left them they fail" in warning.message for warning in verified.warnings)
    assert not past.verify(strict=True).ok


def test_a_side_branch_without_a_cycle_is_told_of(plain: Past) -> None:
    plain.repo.git("branch", "side", root(plain))
    plain.repo.git("checkout", "-q", "side")
    plain.repo.commit("feat: on the side", {"side.py": "x = 1\n"})
    plain.repo.git("checkout", "-q", "main")
    plain.repo.git("merge", "-q", "--no-edit", "side")
    verified = plain.verify(f"{root(plain)}..HEAD")
    assert (verified.ok, ["side.py" in warning.message for warning in verified.warnings]) == (True, [True])
    assert types(plain, f"{root(plain)}..HEAD", strict=True) == {"ScopeViolation"}


def test_work_of_others_and_prose_is_let_through_strictly(plain: Past) -> None:
    """The base branch is merged in on top; what it brings is not part of the range."""
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("checkout", "-q", "-b", "base", root(plain))
    plain.repo.commit("feat: theirs", {"theirs.py": "x = 1\n"})
    plain.repo.git("checkout", "-q", "-B", "work", head)
    plain.repo.git("merge", "-q", "--no-edit", "base")
    plain.repo.commit("docs: how to add", {"README.md": "better\n"})
    verified = plain.verify("base..work", strict=True)
    assert (verified.ok, verified.warnings) == (True, ())


def test_a_conflict_that_was_resolved_by_hand_counts_with_what_it_concerns_alone(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("checkout", "-q", "-b", "base", root(plain))
    plain.repo.commit("feat: theirs", {"theirs.py": "x = 1\n", CODE: "theirs = 1\n"})
    plain.repo.git("checkout", "-q", "-B", "work", head)
    with pytest.raises(AssertionError, match="git"):
        plain.repo.git("merge", "-q", "base")
    plain.repo.commit("Merge branch 'base'", {CODE: code(2, polished=2) + "\n\ntheirs = 1\n"})
    verified = plain.verify("base..work")
    assert verified.ok
    (warning,) = verified.warnings
    assert warning.message.endswith(f"what it does to {CODE}")


@pytest.mark.slow
def test_a_test_command_that_was_changed_between_two_cycles_is_honest(
    tmp_path: Path, env: dict[str, str]
) -> None:
    repo = Repo(tmp_path / "project", env)
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", PLAIN)
    stage = Stage(repo, calculator(2))
    assert stage.run("--max-cycles", "1").code == 4
    repo.git("mv", "run_all.py", "all.py")
    repo.commit("chore: a better name", {"tdd.properties": PLAIN_SETTINGS.replace("run_all", "all")})
    assert stage.resume().code == 0
    verified = Past(repo).verify()
    assert (verified.ok, len(verified.cycles)) == (True, 2), verified


def test_a_run_on_a_branch_that_was_merged_is_judged_where_it_was_made(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("checkout", "-q", "-b", "other", root(plain))
    plain.repo.git("merge", "-q", "--no-ff", "--no-edit", head)
    verified = plain.verify(f"{root(plain)}..HEAD", strict=True)
    assert (verified.ok, len(verified.cycles)) == (True, 2)
    plain.forge(head, pendingTests=["more"])
    assert "MalformedHandoff" in types(plain, f"{root(plain)}..HEAD")


def test_a_person_s_work_on_top_is_told_of_and_passes(plain: Past) -> None:
    plain.repo.commit("feat: mine", {"more.py": "x = 1\n"})
    verified = plain.verify()
    assert (verified.ok, ["more.py" in warning.message for warning in verified.warnings]) == (True, [True])
    assert not plain.verify(strict=True).ok


def test_a_task_that_brings_a_command_of_its_own_is_told_of(plain: Past) -> None:
    """Nobody ever ran a task: somebody wrote three notes, and a criterion that any file fulfils."""
    plain.repo.git("reset", "-q", "--hard", root(plain))
    document = {
        "id": "T-1",
        "title": "Calculate",
        "description": "Add.",
        "meta": {"tdd_workflow": False},
        "convergence": {"criteria": ["$ test -f calc.py"]},
        "implementation": [{"step": 1, "title": "Write it", "description": "All of it."}],
    }
    opening = {**plain.note("HEAD"), "runId": "r", "phase": "CODE", "nextPhase": "CODE", "workflow": "plain"}
    mark = {"id": "T-1", "digest": "d", "session": "s", "document": document}
    noted(plain, root(plain), {**opening, "completedTests": [], "pendingTests": [], "task": mark})
    head = plain.repo.commit("feat: by hand", {CODE: "broken\n"})
    body = {**opening, "nextPhase": "COMPLETE", "state": "complete", "cycleNumber": 1, "testResult": "PASS"}
    noted(plain, head, {**body, "evidence": "exit-code"})
    verified = plain.verify()
    assert any("'test -f calc.py'" in warning.message for warning in verified.warnings), verified
    assert not plain.verify(strict=True).ok


# --- after the merge


def test_a_merge_that_holds_more_than_its_run_does_not_pass_strictly(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("update-ref", f"refs/tdd/runs/{plain.note('HEAD')['runId']}", head)
    plain.repo.git("reset", "-q", "--hard", root(plain))
    plain.repo.git("read-tree", "-u", "--reset", f"{head}^{{tree}}")
    plain.repo.commit("feat: a calculator (#1)", {"more.py": "x = 1\n"})
    assert plain.verify(pull_request=True).ok
    assert types(plain, pull_request=True, strict=True) == {"HistoryRewritten"}


def test_a_run_that_was_merged_long_ago_does_not_prove_what_is_merged_now(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("update-ref", f"refs/tdd/runs/{plain.note('HEAD')['runId']}", head)
    plain.repo.git("reset", "-q", "--hard", root(plain))
    plain.repo.git("read-tree", "-u", "--reset", f"{head}^{{tree}}")
    plain.repo.commit("feat: a calculator (#1)")
    plain.repo.commit("feat: something else (#2)", {"more.py": "x = 1\n"})
    with pytest.raises(NotReadyError, match="nothing tells which run"):
        plain.verify(pull_request=True)


def test_one_that_was_changed_since_does_not_either(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("update-ref", f"refs/tdd/runs/{plain.note('HEAD')['runId']}", head)
    plain.repo.git("reset", "-q", "--hard", root(plain))
    plain.repo.git("read-tree", "-u", "--reset", f"{head}^{{tree}}")
    plain.repo.commit("feat: a calculator (#1)")
    plain.repo.commit(
        "refactor: by hand", {CODE: code(2).replace("a: int", "one: int").replace("return a", "return one")}
    )
    plain.repo.commit("feat: something else (#2)", {"more.py": "x = 1\n"})
    with pytest.raises(NotReadyError, match="nothing tells which run"):
        plain.verify(pull_request=True)
