"""A sign-in as a held program is shown it: it works as long as it lasts, and cannot be used up."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.account_file import AccountFile, HomePlace
from redgreenrefactor.agents.claude_code import PROGRAM as CLAUDE_CODE
from redgreenrefactor.agents.claude_code import ClaudeCode
from redgreenrefactor.agents.codex import PROGRAM as CODEX
from redgreenrefactor.agents.foreign_program import InstalledProgram
from redgreenrefactor.agents.program_agent import ProgramAgent
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.cage import Cage, Means
from redgreenrefactor.sandbox.policy import Level, MountMode, Policy

BRIEF = Brief(Role(RoleName.TEST, "", "# RED"), PhaseName.RED, 1, 1, "run-1", "Write a test.", "{}")


def written(home: Path, account: AccountFile, said: Any) -> dict[str, str]:
    env = {"HOME": str(home)}
    place = account.place.of(env)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(said if isinstance(said, str) else json.dumps(said))
    return env


def token(ends: float) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps({'exp': ends}).encode()).decode().rstrip('=')}.x"


def test_a_copy_lacks_what_would_renew_it_and_is_read_only(tmp_path: Path) -> None:
    account = CODEX.account
    assert account
    said = {
        "tokens": {"access_token": token(5), "refresh_token": "once"},
        "last_refresh": "2020",
        "list": [{"a": 1}],
    }
    env = written(tmp_path, account, said)
    (mount,) = account.lent(env, tmp_path)
    copy = json.loads(mount.shown.read_text())
    assert (mount.path, mount.access) == (tmp_path / ".codex/auth.json", MountMode.READ)
    assert copy["tokens"] == {"access_token": token(5), "refresh_token": ""}
    assert copy["last_refresh"] > "2025"
    assert copy["list"] == said["list"]
    assert json.loads(mount.path.read_text()) == said
    assert mount.shown.stat().st_mode & 0o077 == 0


def test_one_whose_renewal_is_not_used_up_is_a_copy_of_its_own(tmp_path: Path) -> None:
    account = AccountFile(place=HomePlace("a.json"))
    env = written(tmp_path, account, {"refresh_token": "again"})
    (mount,) = account.lent(env, tmp_path / "..")
    assert mount.access is MountMode.WRITE
    assert mount.shown != mount.path


@pytest.mark.parametrize("said", ["no JSON", "[" * 100_000, ""])
def test_what_is_not_understood_is_not_shown(tmp_path: Path, said: str) -> None:
    account = AccountFile(place=HomePlace("a.json"), renewing="r", ending="e")
    env = written(tmp_path, account, said)
    assert list(account.lent(env, tmp_path)) == []
    assert account.ends(env) is None


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ({"a": {"e": 7000}}, 7.0),
        ({"a": [{"e": 7000}, {"e": 9000}]}, 9.0),
        ({"e": token(12)}, 12.0),
        ({"e": "no token"}, None),
        ({"e": "a.b.c"}, None),
        ({"other": 7000}, None),
        ([], None),
    ],
)
def test_when_it_ends_is_told_by_a_number_or_by_a_token(
    tmp_path: Path, said: Any, ends: float | None
) -> None:
    account = AccountFile(place=HomePlace("a.json"), ending="e")
    assert account.ends(written(tmp_path, account, said)) == ends


def test_a_place_is_where_a_variable_leads_or_in_the_home() -> None:
    place = HomePlace("opencode", ".local/share", "XDG_DATA_HOME")
    assert place.of({"HOME": "/h"}) == Path("/h/.local/share/opencode")
    assert place.of({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == Path("/d/opencode")


def agent(home: Path, said: Any, **more: Any) -> ProgramAgent:
    account = CLAUDE_CODE.account
    assert account
    env = written(home, account, said)
    setup = setup_with(env=env, home=home / "agents", **more)
    found = InstalledProgram(CLAUDE_CODE, "/bin/true", "1")
    made = ProgramAgent("claude-code", ClaudeCode(), found, setup, "")
    made._signed_in.append(())  # pyright: ignore[reportPrivateUsage] - by the account
    return made


def expiring(seconds: float) -> Any:
    return {"claudeAiOauth": {"accessToken": "a", "expiresAt": (time.time() + seconds) * 1000}}


def test_where_it_must_be_held_a_sign_in_that_is_about_to_end_is_refused(tmp_path: Path) -> None:
    ending = agent(tmp_path, expiring(60), held="on")
    with pytest.raises(NotReadyError, match="inside the sandbox it is not renewed"):
        ending.probe(BRIEF)
    report = ending.work(BRIEF, tmp_path, print)
    assert report.failure
    assert report.failure.type is FindingType.MODEL_UNAVAILABLE
    assert "claude auth login" in (report.failure.hint or "")
    agent(tmp_path, expiring(600), held="on").probe(BRIEF)


def test_with_auto_a_session_runs_outside_while_the_sign_in_has_to_be_renewed(tmp_path: Path) -> None:
    said: list[str] = []

    def confined(_brief: Brief) -> None:
        said.append("asked what holds it")

    ending = agent(tmp_path, expiring(600), held="auto", confine=confined, session_timeout=3600.0)
    ending.probe(BRIEF)
    report = ending.work(BRIEF, tmp_path, said.append)
    assert report.held is False
    assert "this session runs outside" in said[0]
    agent(tmp_path, expiring(7200), held="auto", confine=confined).work(BRIEF, tmp_path, said.append)
    assert said[1:] == ["asked what holds it"]


def test_a_key_that_signs_it_in_does_not_end(tmp_path: Path) -> None:
    made = agent(tmp_path, expiring(0), held="on")
    made._signed_in[0] = ("ANTHROPIC_API_KEY",)  # pyright: ignore[reportPrivateUsage]
    made.probe(BRIEF)


@pytest.mark.parametrize(("mounts", "key"), [(True, ""), (False, "ANTHROPIC_API_KEY"), (False, "")])
def test_a_sign_in_that_cannot_be_shown_inside_is_refused_and_a_key_needs_no_showing(
    tmp_path: Path, mounts: bool, key: str
) -> None:
    cage = Cage(Means(Level.LANDLOCK, mounts=mounts), Policy())

    def confined(_brief: Brief) -> Cage:
        return cage

    made = agent(tmp_path, expiring(7200), held="on", confine=confined)
    if key:
        made._signed_in[0] = (key,)  # pyright: ignore[reportPrivateUsage]

    failure = made.work(BRIEF, tmp_path, print).failure

    assert failure  # it is no program that answers
    if mounts or key:
        assert failure.type is FindingType.AGENT_FAILURE
    else:
        assert failure.type is FindingType.MODEL_UNAVAILABLE
        assert "cannot be shown" in failure.message
        assert "agent.env" in (failure.hint or "")
