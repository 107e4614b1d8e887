import json
import os
import re
from pathlib import Path

import pytest

from agent_setup import setup_with
from redgreenrefactor.agents.replay import ReplayAgent, load_script
from redgreenrefactor.agents.script import Scene, Script, katas
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox.process import call

ME = {"NAME": "rgr", "EMAIL": "rgr@localhost"}
IDENTITY = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in ME.items()}
ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C.UTF-8",
}
ORDER = list(PhaseName)


def git(folder: Path, *arguments: str) -> str:
    finished = call(["git", *arguments], cwd=folder, env={**ENV, **IDENTITY})
    assert finished.exit_code == 0, finished.stderr.decode()
    return finished.stdout.decode().strip()


def story(script: Script) -> list[Scene]:
    return sorted(script.scenes, key=lambda scene: (scene.cycle, ORDER.index(scene.phase), scene.attempt))


def last_attempt(script: Script, scene: Scene) -> bool:
    return script.scene(scene.phase, scene.cycle, 99) is scene


def play(script: Script, scene: Scene, folder: Path) -> str:
    agent = ReplayAgent(script, setup_with(env=ENV, identity=IDENTITY))
    role = Role(RoleName.TEST, "", "")
    brief = Brief(role, scene.phase, scene.cycle, scene.attempt, "run", "", "{}")
    report = agent.work(brief, folder, lambda _: None)
    assert report.failure is None
    return report.message


@pytest.mark.parametrize("name", katas())
def test_a_kata_can_be_played_to_the_end_of_its_list(name: str, tmp_path: Path) -> None:
    script = load_script(name)
    git(tmp_path, "init", "-q")
    for path, content in script.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "chore: begin")

    for scene in story(script):
        base = git(tmp_path, "rev-parse", "HEAD")
        message = play(script, scene, tmp_path)
        if scene.phase is PhaseName.PLAN:
            open_boxes = re.findall(r"^- \[ \] (.*)$", (tmp_path / "test-list.md").read_text(), re.MULTILINE)
            answer = json.loads(message[message.index("{") :])["currentTest"]
            assert (answer and answer["description"]) == (open_boxes[0] if open_boxes else None)
        if last_attempt(script, scene):
            git(tmp_path, "commit", "-qam", "sealed", "--allow-empty")
        else:
            git(tmp_path, "reset", "-q", "--hard", base)

    assert "[ ]" not in (tmp_path / "test-list.md").read_text()


@pytest.mark.parametrize("name", katas())
def test_a_kata_says_what_is_asked_for_and_what_it_starts_from(name: str) -> None:
    script = load_script(name)

    assert script.name == name
    assert script.feature.strip()
    assert {"README.md", "pyproject.toml"} <= set(script.files)


def test_the_roman_kata_shows_a_cheat_and_a_covered_case() -> None:
    script = load_script("roman")
    retried = {(scene.phase, scene.cycle) for scene in script.scenes if scene.attempt > 1}
    cycles = {scene.cycle for scene in script.scenes}
    covered = {cycle for cycle in cycles - {max(cycles)} if not script.scene(PhaseName.GREEN, cycle, 1)}

    assert retried == {(PhaseName.GREEN, 3), (PhaseName.RED, 5)}
    assert covered == {5}
