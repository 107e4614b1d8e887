"""Patterns of paths, as shells, git and ripgrep write them, matched in time that no pattern can stretch."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

ALTERNATIVES = 200  # what braces may multiply to
_BRACES = re.compile(r"\{([^{}]*)\}")
_ANY = "**"


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern, part by part; `**` stands for any number of folders."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, pattern: str) -> "Glob":
        """Return a pattern: one without a slash inside means names at any depth, others begin at the top."""
        pattern = pattern.removeprefix("./")
        free = "/" not in pattern.rstrip("/")
        parts = [part for part in pattern.split("/") if part]
        if free:
            parts.insert(0, _ANY)
        if parts and parts[-1] == _ANY:
            parts.append("*")
        return cls(
            tuple(
                part
                for part, before in zip(parts, [None, *parts], strict=False)
                if part != before or part != _ANY
            )
        )

    def matches(self, path: Sequence[str]) -> bool:
        """Tell whether the pattern means the path with these parts."""
        states = self._skipping({0})
        for name in path:
            states = self._skipping(
                {
                    state if self.parts[state] == _ANY else state + 1
                    for state in states
                    if state < len(self.parts)
                    and (self.parts[state] == _ANY or _name(self.parts[state]).match(name))
                }
            )
        return len(self.parts) in states

    def _skipping(self, states: set[int]) -> set[int]:
        """Add what follows a `**`, which may stand for no folder at all."""
        for state in sorted(states):
            if state < len(self.parts) and self.parts[state] == _ANY:
                states.add(state + 1)
        return states


@lru_cache(maxsize=4096)
def _name(part: str) -> re.Pattern[str]:
    """Return what matches one name of a path."""
    part = re.sub(r"\\(.)", r"[\1]", part).replace("[^", "[!")
    return re.compile(translate(part), re.DOTALL)


def globs(pattern: str) -> tuple[Glob, ...]:
    """Return the patterns that one with braces stands for."""
    return tuple(Glob.of(one) for one in alternatives(pattern))


def alternatives(pattern: str) -> list[str]:
    """Return what a pattern with braces stands for; beyond a bound braces are letters like others."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        braces = _BRACES.search(one)
        if braces is None or len(todo) + len(done) > ALTERNATIVES:
            done.append(one)
        else:
            before, after = one[: braces.start()], one[braces.end() :]
            todo += [before + choice + after for choice in reversed(braces[1].split(","))]
    return done


def any_matches(patterns: Iterable[Glob], path: str) -> bool:
    """Tell whether one of the patterns means the path."""
    parts = path.split("/")
    return any(pattern.matches(parts) for pattern in patterns)
