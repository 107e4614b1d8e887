"""Sessions that are held do honest work in every kind of checkout, and git's own folder stays out of their reach."""

import shlex
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cages import LEVELS, means
from redgreenrefactor.config import Flags, load
from redgreenrefactor.confinement import Confinement, confinement_of
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.events import Event, Warned
from redgreenrefactor.model.evidence import Manner
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.ports import Sealed
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import NO_MEANS, Means
from redgreenrefactor.sandbox.permissions import BYTECODE, collapsed
from redgreenrefactor.sandbox.policy import Level
from redgreenrefactor.sandbox.process import Finished
from repos import MakeRepo, Repo

PHASES = {phase.name: phase for phase in TDD.phases}
CASE = Case("a", "tests/test_a.py", "code.py")


PLANTS = """\
import os, sys, unittest

class TestA(unittest.TestCase):
    def test_a(self):
        try:
            open(os.path.join(sys.pycache_prefix, "planted"), "x")
            for home, _, names in os.walk(sys.pycache_prefix):
                for name in names:
                    with open(os.path.join(home, name), "ab"):
                        pass
        except OSError:
            return
"""
OPENED: list[Repository] = []
HELD_BY = [""]


@pytest.fixture(autouse=True, params=LEVELS)
def closing(request: pytest.FixtureRequest) -> Generator[None]:
    """Hold sessions by this, and close what a test has opened."""
    HELD_BY[0] = request.param
    yield
    while OPENED:
        OPENED.pop().close()


def opened(folder: Path, env: Mapping[str, str]) -> Repository:
    OPENED.append(open_repository(folder, env))
    return OPENED[-1]


@dataclass
class Session:
    """A held session in a checkout."""

    workspace: GitWorkspace
    cages: Confinement
    env: Mapping[str, str]
    phase: PhaseName = PhaseName.RED

    def __post_init__(self) -> None:
        self.base = self.workspace.head()
        self.workspace.begin("run", self.base)
        role = Role(RoleName.TEST, "", "")
        self.cage = self.cages.session(Brief(role, self.phase, 1, 1, "run", "", "{}", CASE))

    def sh(self, command: str) -> Finished:
        return process.run(command, cwd=self.workspace.project, env=self.env, cage=self.cage, timeout=60)

    def seal(self) -> Sealed:
        return self.workspace.seal(self.base, PHASES[self.phase], "a case", empty=False)


def session(
    repo: Repo,
    folder: Path | None = None,
    phase: PhaseName = PhaseName.RED,
    **more: str,
) -> Session:
    level = HELD_BY[0]
    means(level)
    env = {**repo.env, "PATH": "/usr/local/bin:/usr/bin:/bin", "TDD_SANDBOX": level}
    repository = opened(folder or repo.path, env)
    workspace = GitWorkspace(repository)
    text = "\n".join(f"{name.replace('_', '.')}={value}" for name, value in more.items())
    settings = load(("tdd.properties", text), env, Flags())
    made = confinement_of(repository, settings, lambda _: None, workspace.compiled, workspace=workspace)
    return Session(workspace, made, env, phase)


def imagined(repo: Repo, **more: str) -> Confinement:
    """Return what would hold programs if there were a bubblewrap: enough where none is started."""
    repository = opened(repo.path, repo.env)
    text = "\n".join(f"{name.replace('_', '.')}={value}" for name, value in more.items())
    workspace = GitWorkspace(repository)
    settings = load(("tdd.properties", text), repo.env, Flags())
    return Confinement(repository, workspace.compiled, settings, Means(Level.BUBBLEWRAP), workspace)


COMMIT = "echo 'x = 1' > tests.py && git add tests.py && git commit -qm 'test: one more'"


def kinds(repo: Repo, kind: str, tmp_path: Path) -> Path:
    """Return a checkout of this kind."""
    match kind:
        case "ordinary":
            return repo.path
        case "linked":
            repo.git("worktree", "add", "-q", "-b", "tdd/x", str(tmp_path / "linked"))
            return tmp_path / "linked"
        case "detached":
            repo.git("checkout", "-q", "--detach")
            return repo.path
        case "packed":
            repo.git("pack-refs", "--all")
            repo.git("gc", "-q")
            return repo.path
        case "clone":
            repo.git("clone", "-q", "--shared", str(repo.path), str(tmp_path / "clone"))
            repo.git("-C", str(tmp_path / "clone"), "config", "user.name", "Ada")
            repo.git("-C", str(tmp_path / "clone"), "config", "user.email", "ada@localhost")
            return tmp_path / "clone"
        case _:
            repo.commit("feat: a package", {"pkg/code.py": "x = 1\n"})
            return repo.path / "pkg"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["ordinary", "linked", "detached", "packed", "clone", "subfolder"])
