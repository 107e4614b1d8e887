"""What Codex writes down of a session."""

import json
import os
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.codex_rollout import TAIL, Rollout, SilentCommand
from redgreenrefactor.model.session import Usage


def called(ident: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": ident, "name": "exec_command", "arguments": arguments}


def printed(ident: str, output: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": ident, "output": output}


def test_a_command_is_silent_if_it_has_ended_and_is_told_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "sessions/2026/11/16"
    folder.mkdir(parents=True)
    refused = "Wall time: 0.0 seconds\nProcess exited with code 1\nOutput:\nsh: a.py: Read-only file system\n"
    payloads = [
        called("told", '{"cmd": "ls"}'),
        {"item": {"type": "CommandExecution", "id": "told"}},
        printed("told", "Process exited with code 0\nOutput:\na.py"),
        called("running", '{"cmd": "sleep 9"}'),
        printed("running", "Process running with session ID 7\nOutput:\n"),
        called("silent", '{"cmd": "echo > a.py"}'),
        printed("silent", refused),
        called("typed", '{"session_id": 7, "chars": ""}'),
        printed("typed", refused),
        called("odd", "{"),
        printed("odd", refused),
        printed("nobody's", refused),
        {"type": "function_call_output"},
    ]
    lines = [json.dumps({"payload": each}, separators=(",", ":")) for each in payloads]
    odd = ['{"type":"function_call_output"', '["function_call_output"]']
    (folder / "rollout-1-t-1.jsonl").write_text("\n".join([*lines, *odd, ""]))

    silent = SilentCommand("silent", "echo > a.py", "sh: a.py: Read-only file system\n", 1)
    assert list(Rollout(tmp_path, "t-1").silent()) == [silent]
    assert list(Rollout(tmp_path, "t-2").silent()) == []


def counted(tokens: int) -> str:
    used = {"type": "token_count", "info": {"total_token_usage": {"output_tokens": tokens}}}
    return json.dumps({"payload": used}, separators=(",", ":"))


def test_what_is_written_later_is_read_once_and_however_much_it_is(tmp_path: Path) -> None:
    file = tmp_path / "sessions/2026/11/16/rollout-1-t-1.jsonl"
    file.parent.mkdir(parents=True)
    session = Rollout(tmp_path, "t-1")
    assert session.used() == Usage()
    command = [
        json.dumps({"payload": each}, separators=(",", ":")) for each in (called("a", '{"cmd":"ls"}'),)
    ]
    file.write_text("\n".join([counted(1), *command, counted(2)[:20]]))
    assert (session.used(), list(session.silent())) == (Usage(0, 1), [])
    ended = json.dumps(
        {"payload": printed("a", "Process exited with code 2\nOutput:\nno")}, separators=(",", ":")
    )
    with file.open("a") as more:
        more.write(f"{counted(2)[20:]}\n{ended}\n")
    assert session.used() == Usage(0, 2)
    assert list(session.silent()) == [SilentCommand("a", "ls", "no", 2)]
    assert list(session.silent()) == []
    with file.open("a") as more:
        more.write(f"{counted(3)}\n{'x' * (2 * TAIL)}\n{counted(4)}\n")
    assert session.used() == Usage(0, 4)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with (tmp_path / "elsewhere").open("a") as more:
        more.write(f"{counted(5)}\n")
    assert session.used() == Usage(0, 4)
    file.unlink()
    os.mkfifo(file)
    assert session.used() == Usage(0, 4)
