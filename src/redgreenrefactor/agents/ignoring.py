"""What searches leave out: what .gitignore, .ignore and .rgignore say, folder by folder."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.agents.files import Files
from redgreenrefactor.agents.globs import Glob

NAMES = (".rgignore", ".ignore", ".gitignore")  # the strongest first
_MOST = 200_000  # bytes of such a file


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of such a file."""

    glob: Glob
    negated: bool
    folders_only: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """Such a file: its lines, and how paths from the workspace look from its folder."""

    rules: tuple[_Rule, ...]
    above: tuple[str, ...]  # folders between it and the workspace
    below: int  # folders between the workspace and it

    def say(self, path: tuple[str, ...], *, folder: bool) -> bool | None:
        """Tell whether the path is left out; None: nothing is said about it. The last line that fits counts."""
        seen = (*self.above, *path[self.below :])
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.glob.matches(seen):
                return not rule.negated
        return None


class Ignoring:
    """Remembers, while folders are walked through from the top, what is left out in each."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, dict[str, tuple[_Rules, ...]]] = {}

    def enter(self, path: str, folder: int) -> Callable[[str, bool], bool]:
        """Take in what the folder says; return what tells which of its names are left out."""
        parts = _parts(path)
        chains = self._chains(path, folder)

        def left_out(name: str, is_folder: bool) -> bool:  # noqa: FBT001
            seen = (*parts, name)
            for kind in NAMES:
                for rules in chains[kind]:
                    said = rules.say(seen, folder=is_folder)
                    if said is not None:
                        return said
            return False

        return left_out

    def _chains(self, path: str, folder: int) -> dict[str, tuple[_Rules, ...]]:
        """Return what counts in a folder, by kind, the nearest first."""
        parts = _parts(path)
        above = self._known.get("/".join(parts[:-1]) or ".") if parts else None
        if above is None:
            above = self._from_above(parts)
        found = {kind: (*_read(folder, kind, (), len(parts)), *above[kind]) for kind in NAMES}
        self._known[path] = found
        return found

    def _from_above(self, parts: tuple[str, ...]) -> dict[str, tuple[_Rules, ...]]:
        """Return what folders say that are above where the walk began, up to the repository's."""
        chains: dict[str, tuple[_Rules, ...]] = dict.fromkeys(NAMES, ())
        for place, above, below in _places_above(self._files.root, parts):
            with suppress(OSError):
                folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    for kind in NAMES:
                        chains[kind] += _read(folder, kind, above, below)
                finally:
                    os.close(folder)
        return chains


def _places_above(root: Path, parts: tuple[str, ...]) -> list[tuple[Path, tuple[str, ...], int]]:
    """Return the folders above one in the workspace, nearest first: path, distance above and below the workspace."""
    inside = [(root.joinpath(*parts[:depth]), (), depth) for depth in reversed(range(len(parts)))]
    outside: list[tuple[Path, tuple[str, ...], int]] = []
    place, above = root, ()
    while not (place / ".git").exists():
        if place.parent == place:
            return inside  # not in a repository
        above = (place.name, *above)
        place = place.parent
        outside.append((place, above, 0))
    return [*inside, *outside]


def _parts(path: str) -> tuple[str, ...]:
    return () if path == "." else tuple(path.split("/"))


def _read(folder: int, name: str, above: tuple[str, ...], below: int) -> tuple[_Rules, ...]:
    """Return what one file says, if it is there; no link is followed."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ()
    with suppress(OSError), os.fdopen(file, "rb") as stream:
        lines = stream.read(_MOST).decode("utf-8-sig", "replace").splitlines()
        return (_Rules(tuple(filter(None, map(_rule, lines))), above, below),)
    return ()


def _rule(line: str) -> _Rule | None:
    """Return what a line says, None if nothing."""
    text = line if line.endswith("\\ ") else line.rstrip()
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    return _Rule(Glob.of(text), negated, text.endswith("/")) if text.strip("/") else None
