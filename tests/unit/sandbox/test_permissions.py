"""What of a user's home folder is shown, and what never is."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from redgreenrefactor.sandbox import toolchains
from redgreenrefactor.sandbox.permissions import (
    BYTECODE,
    Ground,
    session_policy,
    suite_policy,
    tools_of,
)
from redgreenrefactor.sandbox.policy import Level, MountMode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with tools, secrets and a project."""
    home = tmp_path / "home" / "ada"
    for name in (
        ".pyenv/shims",
        ".cargo/bin",
        ".ssh",
        ".config/gh",
        "bin",
        "work/project/.venv/bin",
        "work/library",
        ".gradle/caches",
        ".gradle/wrapper/dists/gradle-8/abc/gradle-8",
        ".claude",
    ):
        (home / name).mkdir(parents=True)
    (home / ".gradle/wrapper/dists/gradle-8/abc/x.zip.lck").touch()
    (home / ".cargo/credentials.toml").write_text("token = 'secret'")
    (home / ".m2").mkdir()
    (home / ".m2/settings.xml").write_text(
        "<settings>\n<mirrors/>\n<servers>\n<server><password>secret</password></server>\n</servers>\n</settings>\n"
    )
    return home


def ground(home: Path, path: str = "", root: str = "work/project") -> Ground:
    project = home / root
    environ = {"HOME": str(home), "PATH": path}
    return Ground(
        root=project,
        git_dir=project / ".git",
        common_dir=project / ".git",
        object_stores=(project / ".git/objects",),
        project=project,
        cache=home / ".cache/rgr/x",
        compiled=home / ".cache/rgr/compiled",
        environ=environ,
        tools=tools_of(project, project, environ).shown,
    )


def test_tools_are_found_by_name_by_path_and_by_variable(home: Path, tmp_path: Path) -> None:
    java = tmp_path / "jdk"
    (java / "bin").mkdir(parents=True)
    env = {"HOME": str(home), "PATH": f"{home}/bin:{java}/bin:relative", "GOPATH": str(home / "work/library")}
    found = set(toolchains.tools(env, home))
    assert {home / ".pyenv", home / ".cargo/bin", home / "bin", java, home / "work/library"} <= found


def test_neither_keys_nor_everything_at_once_is_ever_shown(home: Path) -> None:
    env = {
        "HOME": str(home),
        "PATH": f"{home}/.ssh:{home}:/",
        "PYTHONPATH": f"{home}:{home.parent}:/:/etc:/proc/self:{home}/.config/gh:{home}/.ssh",
        "NODE_PATH": f"{home}/.local/share",
    }
    found = tools_of(home / "work/project", home / "work/project", env).shown
    for place in (home, home.parent, Path("/"), Path("/etc"), home / ".config/gh", home / ".local/share"):
        assert place not in found
    assert home / ".cargo" not in found


