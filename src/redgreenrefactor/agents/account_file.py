"""A file by which somebody is signed in to a program, and what a held program is shown of it."""

import base64
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.filesystem import LARGEST, head_of
from redgreenrefactor.sandbox.policy import Mount, MountMode

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class HomePlace:
    """A file or folder of a program in the user's home, or where a variable leads instead."""

    name: str
    folder: str = ""  # in the home, in which it lies
    variable: str = ""  # that names another folder

    def of(self, env: Mapping[str, str]) -> Path:
        """Return where it is in this environment."""
        home = Path(env.get("HOME", "/"))
        return Path((self.variable and env.get(self.variable)) or home / self.folder) / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountFile:
    """What is known of such a file: JSON, with a token that works for a while and one that renews it.

    Makers mostly let a renewing token be used once. A program that used it and could not write down the next one would
    have signed the user out: so a held program finds a copy without it, which works until it ends.
    """

    place: HomePlace
    needed: bool = False  # nobody is signed in where it is not there
    renewing: str = ""  # key of the token that renews; nothing: it can be used again and again
    renewed: str = ""  # key of the moment when that was done last, for programs that renew after so many days
    ending: str = ""  # key of when it ends, in milliseconds, or of a token that tells

    def ends(self, env: Mapping[str, str]) -> float | None:
        """Return when the sign-in has to be renewed at the latest, in seconds since 1970; None where nothing tells."""
        found = (_moment(value) for key, value in _pairs(self._read(env)) if key == self.ending)
        return max((moment for moment in found if moment), default=None)

    def lent(self, env: Mapping[str, str], folder: Path) -> Iterator[Mount]:
        """Yield the copy, made in a folder of ours, in the place of the file; nothing where that is no JSON."""
        if (known := self._read(env)) is None:
            return
        copy = folder / str(self.place.of(env)).replace("/", "-")
        copy.touch(mode=0o600)
        copy.write_text(json.dumps(self._without_renewal(known)), "utf-8")
        # One that renews itself writes the copy: that goes with the session, and the user's own still works.
        yield Mount(self.place.of(env), MountMode.READ if self.renewing else MountMode.WRITE, copy)

    def _read(self, env: Mapping[str, str]) -> Any:
        with suppress(OSError, ValueError, RecursionError):
            return json.loads(head_of(self.place.of(env), LARGEST))
        return None

    def _without_renewal(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._without_renewal(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        inside = {key: self._without_renewal(item) for key, item in cast("dict[str, Any]", value).items()}
        told = {self.renewing: "", self.renewed: time.strftime(_MOMENT, time.gmtime())}
        return {**inside, **{key: text for key, text in told.items() if key in inside}}


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of what JSON said, however deep, with its value."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key, item
            yield from _pairs(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _pairs(item)


def _moment(value: Any) -> float | None:
    """Return when something ends, by a number of milliseconds or by what a JSON web token says of itself."""
    if isinstance(value, int | float):
        return value / 1000
    with suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
        claims = value.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"])
    return None
