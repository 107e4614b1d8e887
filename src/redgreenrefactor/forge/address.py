"""Where `origin` says a repository lives, and where its forge answers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.sandbox.secrets import masked

GITHUB, API = "github.com", "https://api.github.com"
SSH_OVER_HTTPS = {"ssh.github.com": GITHUB, "altssh.github.com": GITHUB}
SCHEMES = ("https", "http", "ssh", "git", "git+ssh", "ssh+git")
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<path>[^\s].*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True, slots=True)
class Address:
    """A repository on a forge: whose, which, and the root of the interface to ask about it."""

    host: str  # with a port, where the address has one that counts
    owner: str
    repo: str
    api: str

    @property
    def slug(self) -> str:
        """Owner and repository as the interface spells them."""
        return f"{self.owner}/{self.repo}"


def address_of(remote: str | None, environ: Mapping[str, str]) -> Address:
    """Return where a remote's repository lives; none, or one that is no forge's, is a NotReadyError."""
    given = environ.get("GITHUB_API_URL", "").strip()
    api = _usable(given) if given else None
    if not remote:
        raise NotReadyError(
            "the repository has no remote called origin",
            hint="Type 'git remote add origin URL', or use --forge none.",
            type="NoRemote",
        )
    place = _place(remote.strip(), local=api is not None)
    if place is None:
        raise NotReadyError(
            f"origin is {masked(remote)}: that names no owner and repository on GitHub",
            hint="Point it at one with 'git remote set-url origin URL', set GITHUB_API_URL, or use --forge none.",
            type="NotGitHub",
        )
    host, owner, repo = place
    return Address(host, owner, repo, api or _api_of(host, secure=not remote.startswith("http://")))


def _usable(url: str) -> str:
    """Return the root of an interface, if requests can be sent there."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or re.search(r"\s", url):
        raise UsageError(
            f"GITHUB_API_URL is {masked(url)!r}, but must be an address such as https://HOST/api/v3.",
            hint="Set GITHUB_API_URL to another value, or unset it.",
        )
    return url.rstrip("/")


def _place(remote: str, *, local: bool) -> tuple[str, str, str] | None:
    """Return host, owner and repository; a folder on disk names them only where the interface was given."""
    try:
        parts = urlsplit(remote)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme in SCHEMES and parts.hostname:
        host = SSH_OVER_HTTPS.get(parts.hostname, parts.hostname)
        web = parts.scheme in ("http", "https") and port is not None
        return _named(f"{host}:{port}" if web else host, unquote(parts.path), exact=True)
    if parts.scheme == "file" or remote.startswith(("/", "./", "../", "~")) or _DRIVE.match(remote):
        path = unquote(parts.path) if parts.scheme == "file" else remote.replace("\\", "/")
        return _named("", path, exact=False) if local else None
    if "://" not in remote and (found := _SCP.fullmatch(remote)):
        host = found["host"].lower()
        return _named(SSH_OVER_HTTPS.get(host, host), found["path"], exact=True)
    return None


def _named(host: str, path: str, *, exact: bool) -> tuple[str, str, str] | None:
    """Return the two names a path consists of, or, if it need not be exact, ends in."""
    names = [name for name in path.strip("/").split("/") if name]
    if len(names) < 2 or (exact and len(names) > 2):  # noqa: PLR2004 - owner and repository
        return None
    owner, repo = names[-2], names[-1].removesuffix(".git")
    return (host, owner, repo) if repo and not re.search(r"\s", owner + repo) else None


def _api_of(host: str, *, secure: bool) -> str:
    if host in (GITHUB, f"www.{GITHUB}"):
        return API
    if host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{'https' if secure else 'http'}://{host}/api/v3"