def virtual_environment(place: Path, home: Path, base: str) -> Path:
    """Make a virtual environment that imports two folders in place and would like to see the keys."""
    packages = place / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (place / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3\n")
    (packages / "a.pth").write_text(f"{home}/work/library\nimport os\n{home}/.ssh\n{home}\n{home}/.claude\n")
    info = packages / "b-1.dist-info"
    info.mkdir()
    (info / "direct_url.json").write_text(json.dumps({"url": f"file://{home}/work/library%20two"}))
    (packages / "c-1.dist-info").mkdir()
    (packages / "c-1.dist-info/direct_url.json").write_text("rubbish")
    os.mkfifo(packages / "waits.pth")
    return place


def test_what_a_virtual_environment_of_the_users_imports_in_place_is_shown(home: Path) -> None:
    place = virtual_environment(home / "envs/x", home, "/opt/python")
    project = home / "work/project"
    found = tools_of(project, project, {"HOME": str(home), "VIRTUAL_ENV": str(place)}).shown
    assert {place, home / "work/library"} <= set(found)
    assert not {home, home / ".ssh", home / ".claude"} & set(found)
    assert tools_of(project, project, {"HOME": str(home), "VIRTUAL_ENV": str(place)}).leads == ()


@pytest.mark.parametrize("activated", [True, False])
def test_what_one_in_the_project_leads_to_is_named_for_approval(home: Path, *, activated: bool) -> None:
    project = home / "work/project"
    (home / "work/library two").mkdir()
    base = home / "made/of/python"
    (base / "bin").mkdir(parents=True)
    place = virtual_environment(project / ".venv", home, str(base))
    env = {"HOME": str(home), **({"VIRTUAL_ENV": str(place)} if activated else {})}
    found = tools_of(project, project, env).leads
    assert {lead.folder for lead in found} == {home / "work/library", home / "work/library two", base}
    assert {lead.file.name for lead in found} == {"a.pth", "direct_url.json", "pyvenv.cfg"}


def test_a_folder_of_another_name_that_says_it_is_a_virtual_environment_opens_nothing(home: Path) -> None:
    project = home / "work/project"
    virtual_environment(project / "x", home, str(home / "work/library"))
    assert tools_of(project, project, {"HOME": str(home)}).leads == ()
    assert home / "work/library" not in tools_of(project, project, {"HOME": str(home)}).shown


@pytest.mark.parametrize(
    "base", ["/usr", "{home}/.pyenv/versions/3.12", "{home}/.local/share/uv/python/3.13"]
)
def test_an_ordinary_virtual_environment_in_the_project_needs_no_approval(home: Path, base: str) -> None:
    project, made_from = home / "work/project", Path(base.format(home=home))
    packages = project / ".venv/lib/python3.12/site-packages"
    packages.mkdir(parents=True)
    if not made_from.exists():
        (made_from / "bin").mkdir(parents=True)
    (project / ".venv/pyvenv.cfg").write_text(f"home = {made_from}/bin\n")
    (packages / "own.pth").write_text(f"{project}/src\n")
    (packages / "distutils.pth").write_text("import os; var = 'SETUPTOOLS_USE_DISTUTILS'\n")
    assert tools_of(project, project, {"HOME": str(home)}).leads == ()


def test_links_in_a_small_folder_are_followed_to_their_tools(home: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    (tool / "bin").mkdir(parents=True)
    (tool / "bin/x").touch()
    (home / "bin/x").symlink_to(tool / "bin/x")
    assert tool in set(toolchains.tools({"PATH": str(home / "bin")}, home))


def test_settings_are_shown_without_what_is_secret(home: Path) -> None:
    policy = suite_policy(ground(home), home / ".cache/rgr/x/checkout", Level.BUBBLEWRAP, network=False)
    place = next(place for place in policy.places if place.path == home / ".m2/settings.xml")
    assert "secret" not in place.shown.read_text()
    assert "<mirrors/>" in place.shown.read_text()


def test_a_suite_may_write_where_it_runs_and_reads_the_project_without_its_git_folder(home: Path) -> None:
    here = ground(home)
    policy = suite_policy(here, here.cache / "checkout" / "pkg", Level.BUBBLEWRAP, network=True)
    assert here.cache / "checkout" in policy.of(MountMode.WRITE)
    assert here.compiled not in policy.of(MountMode.WRITE)
    assert here.compiled / BYTECODE in policy.of(MountMode.READ)
    assert here.root in policy.of(MountMode.READ)
    assert here.git_dir in policy.of(MountMode.HIDE)
    assert policy.network
    assert policy.environment["GRADLE_RO_DEP_CACHE"] == str(home / ".gradle/caches")
    shadow = Path(policy.environment["GRADLE_USER_HOME"]) / "wrapper/dists/gradle-8/abc"
    assert [entry.name for entry in shadow.iterdir()] == ["gradle-8"]


def test_what_a_suite_compiles_is_kept_only_if_no_session_has_written_it(home: Path) -> None:
    here = ground(home)
    policy = suite_policy(here, here.cache / "checkout", Level.BUBBLEWRAP, network=False, keeps=True)
    assert here.compiled / BYTECODE in policy.of(MountMode.WRITE)


def test_where_the_home_folder_is_the_workspace_its_secrets_are_hidden(home: Path) -> None:
    here = ground(home, root="")
    policy = session_policy(here, Level.BUBBLEWRAP, lent=(), protected=(), network=False)
    assert {home / ".ssh", home / ".config"} <= set(policy.of(MountMode.HIDE))
    assert home in policy.of(MountMode.WRITE)


def test_under_landlock_caches_are_led_away_by_variables(home: Path) -> None:
    policy = suite_policy(ground(home), home / ".cache/rgr/x/checkout", Level.LANDLOCK, network=False)
    assert policy.environment["XDG_CACHE_HOME"].endswith("tools-suite/cache")
    assert policy.environment["MAVEN_OPTS"].startswith("-Dmaven.repo.local=")


@pytest.mark.parametrize("named", ["", "dotfiles/git"])
def test_under_landlock_git_finds_a_copy_of_the_users_settings_wherever_they_are(
    home: Path, named: str
) -> None:
    settings = home / (named or ".gitconfig")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(
        "[include]\n\tpath = ~/work[1].conf\n[user]\n\tname = Ada\n[core]\n\texcludesFile = ~/.ignored\n"
        '[includeIf "gitdir:~/work/"]\n\tpath = elsewhere\n[github]\n\ttoken = secret\n'
    )
    here = ground(home)
    if named:
        here = replace(here, environ={**here.environ, "GIT_CONFIG_GLOBAL": str(settings)})

    policy = session_policy(here, Level.LANDLOCK, lent=(), protected=(), network=False)

    copy = Path(policy.environment["GIT_CONFIG_GLOBAL"])
    assert any(copy.is_relative_to(place) for place in policy.of(MountMode.READ))
    assert not any(word in copy.read_text() for word in ("secret", "work", "elsewhere"))
    told = subprocess.check_output(["git", "config", "--file", copy, "--list"], text=True).splitlines()
    assert told[0] == "user.name=Ada"
    assert told[-1] == "core.excludesfile=/dev/null"  # the last one counts


@pytest.mark.parametrize("level", [Level.BUBBLEWRAP, Level.LANDLOCK])
def test_links_that_a_session_left_in_the_checkout_open_nothing(home: Path, level: Level) -> None:
    here = ground(home)
    (here.root / "node_modules").symlink_to(home / ".ssh")
    (here.root / "tests").symlink_to(home / ".config")
    (here.root / ".git").mkdir()
    for name in ("objects", "logs"):
        (here.root / ".git" / name).symlink_to(home)
    for policy in (
        session_policy(here, level, lent=(), protected=("tests",), network=False),
        suite_policy(here, here.cache / "checkout", level, network=False),
    ):
        opened = {place.path for place in policy.places if place.access in (MountMode.READ, MountMode.WRITE)}
        assert opened.isdisjoint({home, home / ".ssh", home / ".config"})
        assert not any(path.is_relative_to(here.root) and path.is_symlink() for path in opened)


def test_a_checkout_that_is_reached_by_a_link_is_there_under_both_names(home: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(home)
    here = ground(tmp_path / "short")
    policy = session_policy(here, Level.BUBBLEWRAP, lent=(), protected=(), network=False)
    assert {here.root, home / "work/project"} <= set(policy.of(MountMode.WRITE))


def test_a_link_among_a_sessions_tools_does_not_make_us_write_elsewhere(home: Path) -> None:
    here = ground(home)
    tools = here.cache / "tools-session"
    tools.mkdir(parents=True)
    (tools / "settings").mkdir()
    (tools / "settings" / ".m2-settings.xml").symlink_to(home / "written")
    (tools / "cache").symlink_to(home / "nowhere")
    (tools / "gradle").symlink_to(home / "made")
    (home / "made").mkdir()
    policy = session_policy(here, Level.BUBBLEWRAP, lent=(), protected=(), network=False)
    assert not (home / "written").exists()
    assert not list((home / "made").iterdir())
    place = next(place for place in policy.places if place.path == home / ".m2/settings.xml")
    assert not place.shown.is_relative_to(tools)


@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
def test_what_a_session_put_in_place_of_a_tools_folder_is_taken_away(home: Path, kind: str) -> None:
    found = ground(home)
    place = found.cache / "tools-session/cache"
    place.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(home)
    else:
        place.touch()
    session_policy(found, Level.BUBBLEWRAP, lent=(), protected=(), network=False)
    assert place.is_dir()
    assert not place.is_symlink()
