"""What cannot begin: each refusal has its exit code, says what to type, and has touched nothing."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from stage import BIN, GREENFIELD, PLAIN, Stage, program, surroundings, wait_for

from repos import MakeRepo


@dataclass(frozen=True)
class Refusal:
    """One way in which a run cannot begin."""

    prepare: Callable[[Stage], object]
    code: int
    error: str  # part of the message
    hint: str  # part of the hint


def no_repository(stage: Stage) -> None:
    shutil.rmtree(stage.repo.path / ".git")


def bare_repository(stage: Stage) -> None:
    shutil.rmtree(stage.repo.path)
    stage.repo.path.mkdir()
    stage.repo.git("init", "-q", "--bare")


def changed_file(stage: Stage) -> None:
    stage.repo.write("README.md", "mine\n")


def new_file(stage: Stage) -> None:
    stage.repo.write("some/where/mine with space.txt", "mine\n")


def staged_file(stage: Stage) -> None:
    stage.repo.write("README.md", "mine\n")
    stage.repo.git("add", "-A")


def merge_in_progress(stage: Stage) -> None:
    stage.repo.git("checkout", "-q", "-b", "side")
    stage.repo.commit("side", {"README.md": "side\n"})
    stage.repo.git("checkout", "-q", "main")
    stage.repo.commit("main", {"README.md": "main\n"})
    with pytest.raises(AssertionError):
        stage.repo.git("merge", "side")


def no_test_command(stage: Stage) -> None:
    stage.repo.git("rm", "-q", "pyproject.toml")
    stage.repo.commit("chore: nothing tells how tests are run")


def command_missing(stage: Stage) -> None:
    stage.env["TDD_TEST_COMMAND"] = "no-such-runner --all"


def dependencies_missing(stage: Stage) -> None:
    stage.repo.commit("chore: conftest", {"conftest.py": "import no_such_package\n"})


def nothing_collected(stage: Stage) -> None:
    stage.repo.commit("test: a", {"tests/test_a.py": "import absent\n\n\ndef test_a() -> None:\n    pass\n"})


def another_environment(stage: Stage) -> None:
    nothing_collected(stage)
    stage.env["VIRTUAL_ENV"] = str(stage.repo.path.parent / "elsewhere")


def script_without_module(stage: Stage) -> None:
    stage.repo.commit("chore: a script", {"run.py": "import absent\n"})
    stage.env["TDD_TEST_COMMAND"] = "python run.py"


def command_too_slow(stage: Stage) -> None:
    stage.repo.commit("chore: slow", {"tdd.properties": "test.timeout=0.2\ntest.command=sleep 30\n"})


def unreadable_notes(stage: Stage) -> None:
    stage.repo.git("notes", "--ref=tdd-handoffs", "add", "-m", "not a handoff", "HEAD")


def notes_of_another_age(stage: Stage) -> None:
    note = '{"schemaVersion": 99, "phase": "PLAN", "nextPhase": "RED"}'
    stage.repo.git("notes", "--ref=tdd-handoffs", "add", "-m", note, "HEAD")


def unknown_agent(stage: Stage) -> None:
    stage.env["TDD_AGENT"] = "clippy"


def unknown_key(stage: Stage) -> None:
    stage.repo.commit("chore: typo", {"tdd.properties": "# ours\nmax.retries=2\nretry.backof=0\n"})


def bad_value(stage: Stage) -> None:
    stage.repo.commit("chore: typo", {"tdd.properties": "retry.backoff=0\n\nmax.retries=many\n"})


def bad_variable(stage: Stage) -> None:
    stage.env["TDD_MAX_RETRIES"] = "-1"


def unusable_prompt(stage: Stage) -> None:
    stage.repo.commit(
        "chore: prompts", {"tdd.properties": "prompts.dir=prompts\n", "prompts/test.md": "Do $nonsense.\n"}
    )


def old_git(stage: Stage) -> None:
    _shim(stage, 'for word; do [ "$word" = version ] && { echo "git version 2.29.3"; exit; }; done')


def no_git(stage: Stage) -> None:
    stage.env["PATH"] = str(BIN)


def lock_that_cannot_be_written(stage: Stage) -> None:
    (stage.repo.path / ".git/rgr.lock").mkdir()


def _shim(stage: Stage, line: str) -> None:
    folder = stage.repo.path.parent / "shim"
    folder.mkdir()
    real = shutil.which("git", path=stage.repo.env["PATH"])
    (folder / "git").write_text(f'#!/bin/sh\n{line}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    stage.env["PATH"] = f"{folder}{os.pathsep}{surroundings(stage.repo)['PATH']}"


REFUSALS = {
    "no_repository": Refusal(no_repository, 3, "is not in a git repository", "git init"),
    "changed_file": Refusal(changed_file, 3, "README.md", "git stash -u"),
    "no_test_command": Refusal(no_test_command, 3, "no test command", "TDD_TEST_COMMAND"),
    "unreadable_notes": Refusal(unreadable_notes, 3, "cannot be read", "tdd-orchestrator repair-notes"),
    "unknown_key": Refusal(
        unknown_key, 2, "tdd.properties line 3: there is no setting 'retry.backof'", "retry.backoff"
    ),
    "bare_repository": Refusal(bare_repository, 3, "is a bare repository", "git clone"),
    "new_file": Refusal(new_file, 3, "some/", "git stash -u"),
    "staged_file": Refusal(staged_file, 3, "README.md", "git stash -u"),
    "merge": Refusal(merge_in_progress, 3, "a merge is in progress", "Finish or abort it"),
    "test_command_missing": Refusal(command_missing, 3, "no-such-runner", "Install"),
    "test_dependencies_missing": Refusal(
        dependencies_missing, 3, "no_such_package", ".venv/bin/python -m pip install no_such_package"
    ),
    "nothing_collected": Refusal(
        nothing_collected, 3, "can collect no test (tests/test_a.py): there is no module 'absent'", "absent"
    ),
    "another_environment": Refusal(
        another_environment, 3, "there is no module 'absent'", "/elsewhere/bin/activate'"
    ),
    "script_without_module": Refusal(
        script_without_module, 3, "fails before the run: there is no module 'absent'", "pip install absent"
    ),
    "test_command_too_slow": Refusal(command_too_slow, 3, "test.timeout", "see that the command works"),
    "notes_of_another_age": Refusal(
        notes_of_another_age, 3, "schema version", "tdd-orchestrator repair-notes"
    ),
    "unknown_agent": Refusal(unknown_agent, 2, "clippy", "TDD_AGENT"),
    "bad_value": Refusal(
        bad_value, 2, "tdd.properties line 3: max.retries is 'many'", "line 3 of tdd.properties"
    ),
    "bad_variable": Refusal(bad_variable, 2, "TDD_MAX_RETRIES", "Set TDD_MAX_RETRIES to another value"),
    "unusable_prompt": Refusal(
        unusable_prompt, 2, "prompts/test.md, line 1: there is no placeholder '$nonsense'", "$$"
    ),
    "old_git": Refusal(old_git, 3, "2.29.3 is too old", "2.30"),
    "no_git": Refusal(no_git, 3, "git is not installed", "Install git"),
    "lock": Refusal(
        lock_that_cannot_be_written, 3, "rgr.lock cannot be written", "Make the repository writable"
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", REFUSALS)
def test_a_run_that_cannot_begin_says_why_and_what_to_type(make_repo: MakeRepo, name: str) -> None:
    refusal = REFUSALS[name]
    stage = Stage(make_repo(files=GREENFIELD))
    refusal.prepare(stage)
    before = _state(stage)
    done = stage.run("--json")
    assert done.code == refusal.code, done
    assert set(done.json) == {"error", "errorDetails", "hint"}
    assert set(done.json["errorDetails"]) == {"type", "message"}
    assert done.json["error"] == done.json["errorDetails"]["message"]
    assert refusal.error in done.json["error"]
    assert refusal.hint in done.json["hint"]
    assert done.json["error"] in done.err
    assert _state(stage) == before
    assert stage.sessions == []


def _state(stage: Stage) -> dict[str, bytes]:
    """Return every file of the checkout and of its refs."""
    root = stage.repo.path
    kept = (path for path in root.rglob("*") if path.is_file() and "objects" not in path.parts)
    return {str(path): path.read_bytes() for path in kept if path.name != "index"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("agent", ["api", "codex", "claude-code", "gemini", "opencode"])
@pytest.mark.long
def test_an_agent_that_is_not_ready_is_named(make_repo: MakeRepo, agent: str) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    done = stage.rgr("run", "x", "--agent", agent, "--json", env={"PATH": f"{BIN}:/usr/bin:/bin"})
    assert done.code == 3, done
    assert done.json["hint"]
    assert stage.repo.refs().keys() == {"refs/heads/main"}


@pytest.mark.long
def test_bad_usage_is_exit_code_2(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    for words in (
        ["run"],
        ["run", "x", "--file", "README.md"],
        ["run", "--file", "missing.md"],
        ["run", "-"],
        ["run", "x", "--max-cycles", "0"],
        ["run", "x", "--budget", "much"],
        ["run", "x", "--no-such-flag"],
        ["run", "x", "--worktree", "a/b"],
        ["run", "x", "--agent", "command:"],
        ["run", "x", "--agent", "replay:no-such-script"],
        ["run", "x", "--agent", stage.agent, "--events", "no/such/folder/events"],
        ["no-such-command"],
        ["status", "--project", "no/such/folder"],
        ["history", "--limit", "none"],
    ):
        done = stage.rgr(*words, "--json")
        assert done.code == 2, (words, done)
        assert set(done.json) == {"error", "errorDetails", "hint"}, words
        assert done.json["hint"], words
    assert stage.repo.refs().keys() == {"refs/heads/main"}
    assert stage.is_clean()


def test_without_json_a_refusal_is_two_lines_on_standard_error(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    stage.repo.write("mine.txt", "mine\n")
    done = stage.run()
    assert (done.code, done.out) == (3, "rgr run: one moment\n")
    assert done.err == (
        "rgr: the working tree has uncommitted changes: mine.txt\n"
        "  → Commit them, or put them away with 'git stash -u', then try again.\n"
    )


@pytest.mark.long
def test_reading_commands_refuse_unreadable_notes_too(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    unreadable_notes(stage)
    for command in ("status", "history", "resume"):
        done = stage.rgr(command, "--json")
        assert (done.code, done.json["errorDetails"]["type"]) == (3, "LedgerError"), done
        assert "repair-notes" in done.json["hint"]


@pytest.mark.long
def test_dependency_folders_and_ignored_files_are_not_dirt(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files={**PLAIN, ".gitignore": "*.log\n"}), {"PLAN": {"exit": 1}})
    for name in ("node_modules/a/b.js", "venv/pyvenv.cfg", "venv/bin/x", "my.log", "__pycache__/a.pyc"):
        stage.repo.write(name, "mine\n")
    assert stage.run(env={"TDD_MAX_RETRIES": "0"}).code == 1
    assert (stage.repo.path / "my.log").exists()
    assert (stage.repo.path / "node_modules/a/b.js").exists()


@pytest.mark.long
def test_a_second_orchestrator_in_the_same_checkout_is_refused(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), {"PLAN": {"run": ["touch ../working; sleep 60"]}})
    with stage.started("run", "first", "--agent", stage.agent) as first:
        wait_for((stage.repo.path.parent / "working").exists, "the first session")
        for words in (["run", "second", "--agent", stage.agent], ["resume", "--agent", stage.agent]):
            done = stage.rgr(*words, "--json")
            assert (done.code, done.json["errorDetails"]["type"]) == (3, "Locked")
            assert f"process {first.pid}" in done.json["error"]
            assert f"kill {first.pid}" in done.json["hint"]
        assert stage.rgr("status", "--json").json["feature"] == "first"
        shown = stage.rgr("status").out
        assert f"rgr is at work here: process {first.pid}, since " in shown
        assert "→ rgr resume" not in shown
        advised = " ".join(stage.rgr("doctor", "--json").json["warnings"])
        assert f"kill -INT {first.pid}" in advised
        assert "rgr resume" not in advised
        assert first.poll() is None
    assert stage.turns == ["PLAN-1-1"]


# --- a repository that cannot be written to


# Root may write everywhere; without that one capability it is as everybody else.
LIKE_OTHERS = """
import ctypes, os, sys

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", [".git/objects", ".git"])
@pytest.mark.long
def test_a_repository_that_cannot_be_written_to_is_refused(make_repo: MakeRepo, place: str) -> None:
    stage = Stage(make_repo(files=PLAIN))
    folders = [
        stage.repo.path / place,
        *(path for path in (stage.repo.path / place).rglob("*") if path.is_dir()),
    ]
    before = stage.repo.refs()
    for folder in folders:
        folder.chmod(0o555)
    as_others = [sys.executable, "-c", LIKE_OTHERS] if os.getuid() == 0 else []
    done = subprocess.run(
        [*as_others, *program(), "run", "x", "--agent", stage.agent, "--json"],
        cwd=stage.repo.path,
        env=surroundings(stage.repo),
        capture_output=True,
        text=True,
        check=False,
    )
    for folder in folders:
        folder.chmod(0o755)
    assert done.returncode == 3, done
    assert "cannot be written" in done.stderr or "could not be written" in done.stderr
    assert "writable" in done.stderr
    assert set(json.loads(done.stdout)) == {"error", "errorDetails", "hint"}
    assert stage.repo.refs() == before
    assert stage.sessions == []


