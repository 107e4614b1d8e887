"""What Codex writes down of a session."""

import json
from pathlib import Path

from redgreenrefactor.agents.codex_rollout import Rollout


def test_what_commands_printed_is_read_line_by_line_and_what_is_no_output_is_passed_over(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sessions/2026/11/16"
    folder.mkdir(parents=True)
    said = {"type": "function_call_output", "output": "Output:\nsh: a.py: Read-only file system"}
    odd = [
        '{"type":"function_call_output"',
        '{"payload":{"type":"function_call_output"}}',
        '["function_call_output"]',
    ]
    lines = [json.dumps({"type": "response_item", "payload": said}, separators=(",", ":")), *odd]
    (folder / "rollout-1-t-1.jsonl").write_text("\n".join(lines))

    assert Rollout(tmp_path, "t-1").printed() == ("Output:", "sh: a.py: Read-only file system")
    assert Rollout(tmp_path, "t-2").printed() == ()
