import json
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from redgreenrefactor.cli.commands import called, rgr
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


def offered(shell: str, line: str, repo: Repo) -> list[str]:
    """Return what a shell offers when Tab is pressed at the end of a line."""
    words = line.split(" ")
    env = {**repo.env, "_RGR_COMPLETE": f"{shell}_complete", "COMP_CWORD": str(len(words) - 1)}
    env["COMP_WORDS"] = line if shell != "fish" else " ".join(words[:-1])
    env |= {"COMP_CWORD": words[-1]} if shell == "fish" else {}
    command = [sys.executable, "-m", "redgreenrefactor"]
    done = subprocess.run(
        command, env=env, cwd=repo.path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rgr rep", ["plain,repair-notes", "plain,report"]),
        ("rgr run --file ", ["file,"]),
        ("rgr run --agent cl", ["plain,claude-code", "plain,cline"]),
        ("rgr report --project ", ["dir,"]),
        ("rgr show 1-gr", ["plain,1-GREEN-2", "plain,1-GREEN-1"]),
        ("rgr report 2026", [f"plain,{RUN}"]),
        ("rgr init --starter g", ["plain,gradle", "plain,go"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_shells_offer_what_can_be_typed(told: Repo, line: str, found: list[str]) -> None:
    assert offered("bash", line, told)[:-1] == found


def test_no_run_means_no_turns_to_offer(make_repo: MakeRepo) -> None:
    assert not any(offered("bash", "rgr diff ", make_repo()))


def test_what_a_command_does_is_not_cut_off_beside_its_name(told: Repo) -> None:
    assert "Make unreadable notes readable again" in offered("zsh", "rgr repa", told)


def test_a_flag_before_the_command_is_answered_with_where_it_belongs(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, hint in (
        ("--project . report", "Flags come after the command"),
        ("--versoin", "rgr --help"),
        ("init --starter", "'rgr init --help'"),
    ):
        monkeypatch.setattr("sys.argv", ["rgr", *words.split()])
        with pytest.raises(UsageError) as refused:
            called()
        assert hint in refused.value.hint


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("stauts", "'rgr status'"), ("reprot", "'rgr report'"), ("roman numerals", "rgr run")],
)
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(typed: str, meant: str) -> None:
    done = CliRunner().invoke(rgr, [typed])

    assert isinstance(done.exception, UsageError)
    assert meant in done.exception.hint
