"""The library: a tiny workflow through functions, everything real but the model."""

import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import redgreenrefactor as rgr
from redgreenrefactor.model.events import Judged, RunEnded, SessionSaid, TurnStarted
from repos import MakeRepo, Repo

SCRIPT = '''
name = "double"

[[turn]]
phase = "PLAN"
cycle = 1
message = '{"currentTest": {"description": "2 is doubled", "testFile": "test_double.py", "implFile": "double.py"}}'
[[turn.call]]
tool = "Write"
file_path = "test-list.md"
content = "- [ ] 2 is doubled\\n"

[[turn]]
phase = "RED"
cycle = 1
[[turn.call]]
tool = "Write"
file_path = "test_double.py"
content = """
from double import double


def test_two_is_doubled():
    assert double(2) == 4
"""

[[turn]]
phase = "GREEN"
cycle = 1
[[turn.call]]
tool = "Write"
file_path = "double.py"
content = """
def double(number):
    return 2 * number
"""

[[turn]]
phase = "REFACTOR"
cycle = 1

[[turn]]
phase = "PLAN"
cycle = 2
message = '{"currentTest": null}'
[[turn.call]]
tool = "Edit"
file_path = "test-list.md"
old_string = "[ ]"
new_string = "[x]"
'''

# A suite that tells no more than an exit code, and starts at once: for whatever does not depend on how tests are run.
RUN_ALL = """
import glob, sys

sys.path.insert(0, "")
for name in glob.glob("test_*.py"):
    found = {}
    exec(open(name).read(), found)
    [test() for key, test in found.items() if key.startswith("test_")]
"""

SUBJECTS = [
    "chore: start",
    "plan: list the cases",
    "test: 2 is doubled",
    "feat: 2 is doubled",
    "refactor: no changes needed",
    "plan: update the list of cases",
]


@pytest.fixture
def agent(tmp_path: Path) -> str:
    script = tmp_path / "double.toml"
    script.write_text(SCRIPT)
    return f"replay:{script}"


@pytest.fixture
def project(make_repo: MakeRepo) -> Repo:
    return make_repo(files={"pytest.ini": "[pytest]\npythonpath = .\n", "run_all.py": RUN_ALL})


@pytest.fixture
def environ(env: dict[str, str]) -> dict[str, str]:
    return {
        **env,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TDD_TEST_COMMAND": f"{shlex.quote(sys.executable)} -m pytest",
    }


@pytest.fixture
def swift(environ: dict[str, str]) -> dict[str, str]:
    return {**environ, "TDD_TEST_COMMAND": f"{shlex.quote(sys.executable)} -I -S -B run_all.py"}


@pytest.mark.long
def test_a_workflow_runs_in_any_thread_stops_at_a_limit_and_is_resumed_to_its_end(
    project: Repo, agent: str, environ: dict[str, str]
) -> None:
    events: list[rgr.Event] = []
    with ThreadPoolExecutor(1) as pool:  # where no signal can be caught
        stopped = pool.submit(
            rgr.run,
            "Double a number.",
            project=project.path,
            agent=agent,
            max_cycles=1,
            environ=environ,
            on_event=events.append,
        ).result()

    assert (stopped.status, stopped.error) == (rgr.RunStatus.STOPPED, None)
    assert [(cycle.test, cycle.outcome) for cycle in stopped.cycles] == [("2 is doubled", "done")]
    judged = [event for event in events if isinstance(event, Judged)]
    assert [event.commit for event in judged] == project.git("log", "--format=%H", "--reverse").split()[1:]
    assert isinstance(events[-1], RunEnded)
    latest = rgr.status(project.path, environ=environ)
    assert latest is not None
    assert (latest.commit, latest.handoff.state) == (stopped.head, rgr.State.STOPPED)

    ended = rgr.resume(project=str(project.path), agent=agent, environ=environ)

    assert ended.status is rgr.RunStatus.COMPLETE
    assert (ended.run_id, ended.cycles) == (stopped.run_id, stopped.cycles)
    assert project.subjects() == SUBJECTS
    history = rgr.history(project.path, environ=environ)
    assert [entry.commit for entry in history] == project.git("log", "--format=%H").split()
    assert [entry.handoff.phase for entry in history] == ["PLAN", "REFACTOR", "GREEN", "RED", "PLAN", "PLAN"]
    assert history[0].handoff.completed_tests == ("2 is doubled",)


