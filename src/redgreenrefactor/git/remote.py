"""Another repository that this one knows by a name: what it has, and how things get there and back."""

import base64
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.git.executable import decoded, encoded, said
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import masked

PATIENCE = 900.0  # seconds for one transfer
# How the user reaches remotes: what `scrubbed` takes away because it could lead git elsewhere is needed here.
REACHING = re.compile(
    r"GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_\w+|HTTP_\w+|PROXY_\w+|ALLOW_PROTOCOL|CONFIG_(COUNT|(KEY|VALUE)_\d+))"
    r"|(GH|GITHUB|GH_ENTERPRISE|GITHUB_ENTERPRISE|GITLAB)_TOKEN"  # which helpers of the user's answer with
)
# Nothing but what is asked for: no tags, no submodules, no upstream, nothing deleted; and an end where nothing comes.
PLAIN = (
    *("-c", "push.autoSetupRemote=false", "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "fetch.writeCommitGraph=false"),
    *("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=60"),
)
RACED = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "remote ref",
)
REFUSED = (
    "could not read Username",
    "could not read Password",
    "Authentication failed",
    "returned error: 403",
    "returned error: 401",
    "Permission denied (",
    "Permission to ",
)
UNREACHED = "See that 'git ls-remote {}' works"
UNTAKEN = (
    "See that {} lets you write branches, refs/notes/ and refs/tdd/: its own words say what it does not take"
)
BATCH = 200  # refs pushed with one call


class OutrunError(Exception):
    """Somebody else was faster; look again."""


@frozen
class Remote:
    """A remote repository, by the name it is known under here."""

    repository: Repository
    name: str
    interrupt: process.Interrupt

    @property
    def notes(self) -> str:
        """Where its notes are put when they are fetched."""
        return f"refs/notes/{self.name}/tdd-handoffs"

    def listing(self, *patterns: str) -> dict[str, str]:
        """Return its refs that match, with their objects."""
        rows = [
            row.split("\t") for row in decoded(self._reached("ls-remote", self.name, *patterns)).splitlines()
        ]
        return {name: oid for oid, name in rows if not name.endswith("^{}")}

    def fetch(self, wanted: Mapping[str, str]) -> None:
        """Bring these refs of its to these places here, whatever stands there."""
        if wanted:
            flags = ("--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--stdin", self.name)
            specs = "".join(f"+{there}:{here}\n" for there, here in wanted.items())
            self._reached("fetch", *flags, stdin=encoded(specs))

    def push(self, together: Mapping[str, str], apart: Mapping[str, str], leases: Mapping[str, str]) -> None:
        """Make these refs there these objects: some all or none, others as they come; never over newer work."""
        rows = list(apart.items())
        for start in range(0, len(rows), BATCH):
            self._push(dict(rows[start : start + BATCH]), leases)
        if together:
            self._push(together, leases, "--atomic")

    def require_writable(self, branch: str, commit: str) -> None:
        """Refuse a remote that cannot be reached, or lets us not write; nothing is changed there."""
        done = self._attempt(
            *("push", "--dry-run", "--quiet", "--no-verify"), self.name, f"+{commit}:refs/heads/{branch}"
        )
        if done.exit_code:
            raise self._trouble("cannot be pushed to", done)

    def _push(self, refs: Mapping[str, str], leases: Mapping[str, str], *flags: str) -> None:
        guards = [f"--force-with-lease={name}:{leases[name]}" for name in refs if name in leases]
        specs = [f"{'+' * (name in leases)}{oid}:{name}" for name, oid in refs.items()]
        command = ("push", "--quiet", "--no-verify", *flags, *guards, self.name, *specs)
        done = self._attempt(*command)
        if done.exit_code and "--atomic" in flags and "does not support --atomic" in decoded(done.stderr):
            done = self._attempt(*(word for word in command if word != "--atomic"))
        if done.exit_code:
            if any(word in decoded(done.stderr) for word in RACED):
                raise OutrunError(masked(said(done)))
            raise self._trouble("did not take what was pushed", done, UNTAKEN)

    def _reached(self, *args: str, stdin: bytes = b"") -> bytes:
        done = self._attempt(*args, stdin=stdin)
        if done.exit_code:
            raise self._trouble("cannot be reached", done)
        return done.stdout

    def _attempt(self, *args: str, stdin: bytes = b"") -> process.Finished:
        git = self.repository.git
        environ = self.repository.environ
        if led := self.repository.programs.reaching:
            raise NotReadyError(
                f"files of this project say how remotes are reached: {', '.join(led)}",
                hint="Put that into a file outside the project, then try again: sessions could have written it.",
                type="UnsafeSetting",
            )
        reaching = {name: value for name, value in environ.items() if REACHING.fullmatch(name)}
        argv = git.argv(*PLAIN, *args)
        return process.run(
            argv,
            cwd=git.folder,
            env={**git.env, **reaching},
            stdin=stdin,
            timeout=PATIENCE,
            interrupt=self.interrupt,
            keep=1 << 28,
        )

    def _trouble(self, what: str, done: process.Finished, advice: str = UNREACHED) -> NotReadyError:
        url = self.repository.config.get(f"remote.{self.name}.url", "")
        why = "it took too long" if done.timed_out else said(done)
        if any(words in why for words in REFUSED):
            return NotReadyError(
                f"the remote {self.name} ({masked(url)}) refuses our credentials: {masked(why)}",
                hint=f"See that 'git push {self.name}' works, or give GITHUB_TOKEN the right to write contents, "
                "then try again. Nothing here was lost.",
                type="RemoteRefused",
            )
        return NotReadyError(
            f"the remote {self.name} ({masked(url)}) {what}: {masked(why)}",
            hint=advice.format(self.name),
            type="RemoteUnreachable",
        )


def remote_of(
    repository: Repository, branch: str | None, wanted: str | None, interrupt: process.Interrupt
) -> Remote:
    """Return the remote of this name; without one the branch's own, `origin`, or the only one there is."""
    names = repository.git.text("remote").split("\n")
    names = [name for name in names if name]
    own = repository.config.get(f"branch.{branch}.remote") if branch else None
    if wanted is not None and wanted not in names:
        known = f" with one of: {', '.join(names)}" if names else ""
        raise UsageError(
            f"there is no remote {masked(wanted)!r}",
            hint=f"Type it{known}; 'git remote add NAME URL' makes one.",
        )
    for name in (wanted, own, "origin", names[0] if len(names) == 1 else None):
        if name is not None and name in names:
            return Remote(repository, name, interrupt)
    if names:
        raise UsageError("there are several remotes", hint=f"Name one: {', '.join(names)}.")
    raise NotReadyError(
        "this repository has no remote",
        hint="Type 'git remote add origin URL', then try again.",
        type="NoRemote",
    )


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
