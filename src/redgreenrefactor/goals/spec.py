"""The specification that a coder is to turn into code, from its file."""

from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.errors import UsageError

HOW = "Type: rgr tdd SPEC.md, with a text file that says what to build."
LOOK = "Check the spelling; the path is taken from the folder you are in."
SAVE = "Save it as plain text in UTF-8 and try again."


@dataclass(frozen=True, slots=True)
class Spec:
    """What is to be built, and the file that says so."""

    path: Path
    text: str


def read_spec(path: Path) -> Spec:
    """Return the specification in a file, trimmed; one that is missing, empty or unreadable is a usage error."""
    text = _content(path).removeprefix("\ufeff").replace("\r\n", "\n").strip()
    if not text:
        raise _unusable(f"The specification {path} is empty: it says nothing about what to build.", HOW)
    if "\0" in text:
        raise _unusable(f"The specification {path} holds NUL characters, so it is not text.", SAVE)
    return Spec(path.absolute(), text)


def _content(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise _unusable(f"The specification {path} is not UTF-8 text (byte {error.start}).", SAVE) from error
    except FileNotFoundError as error:
        raise _unusable(f"There is no specification {path}.", LOOK) from error
    except IsADirectoryError as error:
        raise _unusable(f"{path} is a folder, not a specification.", "Name a file inside it.") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise _unusable(f"The specification {path} cannot be read: {why}.", HOW) from error


def _unusable(message: str, hint: str) -> UsageError:
    return UsageError(message, hint=hint, type="SpecUnusable")
