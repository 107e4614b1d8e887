import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from redgreenrefactor.cli.commands import rgr
from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.git import lock
from redgreenrefactor.reports import reports
from repos import MakeRepo, Repo
from told_runs import OPENING, RUN, TURNS, record


@pytest.fixture
def told(make_repo: MakeRepo) -> Repo:
    repo = make_repo()
    record(repo)
    return repo


def test_a_run_is_told_from_its_notes_and_commits(told: Repo) -> None:
    (report,) = reports(told.path, told.env)

    assert (report.run_id, report.status) == (RUN, "complete")
    first = report.cycles[0]
    assert [turn.patch.subject for turn in first.turns] == [
        "turn 1: PLAN", "turn 2: RED", "feat: by force", "turn 3: GREEN", "turn 4: REFACTOR",
    ]  # fmt: skip
    assert "+assert True" in first.rejected[0].patch.text
    assert "+LINE = '<2>'" in first.turns[1].patch.text
    assert report.cycles[1].rejected[0].commit == ""


def test_secrets_that_a_diff_shows_are_masked(told: Repo) -> None:
    told.commit("turn 8", {"roman.py": "KEY = 'open sesame'\n"})
    told.git("notes", "--ref=tdd-handoffs", "copy", "HEAD~1", "HEAD")

    (report,) = reports(told.path, {**told.env, "SOME_TOKEN": "open sesame", "MY_TOKEN": "turn 8"})

    assert report.turns[-1].patch.subject == "turn 8"  # too short to be a secret
    assert "+KEY = '[masked SOME_TOKEN]'" in report.turns[-1].patch.text


def test_runs_of_other_branches_and_of_before_are_found(told: Repo) -> None:
    told.git("checkout", "-q", "-b", "tdd/other", "HEAD~3")
    record(told, [replace(turn, run_id="another") for turn in TURNS[:2]], replace(OPENING, run_id="another"))
    told.git("checkout", "-q", "main")

    assert [report.run_id for report in reports(told.path, told.env)] == [RUN]
    assert {report.run_id for report in reports(told.path, told.env, every=True)} == {RUN, "another"}
    (other,) = reports(told.path, told.env, ["anoth"])
    assert (other.run_id, other.status) == ("another", "cut off")
    with pytest.raises(UsageError, match="there is no run nobody"):
        reports(told.path, told.env, ["nobody"])


def test_a_run_that_began_here_and_went_on_elsewhere_is_told_whole(told: Repo) -> None:
    told.git("branch", "tdd/elsewhere")
    told.git("reset", "-q", "--hard", f"HEAD~{len(TURNS)}")

    (report,) = reports(told.path, told.env)

    assert (report.run_id, report.status, len(report.cycles)) == (RUN, "complete", 3)


def test_a_run_in_a_worktree_is_at_work_while_somebody_holds_it(told: Repo) -> None:
    told.git("worktree", "add", "-q", "-b", "tdd/other", str(told.path.parent / "there"), "HEAD~5")
    there = replace(told, path=told.path.parent / "there")
    record(there, [replace(turn, run_id="another") for turn in TURNS[:2]], replace(OPENING, run_id="another"))
    (git_dir,) = (told.path / ".git/worktrees").iterdir()

    with lock.held(git_dir / lock.NAME):
        (other,) = reports(told.path, told.env, ["another"])

    assert other.status == "running"


def test_without_a_run_there_is_nothing_to_tell(make_repo: MakeRepo) -> None:
    repo = make_repo()
    for every in (False, True):
        with pytest.raises(NotReadyError, match="no run has been started"):
            reports(repo.path, repo.env, every=every)


def test_the_command_writes_what_a_files_name_asks_for(told: Repo, tmp_path: Path) -> None:
    def call(*words: str) -> str:
        done = CliRunner().invoke(rgr, ["report", "--project", str(told.path), *words], env=dict(told.env))
        assert done.exit_code == 0, done.output
        return done.stdout

    page, table, values = (tmp_path / f"r.{kind}" for kind in ("html", "md", "json"))
    assert call("-o", str(page)) == f"1 run in {page}\n"
    assert json.loads(call("--json", "-o", str(table))) == {"file": str(table), "format": "md", "runs": [RUN]}
    assert call("--quiet", "-o", str(values)) == ""
    assert page.read_text().startswith("<!doctype html>")
    assert table.read_text() == call("--format", "md")
    assert json.loads(values.read_text()) == json.loads(call("--json"))
    assert call().startswith("<!doctype html>")


def test_history_draws_the_run_on_request(told: Repo) -> None:
    def call(*words: str) -> str:
        return (
            CliRunner()
            .invoke(rgr, ["history", "--project", str(told.path), *words], env=dict(told.env))
            .output
        )

    assert "✓ 1  1 is I" in call("--graph")
    assert "✓ 1  1 is I" not in call("--graph", "--limit", "1")
    assert json.loads(call("--graph", "--json")) == json.loads(call("--json"))


def on_a_terminal(told: Repo, *words: str) -> tuple[int, str, str]:
    """Return exit code, screen and standard error of a report that is asked for at a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "redgreenrefactor", "report", "--project", str(told.path), *words]
    done = subprocess.run(command, env=told.env, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # Linux says so at the end
        while read := os.read(ours, 4096):
            shown += read
    os.close(ours)
    return done.returncode, shown.decode(), done.stderr.decode()


def test_a_page_is_not_poured_into_a_terminal(told: Repo) -> None:
    code, shown, why = on_a_terminal(told)
    assert (code, shown, "rgr report -o" in why) == (2, "", True)


def test_whoever_sits_at_a_terminal_is_told_how_to_open_the_page(told: Repo, tmp_path: Path) -> None:
    code, shown, _ = on_a_terminal(told, "-o", str(tmp_path / "a page.html"))
    assert (code, f"open {tmp_path.as_uri()}/a%20page.html in a browser" in shown) == (0, True)
    assert "in a browser" not in on_a_terminal(told, "-o", str(tmp_path / "a.md"))[1]
