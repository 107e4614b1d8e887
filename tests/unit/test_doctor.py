"""What a run needs is looked at, and every complaint says what to type."""

import json
import os
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from model_server import KEY, Reply, model_server
from redgreenrefactor import doctor
from redgreenrefactor.config import Flags
from redgreenrefactor.doctor import Health, RemarkLevel, examine
from redgreenrefactor.errors import UsageError
from redgreenrefactor.git import lock, mark
from redgreenrefactor.git.refs import Refs
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.messages import health_text
from repos import MakeRepo, Repo

SETTINGS = "agent=command:sh agent.sh\nsandbox=off\n"
REWRITE = ("config", "notes.rewriteRef", "refs/notes/tdd-handoffs")


@pytest.fixture
def interrupt() -> Generator[Interrupt]:
    made = Interrupt()
    yield made
    made.close()


@pytest.fixture
def healthy(make_repo: MakeRepo) -> Repo:
    """A repository that lacks nothing."""
    repo = make_repo(files={"pyproject.toml": "", "tdd.properties": SETTINGS})
    repo.git(*REWRITE)
    return repo


def looked(repo: Repo, interrupt: Interrupt, *, agent: str | None = None, **env: str) -> Health:
    environ = {**repo.env, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{repo.env['PATH']}", **env}
    return examine(Surroundings(repo.path, environ, Flags(agent=agent), lambda _event: None, interrupt))


def told(health: Health, level: RemarkLevel) -> list[str]:
    return [f"{name}: {remark.message}" for name, remark in health.remarks if remark.level is level]


def test_nothing_is_wrong_where_nothing_is(healthy: Repo, interrupt: Interrupt) -> None:
    before = healthy.refs()
    health = looked(healthy, interrupt)
    assert health.ok
    assert told(health, RemarkLevel.ERROR) == []
    assert told(health, RemarkLevel.WARNING) == [
        "sandbox: sandbox: off, suites and Bash commands are not held"
    ]
    assert healthy.refs() == before
    assert healthy.git("status", "--porcelain") == ""


def test_every_complaint_says_what_to_type(tmp_path: Path, make_repo: MakeRepo, interrupt: Interrupt) -> None:
    """Whatever can be wrong in one repository is."""
    repo = make_repo(files={"tdd.properties": "agent=codex\nsandbox=off\n"})
    repo.git("config", "--unset", "user.name")
    repo.write("stray.txt", "x\n")
    (repo.path / ".git/MERGE_HEAD").touch()
    repo.write(".codex", "a file where a folder is needed\n")
    with lock.held(repo.path / ".git" / lock.NAME):
        health = looked(repo, interrupt)
    assert not health.ok
    errors, warnings = told(health, RemarkLevel.ERROR), told(health, RemarkLevel.WARNING)
    assert [line.partition(":")[0] for line in errors] == ["git", "tests", "agents", "folders"]
    assert [line.partition(":")[0] for line in warnings] == ["identity", "sandbox", "notes", "lock"]
    for remark in (*health.of(RemarkLevel.ERROR), *health.of(RemarkLevel.WARNING)):
        assert remark.hint, remark
    body = health.to_json()
    assert (body["success"], len(body["errors"]), len(body["warnings"])) == (False, 4, 4)
    assert all(isinstance(text, str) for text in (*body["errors"], *body["warnings"]))
    json.dumps(body)


def test_what_lies_about_is_the_user_s_unless_a_session_was_cut_off(
    healthy: Repo, interrupt: Interrupt
) -> None:
    healthy.write("stray.txt", "x\n")
    mine = "git: the working tree has uncommitted changes: stray.txt"
    assert mine in told(looked(healthy, interrupt), RemarkLevel.WARNING)
    with closing(open_repository(healthy.path, healthy.env)) as repository:
        mark.write(repository.mark, mark.Mark("t1-review", healthy.head(), None, Refs({})))
    (remark,) = [one for name, one in looked(healthy, interrupt).remarks if name == "git" and one.hint]
    assert remark.message == "a session was cut off here, and left stray.txt"
    assert remark.hint.startswith("Type 'rgr tdd --resume t1'")


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("pytest", ""),
        (f"{sys.executable} -m pytest", ""),
        ("X=1 sh run.sh", ""),
        ("no-such-program --all", "no program 'no-such-program'"),
    ],
    ids=["bare", "module", "script", "missing"],
)
def test_the_runner_of_the_tests_is_looked_for(
    healthy: Repo, interrupt: Interrupt, command: str, wrong: str
) -> None:
    errors = told(looked(healthy, interrupt, TDD_TEST_COMMAND=command), RemarkLevel.ERROR)
    assert wrong in (errors or [""])[0]
    assert len(errors) == bool(wrong)


