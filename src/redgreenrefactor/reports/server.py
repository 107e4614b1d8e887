"""Runs in a browser while they go on: read-only, on 127.0.0.1, for whoever knows the token."""

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast
from urllib.parse import quote, unquote, urlsplit

from redgreenrefactor.errors import NotReadyError, RgrError, UsageError
from redgreenrefactor.filesystem import put, text_of
from redgreenrefactor.git import lock
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.objects import DIGITS, patches
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.lifecycle.status import opened
from redgreenrefactor.model.codec import Json, json_object
from redgreenrefactor.model.run_report import NO_PATCH, Patch, RunReport
from redgreenrefactor.reports import KnownRun, chosen, known_runs, report_of
from redgreenrefactor.reports.glimpses import LiveTranscript
from redgreenrefactor.sandbox.secrets import masked_in, masking
from redgreenrefactor.views.markup import Markup
from redgreenrefactor.views.report_page import short_title
from redgreenrefactor.views.watch_page import (
    ListedRun,
    LivePart,
    empty_page,
    main_parts,
    now_part,
    run_parts,
    runs_part,
    watch_page,
    way_of,
)

HOST = "127.0.0.1"
LOOKED = 0.05  # seconds between two looks
QUIET = 10.0  # seconds after which something is said, so that whoever has gone is noticed
TURNS = 40  # turns of a run that are shown at once
RECENT = 20  # handoffs of each branch that are looked at for the list of runs
WHERE = "Open the address that rgr watch has printed, as it is: it holds a token"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass
class Watch:
    """A server of the pages of one repository."""

    project: Path
    environ: Mapping[str, str]
    token: str
    port: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    @cached_property
    def server(self) -> ThreadingHTTPServer:
        """What listens; an address that is taken is a NotReadyError."""
        try:
            server = ThreadingHTTPServer((HOST, self.port), _handler(self))
        except OSError as error:
            raise NotReadyError(
                f"nothing can listen at {HOST}:{self.port}: {error.strerror}",
                hint="Another 'rgr watch' may be there already; or name another port: --port N.",
            ) from error
        server.daemon_threads = True
        return server

    @property
    def address(self) -> str:
        """Where a browser finds the latest run."""
        return f"http://{HOST}:{self.server.server_port}/{self.token}"

    @property
    def hosts(self) -> frozenset[str]:
        """What a browser that was not led astray says whom it asks."""
        return frozenset(f"{name}:{self.server.server_port}" for name in (HOST, "localhost"))

    def serve(self) -> None:
        """Answer until somebody stops it."""
        self.server.serve_forever(poll_interval=LOOKED)

    def stop(self) -> None:
        """End all answers."""
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def watching(project: Path, environ: Mapping[str, str], port: int = 0) -> Generator[Watch]:
    """Let a server answer in a thread while the block runs; its address is the one it had before, if that is free."""
    watch = remembered(project, environ, port)
    thread = threading.Thread(target=watch.serve, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.stop()
        thread.join()


def remembered(project: Path, environ: Mapping[str, str], port: int = 0) -> Watch:
    """Return a server with the token and port of the last one here, so that open pages find it again."""
    with opened(project, environ) as (repository, _):
        place = repository.make_cache() / "watch.json"
    last = _read(place)
    token = str(last.get("token") or secrets.token_urlsafe(24))
    before = last.get("port")
    for wanted in dict.fromkeys([port] if port else [before if isinstance(before, int) else 0, 0]):
        watch = Watch(project, environ, token, wanted)
        with suppress(*([] if port or not wanted else [NotReadyError])):
            bound = watch.server.server_port
            _keep(place, {"token": token, "port": bound})
            return watch
    raise AssertionError("a free port is always found")  # pragma: no cover


def _read(place: Path) -> Json:
    with suppress(ValueError):
        return json_object(json.loads(text_of(place, follow=False)))
    return {}


def _keep(place: Path, told: Mapping[str, object]) -> None:
    with suppress(OSError):  # open pages would not find the next server: nothing worse
        put(place, json.dumps(told).encode())
        place.chmod(0o600)


# --- what is answered


def page_of(watch: Watch, path: str) -> str:
    """Return the page of an address below the token: of the latest run, of one that is named, or of its earlier turns."""
    run_id, _, start = path.removeprefix("run/").partition("/")
    with opened(watch.project, watch.environ) as (repository, ledger):
        every = path == "all"
        runs = known_runs(repository, ledger, None if every else RECENT)
        shown = _shown(repository, ledger, runs, "" if every else unquote(run_id))
        listed = _runs_part(watch.token, runs, shown, every=every)
        if shown is None:
            return empty_page([listed, now_part(None)])
        report = report_of(repository, ledger, shown, start=_commit(start), most=TURNS)
        earlier = "" if report.whole else _earlier(watch, report, shown)
        parts = main_parts(listed, report)
        return watch_page(parts, short_title(report), earlier=earlier, live=not (start or every))


def _commit(start: str) -> str | None:
    """Return the commit before one that an address names."""
    return f"{start}^" if start and DIGITS.issuperset(start) else None


def _earlier(watch: Watch, report: RunReport, run: KnownRun) -> str:
    """Return the address of the turns before those of a report."""
    oldest = next((turn.commit for turn in report.turns if turn.accepted), None)
    return f"/{watch.token}/run/{quote(run.run_id, safe='')}/{oldest}" if oldest else ""


def _shown(repository: Repository, ledger: GitLedger, runs: list[KnownRun], name: str) -> KnownRun | None:
    if not name:
        return runs[0] if runs else None
    try:
        return chosen(runs, [name])[0]
    except UsageError:  # an old one, that a short look does not find
        return chosen(known_runs(repository, ledger), [name])[0]


def _runs_part(token: str, runs: list[KnownRun], shown: KnownRun | None, *, every: bool = False) -> LivePart:
    listed = [
        ListedRun(
            run.latest.handoff,
            f"/{token}/run/{quote(run.run_id, safe='')}",
            run.at_work,
            shown=shown is not None and run.run_id == shown.run_id,
        )
        for run in runs
    ]
    return runs_part(listed, "" if every else f"/{token}/all")


class FollowedRun:
    """What a page shows of a run, and what has changed since the last look; of no run in particular, the latest one."""

    def __init__(self, repository: Repository, ledger: GitLedger, name: str = "", token: str = "") -> None:
        self._repository, self._ledger, self._name, self._token = repository, ledger, name, token
        self._noted: object = None
        self._run: KnownRun | None = None
        self._transcript = LiveTranscript(repository.common_dir, "")
        self._written: object = None
        self._way: Markup | None = None
        self._sent: dict[str, LivePart] = {}

    def look(self) -> list[LivePart] | None:
        """Return the parts that are new or other than they were; None where it is another page altogether."""
        noted = (self._repository.objects.resolve(NOTES), _busy(self._repository))
        if noted != self._noted:
            first, self._noted = self._noted is None, noted
            parts = self._all_parts()
            if not first and not self._sent.keys() <= {part.id for part in parts}:
                return None
        elif self._run and self._transcript.stamp() != self._written:
            parts = [self._now(self._run)]
        else:
            return []
        fresh = [part for part in parts if self._sent.get(part.id) != part]
        self._sent |= {part.id: part for part in fresh}
        return fresh

    def _all_parts(self) -> list[LivePart]:
        runs = known_runs(self._repository, self._ledger, RECENT)
        run = _shown(self._repository, self._ledger, runs, self._name)
        if run is None:
            return []
        if self._run is None or self._run.run_id != run.run_id:
            self._transcript = LiveTranscript(self._repository.common_dir, run.run_id)
        another = self._run is not None and self._run.run_id != run.run_id
        self._run = run
        if another:
            return []
        report = report_of(self._repository, self._ledger, run, most=TURNS)
        self._way = way_of(report)
        return [_runs_part(self._token, runs, run), *run_parts(report), self._now(run)]

    def _now(self, run: KnownRun) -> LivePart:
        self._written = self._transcript.stamp()
        mask = masking(self._repository.environ)
        seen = self._transcript.glimpse(mask) if run.at_work else None
        return now_part(seen, self._way, masked_in(self._patch_of(seen.sealed), mask) if seen else NO_PATCH)

    def _patch_of(self, commit: str) -> Patch:
        """Return what a commit that waits for its verdict has changed; nothing where there is none."""
        known = commit if DIGITS.issuperset(commit) else ""
        return patches(self._repository.git, [known]).get(known, NO_PATCH)


def changes(watch: Watch, name: str) -> Iterator[list[LivePart] | None]:
    """Yield what changes on a page, as soon as it does; nothing, now and then, in between."""
    with opened(watch.project, watch.environ) as (repository, ledger):
        followed, said = FollowedRun(repository, ledger, name, watch.token), time.monotonic()
        while not watch.stopping.is_set():
            parts = followed.look()
            if parts != [] or time.monotonic() - said > QUIET:
                said = time.monotonic()
                yield parts
            watch.stopping.wait(LOOKED)


def _busy(repository: Repository) -> tuple[str, ...]:
    """Return the processes that say they are at work in a checkout; their locks are not tried, somebody may want them."""
    places = [repository.common_dir / lock.NAME, *repository.common_dir.glob(f"worktrees/*/{lock.NAME}")]
    owners = [text_of(place, 64, follow=False).strip() for place in places]
    return tuple(owner for owner in owners if owner.isdecimal() and _alive(int(owner)))


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


# --- over HTTP


class _Answer(BaseHTTPRequestHandler):
    """One request."""

    watch: Watch
    server_version = "rgr"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with a page, or with what changes on it."""
        if (refusal := self._refusal()) is not None:
            self.send_error(refusal, explain=WHERE)
            return
        path = urlsplit(self.path).path.removeprefix(f"/{self.watch.token}").strip("/")
        try:
            if path == "events" or path.endswith("/events"):
                self._stream(unquote(path.removesuffix("events").strip("/").removeprefix("run/")))
            else:
                self._page(page_of(self.watch, path).encode("utf-8", "replace"))
        except UsageError as error:
            self.send_error(HTTPStatus.NOT_FOUND, explain=error.message)
        except RgrError as error:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=error.message)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _refusal(self) -> HTTPStatus | None:
        """Return why nothing is answered: another name for this machine, another page that asks, no token."""
        hosts = self.watch.hosts
        origin = self.headers.get("Origin")
        if self.headers.get("Host") not in hosts or (origin and origin.removeprefix("http://") not in hosts):
            return HTTPStatus.FORBIDDEN
        token = urlsplit(self.path).path.split("/")[1] if "/" in self.path else ""
        known = secrets.compare_digest(token.encode(), self.watch.token.encode())
        return None if known else HTTPStatus.NOT_FOUND

    def _page(self, body: bytes) -> None:
        self._begin("text/html; charset=utf-8", length=len(body))
        self.wfile.write(body)

    def _stream(self, path: str) -> None:
        self._begin("text/event-stream")
        self.wfile.write(b"retry: 500\n\n")
        for parts in changes(self.watch, path):
            self.wfile.write(_message(parts))
            self.wfile.flush()
        self.close_connection = True

    def _begin(self, kind: str, length: int | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nobody reads along: addresses hold the token."""


def _message(parts: list[LivePart] | None) -> bytes:
    """Return an event as browsers read it."""
    if parts is None:
        return b"event: reload\ndata: \n\n"
    told = [{"id": part.id, "markup": part.markup, "into": part.into} for part in parts]
    return f"data: {json.dumps(told)}\n\n".encode() if told else b": still here\n\n"


def _handler(watch: Watch) -> Callable[..., BaseHTTPRequestHandler]:
    return cast("Callable[..., BaseHTTPRequestHandler]", type("Answer", (_Answer,), {"watch": watch}))
