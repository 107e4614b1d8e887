"""Whose the files are that git does not track: the user's, or a session's; remembered beyond a crash."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from redgreenrefactor.filesystem import below, replace_file
from redgreenrefactor.git.local_files import is_linked, is_local
from redgreenrefactor.model.codec import json_in, json_object

RECORD = "untracked.json"
LARGE = 2_000  # files; a folder with more is one thing

Stamp = list[int]  # size and time of change; nothing for a folder that is one thing
Stamps = dict[str, Stamp]


class Untracked:
    """What sessions have made or changed among the untracked files of a checkout, as far as it still lies there."""

    def __init__(self, root: Path, cache: Path, large: int = LARGE) -> None:
        self._root = root
        self._large = large
        self._place = cache / RECORD
        body = _read(self._place)
        self._before: Stamps | None = body.get("before")
        self._made: Stamps = body.get("made") or {}
        self._changed: Stamps = body.get("changed") or {}

    def begin(self, listing: Iterable[str]) -> None:
        """Remember, beyond a crash, what lies there before a session; whatever else appears is its doing."""
        self._before = self._stamps(listing)
        self._write()

    def settle(self, listing: Iterable[str]) -> None:
        """Remember what the session that was begun last has made and changed."""
        if self._before is None:
            return
        before, now = self._before, self._stamps(listing)
        new = {path: stamp for path, stamp in now.items() if before.get(path) != stamp}
        made = {path for path in new if path not in before or path in self._made}
        self._made = self._still(self._made) | {path: new[path] for path in made}
        self._changed = self._still(self._changed) | {path: new[path] for path in new if path not in made}
        self._before = None
        self._write()

    def adopt(self) -> None:
        """Take everything that lies there for the user's."""
        self._before, self._made, self._changed = None, {}, {}
        if self._place.exists():
            self._write()

    def made(self, path: str) -> bool:
        """Tell whether a session made this file, and nobody has touched it since."""
        return path in self._made and self._stamp(path) == self._made[path]

    def changed(self) -> list[str]:
        """Return the user's files that a session has changed, and nobody has touched since."""
        return sorted(self._still(self._changed))

    def digest(self, listing: Iterable[str]) -> str:
        """Return what differs where the user's files do; what sessions made does not count."""
        stamps = self._stamps(listing)
        own = sorted((path, stamp) for path, stamp in stamps.items() if not self.made(path))
        return hashlib.sha256(json.dumps(own).encode()).hexdigest()

    def _still(self, stamps: Stamps) -> Stamps:
        return {path: stamp for path, stamp in stamps.items() if self._stamp(path) == stamp}

    def _stamp(self, path: str) -> Stamp | None:
        place = self._root / path
        with suppress(OSError):
            return [] if place.is_dir() and not place.is_symlink() else _stamp(place)
        return None

    def _stamps(self, listing: Iterable[str]) -> Stamps:
        found: Stamps = {}
        for entry in listing:
            path = entry.rstrip("/")
            if not is_local(path):
                continue
            files = (
                []
                if is_linked(self._root / path)
                else list(islice(_files(self._root, path), self._large + 1))
            )
            if not 0 < len(files) <= self._large:
                found[path] = []
                continue
            for name in files:
                with suppress(OSError):
                    found[name] = _stamp(self._root / name)
        return found

    def _write(self) -> None:
        body = {"before": self._before, "made": self._made, "changed": self._changed}
        replace_file(self._place, json.dumps(body).encode())


def _files(root: Path, path: str) -> Iterator[str]:
    """Yield a file, or the files below a folder, as the checkout names them."""
    if not (root / path).is_dir():
        yield path
        return
    for entry in below(root / path, lambda folder: is_local(folder.name)):
        if is_local(entry.name) and not entry.is_dir():
            yield Path(entry.path).relative_to(root).as_posix()


def _stamp(place: Path) -> Stamp:
    found = place.lstat()
    return [found.st_size, found.st_mtime_ns]


def _read(place: Path) -> Mapping[str, Any]:
    """Return the record; one that cannot be read says nothing."""
    try:
        body = json_object(json_in(place.read_bytes()))
    except OSError:
        return {}
    return {name: value for name, value in body.items() if isinstance(value, dict)}