def test_the_virtual_environment_of_the_tests_is_told_and_one_elsewhere_is_worth_a_warning(
    healthy: Repo, interrupt: Interrupt, tmp_path: Path
) -> None:
    fine = ": no virtual environment is active, and none is in the project"
    assert any(line.endswith(fine) for line in told(looked(healthy, interrupt), RemarkLevel.OK))
    above = tmp_path / ".venv"
    (above / "bin").mkdir(parents=True)
    found = looked(healthy, interrupt)
    assert any(line.endswith(fine) for line in told(found, RemarkLevel.WARNING))
    assert f"'source {above}/bin/activate'" in " ".join(
        remark.hint for remark in found.of(RemarkLevel.WARNING)
    )
    (healthy.path / "venv" / "bin").mkdir(parents=True)
    own = f"tests: tests would be run with the virtual environment {healthy.path / 'venv'}"
    assert own in told(looked(healthy, interrupt), RemarkLevel.OK)


def test_an_agent_s_program_that_is_not_there_is_told(healthy: Repo, interrupt: Interrupt) -> None:
    for agent in ("no-such-agent", "./agent.sh", "A=1 README.md"):
        health = looked(healthy, interrupt, agent=f"command:{agent} --fast")
        assert not health.ok
        assert f"{agent.split()[-1]!r} is not there, or may not be run" in told(health, RemarkLevel.ERROR)[0]


