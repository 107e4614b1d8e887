"""What a line of shell runs in the end, as far as its words tell."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from redgreenrefactor.model.task import shell_words
from redgreenrefactor.model.values import frozen

_SEPARATORS = frozenset("();|&")
_PYTEST = ("pytest", "py.test")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_WRAPPERS = frozenset(("env", "exec", "time", "nice", "command", "timeout", "nohup", "xvfb-run"))
_RUNNERS = frozenset(
    ("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "pixi")
)
_TAKES_VALUE = ("-W", "-X")


@frozen
class Invocation:
    """A test runner that is started at the end of a command."""

    runner: str
    as_module: bool  # by `python -m`


def last_invocation(command: str) -> Invocation | None:
    """Return the Python test runner that the last segment of a command invokes, if it does."""
    words = _last_segment(command)
    return _invocation(words) if words else None


def stands_alone(command: str) -> bool:
    """Tell whether a line is a runner and nothing else: what stands around one may start, watch or count things."""
    words = [word for word in shell_words(command) or [] if not _ASSIGNMENT.match(word)]
    name = PurePosixPath(words[0]).name if words else ""
    known = name in _PYTEST or name in _RUNNERS or _PYTHON.fullmatch(name) is not None
    return known and "coverage" not in words and not set("<>`$;|&\n") & set(command.strip())


def _last_segment(command: str) -> list[str]:
    """Return the words after the last operator; none where the line is too much for us, or runs on alone."""
    if "\n" in command.strip():
        return []
    words = shell_words(command) or []
    while words and words[-1] in (";", ")"):
        words.pop()
    for index in range(len(words) - 1, -1, -1):
        if words[index] and _SEPARATORS.issuperset(words[index]):
            return words[index + 1 :]
    return words


def _invocation(words: Sequence[str]) -> Invocation | None:
    while words and _ASSIGNMENT.match(words[0]):
        words = words[1:]
    name = PurePosixPath(words[0]).name if words else ""
    if name in _PYTEST:
        return Invocation("pytest", as_module=False)
    if _PYTHON.fullmatch(name):
        return _module(words[1:])
    if name == "coverage" and words[1:2] == ["run"]:
        return _module(words[2:])
    if name in _RUNNERS and words[1:2] == ["run"]:
        return _behind_options(words[2:])
    return _behind_options(words[1:]) if name in _WRAPPERS else None


def _module(words: Sequence[str]) -> Invocation | None:
    """Return what an interpreter runs with `-m`."""
    value = False
    for index, word in enumerate(words):
        if word.startswith("-m"):
            module, *rest = [word[2:], *words[index + 1 :]] if word != "-m" else [*words[index + 1 :], ""]
            if module == "coverage" and rest[:1] == ["run"]:
                return _module(rest[1:])
            return Invocation(module, as_module=True) if module in ("pytest", "unittest") else None
        if not word.startswith("-") and not value:
            return None
        value = word in _TAKES_VALUE or (word.startswith("--") and "=" not in word)
    return None


def _behind_options(words: Sequence[str]) -> Invocation | None:
    """Return what is run after a launcher's own options and their values."""
    option = False
    for index, word in enumerate(words):
        found = _invocation(words[index:])
        if found is not None:
            return found
        if not (option or word.startswith("-") or _ASSIGNMENT.match(word) or _DURATION.fullmatch(word)):
            return None
        option = word.startswith("-")
    return None
