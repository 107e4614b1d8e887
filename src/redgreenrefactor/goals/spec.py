"""The specification that a coder is to turn into code, from its file."""

from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.goals.text_file import SAVE, TextFile

HOW = "Type: rgr tdd SPEC.md, with a text file that says what to build."


@dataclass(frozen=True, slots=True)
class Spec:
    """What is to be built, and the file that says so."""

    path: Path
    text: str


def read_spec(path: Path) -> Spec:
    """Return the specification in a file, trimmed; one that is missing, empty or unreadable is a usage error."""
    file = TextFile(path, "specification", HOW, type="SpecUnusable")
    text = file.read().replace("\r\n", "\n").strip()
    if not text:
        raise file.unusable("is empty: it says nothing about what to build")
    if "\0" in text:
        raise file.unusable("holds NUL characters, so it is not text", SAVE)
    return Spec(path.absolute(), text)
