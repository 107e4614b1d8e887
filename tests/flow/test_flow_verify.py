"""A history that was made honestly is proved in any clone; one that was edited afterwards is found out."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pasts import NOTES, Past, only
from stage import (
    CASES,
    CODE,
    TEST,
    Stage,
    calculator,
    code,
    listed,
    planned,
    suite,
    surroundings,
)

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.lifecycle import factory
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.loop import lab
from redgreenrefactor.model.events import LookedBack
from redgreenrefactor.model.evidence import SuiteRun
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.threads import side_by_side
from repos import Repo


@pytest.mark.long
def test_broken_code_is_found_out_where_only_an_exit_code_is_told(plain: Past) -> None:
    plain.rewrite(
        lambda _subject, files: {path: text.replace("a + b", "a - b") for path, text in files.items()}
    )
    verified = plain.verify()
    assert not verified.ok
    assert {str(f.type) for cycle in verified.cycles for f in cycle.findings} >= {"TestFailure"}


# --- honest


@pytest.mark.long
def test_an_honest_run_holds_whatever_lies_about_in_the_working_tree_and_several_suites_at_a_time(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    together: list[int] = []

    def counted(work: Sequence[Callable[[], SuiteRun]]) -> list[SuiteRun]:
        together.append(len(work))
        return side_by_side(work)

    def jobs(_: Factory) -> int:
        return 3

    monkeypatch.setattr(lab, "WORTHWHILE", 0.0)
    monkeypatch.setattr(lab, "PROOF", 100)  # other tests may keep all cores busy
    monkeypatch.setattr(factory, "side_by_side", counted)
    monkeypatch.setattr(Factory, "_jobs", jobs)
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
    assert together[:1] == [3], together
    assert past.repo.git("status", "--porcelain") == before
    assert {type(event).__name__ for event in past.events} == {"LookedBack"}


@pytest.mark.slow
def test_a_branch_that_was_rebased_as_a_whole_holds(plain: Past) -> None:
    opening = plain.repo.git("rev-list", "--max-parents=0", "HEAD")
    plain.repo.git("branch", "work")
    plain.repo.git("reset", "-q", "--hard", opening)
    onto = plain.repo.commit("docs: meanwhile", {"notes.txt": "x\n"})
    plain.repo.git("checkout", "-q", "work")
    plain.rewrite(lambda _subject, files: files, onto)
    assert plain.verify().ok


@pytest.mark.slow
def test_a_message_that_was_mended_afterwards_holds(plain: Past) -> None:
    plain.repo.git("commit", "-q", "--amend", "-m", "plan: all done, with better words")
    plain.repo.git("notes", NOTES, "copy", "-f", "HEAD@{1}", "HEAD")
    assert plain.verify().ok


@pytest.mark.slow
def test_commits_of_the_user_s_on_top_are_no_part_of_the_run(plain: Past) -> None:
    plain.repo.commit("docs: mine", {"mine.txt": "x\n"})
    assert plain.verify().ok


@pytest.mark.slow
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


def test_a_sample_is_some_cycles_of_the_run_and_says_so(plain: Past) -> None:
    verified = plain.verify(sample=1)
    assert [cycle.cycle_number for cycle in verified.cycles] == [2]
    assert verified.ok
    (left_out,) = verified.missing
    assert left_out.endswith("1 of 2 cycles were not judged (--sample 1)")
    told = [event.left for event in plain.events if isinstance(event, LookedBack)]
    assert all(left is not None and left > 0 for left in told[:4])  # PLAN, RED, GREEN, REFACTOR
    assert told[4:] == [None]  # the last PLAN


@pytest.mark.slow
def test_a_range_names_a_branch_that_is_not_checked_out(plain: Past) -> None:
    plain.repo.git("branch", "work")
    plain.repo.git("reset", "-q", "--hard", plain.repo.git("rev-list", "--max-parents=0", "HEAD"))
    assert len(plain.verify("main..work").cycles) == 2


@pytest.mark.slow
def test_a_branch_that_was_moved_to_another_root_holds(plain: Past) -> None:
    tree = plain.repo.git("rev-parse", f"{plain.repo.git('rev-list', '--max-parents=0', 'HEAD')}^{{tree}}")
    root = plain.repo.git("commit-tree", tree, "-m", "chore: another beginning")
    plain.rewrite(lambda _subject, files: files, root)
    assert plain.verify().ok


@pytest.mark.long
def test_the_user_s_commits_between_and_several_runs_hold(plain: Past) -> None:
    """The second run drops a case, stops after its first one, and goes on after a commit of the user's."""
    before = plain.repo.git("rev-parse", "HEAD")
    first = plain.note("HEAD")["runId"]
    parts = calculator(3)
    short, whole = listed(2, 3), listed(3, 3)
    dropped = json.dumps(
        {"currentTest": None, "dropped": [{"description": "divides", "reason": "not asked"}]}
    )
    parts["PLAN-1"] = {**planned(2, 3), "files": {"test-list.md": short + "- [ ] divides\n"}}
    parts["RED-1"], parts["GREEN-1"] = parts["RED-3"], {**parts["GREEN-3"]}
    parts["PLAN-2"] = {"files": {"test-list.md": whole}, "commit": "plan: all done", "say": dropped}
    stage = Stage(plain.repo, parts)
    assert stage.run("--max-cycles", "1").code == 4
    plain.repo.commit("docs: mine", {"mine.txt": "x\n"})
    plain.repo.commit("docs: mine, too", {"mine.txt": "y\n"})
    done = stage.resume()
    assert done.code == 0, done
    assert plain.note("HEAD")["dropped"] == ["divides"]
    latest = plain.verify()
    assert latest.ok, latest
    assert [(cycle.cycle_number, cycle.test) for cycle in latest.cycles] == [(1, CASES[2])]
    both = plain.verify("HEAD")
    assert both.ok, both
    assert [cycle.run_id == first for cycle in both.cycles] == [False, True, True]
    assert {cycle.run_id for cycle in plain.verify(before).cycles} == {first}
    plain.forge("HEAD", dropped=None)
    assert [finding.type for finding in plain.verify().findings] == ["MalformedHandoff"]


