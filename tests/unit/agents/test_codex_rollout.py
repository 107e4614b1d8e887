"""What Codex writes down of a session."""

import json
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.codex_rollout import Rollout, SilentCommand


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
    (folder / "rollout-1-t-1.jsonl").write_text("\n".join([*lines, *odd]))

    silent = SilentCommand("silent", "echo > a.py", "sh: a.py: Read-only file system\n", 1)
    assert list(Rollout(tmp_path, "t-1").silent()) == [silent]
    assert list(Rollout(tmp_path, "t-2").silent()) == []
