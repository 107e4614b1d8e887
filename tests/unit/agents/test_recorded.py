"""A recorded run is played again."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.replay import ReplayAgent, load_recorded, load_script
from redgreenrefactor.agents.script import Use
from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName
from repos import MakeRepo

HEAD: dict[str, Any] = {
    "type": "session",
    "runId": "run-7",
    "cycle": 1,
    "phase": "GREEN",
    "attempt": 2,
    "folder": "/home/me/project",
    "base": "b" * 40,
    "handoff": '{"feature": "A calculator"}',
}
REPORT: dict[str, Any] = {"type": "report", "message": "done", "usage": None, "failure": None}


def saved(path: Path, *objects: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path


def call(number: int, tool: str, failed: bool, **arguments: Any) -> list[dict[str, Any]]:
    return [
        {"type": "call", "id": str(number), "tool": tool, "arguments": arguments},
        {"type": "result", "id": str(number), "text": "", "failed": failed},
    ]


def sealed(*changes: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    return {
        "type": "sealed",
        "commit": "c" * 40,
        "subject": "feat: it's done",
        "prefix": prefix,
        "changes": list(changes),
    }


def play(path: Path, folder: Path, env: Mapping[str, str]) -> Report:
    brief = Brief(Role(RoleName.IMPLEMENTING, "", ""), PhaseName.GREEN, 1, 2, "run-8", "", "{}")
    return ReplayAgent(load_script(str(path)), setup_with(env=env)).work(brief, folder, lambda _: None)


def test_calls_are_played_and_what_failed_then_may_fail_now(tmp_path: Path) -> None:
    usage = {"inputTokens": 5, "outputTokens": 6}
    path = saved(
        tmp_path / "run/1-GREEN-2.jsonl",
        HEAD,
        *call(1, "Edit", True, file_path="a", old_string="x", new_string="y"),
        *call(2, "Write", False, file_path="/home/me/project/a", content="x"),
        *call(3, "Bash", False, command="exit 1"),
        {**REPORT, "usage": usage},
    )

    script = load_recorded(path.parent, "replay")
    [scene] = script.scenes
    assert (script.name, script.feature) == ("run-7", "A calculator")
    assert scene.key == (PhaseName.GREEN, 1, 2)
    assert [(use.tool, use.may_fail) for use in scene.calls] == [
        ("Edit", True),
        ("Write", False),
        ("Bash", True),
    ]
    folder = tmp_path / "project"
    folder.mkdir()
    assert play(path, folder, {"PATH": os.environ["PATH"]}) == Report("done", Usage(5, 6))
    assert (folder / "a").read_text() == "x"


def test_a_write_that_worked_then_and_fails_now_fails_the_session(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.jsonl", HEAD, *call(1, "Write", False, file_path="a", content="x"), REPORT)
    (tmp_path / "project/a").mkdir(parents=True)

    report = play(path, tmp_path / "project", {"PATH": os.environ["PATH"]})

    assert report.failure is not None
    assert "is a folder" in report.failure.message


def test_without_calls_what_was_left_behind_is_made_again(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo(files={"old.txt": "old", "keep.txt": "keep"})
    path = saved(
        tmp_path / "x.jsonl",
        HEAD,
        REPORT,
        sealed(
            {"path": "new/it's.py", "mode": "100644", "text": "x = 1\n"},
            {"path": "tool.sh", "mode": "100755", "text": "#!/bin/sh\n"},
            {"path": "deep/link", "mode": "120000", "text": "../tool.sh"},
            {"path": "old.txt", "mode": None, "text": None},
        ),
    )

    assert play(path, repo.path, repo.env).failure is None
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("log", "-1", "--format=%s") == "feat: it's done"
    listed = [line.split(maxsplit=3) for line in repo.git("ls-files", "--stage").splitlines()]
    assert [(mode, path) for mode, _, _, path in listed] == [
        ("120000", "deep/link"),
        ("100644", "keep.txt"),
        ("100644", "new/it's.py"),
        ("100755", "tool.sh"),
    ]


def test_a_session_that_changed_nothing_does_nothing(tmp_path: Path) -> None:
    nothing = {**sealed(), "commit": HEAD["base"]}
    [scene] = load_recorded(saved(tmp_path / "x.jsonl", HEAD, REPORT, nothing), "x").scenes

    assert scene.calls == ()
    assert scene.failure is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"path": "sub/logo.png", "mode": "100644", "text": None}, "sub/logo.png, which it left, is binary"),
        ({"path": "other/x", "mode": "100644", "text": "x"}, "other/x, which it left, lies outside"),
    ],
)
def test_what_cannot_be_made_again_is_said(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    path = saved(tmp_path / "x.jsonl", HEAD, REPORT, sealed(change, prefix="sub/"))

    [scene] = load_recorded(path, "x").scenes

    assert scene.failure is not None
    assert scene.failure.type is FindingType.AGENT_FAILURE
    assert "cannot be played back" in scene.failure.message
    assert word in scene.failure.message
    assert scene.calls == ()


def test_paths_are_those_of_the_project(tmp_path: Path) -> None:
    change = {"path": "sub/a.py", "mode": "100644", "text": "x"}
    [scene] = load_recorded(
        saved(tmp_path / "x.jsonl", HEAD, REPORT, sealed(change, prefix="sub/")), "x"
    ).scenes

    assert scene.calls[0] == Use("Write", {"file_path": "a.py", "content": "x"})


def test_a_failure_is_played_as_well(tmp_path: Path) -> None:
    failure = {"type": "Timeout", "message": "too long"}
    [scene] = load_recorded(saved(tmp_path / "x.jsonl", HEAD, {**REPORT, "failure": failure}), "x").scenes

    assert scene.failure is not None
    assert scene.failure.type is FindingType.TIMEOUT


@pytest.mark.parametrize(
    ("objects", "word"),
    [
        ([], "no session that came to its end"),
        ([HEAD], "no session that came to its end"),
        ([{"hello": 1}], "is not a transcript"),
        ([3], "is not a transcript"),
        ([{**HEAD, "phase": "NAP"}, REPORT], "is not a transcript"),
        ([{"type": "said"}], "is not a transcript"),
    ],
)
def test_what_is_no_transcript_is_refused(tmp_path: Path, objects: list[Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        load_script(str(saved(tmp_path / "x.jsonl", *objects)))


def test_a_file_that_is_not_there_and_runs_that_are_mixed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_script(str(tmp_path / "none.jsonl"))
    saved(tmp_path / "all/1.jsonl", HEAD, REPORT)
    saved(tmp_path / "all/2.jsonl", {**HEAD, "runId": "run-8", "handoff": "["}, REPORT)
    with pytest.raises(UsageError, match="more than one run"):
        load_script(str(tmp_path / "all"))