def test_a_session_commits_and_its_commit_is_sealed_as_it_is(kind: str, repo: Repo, tmp_path: Path) -> None:
    held = session(repo, kinds(repo, kind, tmp_path))
    done = held.sh(COMMIT)
    assert done.exit_code == 0, done
    sealed = held.seal()
    assert (sealed.subject, sealed.resealed, sealed.rewritten, sealed.warnings) == (
        "test: one more",
        False,
        (),
        (),
    )
    assert held.workspace.head() == sealed.commit
    assert held.workspace.status().dirty == ()
    assert not list(tmp_path.rglob("stand-in"))


def test_uncommitted_work_is_sealed(repo: Repo) -> None:
    held = session(repo)
    assert held.sh("echo 'x = 1' > tests.py").exit_code == 0
    assert held.seal().subject == "test: a case"


def test_new_branches_and_stashes_are_put_away_and_other_refs_are_safe(repo: Repo) -> None:
    repo.git("branch", "other")
    held = session(repo)
    script = f"{COMMIT} && git branch mine && echo y > README.md && git stash -q && git branch -f other HEAD"
    assert held.sh(script).exit_code == 0
    sealed = held.seal()
    assert sealed.rewritten == ("refs/heads/other was moved",)
    assert repo.git("rev-parse", "other") == held.base
    assert repo.git("branch", "--list", "mine") == ""
    kept = repo.git("for-each-ref", "--format=%(refname)", "refs/tdd/kept")
    assert "heads/mine" in kept
    assert "stash" in kept


def test_forged_notes_are_told_and_not_written(repo: Repo) -> None:
    repo.git("notes", "--ref=tdd-handoffs", "add", "-m", "{}", "HEAD")
    before = repo.git("rev-parse", "refs/notes/tdd-handoffs")
    held = session(repo)
    assert held.sh("git notes --ref=tdd-handoffs add -f -m forged HEAD").exit_code == 0
    assert held.seal().rewritten == ("refs/notes/tdd-handoffs was moved",)
    assert repo.git("rev-parse", "refs/notes/tdd-handoffs") == before


def test_history_rewritten_inside_is_noticed(repo: Repo) -> None:
    repo.commit("feat: second", {"a.py": "1\n"})
    held = session(repo)
    assert held.sh("git reset -q --hard HEAD~1 && git commit -q --allow-empty -m 'test: x'").exit_code == 0
    assert any("no longer part of the history" in told for told in held.seal().rewritten)
    assert repo.git("merge-base", "--is-ancestor", held.base, "HEAD") == ""


def test_another_branch_checked_out_inside_leaves_ours_checked_out(repo: Repo) -> None:
    held = session(repo)
    assert held.sh(f"git checkout -qb aside && {COMMIT}").exit_code == 0
    assert held.seal().subject == "test: one more"
    assert repo.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_settings_and_hooks_made_inside_do_not_reach_ours(repo: Repo, tmp_path: Path) -> None:
    marker = tmp_path / "pwned"
    config = (repo.path / ".git/config").read_text()
    held = session(repo)
    held.sh(
        f"git config core.fsmonitor 'touch {marker}'; git config filter.x.smudge 'touch {marker}'; "
        f"printf '#!/bin/sh\\ntouch {marker}\\n' > .git/hooks/post-checkout; echo '* filter=x' > .gitattributes; {COMMIT}"
    )
    held.seal()
    repo.git("status")
    repo.git("checkout", "-q", "-f", "HEAD")
    assert not marker.exists()
    assert (repo.path / ".git/config").read_text() == config


def test_the_users_hooks_run_inside(repo: Repo) -> None:
    hook = repo.path / ".git/hooks/commit-msg"
    hook.write_text("#!/bin/sh\necho hooked >> $1\n")
    hook.chmod(0o755)
    held = session(repo)
    assert held.sh(COMMIT).exit_code == 0
    held.seal()
    assert "hooked" in repo.git("log", "-1", "--format=%B")


def test_credentials_in_gits_settings_are_not_shown(repo: Repo) -> None:
    repo.git("config", "remote.origin.url", "https://me:hunter2@example.invalid/x.git")
    repo.git("config", "http.extraheader", "Authorization: hunter2")
    done = session(repo).sh("git remote -v; cat .git/config; git config --list")
    assert b"https://example.invalid/x.git" in done.stdout
    assert b"hunter2" not in done.stdout


