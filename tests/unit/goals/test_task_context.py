"""What a task wants its sessions to know, from inside the project only."""

from dataclasses import replace
from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.goals.task_context import ALTOGETHER, MOST, Outcome, check_paths, gather, is_command
from redgreenrefactor.goals.task_file import task_from
from redgreenrefactor.model.task import Look, Task
from task_samples import plain_task

TASK = task_from(plain_task(), Path("T.json"))


class Shell:
    """Answers every command the same, and remembers them."""

    def __init__(self, exit_code: int = 0, output: str = "said") -> None:
        self.answer = Outcome(exit_code, output)
        self.asked: list[str] = []

    def __call__(self, command: str) -> Outcome:
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


def test_paths_that_lead_out_of_the_project_are_refused_by_name(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    task = replace(
        TASK,
        files_to_read=("../secret", "~/.ssh/id"),
        focus_paths=("fine", "/etc"),
        context_package="link/x",
        looks=(
            Look("a", commands=("bash(cat /etc/hosts)",)),
            Look("b", commands=("Read(/etc/passwd)", "Read(a\0)")),
        ),
    )
    with pytest.raises(UsageError) as caught:
        check_paths(task, project)
    assert caught.value.message.splitlines()[1:] == [
        "  <files_to_read>: ../secret leads out of the project",
        "  <files_to_read>: ~/.ssh/id leads out of the project",
        "  $.focus_paths[1]: /etc leads out of the project",
        "  $.context_package_path: link/x leads out of the project",
        "  $.pre_analysis[1]: /etc/passwd leads out of the project",
        "  $.pre_analysis[1]: a\0 leads out of the project",
    ]


def test_a_step_of_words_is_a_command_only_where_it_looks_like_one() -> None:
    assert all(map(is_command, ("bash(ls)", "Read(x)", "$ ls")))
    assert not any(map(is_command, ("Look at f(x)", "mcp__find(x)", "ls")))