@pytest.mark.slow
def test_the_demonstration_holds_without_a_word_of_warning(tmp_path: Path, env: dict[str, str]) -> None:
    """A covered case, mutants and shares of real probes."""
    stage = Stage(Repo(tmp_path, env), {}, env={"TMPDIR": str(tmp_path)})
    assert stage.rgr("demo").code == 0
    (folder,) = tmp_path.glob("rgr-demo-*")
    done = stage.rgr("verify", "--json", cwd=folder)
    assert done.code == 0, done
    assert [cycle["findings"] + cycle["warnings"] for cycle in done.json["cycles"]] == [[]] * 7


# --- tampered with


@pytest.mark.slow
def test_code_that_came_with_the_test_is_found(past: Past) -> None:
    past.rewrite(lambda subject, files: {**files, CODE: code(2)} if subject == f"test: {CASES[1]}" else files)
    broken = only(past.verify())
    assert broken.cycle_number == 2
    assert not broken.phases[PhaseName.RED].ok
    assert (broken.findings[0].type, broken.findings[0].file) == ("ScopeViolation", CODE)


@pytest.mark.slow
def test_code_that_does_not_do_it_is_found(past: Past) -> None:
    wrong = code(1).replace("a + b", "a * 100 + b")
    past.rewrite(lambda subject, files: {**files, CODE: wrong} if subject == f"feat: {CASES[0]}" else files)
    verified = past.verify()
    broken = next(cycle for cycle in verified.cycles if not cycle.ok)
    assert broken.cycle_number == 1
    assert (broken.phases[PhaseName.GREEN].result, broken.phases[PhaseName.GREEN].ok) == ("FAIL", False)
    finding = next(finding for finding in broken.findings if finding.type == "TestFailure")
    assert (finding.file, finding.line) == (TEST, 5)


@pytest.mark.slow
def test_a_test_that_was_weakened_with_the_code_is_found(past: Past) -> None:
    weak = suite(1).replace("== 9", "is not None")
    past.rewrite(lambda subject, files: {**files, TEST: weak} if subject == f"feat: {CASES[0]}" else files)
    assert "TestTampering" in {finding.type for cycle in past.verify().cycles for finding in cycle.findings}


@pytest.mark.long
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


@pytest.mark.slow
def test_a_turn_that_was_taken_out_is_found(plain: Past) -> None:
    plain.rewrite(lambda subject, files: None if subject == f"test: {CASES[1]}" else files)
    broken = only(plain.verify())
    assert (broken.cycle_number, broken.findings[0].type) == (2, "HistoryRewritten")


