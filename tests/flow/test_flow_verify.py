"""A history that was made honestly is proved in any clone; one that was edited afterwards is found out."""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stage import CASES, CODE, GREENFIELD, PLAIN, TEST, Stage, calculator, code, once, suite, surroundings

from redgreenrefactor.config import Flags
from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.model.events import Event
from redgreenrefactor.model.proof import CheckedCycle, Verification
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.verification import verify
from redgreenrefactor.wiring import Surroundings
from repos import Repo

NOTES = "--ref=tdd-handoffs"


@dataclass
class Past:
    """A repository with a finished run in it, to be tampered with."""

    repo: Repo

    def verify(self, span: str | None = None) -> Verification:
        interrupt = Interrupt()
        self.events: list[Event] = []
        around = Surroundings(self.repo.path, surroundings(self.repo), Flags(), self.events.append, interrupt)
        try:
            return verify(around, span)
        finally:
            interrupt.close()

    def commits(self) -> dict[str, str]:
        """Return the commits by their subjects."""
        rows = self.repo.git("log", "--format=%s%x09%H").splitlines()
        return dict(row.split("\t") for row in rows)  # pyright: ignore[reportReturnType, reportArgumentType]

    def note(self, commit: str) -> dict[str, Any]:
        return json.loads(self.repo.git("notes", NOTES, "show", commit))

    def forge(self, commit: str, **keys: Any) -> None:
        """Change a note."""
        body = {**self.note(commit), **keys}
        self.repo.git("notes", NOTES, "add", "-f", "-F", "-", commit, stdin=json.dumps(body))

    def rewrite(
        self, edit: Callable[[str, dict[str, str]], Mapping[str, str] | None], onto: str = ""
    ) -> None:
        """Make the run's commits again, with files changed by their subjects; notes follow, as `rebase` has it.

        `edit` is given a subject and the files of its commit, and returns what they are to be, None to leave
        the commit out.
        """
        opening = self.repo.git("rev-list", "--max-parents=0", "HEAD")
        parent = onto or opening
        for commit in self.repo.git("rev-list", "--reverse", f"{opening}..HEAD").split():
            message = self.repo.git("log", "-1", "--format=%B", commit)
            files = self._files(commit) | (self._files(onto) if onto else {})
            wanted = edit(message.splitlines()[0], files)
            if wanted is None:
                continue
            self.repo.git("read-tree", "--empty")
            for path, text in wanted.items():
                blob = self.repo.git("hash-object", "-w", "--stdin", stdin=text)
                self.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
            tree = self.repo.git("write-tree")
            parent = self.repo.git("commit-tree", tree, "-p", parent, "-m", message)
            self.repo.git("notes", NOTES, "copy", "-f", commit, parent)
        self.repo.git("reset", "-q", "--hard", parent)

    def _files(self, commit: str) -> dict[str, str]:
        names = self.repo.git("ls-tree", "-r", "--name-only", commit).splitlines()
        return {name: self.repo.git("show", f"{commit}:{name}") + "\n" for name in names}


def only(verified: Verification) -> CheckedCycle:
    """Return the one cycle that does not hold."""
    assert not verified.ok
    (broken,) = [cycle for cycle in verified.cycles if not cycle.ok]
    return broken


