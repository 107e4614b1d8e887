"""Where `origin` says a repository lives, and where its forge answers."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import masked

GITHUB, API = "github.com", "https://api.github.com"
OTHER_NAMES = {f"{name}.{GITHUB}": GITHUB for name in ("www", "ssh", "altssh")}
WEB = ("https", "http")
SSH = ("ssh", "git+ssh", "ssh+git")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WITHOUT_FORGE = "use --forge none"  # what hints end in, for whoever wants a pull request
PATIENCE = 10.0  # seconds for ssh to tell what an alias stands for
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<path>[^\s].*)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HOST = re.compile(r"[a-z0-9_][a-z0-9._-]*")


@frozen
class Address:
    """A repository on a forge: whose, which, and the root of the interface to ask about it."""

    host: str  # with a port, where the address has one that counts
    owner: str
    repo: str
    api: str
    known: bool = True  # the host is one that a token may be sent to

    @property
    def slug(self) -> str:
        """Owner and repository as the interface spells them."""
        return f"{self.owner}/{self.repo}"


def address_of(remote: str | None, environ: Mapping[str, str], github_host: str = GITHUB) -> Address:
    """Return where a remote's repository lives; none, or one on a host nobody named, is a NotReadyError."""
    given = environ.get("GITHUB_API_URL", "").strip()
    api = _usable(given) if given else None
    if not remote:
        raise NotReadyError(
            "the repository has no remote called origin",
            hint=f"Type 'git remote add origin URL', or {WITHOUT_FORGE}.",
            type="NoRemote",
        )
    place = _place(remote.strip(), local=api is not None)
    if place is None:
        raise _not_found(remote, "that names no owner and repository on GitHub", POINT)
    named = {github_host.lower(), *([_served_by(api)] if api else [])}
    if place.by_ssh and not _known(place.host, named):
        place = _Place(_behind(place.host, environ), place.owner, place.repo)
    known = _known(place.host, named)
    if not known and (api is None or _is_github(_served_by(api))) and (place.host or api is None):
        setting = f"github.host={place.host} in tdd.properties, or GITHUB_API_URL=https://{place.host}/api/v3"
        hint = f"If it is a GitHub server, set {setting}; else {WITHOUT_FORGE}."
        raise _not_found(remote, f"{place.host} is not known to be GitHub, so it gets no token", hint)
    return Address(place.host, place.owner, place.repo, api or _api_of(place.host, remote), known)


POINT = f"Point it at one with 'git remote set-url origin URL', set GITHUB_API_URL, or {WITHOUT_FORGE}."


def _not_found(remote: str, why: str, hint: str) -> NotReadyError:
    return NotReadyError(f"origin is {masked(remote)}: {why}", hint=hint, type="RepositoryNotFound")


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
    if urlsplit(url).scheme == "http" and urlsplit(url).hostname not in LOOPBACK:
        raise NotReadyError(
            f"GITHUB_API_URL is {masked(url)!r}: no token is sent without TLS, except to this machine",
            hint=f"Set GITHUB_API_URL={masked(url).replace('http', 'https', 1)}, or {WITHOUT_FORGE}.",
            type="RepositoryNotFound",
        )
    return url.rstrip("/")


@frozen
class _Place:
    """What a remote names."""

    host: str
    owner: str
    repo: str
    by_ssh: bool = False  # so the host may be an alias


def _place(remote: str, *, local: bool) -> _Place | None:
    """Return host, owner and repository; a folder on disk names them only where the interface was given."""
    try:
        parts = urlsplit(remote)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme in (*WEB, *SSH, "git") and parts.hostname:
        return _named(_host(parts), unquote(parts.path), exact=True, by_ssh=parts.scheme in SSH)
    if parts.scheme == "file" or remote.startswith(("/", "./", "../", "~")) or _DRIVE.match(remote):
        path = unquote(parts.path) if parts.scheme == "file" else remote.replace("\\", "/")
        return _named("", path, exact=False) if local else None
    if "://" not in remote and (found := _SCP.fullmatch(remote)):
        host = found["host"].lower()
        return _named(OTHER_NAMES.get(host, host), found["path"], exact=True, by_ssh=True)
    return None


def _host(parts: SplitResult) -> str:
    """Return a remote's host; with its port only where an interface may answer there, too."""
    host = OTHER_NAMES.get(parts.hostname or "", parts.hostname or "")
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    return f"{host}:{parts.port}" if secure and parts.port is not None else host


def _named(host: str, path: str, *, exact: bool, by_ssh: bool = False) -> _Place | None:
    """Return the two names a path consists of, or, if it need not be exact, ends in."""
    names = [name for name in path.strip("/").split("/") if name]
    if len(names) < 2 or (exact and len(names) > 2):  # noqa: PLR2004 - owner and repository
        return None
    owner, repo = names[-2], names[-1].removesuffix(".git")
    return _Place(host, owner, repo, by_ssh) if repo and not re.search(r"\s", owner + repo) else None


def _behind(alias: str, environ: Mapping[str, str]) -> str:
    """Return the host that the user's ssh goes to for this name, as far as it tells."""
    if not _HOST.fullmatch(alias):
        return alias
    try:
        done = process.run(["ssh", "-G", alias], cwd=Path(os.sep), env=environ, timeout=PATIENCE)
    except OSError:
        return alias
    told = dict(
        line.split(" ", 1) for line in done.stdout.decode("utf-8", "replace").splitlines() if " " in line
    )
    host = told.get("hostname", alias).strip().lower()
    return OTHER_NAMES.get(host, host)


def _is_github(host: str) -> bool:
    return host == GITHUB or host.endswith(".ghe.com")


def _known(host: str, named: set[str]) -> bool:
    """Tell whether a host is GitHub's own, or one that somebody named, with its port or without."""
    return _is_github(host) or bool({host, host.rpartition(":")[0]} & named - {""})


def _served_by(api: str) -> str:
    """Return the host whose repositories an interface tells about."""
    host = urlsplit(api).hostname or ""
    return host.removeprefix("api.") if _is_github(host.removeprefix("api.")) else host


def _api_of(host: str, remote: str) -> str:
    if host == GITHUB:
        return API
    if _is_github(host):
        return f"https://api.{host}"
    plain = remote.startswith("http://") and host.partition(":")[0] in LOOPBACK
    return f"{'http' if plain else 'https'}://{host}/api/v3"
