"""Odd places to work in: a whole case is done in each, and nothing of the user's is touched."""

import json
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from stage import PATIENCE, PLAIN, PLAIN_SETTINGS, SWIFT, Done, Json, Stage, calculator, subjects, wait_for

from repos import MakeRepo, Repo

pytestmark = pytest.mark.slow

PREFIXES = [subject.partition(":")[0] for subject in subjects(1)]

Prepare = Callable[[Stage], object]


def detached(stage: Stage) -> None:
    stage.repo.git("checkout", "-q", "--detach")


def on_another_branch_with_a_slash(stage: Stage) -> None:
    stage.repo.git("checkout", "-q", "-b", "feature/größe/ü")


def no_identity(stage: Stage) -> None:
    stage.repo.git("config", "--unset", "user.name")
    stage.repo.git("config", "--unset", "user.email")


def signing_without_a_key(stage: Stage) -> None:
    stage.repo.git("config", "commit.gpgsign", "true")
    stage.repo.git("config", "user.signingkey", "nobody")
    stage.play({name: {**part, "commit": None} for name, part in stage.parts.items()})


def with_a_submodule(stage: Stage) -> None:
    lib = Repo(stage.repo.path.parent / "lib", stage.repo.env)
    lib.path.mkdir()
    lib.git("init", "-q", "-b", "main")
    lib.git("-c", "user.name=A", "-c", "user.email=a@localhost", "commit", "-q", "--allow-empty", "-m", "lib")
    stage.repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(lib.path), "lib")
    stage.repo.commit("chore: a library")


def in_a_subfolder(stage: Stage) -> None:
    stage.project = "packages/my calc"
    for name in PLAIN:
        place = stage.repo.path / stage.project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (stage.repo.path / name).rename(place)
    stage.repo.commit("chore: into a folder")


def in_a_linked_worktree(stage: Stage) -> None:
    stage.project = "../other place"
    stage.repo.git("worktree", "add", "-q", "-b", "side", "../other place")


def sparse(stage: Stage) -> None:
    stage.repo.commit("chore: docs", {"docs/a.md": "a\n", "docs/b.md": "b\n", "tests/empty.py": ""})
    stage.repo.git("sparse-checkout", "set", "--cone", "tests")
    assert not (stage.repo.path / "docs").exists()


def shallow(stage: Stage) -> None:
    for number in range(3):
        stage.repo.commit(f"chore: {number}")
    origin = stage.repo.path.with_name("origin")
    stage.repo.path.rename(origin)
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", origin.as_uri(), str(stage.repo.path)],
        env=dict(stage.repo.env),
        check=True,
    )
    stage.repo.git("config", "user.name", "Ada")
    stage.repo.git("config", "user.email", "ada@localhost")


def hooks_that_fail(stage: Stage) -> None:
    _hook(stage, "pre-commit", "exit 1")
    _hook(stage, "reference-transaction", "exit 1")
    parts = {name: {**part, "commit": None} for name, part in stage.parts.items()}
    stage.play(parts)


def hooks_that_change_files(stage: Stage) -> None:
    staged = "git diff --cached --name-only --diff-filter=d -- '*.py'"
    _hook(stage, "pre-commit", f"for file in $({staged}); do echo '# seen' >> $file; git add $file; done")


def _hook(stage: Stage, name: str, line: str) -> None:
    place = stage.repo.path / ".git/hooks" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\n{line}\n")
    place.chmod(0o755)


def with_carriage_returns(stage: Stage) -> None:
    stage.repo.git("config", "core.autocrlf", "true")
    stage.repo.git("rm", "-q", "-r", "--cached", ".")
    stage.repo.git("reset", "-q", "--hard")
    assert b"\r\n" in (stage.repo.path / "run_all.py").read_bytes()


def with_names_alike_but_for_case(stage: Stage) -> None:
    stage.repo.git("config", "core.ignorecase", "true")
    stage.repo.commit("chore: alike", {"Notes.txt": "one\n"})
    blob = stage.repo.git("hash-object", "-w", "--stdin", stdin="two\n")
    stage.repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},notes.txt")
    stage.repo.git("commit", "-q", "-m", "chore: more alike")
    stage.repo.git("checkout", "-q", "--", ".")


def with_odd_names(stage: Stage) -> None:
    names = (
        "with space.txt",
        'with "quotes".txt',
        "with\nnewline.txt",
        "grüße-日本.txt",
        "-dash",
        "back\\slash",
    )
    stage.repo.commit("chore: odd", {f"odd/{name}": "x\n" for name in names})


def dated_in_the_future(stage: Stage) -> None:
    when = {"GIT_AUTHOR_DATE": "2099-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z"}
    future = Repo(stage.repo.path, {**stage.repo.env, **when})
    future.commit("chore: from tomorrow")