def made(folder: Path, files: Mapping[str, str]) -> None:
    path = folder / "project"
    path.mkdir()
    env = {"PATH": surroundings_path(), "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    repo = Repo(path, env)
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", files)
    done = Stage(repo, calculator(2)).run()
    assert done.code == 0, done


def surroundings_path() -> str:
    import os  # noqa: PLC0415

    return os.environ["PATH"]


def copied(source: Path, tmp_path: Path, env: dict[str, str]) -> Past:
    shutil.copytree(source / "project", tmp_path / "a" / "project", symlinks=True)
    return Past(Repo(tmp_path / "a" / "project", env))


@pytest.fixture
def past(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, env: dict[str, str]) -> Past:
    """A finished run of two cycles, judged test by test."""
    legacy = {"tests/test_old.py": "def test_old() -> None:\n    assert True\n"}
    shared = once(tmp_path_factory, "verify-pytest", lambda folder: made(folder, {**GREENFIELD, **legacy}))
    return copied(shared, tmp_path, env)


@pytest.fixture
def plain(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, env: dict[str, str]) -> Past:
    """The same, judged by exit code: swift, for what does not depend on single tests."""
    return copied(once(tmp_path_factory, "verify-plain", lambda folder: made(folder, PLAIN)), tmp_path, env)


# --- honest


def test_an_honest_run_holds_whatever_lies_about_in_the_working_tree(past: Past) -> None:
    past.repo.write("conftest.py", "raise SystemExit(1)\n")
    past.repo.write(CODE, "broken\n")
    before = past.repo.git("status", "--porcelain")
    verified = past.verify()
    assert verified.ok
    assert [cycle.to_json()["findings"] + cycle.to_json()["warnings"] for cycle in verified.cycles] == [
        [],
        [],
    ]
    steps = [{str(phase): str(c.result) for phase, c in cycle.phases.items()} for cycle in verified.cycles]
    assert steps == [{"RED": "FAIL", "GREEN": "PASS", "REFACTOR": "PASS"}] * 2
    assert (verified.missing, verified.findings, verified.warnings) == ((), (), ())
    assert past.repo.git("status", "--porcelain") == before
    assert {type(event).__name__ for event in past.events} == {"LookedBack"}


def test_a_branch_that_was_rebased_as_a_whole_holds(past: Past) -> None:
    opening = past.repo.git("rev-list", "--max-parents=0", "HEAD")
    past.repo.git("branch", "work")
    past.repo.git("reset", "-q", "--hard", opening)
    onto = past.repo.commit("docs: meanwhile", {"notes.txt": "x\n"})
    past.repo.git("checkout", "-q", "work")
    past.rewrite(lambda _subject, files: files, onto)
    assert past.verify().ok


def test_a_message_that_was_mended_afterwards_holds(past: Past) -> None:
    past.repo.git("commit", "-q", "--amend", "-m", "plan: all done, with better words")
    past.repo.git("notes", NOTES, "copy", "-f", "HEAD@{1}", "HEAD")
    assert past.verify().ok


def test_commits_of_the_user_s_on_top_are_no_part_of_the_run(plain: Past) -> None:
    plain.repo.commit("docs: mine", {"mine.txt": "x\n"})
    assert plain.verify().ok


def test_a_test_from_before_the_run_that_fails_now_and_then_is_nobody_s_fault(
    past: Past, tmp_path: Path
) -> None:
    """Two of three runs of it fail."""
    counter = tmp_path / "counter"
    flaky = (
        "from pathlib import Path\n\n\ndef test_old() -> None:\n"
        f"    counter = Path({str(counter)!r})\n"
        "    times = int(counter.read_text()) if counter.exists() else 0\n"
        "    counter.write_text(str(times + 1))\n"
        "    assert times % 3 == 0\n"
    )
    opening = past.repo.git("rev-list", "--max-parents=0", "HEAD")
    past.repo.git("branch", "work")
    past.repo.git("reset", "-q", "--hard", opening)
    onto = past.repo.commit("test: a flaky one", {"tests/test_old.py": flaky})
    past.repo.git("checkout", "-q", "work")
    past.rewrite(lambda _subject, files: files, onto)
    verified = past.verify()
    assert verified.ok, verified


def test_a_range_takes_the_cycles_with_a_commit_in_it(plain: Past) -> None:
    commits = plain.commits()
    verified = plain.verify(f"{commits['refactor: no changes needed']}..{commits[f'test: {CASES[1]}']}")
    assert [cycle.cycle_number for cycle in verified.cycles] == [2]
    assert verified.ok
    with pytest.raises(NotReadyError, match="no handoff in"):
        plain.verify("HEAD..HEAD")
    for bad in ("nonsense", "--all"):
        with pytest.raises(UsageError, match="no range"):
            plain.verify(bad)


def test_a_range_names_a_branch_that_is_not_checked_out(plain: Past) -> None:
    plain.repo.git("branch", "work")
    plain.repo.git("reset", "-q", "--hard", plain.repo.git("rev-list", "--max-parents=0", "HEAD"))
    assert len(plain.verify("main..work").cycles) == 2


# --- tampered with


def test_code_that_came_with_the_test_is_found(past: Past) -> None:
    past.rewrite(lambda subject, files: {**files, CODE: code(2)} if subject == f"test: {CASES[1]}" else files)
    broken = only(past.verify())
    assert broken.cycle_number == 2
    assert not broken.phases[PhaseName.RED].ok
    assert (broken.findings[0].type, broken.findings[0].file) == ("ScopeViolation", CODE)


def test_code_that_does_not_do_it_is_found(past: Past) -> None:
    wrong = code(1).replace("a + b", "a * 100 + b")
    past.rewrite(lambda subject, files: {**files, CODE: wrong} if subject == f"feat: {CASES[0]}" else files)
    verified = past.verify()
    broken = next(cycle for cycle in verified.cycles if not cycle.ok)
    assert broken.cycle_number == 1
    assert (broken.phases[PhaseName.GREEN].result, broken.phases[PhaseName.GREEN].ok) == ("FAIL", False)
    finding = next(finding for finding in broken.findings if finding.type == "TestFailure")
    assert (finding.file, finding.line) == (TEST, 5)


def test_a_test_that_was_weakened_with_the_code_is_found(past: Past) -> None:
    weak = suite(1).replace("== 9", "is not None")
    past.rewrite(lambda subject, files: {**files, TEST: weak} if subject == f"feat: {CASES[0]}" else files)
    assert "TestTampering" in {finding.type for cycle in past.verify().cycles for finding in cycle.findings}


def test_a_commit_that_was_slipped_in_is_found(plain: Past) -> None:
    target = plain.commits()[f"feat: {CASES[1]}"]
    rest = plain.repo.git("rev-list", "--reverse", f"{target}..HEAD").split()
    plain.repo.git("reset", "-q", "--hard", f"{target}~")
    plain.repo.commit("chore: nothing to see", {"extra.txt": "x\n"})
    for commit in (target, *rest):
        plain.repo.git("cherry-pick", "--allow-empty", commit)
        plain.repo.git("notes", NOTES, "copy", commit, "HEAD")
    broken = only(plain.verify())
    assert (broken.cycle_number, broken.findings[0].type) == (2, "HistoryRewritten")
    assert "without a handoff" in broken.findings[0].message


def test_a_turn_that_was_taken_out_is_found(plain: Past) -> None:
    plain.rewrite(lambda subject, files: None if subject == f"test: {CASES[1]}" else files)
    broken = only(plain.verify())
    assert (broken.cycle_number, broken.findings[0].type) == (2, "HistoryRewritten")


def test_a_note_on_the_wrong_commit_is_found(plain: Past) -> None:
    commits = plain.commits()
    red, green = commits[f"test: {CASES[0]}"], commits[f"feat: {CASES[0]}"]
    note = plain.repo.git("notes", NOTES, "show", red)
    plain.repo.git("notes", NOTES, "copy", "-f", green, red)
    plain.repo.git("notes", NOTES, "add", "-f", "-F", "-", green, stdin=note)
    assert {finding.type for finding in only(plain.verify()).findings} >= {"HistoryRewritten"}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"testResult": "PASS"}, "testResult PASS"),
        ({"nextPhase": "REFACTOR"}, "nextPhase REFACTOR"),
        ({"completedTests": ["more than that"]}, "completedTests"),
        ({"cycleNumber": 3}, "cycle 3"),
        ({"feature": "Another one"}, "another feature"),
        ({"testList": "0" * 40}, "another test-list.md"),
    ],
    ids=["testResult", "nextPhase", "completedTests", "cycleNumber", "feature", "testList"],
)
def test_a_note_that_says_something_else_is_found(plain: Past, keys: dict[str, Any], words: str) -> None:
    plain.forge(plain.commits()[f"test: {CASES[1]}"], **keys)
    verified = plain.verify()
    assert not verified.ok
    said = [finding.message for cycle in verified.cycles for finding in cycle.findings]
    assert any(words in message for message in said), said