def test_a_session_that_is_cut_off_leaves_its_commits_at_a_ref(repo: Repo) -> None:
    held = session(repo)
    assert held.sh(COMMIT).exit_code == 0
    kept = GitWorkspace(opened(repo.path, held.env)).recover(lambda _: False)
    assert kept is not None
    assert repo.git("show", f"{kept}:tests.py") == "x = 1"
    assert repo.git("rev-parse", "HEAD") == held.base


def test_a_stand_in_of_an_earlier_session_is_not_taken_for_this_ones(repo: Repo) -> None:
    held = session(repo)
    assert held.sh(COMMIT).exit_code == 0
    held.workspace.begin("run", held.base)
    assert held.seal().subject == "test: a case"  # of the files, not of the commit


def test_submodules_can_be_read_and_not_moved(make_repo: MakeRepo) -> None:
    library, repo = make_repo("library"), make_repo("project")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.path), "sub")
    repo.git("commit", "-qm", "chore: a submodule")
    held = session(repo)
    done = held.sh(
        f"git -C sub log --oneline && git submodule status && {COMMIT} && echo x > .git/modules/sub/config"
    )
    assert done.exit_code != 0
    assert b"Read-only" in done.stderr
    assert held.seal().subject == "test: one more"


def test_tests_are_read_only_in_green_and_code_is_not(repo: Repo) -> None:
    repo.commit(
        "test: a",
        {"tests/test_a.py": "1\n", "code.py": "1\n", "pkg/tests/util.py": "1\n", "pytest.ini": "[pytest]\n"},
    )
    held = session(repo, phase=PhaseName.GREEN)
    for path in ("tests/test_a.py", "tests/new.py", "pkg/tests/util.py", "pytest.ini"):
        assert held.sh(f"echo 2 > {path}").exit_code != 0, path
    assert held.sh("echo 2 > code.py && echo 3 > pkg/more.py").exit_code == 0
    assert session(repo, phase=PhaseName.REFACTOR).sh("echo 2 > tests/test_a.py").exit_code == 0


def test_tools_of_a_session_have_caches_of_their_own_among_the_dependencies(repo: Repo) -> None:
    repo.commit("chore: ignore", {".gitignore": "node_modules\n"})
    repo.write("node_modules/vite/index.js", "1\n")
    results = repo.write("node_modules/.cache/results.json", "mine")
    script = "cd node_modules && mkdir -p .vite/vitest && echo 1 | tee .vite/vitest/r .cache/results.json"
    assert session(repo).sh(script).exit_code == 0
    assert session(repo).sh("echo 2 > node_modules/vite/index.js").exit_code != 0
    assert (results.read_text(), list((repo.path / "node_modules/.vite").iterdir())) == ("mine", [])


def test_a_link_that_a_session_put_in_the_way_of_its_tests_leads_nowhere(repo: Repo, tmp_path: Path) -> None:
    secret = tmp_path / "secret" / "tests"
    secret.mkdir(parents=True)
    (secret / "key").write_text("hunter2")
    repo.commit("test: a", {"src/tests/test_a.py": "1\n"})
    held = session(repo, phase=PhaseName.GREEN)
    assert held.sh(f"mv src away && ln -s {secret.parent} src").exit_code == 0
    assert b"hunter2" not in held.sh("cat src/tests/key").stdout


def test_a_suite_writes_into_its_checkout_and_nowhere_else(repo: Repo) -> None:
    repo.commit("feat: more", {"code.py": "1\n", ".gitignore": "data\n"})
    (repo.path / "data").mkdir()
    held = session(repo)
    folder = held.workspace.checkout(held.base, {})
    cage = held.cages.suite(folder)
    script = f"echo x > out; echo x > {repo.path}/code.py; echo x > .git/config; ls -A {repo.path}/.git; git log --oneline"
    done = process.run(script, cwd=folder, env=held.env, cage=cage)
    assert (folder / "out").exists()
    assert (repo.path / "code.py").read_text() == "1\n"
    assert b"feat: more" in done.stdout
    assert b"HEAD" not in done.stdout


