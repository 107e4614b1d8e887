"""The feature that was asked for, from the command line, a file or standard input."""

from collections.abc import Callable
from pathlib import Path

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.text_file import SAVE, TextFile

HOW = 'Type: rgr run "FEATURE", or rgr run --file FILE, or rgr run - to read it from standard input.'


def read_feature(words: str | None, file: Path | None, stdin: Callable[[], str]) -> str:
    """Return the one feature that was given, trimmed; anything unusable is a usage error."""
    if words is not None and file is not None:
        raise UsageError(f"The feature was given twice: as {_short(words)} and as --file {file}.", hint=HOW)
    if words == "-" or file == Path("-"):
        return _usable(_from_stdin(stdin), "Standard input")
    if file is not None:
        return _usable(TextFile(file, "file", HOW).read(), f"The file {file}")
    if words is not None:
        return _usable(words, "The feature")
    raise UsageError("No feature was given.", hint=HOW)


def _from_stdin(stdin: Callable[[], str]) -> str:
    try:
        return stdin()
    except UnicodeDecodeError as error:
        raise UsageError("Standard input is not UTF-8 text.", hint=SAVE) from error
    except OSError as error:
        raise UsageError(f"Standard input cannot be read: {error.strerror or error}.", hint=HOW) from error


def _usable(text: str, origin: str) -> str:
    """Return the text as the run will carry it, if it can be put into notes and briefs."""
    feature = text.removeprefix("\ufeff").replace("\r\n", "\n").strip()
    if not feature:
        raise UsageError(f"{origin} is empty: it says nothing about what to build.", hint=HOW)
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
