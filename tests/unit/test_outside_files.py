"""Whatever a task file, a specification or a feature's file may be: it ends with words, and soon.

How many are tried is `RGR_FUZZ_FILES`; `make fuzz` tries a thousand.
"""

import json
import os
import random
import resource
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from redgreenrefactor.agents.replay import load_script
from redgreenrefactor.cli import main
from redgreenrefactor.errors import RgrError
from redgreenrefactor.goals.task_context import CommandEnd, gather
from redgreenrefactor.goals.task_file import read_task
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.records import transcripts
from redgreenrefactor.records.task_files import TaskFiles
from redgreenrefactor.records.task_folder import TaskFolder
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.runners.suite_context import forget_uncertain_bytecode, imported_from
from redgreenrefactor.runners.virtual import how_to_install
from task_samples import plain_task, tdd_task

TIMES = int(os.environ.get("RGR_FUZZ_FILES", "60"))
SOON = 5.0  # seconds
DEVICES = (
    "/dev/zero",
    "/dev/random",
    "/dev/full",
    "/dev/null",
    "/dev/tty",
    "/dev/ptmx",
    "/proc/kmsg",
    "/dev/stdin",
)
Chance = random.Random


@contextmanager
def soon(what: str) -> Generator[None]:
    """Break off whatever does not end."""

    def give_up(_number: int, _frame: object) -> None:
        pytest.fail(f"still busy after {SOON} s with {what}")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SOON)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- what sessions and clones may have put in the way of our readers


def saved_state(project: Path) -> object:
    return TaskFiles(project).read("a")


def summary(project: Path) -> object:
    folder = TaskFolder(project, "s")
    task = Task("a", "t", "d", tdd=True, criteria=())
    folder.clear(task, 0, failed=False)
    return folder.summarise(TaskFileResult(task, TaskFileStatus.COMPLETE), "done")


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a task's state": (".codex/task-a.json", saved_state),
    "a task's list": (".workflow/active/s/TODO_LIST.md", summary),
    "a task's log": (".workflow/active/s/.process/green-fix-iteration-1.md", summary),
    "a script": ("mine.toml", lambda project: load_script("mine.toml", project)),
    "a recorded session": ("run/1-RED-1.jsonl", lambda project: load_script("run", project)),
    "transcripts": ("run/1-RED-1.jsonl", lambda project: transcripts.find(project, "run", "abcdef0")),
    "a transcript": ("run/1-RED-1.jsonl", lambda project: transcripts.turns(project, "run")),
    "build files": ("pyproject.toml", detect),
    "what a package is": ("pyproject.toml", lambda project: how_to_install({}, project, project, "x")),
    "packages installed in place": (
        "venv/lib/python3/site-packages/a.pth",
        lambda project: imported_from(project / "other", project, {"PATH": ""}),
    ),
    "byte code": ("p/src/a.pyc", lambda project: forget_uncertain_bytecode(project / "p", Path("/src"))),
}


@pytest.mark.parametrize("where", READERS)
@pytest.mark.parametrize("kind", ["pipe", "zeros", "device"])
def test_no_reader_waits_for_what_lies_in_the_project_or_reads_it_without_end(
    where: str, kind: str, tmp_path: Path
) -> None:
    path, read = READERS[where]
    place = tmp_path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "venv").mkdir(exist_ok=True)
    (tmp_path / "venv/pyvenv.cfg").touch()
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("/dev/zero" if kind == "zeros" else "/dev/tty")
    memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, memory[1]))
    try:
        with soon(where), suppress(RgrError):
            read(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, memory)


# --- what may lie somewhere


def pipe(place: Path, chance: Chance) -> None:
    os.mkfifo(place)


def listener(place: Path, chance: Chance) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(place.parent)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.fchdir(here)
        os.close(here)


def device(place: Path, chance: Chance) -> None:
    place.symlink_to(chance.choice(DEVICES))


def link(place: Path, chance: Chance) -> None:
    place.symlink_to(chance.choice([place.name, "nowhere", "..", "/", "/etc/passwd", "x" * 200, "pipe"]))
    if not os.path.lexists(place.with_name("pipe")):
        os.mkfifo(place.with_name("pipe"))