@pytest.mark.long
@pytest.mark.parametrize("spoil", [unreadable_notes, notes_of_another_age])
def test_what_an_unreadable_note_tells_to_type_helps(
    make_repo: MakeRepo, spoil: Callable[[Stage], None]
) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    spoil(stage)
    hint = stage.rgr("status", "--json").json["hint"]
    assert "tdd-orchestrator repair-notes" in hint
    looked, done = stage.rgr("repair-notes", "--dry-run"), stage.rgr("repair-notes", "--json")
    assert (looked.code, done.code) == (0, 0), done
    assert "nothing was changed" in looked.out
    assert [action["action"] for action in done.json["actions"]] == ["dropped"]
    assert stage.rgr("status", "--json").code == 0


@pytest.mark.long
def test_tests_that_import_from_elsewhere_than_the_checkout_are_refused_with_the_reason(
    make_repo: MakeRepo,
) -> None:
    test = "import thing\n\n\ndef test_it() -> None:\n    assert thing.A == 1\n"
    stage = Stage(make_repo(files={**GREENFIELD, "src/thing.py": "A = 1\n", "test_thing.py": test}))
    path = f"import sys\nsys.path.insert(0, {str(stage.repo.path / 'src')!r})\n"
    stage.repo.commit("chore: where code lies", {"conftest.py": path})
    done = stage.run("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (3, "Undecided"), done
    assert "not of the clean checkout they are run in: src/thing.py" in done.json["error"]
    assert "absolute path" in done.json["hint"]
    assert stage.turns == []
