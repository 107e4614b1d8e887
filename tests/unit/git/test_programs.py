"""Programs that git's settings name are run unless they lead into the project, where sessions write."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.programs import ConfigEntry, Overruled, overruled
from redgreenrefactor.git.remote import remote_of
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox.process import Interrupt
from repos import Repo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a tool in it, and one outside."""
    for name in (
        "project/tools/clean.sh",
        "project/.git/config",
        "project/node_modules/.bin/inside",
        "bin/git-lfs",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path / "project"


def judged(root: Path, *settings: tuple[str, str], origin: str = "file:/home/ada/.gitconfig") -> Overruled:
    path = f"{root}/node_modules/.bin:node_modules/.bin:{root.parent}/bin:/usr/bin:/bin"
    entries = [ConfigEntry(origin, key, value) for key, value in settings]
    return overruled(entries, root, (root / ".git",), {"PATH": path, "HOME": str(root.parent)})


LEADS_IN = [
    "./tools/clean.sh",
    "tools/clean.sh %f",
    "{root}/tools/clean.sh",
    "~/project/tools/clean.sh",
    "sh tools/clean.sh",
    "cat | tools/clean.sh",
    "cat;./tools/clean.sh",
    "sh -c 'exec ./tools/clean.sh'",
    "cd tools && sh clean.sh",
    "$(git rev-parse --show-toplevel)/tools/clean.sh",
    "`git rev-parse --show-toplevel`/tools/clean.sh",
    '"$PWD"/tools/clean.sh',
    "$PWD/tools/clean.sh",
    "X=1 ./tools/clean.sh",
    "sed -f tools/clean.sh",
    "sed --file=tools/clean.sh",
    "sed -ftools/clean.sh",
    "inside",
    "npx prettier",
    "make clean",
    "python3 -m clean",
    "python3 -c 'import json'",
    "env tools/clean.sh",
    "unfinished 'quote",
]


@pytest.mark.parametrize("command", LEADS_IN)
def test_a_filter_that_leads_into_the_project_is_not_run(root: Path, command: str) -> None:
    found = judged(
        root, ("filter.x.clean", command.replace("{root}", str(root))), ("filter.x.required", "true")
    )
    assert found.settings == {"filter.x.clean": "", "filter.x.required": "false"}
    assert found.options == ("-c", "filter.x.clean=", "-c", "filter.x.required=false")
    assert "filter.x.clean" in found.told[0]
    assert "/home/ada/.gitconfig" in found.told[0]


HONEST = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.missing.clean", "not-installed-anywhere %f"),
    ("filter.date.clean", "sed -e 's/x/y/'"),
    ("filter.tabs.clean", "expand --tabs=4 --initial"),
    ("filter.perl.smudge", "perl -pe 's/\\$Date\\$/now/'"),
    ("filter.py.clean", "python3 -I -m strip"),
    ("gpg.program", "/usr/bin/gpg2"),
    ("gpg.ssh.program", "op-ssh-sign"),
    ("core.sshCommand".lower(), "ssh -i ~/.ssh/id_work -o IdentitiesOnly=yes"),
    ("credential.helper", "store --file tools/x"),
    ("credential.helper", "!f() { echo username=x; echo password=$MY_TOKEN; }; f"),
    ("credential.https://github.com.helper", "!/usr/bin/gh auth git-credential"),
    ("core.autocrlf", "input"),
    ("core.excludesfile", "~/.gitignore"),
    ("include.path", "~/.gitconfig.work"),
    ("alias.st", "!./tools/clean.sh"),
]


@pytest.mark.parametrize(("key", "value"), HONEST)
def test_honest_settings_are_left_alone(root: Path, key: str, value: str) -> None:
    assert judged(root, (key, value)) == Overruled()


def test_a_folder_named_as_a_filters_argument_changes_nothing(root: Path) -> None:
    (root / "clean").mkdir()
    assert judged(root, ("filter.lfs.clean", "git-lfs clean -- %f")) == Overruled()


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("merge.x.driver", "false"),
        ("gpg.program", "false"),
        ("core.sshcommand", "ssh"),
        ("core.askpass", ""),
        ("remote.origin.uploadpack", "git-upload-pack"),
        ("hook.x.command", "true"),
    ],
)
def test_everything_that_names_a_program_is_looked_at(root: Path, key: str, instead: str) -> None:
    assert judged(root, (key, "./tools/clean.sh")).settings == {key: instead}


def test_what_stands_last_counts(root: Path) -> None:
    assert judged(root, ("filter.x.clean", "./a"), ("filter.x.clean", "git-lfs clean")).settings == {}


def test_a_helper_of_the_project_is_left_out_and_the_others_stay(root: Path) -> None:
    found = judged(root, ("credential.helper", "store"), ("credential.helper", "!./tools/clean.sh"))
    assert found.options == ("-c", "credential.helper=", "-c", "credential.helper=store")


def test_a_submodule_is_not_updated_by_a_program_of_the_project(root: Path) -> None:
    assert judged(root, ("submodule.x.update", "!./tools/clean.sh")).settings == {
        "submodule.x.update": "checkout"
    }
    assert judged(root, ("submodule.x.update", "rebase")) == Overruled()


@pytest.mark.parametrize("name", [".gitconfig", ".git/../.gitconfig", "../project/.gitconfig"])
def test_no_program_is_run_that_a_file_of_the_project_names(root: Path, name: str) -> None:
    origin = f"file:{name}"
    assert judged(root, ("filter.x.clean", "git-lfs clean"), origin=origin).settings["filter.x.clean"] == ""
    assert judged(root, ("core.autocrlf", "input"), origin=origin) == Overruled()
    assert judged(root, ("url.x.insteadof", "y"), origin=origin).reaching == (f"url.x.insteadof ({name})",)
    assert judged(root, ("filter.x.clean", "git-lfs clean"), origin="file:.git/config") == Overruled()