def test_what_later_runs_execute_is_not_written_by_what_a_session_wrote(repo: Repo) -> None:
    held = session(repo)
    folder = held.workspace.checkout(held.base, {})
    suite = suite_for(
        f"{shlex.quote(sys.executable)} -m unittest",
        SuiteContext(
            project=repo.path, env=held.env, timeout=60, cache=held.workspace.compiled, cage=held.cages.suite
        ),
    )
    (folder / "test_a.py").write_text(PLANTS)
    bytecode = held.workspace.compiled / BYTECODE
    (bytecode / "planted").unlink(missing_ok=True)
    assert suite.run(folder).green
    assert not (bytecode / "planted").exists()
    assert suite.run(folder, Manner(keeps=True)).green
    assert (bytecode / "planted").exists()
    kept = {file: file.stat().st_mtime_ns for file in bytecode.rglob("**/unittest/*.pyc")}
    assert kept
    assert suite.run(folder).green
    assert {file: file.stat().st_mtime_ns for file in bytecode.rglob("**/unittest/*.pyc")} == kept


def test_settings_that_tests_write_steer_nobody(repo: Repo, tmp_path: Path) -> None:
    repo.commit("feat: attributes", {".gitattributes": "* filter=x\n", "a.txt": "1\n"})
    later = repo.commit("feat: more", {"a.txt": "2\n"})
    held = session(repo)
    folder = held.workspace.checkout(held.base, {})
    evil = f"git config filter.x.smudge 'touch {tmp_path}/pwned; cat' && echo SET"
    done = process.run(evil, cwd=folder, env=held.env, cage=held.cages.suite(folder))
    assert b"SET" not in done.stdout
    (folder / ".git").unlink()
    repo.git("-C", str(folder), "init", "-q")
    repo.git("-C", str(folder), "config", "filter.x.smudge", f"touch {tmp_path}/pwned; cat")
    (folder / "a.txt").unlink()
    held.workspace.checkout(later, {})
    assert (folder / "a.txt").read_text() == "2\n"
    assert "checkout.git" in (folder / ".git").read_text()
    assert not (tmp_path / "pwned").exists()


def test_programs_that_are_agents_are_free_unless_they_are_to_be_held(repo: Repo) -> None:
    brief = Brief(Role(RoleName.TEST, "", ""), PhaseName.RED, 1, 1, "run", "", "{}")
    assert imagined(repo).holds("claude-code") == "off"
    held = imagined(repo, sandbox_agents="on")
    assert {held.holds(spec) for spec in ("claude-code", "acp:x", "command:x")} == {"on"}
    cage = held.agent(brief)
    assert cage is not None
    assert cage.policy.network


def test_auto_holds_programs_of_which_it_is_known_what_they_need_where_that_can_be_shown(repo: Repo) -> None:
    held = imagined(repo, sandbox_agents="auto")
    found = {
        spec: held.holds(spec)
        for spec in ("claude-code", "codex", "gemini", "opencode", "acp:x", "command:x")
    }
    assert [spec for spec, how in found.items() if how == "auto"] == [
        "claude-code",
        "codex",
        "gemini",
        "opencode",
    ]
    assert {found["acp:x"], found["command:x"]} == {"off"}
    held.means = Means(Level.LANDLOCK, mounts=True)
    assert (held.holds("claude-code"), held.holds("acp:x")) == ("auto", "off")
    held.means = Means(Level.LANDLOCK)
    assert held.holds("claude-code") == "off"
    held.means = NO_MEANS
    assert held.holds("claude-code") == "off"
    held.means = Means(Level.BUBBLEWRAP)
    assert held.told(["claude-code", "command:x"]).endswith(
        "the agent (with the network), not command:x, which runs outside"
    )


def test_a_note_that_says_so_gives_suites_the_network(repo: Repo) -> None:
    made = imagined(repo)
    assert made.separates_suites
    opening = Handoff(phase=PhaseName.PLAN, next_phase=PhaseName.PLAN)
    assert made.noted(opening) == replace(opening, sandbox="bubblewrap")
    made.as_noted(replace(opening, suite_network=True))
    assert made.noted(opening) == replace(opening, sandbox="bubblewrap", suite_network=True)
    assert not made.separates_suites  # they share the ports of the machine
    strict = imagined(repo, sandbox_suite_network="off")
    strict.as_noted(replace(opening, suite_network=True))
    assert not strict.suite_network


