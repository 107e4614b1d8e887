"""A small GitHub on loopback: it keeps pull requests, and misbehaves when asked to."""

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from serving import serving

Json = dict[str, Any]

DESCRIPTION = Path(__file__).parent / "data" / "github_openapi.json"
LOG_IN = "<!DOCTYPE html><title>Welcome to the hotel</title>"
TOKEN = "ghp_0123456789abcdefSECRETabcdef0123456789"
REFUSALS: dict[str, tuple[int, Json, dict[str, str]]] = {
    "401": (401, {"message": "Bad credentials"}, {}),
    "403": (403, {"message": "Resource not accessible by personal access token"}, {}),
    "404": (404, {"message": "Not Found"}, {}),
    "418": (418, {"message": "I'm a teapot"}, {}),
    "422": (
        422,
        {"message": "Validation Failed", "errors": [{"message": "No commits between main and x"}]},
        {},
    ),
    "500": (500, {"message": "Server Error"}, {}),
    "503": (503, {"message": "Service Unavailable"}, {}),
    "limit": (
        403,
        {"message": "API rate limit exceeded for user ID 1."},
        {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1893456000"},
    ),
    "secondary": (403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "60"}),
    "429": (429, {"message": "Too many requests"}, {}),
}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Json
    token: str
    agent: str


