"""Transcripts: every session's steps as JSON lines in the git folder, appended and never rewritten, secrets masked."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.codec import Json, json_lines, json_object
from redgreenrefactor.model.events import Emit, Event, Judged, RunEnded, SessionBegan, Warned
from redgreenrefactor.model.transcript import object_of, turn_name
from redgreenrefactor.prompts.quote import bounded
from redgreenrefactor.records.held_file import HeldFile, stamp
from redgreenrefactor.sandbox.secrets import Mask, masked_in

FOLDER = "tdd/sessions"  # in the git folder that all checkouts share
LONGEST = 1_000_000  # characters of one text
MOST = 32_000_000  # bytes of one transcript
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")


class Transcripts(HeldFile):
    """Writes what sessions are told and do; a disk that fails stops no run, `warn` is told once."""

    def __init__(self, folder: Path, *, mask: Mask, clock: Callable[[], datetime], warn: Emit) -> None:
        self._folder = folder
        self._mask = mask
        self._clock = clock
        self._warn = warn
        self._warned = False
        self._file: int | None = None
        self._room = 0

    def __call__(self, event: Event) -> None:
        """Append what the event says about the session that is under way."""
        if isinstance(event, SessionBegan):
            self.close()
            self._begin(event)
        told = object_of(event) if self._file is not None else None
        if told is not None:
            self._write(told)
        if isinstance(event, Judged | RunEnded):
            self.close()

    def _begin(self, event: SessionBegan) -> None:
        path = self._folder / safe_name(event.brief.run_id) / f"{turn_name(event.brief)}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(path, flags, 0o600)
            size = os.fstat(self._file).st_size
            self._room = MOST - size
            if size and os.pread(self._file, 1, size - 1) != b"\n":  # cut off inside a line
                os.write(self._file, b"\n")
        except OSError as error:
            self._failed(error)

    def _write(self, told: Json) -> None:
        time = stamp(self._clock())
        line = _line({**masked_in(told, self._text), "time": time})
        if self._room <= 0:
            return
        self._room -= len(line)
        if self._room <= 0:
            line = _line({"type": "cut", "text": f"no more than {MOST} bytes are kept", "time": time})
        try:
            self.append(line)
        except OSError as error:
            self._failed(error)

    def _text(self, text: str) -> str:
        return bounded(self._mask(text), LONGEST)

    def _failed(self, error: OSError) -> None:
        self.close()
        if not self._warned:
            self._warned = True
            self._warn(Warned(f"transcripts cannot be written to {self._folder}: {error.strerror}"))


def _line(told: Json) -> bytes:
    return json.dumps(told, default=str).encode("ascii") + b"\n"


def safe_name(run_id: str) -> str:
    """Return a run's folder: its id, unless that could mean another place."""
    if _NAME.fullmatch(run_id):
        return run_id
    return hashlib.sha256(run_id.encode("utf-8", "replace")).hexdigest()[:16]


def find(folder: Path, run_id: str | None, turn: str) -> Path | None:
    """Return the transcript of a turn of a run, e.g. `1-GREEN-1`, `RUN/1-GREEN-1`, or of the session behind a commit."""
    run, _, name = turn.rpartition("/")
    run = run or safe_name(run_id or "")
    if _NAME.fullmatch(run) and _NAME.fullmatch(name) and (path := folder / run / f"{name}.jsonl").is_file():
        return path
    if re.fullmatch("[0-9a-f]{7,64}", turn):
        return next((path for path in sorted(folder.glob("*/*.jsonl")) if _made(path, turn)), None)
    return None


def turns(folder: Path, run_id: str) -> list[str]:
    """Return the turns of a run that have a transcript, in the order they were begun."""
    found = [path for path in (folder / safe_name(run_id)).glob("*.jsonl") if path.is_file()]
    return [path.stem for path in sorted(found, key=lambda path: (_began(path), path.stem))]


def read(path: Path) -> Iterator[Json]:
    """Return the objects of a transcript; a line that was cut off is left out."""
    told = map(json_object, json_lines(head_of(path, MOST)))
    return (one for one in told if isinstance(one.get("type"), str))


def _made(path: Path, commit: str) -> bool:
    with suppress(OSError):
        return any(
            told["type"] == "sealed" and str(told.get("commit", "")).startswith(commit) for told in read(path)
        )
    return False


def _began(path: Path) -> str:
    return next((str(told.get("time", "")) for told in read(path)), "")
