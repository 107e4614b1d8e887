"""Every session is written down, and a run that was written down can be played again."""

import json
from pathlib import Path

import pytest
from stage import PLAIN, Stage, calculator

from repos import MakeRepo, Repo

SECRET = "sk-ant-api03-AAAABBBBCCCCDDDD"


def sessions(repo: Repo) -> Path:
    [run] = (repo.path / ".git/tdd/sessions").iterdir()
    return run


def trees(repo: Repo) -> list[str]:
    return repo.git("log", "--format=%T %s").splitlines()


@pytest.mark.long
def test_a_run_of_any_program_is_written_down_shown_and_played_again(make_repo: MakeRepo) -> None:
    parts = calculator(1)
    parts["GREEN-1-1"] = {
        "files": {"calc.py": "nonsense ="},
        "commit": f"feat: nonsense with {SECRET}",
        "say": SECRET,
    }
    stage = Stage(make_repo("first", PLAIN), parts, env={"MY_TOKEN": "hunter2hunter2"})
    base = stage.head()
    events = stage.repo.path.parent / "events.jsonl"
    done = stage.run("--events", str(events))
    assert done.code == 0, done

    turns = ["1-GREEN-1", "1-GREEN-2", "1-PLAN-1", "1-RED-1", "1-REFACTOR-1", "2-PLAN-1"]
    assert sorted(path.stem for path in sessions(stage.repo).iterdir()) == turns
    assert stage.is_clean()
    text = "".join(path.read_text() for path in sessions(stage.repo).iterdir())
    assert SECRET not in text
    assert "with [masked]" in events.read_text()
    assert SECRET not in events.read_text() + done.out + done.err

    told = stage.rgr("history", "--transcript", "1-GREEN-1", "--json").json
    assert [one["type"] for one in told] == ["session", "report", "sealed", "judged"]
    assert told[0]["brief"] == stage.session("GREEN-1-1")["brief"]
    assert told[1]["message"] == "[masked]"
    assert told[2]["changes"] == [{"path": "calc.py", "mode": "100644", "text": "nonsense ="}]
    assert told[3]["ruling"] == "rejected"
    shown = stage.rgr("history", "--transcript", "HEAD~1")
    assert shown.code == 0, shown
    assert shown.out.startswith("1-REFACTOR-1 · ")
    missing = stage.rgr("history", "--transcript", "9-GREEN-9")
    assert missing.code == 2
    assert "1-GREEN-1, 1-GREEN-2" in missing.err

    again = Stage(make_repo("second", PLAIN))
    assert again.repo.git("rev-parse", "HEAD^{tree}") == stage.repo.git("rev-parse", f"{base}^{{tree}}")
    played = again.rgr("run", "A calculator", "--agent", f"replay:{sessions(stage.repo)}", "--json")
    assert played.code == 0, played
    assert trees(again.repo) == trees(stage.repo)
    assert list(again.attempts()) == ["1-GREEN-1"]
    calls = [json.loads(line) for line in (sessions(again.repo) / "1-RED-1.jsonl").read_text().splitlines()]
    assert [one["tool"] for one in calls if one["type"] == "call"] == ["Write", "Bash", "Bash"]
