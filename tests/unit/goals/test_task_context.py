"""What a task wants its sessions to know, from inside the project only."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.goals.task_context import (
    ALTOGETHER,
    CRITICAL,
    MOST,
    CommandEnd,
    critical_files,
    gather,
    reread,
)
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.goals.task_paths import is_command
from redgreenrefactor.model.task import Look, Task
from task_samples import plain_task

TASK = task_from(plain_task(), Path("T.json"))


class Shell:
    """Answers every command the same, and remembers them."""

    def __init__(self, exit_code: int = 0, output: str = "said") -> None:
        self.answer = CommandEnd(exit_code, output)
        self.asked: list[str] = []

    def __call__(self, command: str) -> CommandEnd:
        self.asked.append(command)
        return self.answer


def looking(*commands: str, binding: bool = False) -> Task:
    return replace(TASK, looks=(Look("look", commands=commands, binding=binding),))


def texts(task: Task, project: Path, shell: Shell | None = None) -> dict[str, str]:
    return {source.title: source.text for source in gather(task, project, shell or Shell())}


def test_files_to_read_are_read_whole_and_folders_listed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "style.md").write_text("Be brief.\n")
    task = replace(TASK, files_to_read=("docs/style.md", "docs", str(tmp_path / "docs" / "style.md")))
    assert texts(task, tmp_path) == {
        "docs/style.md": "Be brief.",
        "docs": "style.md",
        str(tmp_path / "docs" / "style.md"): "Be brief.",
    }


def test_files_are_shown_as_they_are_when_a_session_begins(tmp_path: Path) -> None:
    style, code = tmp_path / "style.md", tmp_path / "code.py"
    style.write_text("Be brief.\n")
    code.write_text("old\n")
    task = replace(looking("Read(code.py)", "ls"), files_to_read=("style.md",))
    gathered = gather(task, tmp_path, Shell(output="code.py"))
    style.unlink()
    code.write_text("new\n")
    shown = [source.text for source in reread(gathered, tmp_path)]
    assert shown == ["[not there, or outside the project]", "new", "code.py"]


def test_a_file_that_has_to_be_read_and_is_not_there_blocks_the_task(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match=r"none\.md, which the task's <files_to_read> names"):
        gather(replace(TASK, files_to_read=("none.md",)), tmp_path, Shell())


def test_focus_paths_are_described(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "src" / "a.py").write_text("1\n")
    task = replace(TASK, focus_paths=("src", "empty", "./src/a.py", "src/b.py"))
    assert texts(task, tmp_path)["Where to work (focus_paths)"].splitlines() == [
        "src: folder with a.py",
        "empty: folder with nothing in it",
        "./src/a.py: file, 2 bytes",
        "src/b.py: not there yet",
    ]


def test_a_full_folder_is_counted(tmp_path: Path) -> None:
    for number in range(45):
        (tmp_path / f"f{number:02}").touch()
    assert texts(replace(TASK, files_to_read=(".",)), tmp_path)["."].splitlines()[-1] == "and 5 more"


def test_a_context_package_may_be_missing(tmp_path: Path) -> None:
    task = replace(TASK, context_package="package.json")
    assert texts(task, tmp_path) == {"Context package (package.json)": "[the file is not there]"}
    (tmp_path / "package.json").write_text('{"critical_files": []}')
    assert texts(task, tmp_path) == {"Context package (package.json)": '{"critical_files": []}'}


def test_steps_run_commands_and_read_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n")
    shell = Shell()
    found = gather(
        looking("bash(ls -l)", "$ pwd", "git log", "Read('a.txt')", "mcp__find(x)"), tmp_path, shell
    )
    assert shell.asked == ["ls -l", "pwd", "git log"]
    assert [source.text for source in found] == [
        "said",
        "said",
        "said",
        "text",
        "[mcp__find is not known here: only bash(…) and Read(…) are done]",
    ]


def test_words_without_a_command_are_passed_on(tmp_path: Path) -> None:
    task = replace(TASK, looks=(Look("step 1", "Look at the tests"),))
    assert texts(task, tmp_path) == {"step 1 (to be looked at)": "Look at the tests"}


@pytest.mark.parametrize(
    ("command", "why"), [("bash(false)", "exit code 3"), ("Read(none)", "none is not there")]
)
def test_a_failure_blocks_or_is_tolerated_as_the_step_says(tmp_path: Path, command: str, why: str) -> None:
    (source,) = gather(looking(command), tmp_path, Shell(3))
    assert source.text.startswith(f"[failed, which the step tolerates: {why}]")
    with pytest.raises(NotReadyError, match=why):
        gather(looking(command, binding=True), tmp_path, Shell(3))


def test_what_is_gathered_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 100_000)
    found = gather(replace(TASK, files_to_read=("long",) * 20), tmp_path, Shell())
    assert max(len(source.text) for source in found) <= MOST
    assert sum(len(source.text) for source in found) < ALTOGETHER + 1000
    assert found[-1].text == "[left out: there was too much already]"


def test_what_is_no_text_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "odd").symlink_to(tmp_path / "odd")
    assert texts(replace(TASK, files_to_read=("binary", "latin")), tmp_path) == {
        "binary": "[not a text file]",
        "latin": "caf\ufffd",
    }


def test_what_is_no_file_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "odd")
    task = replace(TASK, files_to_read=("odd",))
    with pytest.raises(NotReadyError, match=r"odd, which .* names, cannot be read: it is a named pipe"):
        gather(task, tmp_path, Shell())
    told = replace(looking("Read(odd)"), focus_paths=("odd",), context_package="odd")
    assert texts(told, tmp_path) == {
        "Where to work (focus_paths)": "odd: cannot be read: it is a named pipe, not a regular file",
        "Context package (odd)": "[it is a named pipe, not a regular file]",
        "look: Read(odd)": "[failed, which the step tolerates: it is a named pipe, not a regular file]",
    }


def test_the_critical_files_of_a_context_package_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "b.py").write_text("B = 2\n")
    listed = ["a.py", {"path": "b.py", "rationale": "the core"}, {"file": "../c.py"}, {"path": 3}, "a.py", 7]
    package = {
        "exploration_results": {"aggregated": [{"critical_files": listed}], "integration_points": ["x"]}
    }
    (tmp_path / "package.json").write_text(json.dumps(package))
    found = texts(replace(TASK, context_package="package.json"), tmp_path)
    assert found.pop("Context package (package.json)") == json.dumps(package)
    assert found == {
        "a.py": "A = 1",
        "b.py (the core)": "B = 2",
        "../c.py": "[not there, or outside the project]",
    }


def test_a_package_that_is_no_json_has_no_critical_files() -> None:
    assert critical_files("# Notes\n") == []
    assert critical_files('{"critical_files": ' * 900 + "1" + "}" * 900) == []
    assert len(critical_files(json.dumps({"critical_files": [f"{n}.py" for n in range(100)]}))) == CRITICAL


def test_a_step_of_words_is_a_command_only_where_it_looks_like_one() -> None:
    assert all(map(is_command, ("bash(ls)", "Read(x)", "$ ls")))
    assert not any(map(is_command, ("Look at f(x)", "mcp__find(x)", "ls")))