def test_where_nothing_works_a_run_is_refused_unless_everything_is_ours(repo: Repo) -> None:
    env = {**repo.env, "PATH": "/nowhere", "TDD_SANDBOX": "bubblewrap"}
    lacking = opened(repo.path, {**repo.env})
    object.__setattr__(lacking, "environ", env)
    told: list[Event] = []
    settings = load(None, env, Flags())
    with pytest.raises(NotReadyError, match="it is not installed") as refused:
        confinement_of(lacking, settings, told.append, repo.path)
    assert "apt install bubblewrap" in refused.value.hint
    assert "sandbox=off" in refused.value.hint
    assert confinement_of(lacking, settings, told.append, repo.path, may_lack=True).level is Level.OFF
    assert [type(event) for event in told] == [Warned]


@pytest.mark.parametrize(
    ("level", "why", "words"),
    [
        (Level.LANDLOCK, "bubblewrap: it is not installed", "'apt install bubblewrap' for the full one"),
        (Level.LANDLOCK, "bubblewrap: no namespaces here", "bubblewrap: no namespaces here"),
        (Level.LANDLOCK, "", "as the settings want it"),
        (Level.BUBBLEWRAP, "", ""),
    ],
)
def test_landlock_is_announced_as_the_reduced_form_in_one_line(
    repo: Repo, level: Level, why: str, words: str
) -> None:
    place, settings = opened(repo.path, repo.env), load(None, {}, Flags())
    made = Confinement(place, repo.path, settings, Means(level, mounts=True, why=why), None)
    assert made.reduced == (f"reduced sandbox (Landlock): {words}" if words else "")
    bare = Confinement(place, repo.path, settings, Means(level, why=why), None)
    assert ("git's folder is not held" in bare.reduced) == bool(words)
    assert all(len(line) + len("  ! ") <= 80 for line in (made.reduced, bare.reduced))


def test_where_nothing_can_be_mounted_a_session_commits_in_the_real_folder(repo: Repo) -> None:
    held = session(repo)
    if HELD_BY[0] != "landlock":
        pytest.skip("bubblewrap always mounts")
    held.cages.means = replace(held.cages.means, mounts=False)
    held.__post_init__()
    done = held.sh(COMMIT)
    assert done.exit_code == 0, done
    assert "test: one more" in repo.git("log", "-1", "--format=%s")
    assert held.seal().subject == "test: one more"


def test_paths_below_others_need_no_rule_of_their_own() -> None:
    assert collapsed(["tests/a.py", "tests", "tests/b/c.py", "tests2/x", "a"]) == ["a", "tests", "tests2/x"]


@pytest.mark.parametrize(
    ("settings", "agents", "told"),
    [
        ("", ["api"], "landlock: suites (no network unless they need it), tools (no network)"),
        (
            "sandbox.suite.network=off\nsandbox.network=on",
            ["replay:x"],
            "landlock: suites (no network), tools (with the network)",
        ),
        (
            "sandbox.suite.network=on",
            ["command:x"],
            "landlock: suites (with the network), not command:x, which runs outside",
        ),
        (
            "sandbox.agents=on",
            ["command:x"],
            "landlock: suites (no network unless they need it), the agent (with the network)",
        ),
        (
            "",
            ["api", "command:x"],
            "landlock: suites (no network unless they need it), tools (no network), not command:x, which runs outside",
        ),
        (
            "sandbox.agents=auto",
            ["claude-code"],
            "landlock: suites (no network unless they need it), not claude-code, which runs outside",
        ),
        (
            "",
            ["command:python3 ../tools/an-agent-of-our-own.py --fast"],
            "landlock: suites (no network unless they need it), not command:python3 ../tools/an-agent-of- …, which runs outside",
        ),
        ("sandbox=off", ["api"], "off, nothing is held"),
    ],
)
def test_who_is_held_by_what_is_told_as_it_is(
    repo: Repo, settings: str, agents: list[str], told: str
) -> None:
    env = {name: value for name, value in repo.env.items() if name != "TDD_SANDBOX"}
    repository = opened(repo.path, env)
    wanted = load(("tdd.properties", settings), env, Flags())
    level = NO_MEANS if wanted.sandbox == "off" else Means(Level.LANDLOCK)
    assert Confinement(repository, repo.path, wanted, level, None).told(agents) == told


def test_folders_that_are_shown_for_the_projects_environment_are_told(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "other" / "sibling").mkdir(parents=True)
    packages = repo.path / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "sibling.pth").write_text(f"{tmp_path}/other/sibling\n")
    repository = opened(repo.path, repo.env)
    settings = load(None, {}, Flags())
    said = Confinement(repository, repo.path, settings, Means(Level.LANDLOCK), None).told(["api"])
    assert said.endswith(f", shows {tmp_path}/other/sibling")