def with_an_object_format_of_its_own(stage: Stage) -> None:
    shutil.rmtree(stage.repo.path / ".git")
    stage.repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    stage.repo.git("config", "user.name", "Ada")
    stage.repo.git("config", "user.email", "ada@localhost")
    stage.repo.commit("chore: start")


def packed(stage: Stage) -> None:
    stage.repo.git("pack-refs", "--all")
    stage.repo.git("gc", "--quiet")


def unborn(stage: Stage) -> None:
    shutil.rmtree(stage.repo.path / ".git")
    stage.repo.git("init", "-q", "-b", "main")
    stage.repo.git("config", "user.name", "Ada")
    stage.repo.git("config", "user.email", "ada@localhost")
    (stage.repo.path / ".git/info").mkdir(exist_ok=True)
    # An unborn repository has nothing committed, so its settings and runner are files that git ignores.
    (stage.repo.path / ".git/info/exclude").write_text("run_all.py\ntdd.properties\nREADME.md\n")


PLACES: dict[str, Prepare] = {
    "detached": detached,
    "branch_with_a_slash": on_another_branch_with_a_slash,
    "no_identity": no_identity,
    "signing_without_a_key": signing_without_a_key,
    "submodule": with_a_submodule,
    "subfolder": in_a_subfolder,
    "linked_worktree": in_a_linked_worktree,
    "sparse": sparse,
    "shallow": shallow,
    "hooks_that_fail": hooks_that_fail,
    "hooks_that_change_files": hooks_that_change_files,
    "carriage_returns": with_carriage_returns,
    "alike_but_for_case": with_names_alike_but_for_case,
    "odd_names": with_odd_names,
    "dated_in_the_future": dated_in_the_future,
    "sha256": with_an_object_format_of_its_own,
    "packed": packed,
    "unborn": unborn,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_case_is_done_wherever_it_may_be(place: str, make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    PLACES[place](stage)
    done = stage.run("--json")
    assert done.code == 0, done
    work = Repo(stage.repo.path / stage.project, stage.repo.env)
    assert [subject.partition(":")[0] for subject in work.subjects()[-5:]] == PREFIXES
    assert work.git("status", "--porcelain", "--untracked-files=no") == ""
    assert stage.rgr("status", "--json").json["state"] == "complete"
    assert len(stage.rgr("history", "--json").json) == 6


def test_a_submodules_pointer_and_files_outside_a_sparse_checkout_stay(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    with_a_submodule(stage)
    sparse(stage)
    before = stage.repo.git("ls-tree", "-r", "HEAD", "lib", "docs")
    assert stage.run().code == 0
    assert stage.repo.git("ls-tree", "-r", "HEAD", "lib", "docs") == before


@pytest.mark.parametrize("name", ["with space", "quo\"te's", "new\nline", "grüße 日本", "-dash", "a;b&c$d"])
def test_a_folder_may_be_called_anything(name: str, make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(name, files=PLAIN), calculator(1))
    done = stage.run("--json")
    assert done.code == 0, done
    assert stage.repo.subjects()[-5:] == subjects(1)


def test_a_clock_that_goes_backwards_between_sessions_changes_nothing(make_repo: MakeRepo) -> None:
    parts = calculator(2)
    for number, part in enumerate(parts.values()):
        when = f"{2090 - number}-01-01T00:00:00Z"
        message = part.pop("commit", None)
        if message:
            dates = f"GIT_AUTHOR_DATE={when} GIT_COMMITTER_DATE={when}"
            part["run"] = ["git add -A", f'{dates} git commit -q --allow-empty -m "{message}"']
    stage = Stage(make_repo(files=PLAIN), parts)
    assert stage.run("--max-cycles", "1").code == 4
    done = stage.resume("--json")
    assert done.code == 0, done
    assert [entry["cycleNumber"] for entry in stage.rgr("history", "--json").json] == [
        3,
        2,
        2,
        2,
        2,
        1,
        1,
        1,
        1,
        0,
    ]


@pytest.mark.parametrize("phase", ["PLAN-1", "RED-1", "GREEN-1", "REFACTOR-1", "PLAN-2"])
def test_an_interruption_in_any_phase_is_resumed_to_the_same_end(phase: str, make_repo: MakeRepo) -> None:
    parts = calculator(1)
    busy: Json = {"files": {"half.py": "half = 1\n"}, "run": ["touch ../working; sleep 300"]}
    stage = Stage(make_repo(files=PLAIN), {**parts, phase: busy})
    working = stage.repo.path.parent / "working"
    with stage.started("run", "A calculator", "--agent", stage.agent, "--json") as process:
        wait_for(lambda: working.exists() or process.poll() is not None, "a session at work")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    done = Done(process.returncode, out, err)
    assert (done.code, done.json["status"]) == (130, "interrupted"), done
    assert stage.is_clean()
    stage.play(parts)
    assert stage.resume().code == 0
    assert stage.repo.subjects()[1:] == subjects(1)


def test_a_suite_that_hangs_is_ended_and_the_attempt_rejected(make_repo: MakeRepo) -> None:
    hangs = "import time\n\n\ndef test_add() -> None:\n    time.sleep(300)\n"
    stage = Stage(
        make_repo(files={**PLAIN, "tdd.properties": f"{PLAIN_SETTINGS}test.timeout=2\nmax.retries=0\n"})
    )
    stage.play({**calculator(1), "RED-1": {"files": {"tests/test_calc.py": hangs}, "commit": "test: hangs"}})
    done = stage.run("--json")
    assert (done.code, done.json["errorDetails"]["type"]) == (1, "Timeout"), done
    assert stage.is_clean()


def test_a_suite_that_prints_a_hundred_megabytes_is_judged_in_little_memory(make_repo: MakeRepo) -> None:
    loud = {**PLAIN, "run_all.py": PLAIN["run_all.py"] + 'for _ in range(1600):\n    print("x" * 65536)\n'}
    stage = Stage(make_repo(files=loud), calculator(1))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    done = stage.run("--json")
    assert done.code == 0, done
    assert max(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, before) < 400_000  # kilobytes
    assert all(len(json.dumps(note)) < 100_000 for note in stage.rgr("history", "--json").json)


def test_a_feature_of_a_megabyte_is_worked_at_and_told_in_full_where_it_is_needed(
    make_repo: MakeRepo,
) -> None:
    feature = "A calculator\n" + "x" * 999 + "\n" + "with numbers\n" * 77_000
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    done = stage.rgr("run", "-", "--agent", stage.agent, "--json", stdin=feature)
    assert done.code == 0, done
    assert stage.note()["feature"] == feature.strip()
    assert len(stage.session("GREEN-1-1")["brief"]) < 20_000
    assert stage.rgr("status").code == 0


def test_a_list_of_ten_thousand_items_is_counted_in_notes_and_briefs(make_repo: MakeRepo) -> None:
    parts = calculator(1)
    more = "".join(f"- [ ] case number {number}\n" for number in range(10_000))
    for name in ("PLAN-1", "PLAN-2"):
        parts[name]["files"]["test-list.md"] += more
    parts["PLAN-2"]["say"] = json.dumps(
        {"currentTest": {"description": "case number 0", "testFile": "tests/test_n.py", "implFile": "n.py"}}
    )
    stage = Stage(make_repo(files=PLAIN), parts)
    done = stage.run("--max-cycles", "1", "--json")
    assert done.code == 4, done
    note = stage.note()
    assert (note["completedTests"], note["pendingCount"]) == (None, 10_000)
    assert len(json.dumps(note)) < 20_000
    assert len(stage.session("REFACTOR-1-1")["brief"]) < 20_000


def test_fifty_thousand_files_are_no_obstacle(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=PLAIN), calculator(1))
    for folder in range(500):
        place = stage.repo.path / f"many/{folder}"
        place.mkdir(parents=True)
        for number in range(100):
            (place / f"{number}.txt").write_text(f"{folder} {number}\n")
    stage.repo.commit("chore: many files")
    done = stage.run("--json")
    assert done.code == 0, done


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A disk of its own, small enough to be filled."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], check=False)
    if done.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@needs_root
@pytest.mark.parametrize("phase", ["PLAN-1", "RED-1", "GREEN-1", "REFACTOR-1"])
def test_a_disk_that_is_full_while_a_turn_is_written_down_loses_nothing(
    phase: str, small_disk: Path, make_repo: MakeRepo
) -> None:
    made = make_repo(files=PLAIN)
    place = small_disk / "project"
    shutil.copytree(made.path, place, symlinks=True)
    parts = calculator(1)
    ballast = small_disk / "ballast"
    fill = f"dd if=/dev/zero of={ballast} bs=1k 2>/dev/null || true"
    full: Json = {**parts[phase], "run": [fill]}
    if message := full.pop("commit", None):
        full["run"] = [f"git add -A && git commit -q --allow-empty -m '{message}'", fill]
    # The parts and their log lie on the other disk.
    stage = Stage(Repo(place, made.env), {**parts, phase: full}, beside=made.path.parent)
    done = stage.run("--json")
    assert done.code == 3, done
    assert "disk" in done.json["error"].lower() or "space" in done.json["error"].lower(), done
    assert done.json["hint"], done
    ballast.unlink()
    stage.play(parts)
    done = stage.resume("--json")
    assert done.code == 0, done
    assert stage.repo.subjects()[1:] == subjects(1)


def test_a_folder_that_cannot_be_written_to_is_refused_by_name(make_repo: MakeRepo) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    stage = Stage(make_repo(files={**PLAIN, "tdd.properties": SWIFT}), calculator(1))
    git = stage.repo.path / ".git"
    git.chmod(0o555)
    try:
        done = stage.run("--json")
    finally:
        git.chmod(0o755)
    assert done.code == 3, done
    assert ".git" in done.json["error"]
