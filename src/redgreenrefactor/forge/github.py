"""GitHub's pull requests, over its REST interface."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.address import WITHOUT_FORGE, Address
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.review_task import Draft, PullRequest, PullRequestState
from redgreenrefactor.sandbox.secrets import Mask, masked

if TYPE_CHECKING:
    from httpx2 import Response

VERSION = "2022-11-28"
# A plain JSON type as well: servers that stand in for GitHub know no other.
ACCEPT = "application/vnd.github+json, application/json;q=0.9"
LONGEST_TITLE, LONGEST_BODY = 256, 65_000  # characters; beyond, GitHub refuses
PAGE, MOST_PAGES = 100, 20
SERVER_FAULT, TOO_MANY = 500, 429
NO_TOKEN = f"Set GITHUB_TOKEN to a token that may read and write pull requests, or {WITHOUT_FORGE}."


def token_of(environ: Mapping[str, str]) -> str:
    """Return GITHUB_TOKEN; none, or one that cannot be sent, is a ForgeError."""
    token = environ.get("GITHUB_TOKEN", "").strip()
    if not token:
        raise ForgeError("GITHUB_TOKEN is not set", hint=NO_TOKEN, type="GitHubAuth")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ForgeError("GITHUB_TOKEN holds characters no token has", hint=NO_TOKEN, type="GitHubAuth")
    return token


@dataclass(frozen=True)
class GitHub:
    """One repository on GitHub, or on a server that speaks as it does."""

    address: Address
    token: str = field(repr=False)
    pause: Callable[[float], None]
    waits: tuple[float, ...] = (0.5, 1.0, 2.0)  # before each further try, in seconds
    timeout: float = 20.0  # of each step of a request
    mask: Mask = masked  # what is hidden of the texts that are published

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"{self.address.host or self.address.api}/{self.address.slug}"

    def find(self, branch: str) -> PullRequest | None:
        """Return the open pull request of a branch."""
        return next(iter(self._asked(branch, "open")), None)

    def list(self, branch: str) -> tuple[PullRequest, ...]:
        """Return every pull request of a branch, whatever became of it, newest first."""
        return tuple(self._asked(branch, "all"))

    def create(self, draft: Draft) -> PullRequest:
        """Open a pull request, exactly one: where no answer came, what became of the last try is looked up first."""
        body = {
            "title": _clipped(self.mask(draft.title), LONGEST_TITLE),
            "body": _clipped(self.mask(draft.body), LONGEST_BODY),
            "head": draft.head,
            "base": draft.base,
        }
        for wait in (*self.waits, None):
            try:
                return _pull(self._send("POST", self._pulls, body=body))
            except ForgeError as error:
                if error.type not in ("GitHubUnreachable", "GitHubRejected"):
                    raise
                if error.type == "GitHubUnreachable" and wait is not None:
                    self.pause(wait)
                found = self.find(draft.head)
                if found is not None:
                    return found
                if error.type == "GitHubRejected" or wait is None:
                    raise
        raise AssertionError  # the last wait is None: it raised or returned

    def update(self, number: int, title: str, body: str) -> PullRequest:
        """Give a pull request this title and text."""
        text = {
            "title": _clipped(self.mask(title), LONGEST_TITLE),
            "body": _clipped(self.mask(body), LONGEST_BODY),
        }
        return _pull(self._again("PATCH", f"{self._pulls}/{number}", body=text))

    def issue(self, number: int) -> str:
        """Return what an issue asks for, its title first; a pull request, or no issue, is a ForgeError."""
        try:
            found = _object(self._again("GET", f"/repos/{self.address.slug}/issues/{number}"))
            title, body = str(found["title"]), found.get("body")
        except (KeyError, TypeError) as error:
            raise _unexpected(f"an issue without {error}") from error
        except ForgeError as error:
            if error.type != "GitHubNotFound":
                raise
            told = f"there is no issue {number} in {self.address.slug}, or GITHUB_TOKEN may not see it"
            raise ForgeError(told, hint=error.hint, type=error.type) from error
        if "pull_request" in found:
            told = f"{number} is a pull request of {self.address.slug}, not an issue"
            raise ForgeError(told, hint="Name an issue.", type="GitHubNotFound")
        return f"{title}\n\n{body}" if body else title

    def may_push(self) -> bool:
        """Return whether the token can write to the repository; one that is refused is a ForgeError."""
        body = self._again("GET", f"/repos/{self.address.slug}")
        try:
            permissions = _object(_object(body).get("permissions", {"push": True}))
        except TypeError as error:
            raise _unexpected(f"a repository that is not {error}") from error
        return bool(permissions.get("push"))

    # --- requests

    @property
    def _pulls(self) -> str:
        return f"/repos/{self.address.slug}/pulls"

    def _asked(self, branch: str, state: str) -> Iterable[PullRequest]:
        """Yield the branch's pull requests, page after page."""
        for page in range(1, MOST_PAGES + 1):
            asked = {
                "head": f"{self.address.owner}:{branch}",
                "state": state,
                "per_page": str(PAGE),
                "page": str(page),
            }
            found = self._again("GET", self._pulls, params=asked)
            if not isinstance(found, list):
                raise _unexpected("not a list of pull requests")
            pulls = [_pull(item) for item in cast("list[Any]", found)]
            # Where a server does not understand the filter, it leaves it out.
            yield from (pull for pull in pulls if pull.head_branch == branch)
            if len(pulls) < PAGE:
                return

    def _again(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> Any:
        """Return the answer to a request that may be sent any number of times."""
        for wait in self.waits:
            try:
                return self._send(method, path, params=params, body=body)
            except ForgeError as error:
                if error.type != "GitHubUnreachable":
                    raise
            self.pause(wait)
        return self._send(method, path, params=params, body=body)

    def _send(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, body: Any = None
    ) -> Any:
        """Send one request and return what its answer holds; anything but success is a ForgeError that tells what it was."""
        import httpx2  # noqa: PLC0415

        headers = {
            "Accept": ACCEPT,
            "Authorization": f"Bearer {self.token}",
            "User-Agent": "redgreenrefactor",
            "X-GitHub-Api-Version": VERSION,
        }
        try:
            with httpx2.Client(headers=headers, timeout=self.timeout, follow_redirects=True) as client:
                response = client.request(method, f"{self.address.api}{path}", params=params, json=body)
                response.read()
        except httpx2.HTTPError as error:
            why = masked(str(error)) or type(error).__name__
            raise self._out_of_reach(why) from error
        if not response.is_success:
            raise self._refusal(response)
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            kind = response.headers.get("content-type", "") or "nothing"
            raise _unexpected(
                f"it is no JSON but {masked(kind)[:80]}, as from a network's log-in page"
            ) from error

    def _out_of_reach(self, why: str) -> ForgeError:
        return ForgeError(
            f"GitHub ({masked(self.address.api)}) is out of reach: {why}",
            hint="See that the network and GITHUB_API_URL are right, then type the command again.",
            type="GitHubUnreachable",
        )

    def _refusal(self, response: "Response") -> ForgeError:
        """Return what an answer that is no success means."""
        status, said = response.status_code, _said(response)
        slug = self.address.slug
        if status >= SERVER_FAULT:
            return self._out_of_reach(f"it answers {status}{said}")
        if _is_rate_limit(response):
            return ForgeError(
                f"GitHub takes no more requests with this token for now{_until(response)}{said}",
                hint="Wait until then, and type the command again.",
                type="GitHubRateLimited",
            )
        match status:
            case 401:
                return ForgeError(
                    f"GitHub does not accept GITHUB_TOKEN{said}", hint=NO_TOKEN, type="GitHubAuth"
                )
            case 403:
                return ForgeError(
                    f"GITHUB_TOKEN may not do this in {slug}{said}",
                    hint="Give the token the right to read and write pull requests and contents, or use another.",
                    type="GitHubForbidden",
                )
            case 404:
                return ForgeError(
                    f"GitHub knows no repository {slug}, or GITHUB_TOKEN may not see it",
                    hint="Check 'git remote get-url origin', and that the token covers that repository.",
                    type="GitHubNotFound",
                )
            case 422:
                return ForgeError(
                    f"GitHub rejects the request about {slug}{said}",
                    hint="Mend what it names (is the base branch there, does the branch hold new commits?).",
                    type="GitHubRejected",
                )
            case _:
                return _unexpected(f"{status}{said}")


def _is_rate_limit(response: "Response") -> bool:
    headers, status = response.headers, response.status_code
    spent = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    worded = "rate limit" in _said(response).lower()
    return status == TOO_MANY or (status == 403 and (spent or worded))  # noqa: PLR2004


def _until(response: "Response") -> str:
    """Return when requests are taken again, as far as the answer tells."""
    after, reset = (response.headers.get(name, "") for name in ("retry-after", "x-ratelimit-reset"))
    if after.isdigit():
        return f" (try again in {after} seconds)"
    if reset.isdigit() and len(reset) < 12:  # noqa: PLR2004 - seconds since 1970, not nonsense
        return f" (until {datetime.fromtimestamp(int(reset), UTC):%Y-%m-%d %H:%M:%S} UTC)"
    return ""


def _said(response: "Response") -> str:
    """Return GitHub's own words, if there are any, as the end of a sentence."""
    try:
        body: Any = response.json()
    except ValueError:
        return ""
    told = json_object(body)
    words = [told.get("message"), *map(_error_words, json_list(told.get("errors")))]
    said = "; ".join(word for word in words if isinstance(word, str) and word)
    return f": {masked(said)[:500]}" if said else ""


def _error_words(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    error = json_object(item)
    return str(error.get("message") or " ".join(str(error.get(key, "")) for key in ("field", "code")).strip())


def _pull(body: Any) -> PullRequest:
    """Return a pull request as GitHub describes it."""
    try:
        pull = _object(body)
        merged = pull.get("merged_at") is not None
        return PullRequest(
            number=int(pull["number"]),
            title=str(pull["title"]),
            url=str(pull["html_url"]),
            state=PullRequestState.MERGED if merged else PullRequestState(pull["state"]),
            head_branch=str(_object(pull["head"])["ref"]),
            base_branch=str(_object(pull["base"])["ref"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _unexpected(f"a pull request without {error}") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"an object, but {type(value).__name__}")
    return cast("dict[str, Any]", value)


def _unexpected(what: str) -> ForgeError:
    return ForgeError(
        f"GitHub's answer is not understood: {what}",
        hint="See that the network lets you through to GitHub; another server's root is set with "
        "GITHUB_API_URL=https://HOST/api/v3.",
        type="GitHubUnexpected",
    )


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