def folder(place: Path, chance: Chance) -> None:
    place.mkdir()
    for name in chance.sample(["plan.json", "IMPL-1.json", ".task", "x", os.fsdecode(b"\xff")], 3):
        chance.choice([pipe, device, text])(place / name, chance)


def huge(place: Path, chance: Chance) -> None:
    with place.open("wb") as stream:
        stream.write(chance.choice([b"", b"{", b"# Spec\n", b'{"id": "']))
        stream.truncate(1 << chance.randint(22, 42))


def binary(place: Path, chance: Chance) -> None:
    place.write_bytes(chance.randbytes(chance.choice([1, 100, 70_000])))


def text(place: Path, chance: Chance) -> None:
    words = [
        "",
        "x",
        "{}",
        "[]",
        "[" * 5000,
        "\ufeff# Spec",
        "\0",
        "{" * 9,
        '{"tasks": ["\\ud800", "a\\u0000", {}]}',
    ]
    place.write_text(chance.choice(words))


KINDS: Sequence[Callable[[Path, Chance], None]] = (
    *(pipe, listener, device, link, folder, huge, binary, text),
)


def naming(chance: Chance, names: Sequence[str]) -> dict[str, Any]:
    """Return a task that wants odd things read wherever it can."""
    document = chance.choice([plain_task, tdd_task])()
    odd = [*names, "a\0b", "\ud800", "x" * 300, "../out", "", "/dev/zero"]
    named = "\n".join(chance.sample(odd, 2))
    return {
        **document,
        "description": f"Do it.\n<files_to_read>\n{named}\n</files_to_read>"
        if chance.random() < 0.5
        else "Do it.",
        "focus_paths": [path for path in chance.sample(odd, 2) if path],
        "context_package_path": chance.choice(odd),
        "pre_analysis": [
            f"Read({chance.choice(odd)})",
            {"command": f"Read({chance.choice(odd)})", "on_error": "fail"},
        ],
    }


def said(
    words: Sequence[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str]:
    """Return how a command ended, and what it said."""
    monkeypatch.setattr(sys, "argv", ["rgr", *words])
    cast("Any", sys.stderr).reconfigure(errors="backslashreplace")  # as it is outside of tests
    code = 0
    with soon(" ".join(words)):
        try:
            main.main()
        except SystemExit as end:
            code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out + err


def test_no_file_is_too_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Chance(os.environ.get("RGR_FUZZ_SEED", "1"))
    for number in range(TIMES):
        place = tmp_path / str(number) / chance.choice(["IMPL-1.json", "plan.json", "SPEC.md"])
        place.parent.mkdir()
        made = chance.choice(KINDS)
        made(place, chance)
        words = chance.choice([["task"], ["task", "--check"], ["tdd"], ["run", "--file"]])
        said_as = chance.choice([[], ["--json"]])
        code, told = said([*words, str(place), "--project", str(place.parent), *said_as], capsys, monkeypatch)
        assert code in (2, 3), (number, made.__name__, words, told)
        assert told.strip(), (number, made.__name__, words)


def test_no_file_that_a_task_names_is_too_odd(tmp_path: Path) -> None:
    chance = Chance(os.environ.get("RGR_FUZZ_SEED", "2"))
    for number in range(TIMES):
        project = tmp_path / str(number)
        project.mkdir()
        names = [f"odd{index}" for index in range(3)]
        for name in names:
            chance.choice(KINDS)(project / name, chance)
        (project / "package.json").write_text(json.dumps({"critical_files": [*names, {"path": "\ud800"}, 3]}))
        file = tmp_path / "IMPL-1.json"
        file.write_text(json.dumps(naming(chance, [*names, "package.json"])))
        with soon(f"number {number}: {file.read_text()}"):
            try:
                found = read_task(file, chance.choice([project, None]))
                code, told = 0, str(gather(found.task, project, lambda _: CommandEnd(0, "said")))
            except RgrError as error:
                code, told = error.exit_code, error.message
        assert code in (0, 2, 3), (number, told)
        assert told