def test_programs_that_could_be_agents_are_found_and_those_too_old_are_told(
    healthy: Repo, interrupt: Interrupt, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    said = {"codex": "codex 1.2.3", "claude": "2.1.100 (Claude Code)", "gemini": "a game", "goose": "1.0"}
    for name, words in said.items():
        (folder / name).write_text(f"#!/bin/sh\necho '{words}'\n")
        (folder / name).chmod(0o755)
    health = looked(healthy, interrupt, PATH=f"{folder}{os.pathsep}{healthy.env['PATH']}")

    assert [line for line in told(health, RemarkLevel.OK) if str(folder) in line or "1.2.3" in line] == [
        "agents: codex: 1.2.3",
        f"agents: goose: {folder / 'goose'}",
    ]
    old = f"agents: claude-code: Claude Code 2.1.100 at {folder / 'claude'} is too old: 2.1.325 or newer is needed"
    assert old in told(health, RemarkLevel.WARNING)
    assert not any("gemini" in remark.message for _, remark in health.remarks)
    assert health.ok


def test_no_credential_is_ever_shown(healthy: Repo, interrupt: Interrupt) -> None:
    secret = "sk-ant-very-secret"
    nowhere = "http://me:pa55word@127.0.0.1:9"
    health = looked(healthy, interrupt, agent="api", ANTHROPIC_API_KEY=secret, ANTHROPIC_BASE_URL=nowhere)
    assert not health.ok
    assert secret not in json.dumps(health.to_json())
    assert "pa55word" not in json.dumps(health.to_json())


def test_a_model_is_asked_for_a_word_and_a_refused_key_is_told(healthy: Repo, interrupt: Interrupt) -> None:
    with model_server(lambda _asked: Reply("ready")) as server:
        reached = {"ANTHROPIC_BASE_URL": server.url, "TDD_MODEL": "claude-x"}
        good = looked(healthy, interrupt, agent="api", ANTHROPIC_API_KEY=KEY, **reached)
        bad = looked(healthy, interrupt, agent="api", ANTHROPIC_API_KEY="sk-wrong", **reached)
        assert len(server.asked) == 2

    assert "agents: agent api (plan, red, green, refactor), claude-x answers" in told(good, RemarkLevel.OK)
    assert good.ok
    assert any("refused the key in ANTHROPIC_API_KEY" in each for each in told(bad, RemarkLevel.ERROR))


def test_a_server_that_only_the_repository_names_is_sent_no_key(
    make_repo: MakeRepo, interrupt: Interrupt
) -> None:
    with model_server(lambda _asked: Reply("ready")) as server:
        repo = make_repo(files={"pyproject.toml": "", "tdd.properties": f"agent.url={server.url}\n"})
        health = looked(repo, interrupt, agent="api", ANTHROPIC_API_KEY=KEY, TDD_TRUST="")
        assert server.asked == []

    assert any(each.startswith("trust:") for each in told(health, RemarkLevel.ERROR))


def test_a_folder_that_is_no_repository_is_an_error(
    tmp_path: Path, env: dict[str, str], interrupt: Interrupt
) -> None:
    health = looked(Repo(tmp_path, env), interrupt)
    assert (health.ok, len(health.remarks)) == (False, 1)
    assert "git init" in health.remarks[0][1].hint


def test_bad_settings_are_bad_usage(healthy: Repo, interrupt: Interrupt) -> None:
    healthy.commit("chore: bad", {"tdd.properties": "no.such=1\n"})
    with pytest.raises(UsageError):
        looked(healthy, interrupt)


def test_an_unborn_repository_will_do(make_repo: MakeRepo, interrupt: Interrupt) -> None:
    repo = make_repo(born=False)
    health = looked(repo, interrupt, agent="command:sh x", TDD_TEST_COMMAND="true")
    assert "git: there is no commit yet; a run makes an empty first one" in told(health, RemarkLevel.OK)
    repo.write("a.py", "x = 1\n")
    health = looked(repo, interrupt, agent="command:sh x", TDD_TEST_COMMAND="true")
    hints = [remark.hint for remark in health.of(RemarkLevel.WARNING)]
    assert any("git add -A" in hint for hint in hints if hint)
    assert not any("git stash" in hint for hint in hints if hint)  # it needs a commit


def test_an_unfinished_run_is_told_and_unreadable_notes_are_an_error(
    healthy: Repo, interrupt: Interrupt
) -> None:
    note = to_json(Handoff(PhaseName.PLAN, PhaseName.RED, feature="F"))
    healthy.git("notes", "--ref=tdd-handoffs", "add", "-F", "-", "HEAD", stdin=note)
    assert "notes: an unfinished run is here: 'F' (cut off)" in told(
        looked(healthy, interrupt), RemarkLevel.WARNING
    )
    task = to_json(Handoff(PhaseName.CODE, PhaseName.CODE, feature="F", run_id="t1-review"))
    healthy.git("notes", "--ref=tdd-handoffs", "add", "-f", "-F", "-", "HEAD", stdin=task)
    assert not [
        line for line in told(looked(healthy, interrupt), RemarkLevel.WARNING) if "unfinished" in line
    ]
    healthy.git("notes", "--ref=tdd-handoffs", "add", "-f", "-m", "{", "HEAD")
    health = looked(healthy, interrupt)
    assert "notes" in told(health, RemarkLevel.ERROR)[0]
    assert "repair-notes" in health.of(RemarkLevel.ERROR)[0].hint


def test_a_disk_without_room_is_told(
    healthy: Repo, interrupt: Interrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LITTLE", 1 << 80)
    assert any("MB are free" in line for line in told(looked(healthy, interrupt), RemarkLevel.WARNING))
    monkeypatch.setattr(doctor, "SCARCE", 1 << 80)
    assert any("MB are free" in line for line in told(looked(healthy, interrupt), RemarkLevel.ERROR))


def test_the_sandbox_that_works_here_is_named(healthy: Repo, interrupt: Interrupt) -> None:
    healthy.commit("chore: auto", {"tdd.properties": SETTINGS.replace("sandbox=off\n", "")})
    remarks = dict(looked(healthy, interrupt).remarks)
    assert remarks["sandbox"].message.startswith(("sandbox: ", "no sandbox works here"))
    assert remarks["sandbox"].level is RemarkLevel.OK or remarks["sandbox"].hint


def test_words_for_people_have_the_hint_under_each_complaint() -> None:
    rows = [("ok", "git", "git version 2", ""), ("error", "tests", "no test command", "Set test.command.")]
    text = health_text(rows, width=80)
    assert text.splitlines() == [
        "  ✓ git version 2",
        "  ✗ no test command",
        "    → Set test.command.",
        "something that is needed is missing: 1 error, 0 warnings",
    ]
    assert health_text(rows[:1], width=80, quiet=True) == "a run can start: 0 errors, 0 warnings"
