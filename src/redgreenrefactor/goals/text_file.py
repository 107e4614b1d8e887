"""Text files that a person names: a feature, a specification, a task file."""

from collections.abc import Callable
from pathlib import Path

from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import LARGEST, head_of
from redgreenrefactor.model.values import frozen

LOOK = "Check the spelling; the path is taken from the folder you are in."
HOW_TO_RUN = (
    'Type: rgr run "FEATURE", or rgr run with --file FILE, --issue N, or - to read it from standard input.'
)
HOW_TO_REVIEW = "Type: rgr tdd SPEC.md, with a text file that says what to build."
SAVE = "Save it as plain text in UTF-8 and try again."


@frozen
class TextFile:
    """A file that was named for a purpose, and what to say where it does not serve."""

    path: Path
    kind: str  # what it should be: a specification, a task file
    hint: str  # what to type instead
    type: str = UsageError.type
    largest: int = LARGEST

    def read(self) -> str:
        """Return its text, without a byte order mark; what is no regular file of UTF-8 text is a UsageError."""
        try:
            content = head_of(self.path, self.largest + 1)
            if len(content) > self.largest:
                size = self.path.stat().st_size
                raise self.unusable(f"has {size} bytes; a {self.kind} has at most {self.largest}")
            return content.decode("utf-8-sig")
        except FileNotFoundError as error:
            raise self._refusal(f"There is no {self.kind} {self.path}.", LOOK) from error
        except UnicodeDecodeError as error:
            raise self.unusable(f"is not UTF-8 text (byte {error.start})", SAVE) from error
        except IsADirectoryError as error:
            message = f"{self.path} is a folder, not a {self.kind}."
            raise self._refusal(message, "Name a file inside it.") from error
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise self.unusable(f"cannot be read: {why}") from error

    def unusable(self, why: str, hint: str | None = None) -> UsageError:
        """Return the error that says why the file does not serve."""
        return self._refusal(f"The {self.kind} {self.path} {why}.", hint or self.hint)

    def _refusal(self, message: str, hint: str) -> UsageError:
        return UsageError(message, hint=hint, type=self.type)


# --- a feature


def read_feature(words: str | None, file: Path | None, stdin: Callable[[], str]) -> str:
    """Return the one feature that was given, trimmed; anything unusable is a usage error."""
    if words is not None and file is not None:
        raise UsageError(
            f"The feature was given twice: as {_short(words)} and as --file {file}.", hint=HOW_TO_RUN
        )
    if words == "-" or file == Path("-"):
        return usable_feature(_from_stdin(stdin), "Standard input")
    if file is not None:
        return usable_feature(TextFile(file, "file", HOW_TO_RUN).read(), f"The file {file}")
    if words is not None:
        return usable_feature(words, "The feature")
    raise UsageError("No feature was given.", hint=HOW_TO_RUN)


def _from_stdin(stdin: Callable[[], str]) -> str:
    try:
        return stdin()
    except UnicodeDecodeError as error:
        raise UsageError("Standard input is not UTF-8 text.", hint=SAVE) from error
    except OSError as error:
        raise UsageError(
            f"Standard input cannot be read: {error.strerror or error}.", hint=HOW_TO_RUN
        ) from error


def usable_feature(text: str, origin: str) -> str:
    """Return a feature's text as the run will carry it; one that notes and briefs cannot hold is a usage error."""
    feature = text.removeprefix("\ufeff").replace("\r\n", "\n").strip()
    if not feature:
        raise UsageError(f"{origin} is empty: it says nothing about what to build.", hint=HOW_TO_RUN)
    if "\0" in feature:
        raise UsageError(f"{origin} holds NUL characters, so it is not text.", hint=SAVE)
    try:
        feature.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{origin} is not valid Unicode text.", hint=SAVE) from error
    return feature


def _short(words: str) -> str:
    limit = 60
    return repr(words if len(words) <= limit else f"{words[: limit - 1]}…")


# --- a specification


@frozen
class Spec:
    """What is to be built, and the file that says so."""

    path: Path
    text: str


def read_spec(path: Path) -> Spec:
    """Return the specification in a file, trimmed; one that is missing, empty or unreadable is a usage error."""
    file = TextFile(path, "specification", HOW_TO_REVIEW, type="SpecUnusable")
    text = file.read().replace("\r\n", "\n").strip()
    if not text:
        raise file.unusable("is empty: it says nothing about what to build")
    if "\0" in text:
        raise file.unusable("holds NUL characters, so it is not text", SAVE)
    return Spec(path.absolute(), text)
