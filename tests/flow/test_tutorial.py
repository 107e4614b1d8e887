"""The tutorial, and the example of a task, are played as they are written; what they show is what happens."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

DOCS = Path(__file__).parents[2] / "docs"
END = "--- end of step"
VARYING = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b"), "RUN"),
    (re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{7})\b"), "COMMIT"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\dZ"), "WHEN"),
    (re.compile(r"\b\d+\.\d s\b"), "SECONDS"),
    (re.compile(r"\b\d+ of \d+ mutants"), "SOME mutants"),
    (re.compile(r"/\S*/greeting\b"), "FOLDER"),
    (re.compile(r"\s+"), " "),
)


def steps(text: str) -> list[tuple[str, str]]:
    """Return what is typed, and what is shown below it."""
    fences = [
        (token.info, token.content) for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"
    ]
    return [
        (text, following if language == "text" else "")
        for (kind, text), (language, following) in zip(fences, [*fences[1:], ("", "")], strict=True)
        if kind == "sh"
    ]


def lines(text: str) -> Iterator[str]:
    """Yield the lines that say something, without what differs from run to run."""
    for line in text.splitlines():
        plain = line.strip()
        for pattern, name in VARYING:
            plain = pattern.sub(name, plain)
        if plain and plain != "…":
            yield plain


def play(typed: list[str], folder: Path, env: dict[str, str]) -> list[str]:
    """Type everything in one shell; return what came of each step."""
    who = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ada"), ("EMAIL", "ada@localhost"))
    }
    done = subprocess.run(
        ["/bin/sh", "-c", "".join(f"{step}\necho '{END}'\n" for step in typed)],
        cwd=folder,
        env={**env, **who, "PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    *outputs, rest = done.stdout.decode().split(END)
    assert len(outputs) == len(typed), rest
    return outputs


def check(text: str, folder: Path, env: dict[str, str]) -> None:
    """Play what a text says, and find all that it shows in what happens."""
    said = steps(text)
    for (typed, shown), output in zip(said, play([typed for typed, _ in said], folder, env), strict=True):
        happened = lines(output)
        for line in lines(shown):
            assert line in happened, f"after\n{typed}\nthere is no {line!r} in\n{output}"


def keys_of_notes(folder: Path) -> set[str]:
    """Return every key that some handoff has."""

    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True).stdout

    commits = [row.split()[1] for row in git("notes", "--ref=tdd-handoffs", "list").splitlines()]
    notes = [json.loads(git("notes", "--ref=tdd-handoffs", "show", commit)) for commit in commits]
    return {key for note in notes for key in note}


@pytest.mark.long
def test_the_tutorial_shows_what_happens_and_every_key_of_its_notes_is_explained(
    tmp_path: Path, env: dict[str, str]
) -> None:
    check((DOCS / "tutorial.md").read_text(), tmp_path, env)
    explained = re.findall(r"`([a-zA-Z]+)`", (DOCS / "handoffs.md").read_text())
    assert keys_of_notes(tmp_path / "greeting") <= set(explained)


@pytest.mark.long
def test_the_example_of_a_task_shows_what_happens(tmp_path: Path, env: dict[str, str]) -> None:
    page = (DOCS / "task.md").read_text()
    check(page[page.index("## An example") : page.index("## The file")], tmp_path, env)
    assert keys_of_notes(tmp_path / "greeting")