def test_a_home_folders_file_that_is_a_link_into_the_project_is_the_projects(
    root: Path, tmp_path: Path
) -> None:
    (root / "dots").write_text("")
    (tmp_path / ".gitconfig").symlink_to(root / "dots")
    found = judged(root, ("filter.x.clean", "git-lfs clean"), origin=f"file:{tmp_path}/.gitconfig")
    assert found.settings["filter.x.clean"] == ""


# --- with git itself


class Owner:
    """A user whose own settings lead into the project."""

    def __init__(self, repo: Repo, tmp_path: Path) -> None:
        self.repo, self.ran = repo, tmp_path / "ran"
        self.repository: Repository = open_repository(repo.path, repo.env)

    def again(self) -> GitWorkspace:
        self.repository.close()
        env = {**self.repo.env, "ANTHROPIC_API_KEY": "hunter2"}
        self.repository = open_repository(self.repo.path, env)
        return GitWorkspace(self.repository)


@pytest.fixture
def owner(repo: Repo, tmp_path: Path) -> Generator[Owner]:
    made = Owner(repo, tmp_path)
    yield made
    made.repository.close()


def test_a_session_cannot_have_its_filter_run_by_the_users_settings(owner: Owner) -> None:
    repo = owner.repo
    repo.commit("chore: tools", {"tools/clean.sh": "#!/bin/sh\ncat\n", ".gitattributes": "*.txt filter=x\n"})
    (repo.path / "tools/clean.sh").chmod(0o755)
    repo.commit("chore: mode")
    repo.git("config", "filter.x.clean", "./tools/clean.sh")
    workspace = owner.again()
    base = workspace.head()
    workspace.begin("run", base)
    repo.write("tools/clean.sh", f"#!/bin/sh\nenv > {owner.ran}\ncat\n")
    repo.write("a.txt", "1\n")
    sealed = workspace.seal(base, TDD.phase(PhaseName.GREEN), "a", empty=False)
    workspace.rewind(base)
    assert not owner.ran.exists()
    assert any("filter.x.clean" in line for line in owner.repository.programs.told)
    assert {change.path for change in workspace.changes(base, sealed.commit)} == {"a.txt", "tools/clean.sh"}


def test_a_session_cannot_have_its_filter_run_by_a_file_that_is_included(owner: Owner) -> None:
    repo = owner.repo
    repo.commit("chore: shared", {".gitconfig": "[alias]\n\tst = status\n"})
    repo.git("config", "include.path", "../.gitconfig")
    workspace = owner.again()
    base = workspace.head()
    workspace.begin("run", base)
    repo.write(".gitconfig", f'[filter "y"]\n\tclean = env > {owner.ran}; cat\n\trequired = true\n')
    repo.write(".gitattributes", "*.txt filter=y\n")
    repo.write("a.txt", "1\n")
    sealed = workspace.seal(base, TDD.phase(PhaseName.GREEN), "a", empty=False)
    assert not owner.ran.exists()
    assert any("filter.y.clean" in line for line in sealed.warnings)
    assert owner.repo.git("show", f"{sealed.commit}:a.txt") == "1"


def test_an_honest_filter_is_run_without_keys(owner: Owner, tmp_path: Path) -> None:
    repo = owner.repo
    program = tmp_path / "upper"
    program.write_text(f"#!/bin/sh\nenv > {owner.ran}\ntr a-z A-Z\n")
    program.chmod(0o755)
    repo.commit("chore: attributes", {".gitattributes": "*.txt filter=up\n"})
    repo.git("config", "filter.up.clean", str(program))
    workspace = owner.again()
    base = workspace.head()
    workspace.begin("run", base)
    repo.write("a.txt", "quiet\n")
    sealed = workspace.seal(base, TDD.phase(PhaseName.GREEN), "a", empty=False)
    assert repo.git("show", f"{sealed.commit}:a.txt") == "QUIET"
    assert "hunter2" not in owner.ran.read_text()


def test_a_key_that_cannot_be_overruled_is_refused(owner: Owner) -> None:
    owner.repo.git("config", "filter.a=b.clean", "./tools/clean.sh")
    with pytest.raises(NotReadyError, match="cannot be overruled"):
        owner.again().status()


def test_remotes_are_not_reached_by_ways_that_the_project_names(owner: Owner) -> None:
    owner.repo.git("config", "include.path", "../.gitconfig")
    owner.repo.write(".gitconfig", '[url "https://evil.invalid/"]\n\tinsteadOf = https://github.com/\n')
    owner.repo.git("remote", "add", "origin", "https://github.com/a/b.git")
    owner.again()
    with pytest.raises(NotReadyError, match="say how remotes are reached"):
        remote_of(owner.repository, None, None, Interrupt()).listing()


def test_a_git_of_the_projects_is_not_ours(repo: Repo) -> None:
    planted = repo.path / "node_modules/.bin/git"
    planted.parent.mkdir(parents=True)
    planted.write_text(f'#!/bin/sh\ntouch {repo.path.parent}/ran\nexec /usr/bin/git "$@"\n')
    planted.chmod(0o755)
    env = {**repo.env, "PATH": os.pathsep.join([str(planted.parent), "node_modules/.bin", repo.env["PATH"]])}
    open_repository(repo.path, env).close()
    assert not (repo.path.parent / "ran").exists()
