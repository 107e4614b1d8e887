"""What commands print is what it claims to be, whatever stands in it and wherever it goes."""

import io
import json
import sys
from typing import Any

import pytest

from redgreenrefactor.cli.common import print_json
from redgreenrefactor.cli.main import main
from redgreenrefactor.git import lock
from repos import MakeRepo, Repo


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
@pytest.mark.parametrize("text", ["plain", "caf\u00e9 \u4e2d", "caf\udce9.py was changed"])
def test_json_is_json_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str, errors: str, text: str
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding, errors))
    print_json({"error": text})
    assert json.loads(out.getvalue().decode(encoding)) == {"error": text}


def test_letters_stay_letters_where_they_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
    print_json("caf\u00e9")
    assert out.getvalue() == '"caf\u00e9"\n'.encode()


def test_a_terminal_that_knows_few_letters_is_no_reason_to_fail(
    monkeypatch: pytest.MonkeyPatch, repo: Repo
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "latin-1", "strict"))
    monkeypatch.setattr(sys, "argv", ["rgr", "doctor", "--project", str(repo.path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 3
    sys.stdout.flush()
    assert b"git version" in out.getvalue()


def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Any, str]:
    """Return the exit code of a command, and what it says on standard error."""
    monkeypatch.setattr(sys, "argv", ["rgr", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr().err


def test_without_a_command_there_is_plain_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = told(monkeypatch, capsys)
    assert (code, err.splitlines()[0]) == (2, "Usage: rgr [OPTIONS] COMMAND [ARGS]...")
    assert "→" not in err


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (("run", "--no-such-flag"), "rgr run --help"),
        (("history", "--limit", "none"), "rgr history --help"),
        (("no-such-command",), "rgr --help"),
    ],
)
def test_whoever_uses_a_command_wrongly_is_led_to_its_own_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], typed: str
) -> None:
    code, err = told(monkeypatch, capsys, *words)
    assert (code, f"Type '{typed}' for" in err) == (2, True), err


def test_where_there_is_no_remote_nobody_is_told_to_fetch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], make_repo: MakeRepo
) -> None:
    repo = make_repo(files={"pyproject.toml": ""})
    code, err = told(monkeypatch, capsys, "verify", "--project", str(repo.path))
    assert (code, "git fetch" in err, "rgr run" in err) == (3, False, True), err
    repo.git("remote", "add", "origin", "/nowhere")
    assert "git fetch origin" in told(monkeypatch, capsys, "verify", "--project", str(repo.path))[1]


def test_a_worktree_that_is_worked_in_is_named_in_the_way_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], make_repo: MakeRepo
) -> None:
    repo = make_repo("main/project", files={"pyproject.toml": ""})
    folder = repo.path.parent / ".codex-worktrees/x"
    repo.git("worktree", "add", "-q", "-b", "tdd/x", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(repo.path.parent / "cache"))
    with lock.held(repo.path / ".git/worktrees/x" / lock.NAME):
        words = ("--project", str(repo.path), "--agent", "command:true")
        code, err = told(monkeypatch, capsys, "run", "F", "--worktree", "x", *words)
    assert (code, "type 'rgr resume --worktree x'" in err) == (3, True), err