def test_a_note_that_names_another_test_is_found(past: Past) -> None:
    past.forge(past.commits()[f"test: {CASES[1]}"], tests=[f"{TEST}::test_add"])
    assert any("names the test" in finding.message for finding in only(past.verify()).findings)


def test_a_box_that_was_ticked_too_early_is_found(plain: Past) -> None:
    early = plain.repo.git("show", "HEAD:test-list.md") + "\n"
    plain.rewrite(
        lambda subject, files: (
            {**files, "test-list.md": early} if subject == f"plan: tick {CASES[0]!r}" else files
        )
    )
    types = {finding.type for cycle in plain.verify().cycles for finding in cycle.findings}
    assert "MalformedHandoff" in types


# --- as far as it goes


def clone(past: Past, *args: str) -> Past:
    there = past.repo.path.parent / "clone"
    subprocess.run(
        ["git", "clone", "-q", *args, f"file://{past.repo.path}", str(there)],
        check=True,
        env=dict(past.repo.env),
    )
    return Past(Repo(there, past.repo.env))


def test_without_the_notes_it_says_what_to_type_and_typing_it_helps(plain: Past) -> None:
    there = clone(plain)
    with pytest.raises(NotReadyError, match="no refs/notes/tdd-handoffs") as refusal:
        there.verify()
    typed = refusal.value.hint.split('"')[1]
    assert typed.startswith("git fetch origin ")
    subprocess.run(typed, shell=True, check=True, cwd=there.repo.path, env=dict(there.repo.env))
    assert there.verify().ok