@pytest.mark.long
def test_an_exception_of_a_listener_ends_the_call_and_resume_goes_on(
    project: Repo, agent: str, swift: dict[str, str]
) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    at_work: list[object] = []

    def listen(event: rgr.Event) -> None:
        if isinstance(event, TurnStarted):
            at_work.extend(
                signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            )
        if isinstance(event, SessionSaid):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rgr.run("Double a number.", project=project.path, agent=agent, environ=swift, on_event=listen)
    assert at_work == handlers
    with pytest.raises(rgr.NotReadyError, match="an unfinished run is here"):
        rgr.run("Double a number.", project=project.path, agent=agent, environ=swift)

    assert rgr.resume(project=project.path, agent=agent, environ=swift).status is rgr.RunStatus.COMPLETE
    assert project.subjects() == SUBJECTS


@pytest.mark.long
def test_a_run_that_fails_is_a_result_and_a_new_one_may_be_started(
    project: Repo, tmp_path: Path, agent: str, swift: dict[str, str]
) -> None:
    silent = tmp_path / "silent.toml"
    silent.write_text('name = "silent"\n')
    once = {**swift, "TDD_MAX_RETRIES": "0"}

    failed = rgr.run("Double a number.", project=project.path, agent=f"replay:{silent}", environ=once)
    assert failed.status is rgr.RunStatus.FAILED
    assert failed.error_details is not None
    assert failed.error_details.type == rgr.FindingType.AGENT_FAILURE

    again = rgr.run(
        "Double a number.", project=project.path, agent=agent, max_cycles=1, new=True, environ=swift
    )
    assert again.run_id != failed.run_id
    assert [cycle.outcome for cycle in again.cycles] == ["done"]


def test_where_nothing_was_started_there_is_no_status_no_history_and_nothing_to_resume(
    repo: Repo, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.path)
    assert rgr.status(environ=env) is None
    assert rgr.history(environ=env) == []
    with pytest.raises(rgr.NotReadyError, match="nothing to resume"):
        rgr.resume(environ=env)


def test_what_cannot_be_meant_is_a_usage_error_and_nothing_is_touched(
    project: Repo, agent: str, environ: dict[str, str]
) -> None:
    before = project.refs()
    for wrong in (
        {"max_cycles": 0},
        {"budget_usd": 0.0},
        {"agent": "nobody"},
        {"project": project.path / "x"},
    ):
        with pytest.raises(rgr.UsageError):
            rgr.run("A feature.", **{"project": project.path, "agent": agent, "environ": environ, **wrong})  # pyright: ignore[reportArgumentType]
    with pytest.raises(rgr.UsageError, match="is empty"):
        rgr.run("  ", project=project.path, agent=agent, environ=environ)
    with pytest.raises(rgr.NotReadyError):
        rgr.run("A feature.", project=project.path, agent="codex", environ=environ)
    assert project.refs() == before


def test_a_folder_without_a_repository_is_not_ready(tmp_path: Path, env: dict[str, str]) -> None:
    with pytest.raises(rgr.NotReadyError, match="not in a git repository"):
        rgr.status(tmp_path, environ=env)


def test_roles_have_the_projects_own_templates_and_models(make_repo: MakeRepo, env: dict[str, str]) -> None:
    plain = rgr.roles(make_repo("plain").path, environ=env)
    own = make_repo(
        "own",
        {
            "tdd.properties": "prompts.dir=prompts\nmodel.green=small\nmodel.reviewer=large\n",
            "prompts/implementing.md": "Write little.\n",
        },
    )
    changed = rgr.roles(own.path, environ=env)

    assert set(plain) == set(changed) == set(rgr.RoleName)
    assert "Write little." in changed[rgr.RoleName.IMPLEMENTING].system_prompt
    assert changed[rgr.RoleName.IMPLEMENTING].model == "small"
    assert changed[rgr.RoleName.TEST] == plain[rgr.RoleName.TEST]
    assert {role.model for role in plain.values()} == {"claude-opus-4-5-20251101"}
    assert changed[rgr.RoleName.REVIEWER].model == "large"


def test_every_exported_name_is_there_and_no_other() -> None:
    for name in rgr.__all__:
        assert getattr(rgr, name) is not None
    assert set(rgr.__all__) <= set(dir(rgr))
    assert rgr.__version__[0].isdigit()
    with pytest.raises(AttributeError, match="has no attribute 'walk'"):
        rgr.walk  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_importing_the_package_imports_nothing_but_itself() -> None:
    code = (
        "import sys, typing; before = set(sys.modules); import redgreenrefactor;"
        "print(*sorted(set(sys.modules) - before))"
    )
    assert _printed(code).split() == ["redgreenrefactor"]


def test_an_error_class_brings_no_heavy_library_along() -> None:
    code = "import sys; from redgreenrefactor import RgrError, WorkflowResult; print(*sorted(sys.modules))"
    loaded = set(_printed(code).split())
    assert "redgreenrefactor.errors" in loaded
    heavy = {
        "click",
        "rich",
        "markdown_it",
        "javaproperties",
        "pytest",
        "subprocess",
        "redgreenrefactor.library",
    }
    assert not loaded & heavy


def _printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