@dataclass
class GitHubServer:
    """What it holds and what it was asked; `next` are the answers of the next requests instead of the true ones.

    `cut` does what was asked and closes the connection without an answer, `drop` closes it at once, `garbage`
    answers with something that is no JSON object, `html` as a network's log-in page does, an address sends
    the request on to it, a number does it and answers only after so many seconds.
    """

    url: str = ""
    owner: str = "acme"
    repo: str = "calc"
    token: str = TOKEN
    pulls: list[Json] = field(default_factory=list[Json])
    issues: dict[int, Json] = field(default_factory=dict[int, Json])
    asked: list[Asked] = field(default_factory=list[Asked])
    next: list[str | float] = field(default_factory=list[str | float])
    when: dict[str, str | float] = field(default_factory=dict[str, str | float])  # method → answer, always
    push: bool = True
    seen: Callable[[Asked], None] | None = None
    branches: Callable[[str], bool] = lambda _branch: True
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def open(self) -> list[Json]:
        return [pull for pull in self.pulls if pull["state"] == "open"]

    def close(self, number: int, *, merged: bool = False) -> None:
        """Close a pull request, as a person does."""
        moment = "2026-01-02T03:04:05Z"
        self.pulls[number - 1] |= {
            "state": "closed",
            "closed_at": moment,
            "merged_at": moment if merged else None,
        }

    def answer(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        """Return what GitHub would answer, having done what was asked."""
        with self.lock:
            return self._answer(asked)

    def _answer(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        place = f"/repos/{self.owner}/{self.repo}"
        if asked.token != f"Bearer {self.token}":
            return REFUSALS["401"]
        if asked.path == place and asked.method == "GET":
            found = example("full-repository-default-response")
            may = {"admin": False, "push": self.push, "pull": True}
            for key in ("source", "parent", "template_repository"):
                found.pop(key, None)
            found["language"] = "Python"  # GitHub's own example lacks it
            return 200, {**found, "full_name": f"{self.owner}/{self.repo}", "permissions": may}, {}
        if asked.path == f"{place}/pulls" and asked.method == "GET":
            return 200, self._found(asked.query), {}
        if asked.path == f"{place}/pulls" and asked.method == "POST":
            return self._made(asked.body)
        issue = asked.path.removeprefix(f"{place}/issues/")
        if asked.method == "GET" and issue.isdigit() and int(issue) in self.issues:
            return 200, self.issues[int(issue)], {}
        number = asked.path.removeprefix(f"{place}/pulls/")
        if asked.method == "PATCH" and number.isdigit() and 1 <= int(number) <= len(self.pulls):
            self.pulls[int(number) - 1] |= asked.body
            return 200, self.pulls[int(number) - 1], {}
        return REFUSALS["404"]

    def _found(self, query: dict[str, list[str]]) -> list[Json]:
        head, state = query.get("head", [""])[0], query.get("state", ["open"])[0]
        size, page = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
        fitting = [
            simple(pull)
            for pull in reversed(self.pulls)
            if state in ("all", pull["state"]) and (not head or pull["head"]["label"] == head)
        ]
        return fitting[(page - 1) * size : page * size]

    def _made(self, body: Json) -> tuple[int, Any, dict[str, str]]:
        label = f"{self.owner}:{body['head']}"
        if any(pull["head"]["label"] == label for pull in self.open):
            message = f"A pull request already exists for {label}."
            return 422, {"message": "Validation Failed", "errors": [{"message": message}]}, {}
        for key in ("head", "base"):
            if not self.branches(body[key]):
                return (
                    422,
                    {"message": "Validation Failed", "errors": [{"field": key, "code": "invalid"}]},
                    {},
                )
        number = len(self.pulls) + 1
        more: Json = {
            "number": number,
            "state": "open",
            "title": body["title"],
            "body": body.get("body"),
            "merged_at": None,
            "merged": False,
            "html_url": f"{self.url}/{self.owner}/{self.repo}/pull/{number}",
            "requested_teams": [],
        }
        pull = example("pull-request") | more
        pull["head"] |= {"ref": body["head"], "label": label}
        pull["base"] |= {"ref": body["base"], "label": f"{self.owner}:{body['base']}"}
        self.pulls.append(pull)
        return 201, pull, {}


def example(name: str) -> Json:
    """Return GitHub's own example of a thing."""
    description = json.loads(DESCRIPTION.read_text())
    return cast("Json", description["components"]["examples"][name]["value"])


def simple(pull: Json) -> Json:
    """Return a pull request as lists show it: without what only its own page tells."""
    only = (
        "merged",
        "mergeable",
        "rebaseable",
        "mergeable_state",
        "merged_by",
        "comments",
        "review_comments",
    )
    more = ("maintainer_can_modify", "commits", "additions", "deletions", "changed_files")
    return {key: value for key, value in pull.items() if key not in (*only, *more)}


@contextmanager
def github() -> Generator[GitHubServer]:
    """Serve while the block runs."""
    state = GitHubServer()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        do_POST = do_PATCH = do_GET  # noqa: N815

        def _serve(self) -> None:
            asked = self._asked()
            state.asked.append(asked)
            if state.seen:
                state.seen(asked)
            turn = state.next.pop(0) if state.next else state.when.get(asked.method, "")
            if turn == "drop":
                self.close_connection = True
                return
            if turn == "garbage":
                self._reply(200, "nothing of use", {})
                return
            if turn == "html":
                self._reply(200, "", {}, page=LOG_IN)
                return
            if isinstance(turn, str) and turn.startswith("http"):
                self._reply(307, {}, {"Location": f"{turn}{self.path}"})
                return
            if isinstance(turn, str) and turn in REFUSALS:
                self._reply(*REFUSALS[turn])
                return
            answer = state.answer(asked)
            if turn == "cut":
                self.close_connection = True
                return
            time.sleep(turn if isinstance(turn, float) else 0.0)
            with suppress(OSError):  # whoever asked may have gone
                self._reply(*answer)

        def _asked(self) -> Asked:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            body: Json = json.loads(self.rfile.read(length)) if length else {}
            token, agent = (self.headers.get(name, "") for name in ("Authorization", "User-Agent"))
            return Asked(self.command, parts.path, parse_qs(parts.query), body, token, agent)

        def _reply(self, status: int, body: Any, headers: dict[str, str], page: str = "") -> None:
            raw = (page or json.dumps(body)).encode()
            kind = "text/html" if page else "application/json; charset=utf-8"
            self.send_response(status)
            for name, value in {**headers, "Content-Type": kind}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *args: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Say nothing."""

    with serving(Answering) as state.url:
        yield state