def test_a_shallow_clone_is_judged_as_far_as_it_goes(plain: Past) -> None:
    there = clone(plain, "--depth", "4")  # GREEN, REFACTOR, and the last PLAN of the second cycle
    there.repo.git("fetch", "-q", "origin", "+refs/notes/*:refs/notes/*")
    verified = there.verify()
    assert verified.ok
    assert [sorted(cycle.phases) for cycle in verified.cycles] == [["GREEN", "REFACTOR"]]
    assert "history ends at" in verified.missing[0]


def test_a_clone_too_shallow_to_prove_anything_says_so(plain: Past) -> None:
    there = clone(plain, "--depth", "1")
    there.repo.git("fetch", "-q", "origin", "+refs/notes/*:refs/notes/*")
    with pytest.raises(NotReadyError, match="too shallow") as refusal:
        there.verify()
    assert "'git fetch --unshallow'" in refusal.value.hint
    there.repo.git("fetch", "-q", "--unshallow")
    assert there.verify().ok


def test_an_unfinished_run_holds_as_far_as_it_went(plain: Past) -> None:
    plain.repo.git("reset", "-q", "--hard", plain.commits()[f"feat: {CASES[1]}"])
    verified = plain.verify()
    assert verified.ok
    assert sorted(verified.cycles[1].phases) == ["GREEN", "RED"]
    assert verified.missing == ("the run is not finished (running): REFACTOR is due",)


def test_what_the_tests_need_and_is_not_installed_is_no_fault_of_the_history(past: Past) -> None:
    past.rewrite(lambda _subject, files: {**files, "tests/test_old.py": "import nowhere_to_be_found\n"})
    with pytest.raises(NotReadyError, match="'nowhere_to_be_found', which is not installed") as refusal:
        past.verify()
    assert "pip install" in refusal.value.hint
