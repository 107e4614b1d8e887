"""A task's worktree has what the main checkout has installed, and none of that gets into its commits."""

import pytest
from review_stage import APPROVE, ReviewStage, coded, said
from stage import PLAIN, RUNNER, SWIFT, Stage, calculator

from cages import BUBBLEWRAP, means
from repos import MakeRepo, Repo

IGNORED = ".venv/\nnode_modules/\nlocal.txt\n"
NEEDS = "import dep, pathlib\n\n\ndef test_dep():\n    assert dep.ONE == 1\n    assert pathlib.Path('local.txt').read_text() == 'mine'\n"
FILES = {
    **PLAIN,
    ".gitignore": IGNORED,
    "run_all.py": RUNNER.replace('(0, "")', '(0, ""), sys.path.append(".venv/packages")'),
    "tests/test_needs.py": NEEDS,
}
# What a coder sees of it: without the dependency its own run of the tests would fail.
LOOKED = "python -I -S -B run_all.py && test -L .venv && test -f local.txt && test ! -e draft.txt"


def installed(repo: Repo) -> None:
    repo.write(".venv/pyvenv.cfg", "home = /nowhere\n")
    repo.write(".venv/packages/dep.py", "ONE = 1\n")
    repo.write("node_modules/left-pad/index.js", "")
    repo.write("local.txt", "mine")


@pytest.fixture
def stage(make_repo: MakeRepo) -> ReviewStage:
    found = ReviewStage(make_repo("calc/project", files=FILES))
    found.play({"CODE-1": coded(run=[LOOKED]), "REVIEW-1": said(APPROVE)})
    return found


@pytest.mark.long
@pytest.mark.parametrize("sandbox", ["off", BUBBLEWRAP])
def test_ignored_dependencies_of_the_main_checkout_reach_a_task_and_stay_whole(
    stage: ReviewStage, sandbox: str
) -> None:
    if sandbox == "bubblewrap":  # where a home folder is hidden from suites, the project in it too
        means(sandbox)
        stage.env = {"HOME": str(stage.repo.path.parent)}
    stage.repo.commit("chore: hold", {"tdd.properties": f"{FILES['tdd.properties']}sandbox={sandbox}\n"})
    installed(stage.repo)
    stage.repo.write("draft.txt", "neither tracked nor ignored")
    done = stage.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 0, done
    changed = stage.repo.git("diff", "--name-only", "main", f"tdd/{stage.task}").splitlines()
    assert changed == ["calc.py", "tests/test_calc.py"]
    assert not stage.worktrees.exists()
    assert (stage.repo.path / ".venv/packages/dep.py").read_text() == "ONE = 1\n"
    assert (stage.repo.path / "node_modules/left-pad/index.js").exists()
    assert stage.repo.git("status", "--porcelain") == "?? draft.txt"


@pytest.mark.long
def test_where_nothing_is_installed_the_task_does_not_start(stage: ReviewStage) -> None:
    done = stage.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "TestsNotRunnable"
    assert "'dep'" in done.json["error"]
    assert stage.states() == {}


@pytest.mark.long
def test_a_setup_command_makes_a_worktree_runnable_as_well(stage: ReviewStage) -> None:
    made = "mkdir -p .venv/packages && echo ONE = 1 > .venv/packages/dep.py && printf mine > local.txt"
    settings = f"{SWIFT}test.command=python -I -S -B run_all.py\nsetup.command={made}\n"
    stage.repo.commit("chore: settings", {"tdd.properties": settings})
    stage.play({"CODE-1": coded(), "REVIEW-1": said(APPROVE)})
    done = stage.tdd("SPEC.md", "--forge", "none", "--json")
    assert done.code == 0, done


@pytest.mark.long
def test_what_an_older_base_does_not_ignore_is_not_brought(stage: ReviewStage) -> None:
    repo = stage.repo
    repo.git("switch", "-q", "--orphan", "old")
    repo.commit("chore: before", {**PLAIN, "SPEC.md": "# Calculator\n"})
    repo.git("switch", "-q", "main")
    repo.path.joinpath("SPEC.md").write_text("# Calculator\n")
    installed(repo)
    stage.play({"CODE-1": coded(run=["test ! -e local.txt"]), "REVIEW-1": said(APPROVE)})
    done = stage.tdd("SPEC.md", "--forge", "none", "--base", "old", "--json")
    assert done.code == 0, done
    changed = repo.git("diff", "--name-only", "old", f"tdd/{stage.task}").splitlines()
    assert changed == ["calc.py", "tests/test_calc.py"]


@pytest.mark.long
def test_a_run_in_a_worktree_has_them_too(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=FILES), calculator(1))
    installed(stage.repo)
    done = stage.run("--worktree", "beside", "--json")
    assert done.code == 0, done
    found = stage.repo.git("ls-tree", "--name-only", "-r", "tdd/beside").splitlines()
    assert not [path for path in found if path.startswith((".venv", "node_modules", "local.txt"))]
