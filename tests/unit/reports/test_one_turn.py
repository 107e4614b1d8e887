import json
import subprocess

import pytest
from click.testing import CliRunner, Result

from redgreenrefactor.cli.commands import rgr
from redgreenrefactor.errors import UsageError
from redgreenrefactor.reports.turns import turn_named
from redgreenrefactor.views.lines import ASCII, Tone
from redgreenrefactor.views.turn_text import MOST_STEPS, diff_rows, turn_text
from repos import MakeRepo, Repo
from told_runs import RUN, record


@pytest.fixture
def told(make_repo: MakeRepo) -> Repo:
    repo = make_repo()
    record(repo)
    return repo


def call(repo: Repo, *words: str) -> Result:
    return CliRunner().invoke(rgr, [*words, "--project", str(repo.path)], env=dict(repo.env))


def test_a_turn_is_found_by_cycle_and_phase_by_attempt_and_by_commit(told: Repo) -> None:
    def named(name: str) -> str:
        return turn_named(told.path, told.env, name).name

    assert named("1-GREEN") == "1-GREEN-2"
    assert named("1-green-1") == "1-GREEN-1"
    assert named("2-RED-1") == "2-RED-1"
    assert named("HEAD") == "3-PLAN-1"
    assert named(f"refs/tdd/attempts/{RUN}/1-GREEN-1") == "1-GREEN-1"
    with pytest.raises(UsageError, match="there is no turn"):
        named("9-RED")
    with pytest.raises(UsageError, match="there is no turn"):
        named("HEAD:roman.py")


def test_show_tells_verdict_evidence_and_what_the_session_did(told: Repo) -> None:
    folder = told.path / ".git/tdd/sessions" / RUN
    folder.mkdir(parents=True)
    steps = [
        {"type": "call", "tool": "Edit", "arguments": {"file_path": "roman.py"}},
        {"type": "call", "tool": "Odd"},
    ]
    (folder / "1-GREEN-1.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))

    shown = call(told, "show", "1-GREEN-1").output
    assert "1-GREEN-1 · ✗ rejected" in shown
    assert "! TestTampering: test_roman.py was edited in GREEN" in shown
    assert "→ Leave tests alone." in shown
    assert "did               Edit roman.py" in shown
    assert "3 of 4 wrong versions of the code are noticed" in call(told, "show", "1-GREEN").output
    told_json = json.loads(call(told, "show", "1-GREEN-1", "--json").output)
    assert (told_json["turn"], told_json["ruling"], told_json["transcript"]) == (
        "1-GREEN-1",
        "rejected",
        steps,
    )
    assert call(told, "show", "nobody").exit_code == 2


def test_diff_prints_what_git_can_apply(told: Repo) -> None:
    patch = call(told, "diff", "1-RED").output
    told.git("checkout", "-q", "HEAD~6")
    subprocess.run(["git", "apply"], cwd=told.path, env=dict(told.env), input=patch, text=True, check=True)

    assert (told.path / "test_roman.py").read_text() == "LINE = '<2>'\n" * 2
    told.git("checkout", "-q", "-f", "main")
    values = json.loads(call(told, "diff", "1-RED", "--json").output)
    assert values["files"] == [{"path": "test_roman.py", "what": "new", "added": 2, "removed": 0}]
    assert call(told, "diff", "2-RED-1").output == ""


def test_a_long_session_is_folded_and_nothing_moves_the_cursor(told: Repo) -> None:
    turn = turn_named(told.path, told.env, "1-GREEN")
    calls = [{"type": "call", "tool": "Bash", "arguments": {"command": "x\x1b[2J" * 50}}] * (MOST_STEPS + 2)
    text = turn_text(turn, calls, width=60, ink=ASCII)

    assert "and 2 more calls" in text
    assert max(map(len, text.splitlines())) <= 60
    rows = list(diff_rows("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\x1b[2J\n c\n", ASCII))
    assert [row[0].tone for row in rows] == [
        Tone.STRONG, Tone.HINT, Tone.BAD, Tone.GOOD, Tone.PLAIN, Tone.PLAIN,
    ]  # fmt: skip
    assert rows[3][0].text == "+b"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_completion(shell: str) -> None:
    assert "_RGR_COMPLETE" in CliRunner().invoke(rgr, ["completion", shell]).output


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("stauts", "'rgr status'"), ("reprot", "'rgr report'"), ("roman numerals", "rgr run")],
)
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(typed: str, meant: str) -> None:
    done = CliRunner().invoke(rgr, [typed])

    assert isinstance(done.exception, UsageError)
    assert meant in done.exception.hint