@pytest.mark.slow
def test_notes_that_were_taken_from_the_beginning_are_missed(plain: Past) -> None:
    commits = plain.commits()
    for commit in (plain.repo.git("rev-list", "--max-parents=0", "HEAD"), commits["plan: list the cases"]):
        plain.repo.git("notes", NOTES, "remove", commit)
    broken = only(plain.verify())
    assert (broken.cycle_number, broken.findings[0].type) == (1, "HistoryRewritten")
    assert "the handoff it started from is missing" in broken.findings[0].message


@pytest.mark.slow
def test_a_handoff_that_was_carried_past_a_phase_is_found(plain: Past) -> None:
    """RED's note, carried over to a commit that no gate has seen, as if GREEN were done."""
    commits = plain.commits()
    plain.repo.git("reset", "-q", "--hard", commits[f"test: {CASES[1]}"])
    note = plain.note("HEAD")
    forged = plain.repo.commit("feat: by hand", {CODE: code(2)})
    body = {**note, "nextPhase": "REFACTOR", "carriedFrom": commits[f"test: {CASES[1]}"]}
    plain.repo.git("notes", NOTES, "add", "-F", "-", forged, stdin=json.dumps(body))
    broken = only(plain.verify())
    assert "carried over" in broken.findings[0].message


@pytest.mark.slow
def test_a_note_on_the_wrong_commit_is_found(plain: Past) -> None:
    commits = plain.commits()
    red, green = commits[f"test: {CASES[0]}"], commits[f"feat: {CASES[0]}"]
    note = plain.repo.git("notes", NOTES, "show", red)
    plain.repo.git("notes", NOTES, "copy", "-f", green, red)
    plain.repo.git("notes", NOTES, "add", "-f", "-F", "-", green, stdin=note)
    assert {finding.type for finding in only(plain.verify()).findings} >= {"HistoryRewritten"}


@pytest.mark.sampled(2)
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


@pytest.mark.slow
def test_a_note_that_names_another_test_is_found(past: Past) -> None:
    past.forge(past.commits()[f"test: {CASES[1]}"], tests=[f"{TEST}::test_add"])
    assert any("names the test" in finding.message for finding in only(past.verify()).findings)


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_the_tests_need_and_is_not_installed_is_no_fault_of_the_history(past: Past) -> None:
    past.rewrite(lambda _subject, files: {**files, "tests/test_old.py": "import nowhere_to_be_found\n"})
    with pytest.raises(NotReadyError, match="'nowhere_to_be_found', which is not installed") as refusal:
        past.verify()
    assert "pip install" in refusal.value.hint


# --- after the merge


def squashed(past: Past, **files: str) -> str:
    """Squash the run onto main, as a forge does, and delete its branch: only what was pushed tells of it."""
    run, head = past.note("HEAD")["runId"], past.repo.git("rev-parse", "HEAD")
    past.repo.git("update-ref", f"refs/tdd/runs/{run}", head)
    past.repo.git("reset", "-q", "--hard", past.repo.git("rev-list", "--max-parents=0", "HEAD"))
    past.repo.git("read-tree", "-u", "--reset", f"{head}^{{tree}}")
    return past.repo.commit("feat: a calculator (#1)", files)


def test_the_cycles_of_a_squashed_pull_request_are_proved(plain: Past) -> None:
    commit = squashed(plain)
    with pytest.raises(NotReadyError, match="no cycle here") as refusal:
        plain.verify()
    assert "'rgr verify --pull-request'" in refusal.value.hint
    verified = plain.verify(pull_request=True)
    assert (verified.ok, len(verified.cycles)) == (True, 2)
    assert [(merged.commit, merged.tree) for merged in verified.merged] == [(commit, "equal")]


@pytest.mark.slow
def test_a_squash_on_top_of_others_work_is_what_git_merges(plain: Past) -> None:
    run, head = plain.note("HEAD")["runId"], plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("update-ref", f"refs/tdd/runs/{run}", head)
    plain.repo.git("reset", "-q", "--hard", plain.repo.git("rev-list", "--max-parents=0", "HEAD"))
    plain.repo.commit("docs: meanwhile", {"notes.txt": "x\n"})
    plain.repo.git("merge", "-q", "--squash", head)
    plain.repo.commit("feat: a calculator (#1)")
    verified = plain.verify(pull_request=True)
    assert (verified.ok, [merged.tree for merged in verified.merged]) == (True, ["merged"])


@pytest.mark.slow
def test_a_merge_commit_is_proved_by_its_second_parent(plain: Past) -> None:
    head = plain.repo.git("rev-parse", "HEAD")
    plain.repo.git("reset", "-q", "--hard", plain.repo.git("rev-list", "--max-parents=0", "HEAD"))
    plain.repo.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1", head)
    verified = plain.verify(pull_request=True)
    assert (verified.ok, len(verified.cycles)) == (True, 2)
    assert verified.merged[0].tree == "equal"


