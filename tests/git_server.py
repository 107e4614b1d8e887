"""Repositories over HTTP on loopback: git's own server program behind a door that asks for a token."""

import base64
import os
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from github_server import TOKEN
from serving import serving


def basic(token: str) -> str:
    """Return a token as git sends it."""
    return "Basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


@dataclass
class GitServer:
    """What is served, and who may come in; `forbids` lets nobody write."""

    root: Path
    env: Mapping[str, str]
    url: str = ""
    token: str = TOKEN
    forbids: bool = False
    asked: list[str] = field(default_factory=list[str])  # method and path of every request that was let in
    seen: Callable[[], None] | None = None

    def refusal(self, path: str, authorization: str) -> int | None:
        """Return what is answered to somebody who may not do this."""
        if authorization != basic(self.token):
            return 401
        return 403 if self.forbids and "receive-pack" in path else None

    def served(self, request: BaseHTTPRequestHandler) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return git's answer to a request."""
        place, _, query = request.path.partition("?")
        length = int(request.headers.get("Content-Length") or 0)
        done = subprocess.run(
            ["git", "http-backend"],
            input=request.rfile.read(length),
            capture_output=True,
            check=True,
            env={
                **self.env,
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "ada",
                "REQUEST_METHOD": request.command,
                "PATH_INFO": place,
                "QUERY_STRING": query,
                "CONTENT_TYPE": request.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(length),
                "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            },
        ).stdout
        head, _, body = done.partition(b"\r\n\r\n")
        rows = [line.partition(": ") for line in head.decode().split("\r\n")]
        headers = [(name, value) for name, _, value in rows if name != "Status"]
        status = next((value for name, _, value in rows if name == "Status"), "200 OK")
        return int(status.split()[0]), headers, body


@contextmanager
def git_server(root: Path, env: Mapping[str, str]) -> Generator[GitServer]:
    """Serve the repositories below a folder while the block runs."""
    state = GitServer(root, {**os.environ, **env})

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if state.seen:
                state.seen()
            refused = state.refusal(self.path, self.headers.get("Authorization", ""))
            if refused:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self._reply(refused, [("WWW-Authenticate", 'Basic realm="git"')], b"")
                return
            state.asked.append(f"{self.command} {self.path}")
            self._reply(*state.served(self))

        do_POST = do_GET  # noqa: N815

        def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Say nothing."""

    with serving(Answering) as state.url:
        yield state
