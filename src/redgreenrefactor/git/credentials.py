"""A token for the remote, where it fits and the person's git has nothing of its own to show there."""

import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

from redgreenrefactor.git.repository import Repository

ORIGIN = "origin"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def remote_url(repository: Repository, *, push: bool = False) -> str | None:
    """Return where origin is, as git resolves it; None if there is none."""
    found = repository.git.attempt("remote", "get-url", *(["--push"] if push else []), ORIGIN)
    return found.stdout.decode("utf-8", "surrogateescape").strip() if found.exit_code == 0 else None


def credentials(repository: Repository, token: str, host: str) -> Mapping[str, str]:
    """Return the variables that make git send a token of this host to origin; nothing where it does not belong there.

    Variables, and not arguments: anybody can read the command lines of processes.
    """
    url = remote_url(repository, push=True) or ""
    place = _place(url, host)
    if place is None or _speaks_for_itself(repository, url):
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    given = repository.environ.get("GIT_CONFIG_COUNT", "0")
    number = int(given) if given.isdigit() else 0
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": f"http.{place}/.extraHeader",
        f"GIT_CONFIG_VALUE_{number}": f"Authorization: Basic {basic}",
    }


def _place(url: str, host: str) -> str | None:
    """Return scheme and host of a remote that a token of this host may be sent to."""
    try:
        parts = urlsplit(url)
        there, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    safe = parts.scheme == "https" or (parts.scheme == "http" and there in _LOOPBACK)
    ours = there == host.partition(":")[0] and bool(there)
    if not safe or not ours or parts.username or parts.password:
        return None
    return f"{parts.scheme}://{there}" + (f":{port}" if port else "")


def _speaks_for_itself(repository: Repository, url: str) -> bool:
    """Tell whether git is set up to send credentials of its own there: two would be refused."""
    found = repository.git.attempt("config", "--get-urlmatch", "http.extraHeader", url)
    return b"authorization" in found.stdout.lower()