@pytest.mark.slow
def test_a_squash_that_differs_is_told_and_one_that_breaks_the_tests_is_found(past: Past) -> None:
    squashed(past, **{CODE: code(2, polished=1)})
    verified = past.verify(pull_request=True)
    assert verified.ok
    assert (verified.merged[0].tree, verified.merged[0].differs) == ("differs", (CODE,))
    assert CODE in verified.warnings[0].message
    past.repo.commit("feat: a calculator (#1)", {TEST: suite(1)})
    past.repo.git("reset", "-q", "--soft", past.repo.git("rev-list", "--max-parents=0", "HEAD"))
    past.repo.git("commit", "-q", "-m", "feat: a calculator (#1)")
    verified = past.verify(pull_request=True)
    assert not verified.ok
    assert (verified.findings[0].type, verified.findings[0].file) == ("TestTampering", TEST)


@pytest.mark.long
def test_without_the_refs_it_says_what_to_fetch(plain: Past) -> None:
    squashed(plain)
    there = clone(plain)
    there.repo.git("fetch", "-q", "origin", "+refs/notes/*:refs/notes/*")
    with pytest.raises(NotReadyError, match="nothing tells which run") as refusal:
        there.verify(pull_request=True)
    typed = refusal.value.hint.split('"')[1]
    subprocess.run(typed, shell=True, check=True, cwd=there.repo.path, env=dict(there.repo.env))
    assert there.verify(pull_request=True).ok


# --- the jobs of the documentation, as they stand


def steps(job: int) -> list[str]:
    """Return the commands of a job that docs/ci.md shows, without what installs packages."""
    text = (Path(__file__).parents[2] / "docs/ci.md").read_text()
    block = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[job]
    found = re.findall(r"^ +(?:run:|-(?! \w+:)) (.+)$", block, re.MULTILINE)
    assert [line for line in found if line.startswith("pip install redgreenrefactor")]
    return [line for line in found if not line.startswith("pip install ")]


def pushed(past: Past) -> Repo:
    """Push a branch with its run to a remote, where main stands at its beginning."""
    remote = past.repo.path.parent / "remote.git"
    past.repo.git("init", "-q", "--bare", "-b", "main", str(remote))
    opening = past.repo.git("rev-list", "--max-parents=0", "HEAD")
    past.repo.git("push", "-q", str(remote), f"{opening}:refs/heads/main", "HEAD:refs/heads/work")
    past.repo.git("push", "-q", str(remote), "refs/notes/*:refs/notes/*")
    return Repo(remote, past.repo.env)


def played(past: Past, remote: Repo, job: int) -> tuple[int, str]:
    """Play a job in a fresh clone; return how its first failing step ended, or its last."""
    there = past.repo.path.parent / f"ci-{job}"
    shutil.rmtree(there, ignore_errors=True)
    clone = Repo(past.repo.path, past.repo.env)
    if job == 0:  # the whole history, the pull request's last commit checked out
        clone.git("clone", "-q", f"file://{remote.path}", str(there))
    else:  # the branch alone
        clone.git("clone", "-q", "--single-branch", "-b", "work", f"file://{remote.path}", str(there))
    Repo(there, past.repo.env).git("checkout", "-q", "--detach", remote.git("rev-parse", "work"))
    env = {
        **surroundings(past.repo),
        "GITHUB_BASE_REF": "main",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    for step in steps(job):
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step],
            cwd=there,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return done.returncode, done.stdout + done.stderr
    return 0, ""


@pytest.mark.slow
@pytest.mark.parametrize("job", [0, 1], ids=["GitHub", "GitLab"])
def test_the_job_that_is_shown_is_green_for_an_honest_history_and_red_for_another(
    plain: Past, job: int
) -> None:
    remote = pushed(plain)
    assert played(plain, remote, job) == (0, "")
    plain.forge(plain.commits()[f"test: {CASES[1]}"], testResult="PASS")
    plain.repo.git("push", "-q", "-f", str(remote.path), "refs/notes/*:refs/notes/*")
    code, said = played(plain, remote, job)
    assert (code, "testResult PASS" in said) == (1, True), said
    remote.git("update-ref", "-d", "refs/notes/tdd-handoffs")
    code, said = played(plain, remote, job)
    assert code != 0, said
