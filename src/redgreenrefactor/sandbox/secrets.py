"""Credentials stay with the orchestrator: the one list of what holds them, by name and by shape.

It counts for variables, for lines of settings and for files, and for what is masked before it is shown.
"""

import re
from collections.abc import Callable, Collection, Mapping
from operator import is_
from typing import Any, cast


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


# Parts of a name, between underscores, that make it a credential's; and pieces that do so wherever they stand.
_WORDS = frozenset(
    words("PASS PWD PAT AUTH OAUTH OAUTH2 BEARER CREDS DSN JWT COOKIE COOKIES WEBHOOK WEBHOOKS MNEMONIC")
)
_PIECES = re.compile(
    r"APIKEY|ACCESSKEY|PRIVATEKEY|SECRETKEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSCODE|SSHPASS|CREDENTIAL|AUTHTOKEN|AUTHKEY"
    r"|ACCESS_?TOKEN|CONNECTION_?STRING|CUSTOM_HEADERS|PRIVATE_KEY|SEED_PHRASE|(?<!MON)KEYS?(?:_|$)|TOKEN(?:_|$)"
)
_VENDORS = ("AWS_",)  # of which everything is a credential but what is named below
_HARMLESS = frozenset(
    words("AWS_REGION AWS_DEFAULT_REGION AWS_DEFAULT_OUTPUT AWS_PAGER PWD OLDPWD SSH_AUTH_SOCK")
)
_IN_LINES = (
    r"(?i)password|passwd|passphrase|secret|token|api[_-]?key|private_?key|access_?key|credential"
    r"|(?<![a-z])_?auth(?![a-z])"
)
# Below the home folder. Whatever names one of these, by a list of paths or by being the workspace, does not show it.
FILES = words(
    ".ssh .aws .gnupg .azure .kube .docker .config .netrc .git-credentials .npmrc .pypirc .pgpass .my.cnf .password-store "
    ".mozilla .thunderbird .claude .claude.json .codex .gemini .terraform.d .vault-token .local/share/keyrings "
    ".local/share/redgreenrefactor .bash_history .zsh_history .m2/settings.xml .m2/settings-security.xml "
    ".gradle/gradle.properties .cargo/credentials .cargo/credentials.toml"
)
_MODEL_SERVERS = re.compile(  # where models are reached, which is nobody's business but ours; it may hold a password
    "(?s:(?:ANTHROPIC_|OPENAI_|GOOGLE_.*_BASE_|GEMINI_.*_|OLLAMA_).*URL|OPENAI_API_BASE|AZURE_OPENAI_ENDPOINT|OLLAMA_HOST)"
)
_PASSWORD_IN_URL = re.compile(
    r"(?P<start>https?://(?=[^/@\s]+@)|[A-Za-z][A-Za-z0-9+.-]*://(?=[^/@\s]*:))[^/@\s]*@"
)
IN_ADDRESS = re.compile(
    r"(?:(?<=http://)|(?<=https://))[^/?#\s'\"]+(?=@)"  # who asks, and the password
    r"|(?<=://)[^/?#\s'\":@]*:[^/?#\s'\"]+(?=@)"  # elsewhere a name alone is no secret: ssh://git@host
)


def without_secrets(env: Mapping[str, str], allowed_names: Collection[str] = ()) -> dict[str, str]:
    """Return the environment without credentials and addresses of model servers; those named by the user stay.

    An address keeps everything but its user and password: a proxy is still one without.
    """
    return {
        name: value if name in allowed_names else _PASSWORD_IN_URL.sub(r"\g<start>", value)
        for name, value in env.items()
        if name in allowed_names
        or not (
            is_secret(name)
            or names_a_model_server(name)
            or any(sign.search(_PASSWORD_IN_URL.sub("", value)) for sign in (SHAPES, ANNOUNCED))
        )
    }


def names_a_model_server(name: str) -> bool:
    """Whether a variable of this name says where a provider's models are reached."""
    return _MODEL_SERVERS.fullmatch(name.upper()) is not None


def is_secret(name: str) -> bool:
    """Whether a variable of this name usually holds a credential; letter case does not matter."""
    upper = name.upper()
    named = not _WORDS.isdisjoint(upper.split("_")) or _PIECES.search(upper) is not None
    return upper not in _HARMLESS and (named or upper.startswith(_VENDORS))


def without_secret_lines(text: str) -> str:
    """Return a file's text without the lines that seem to hold a credential."""
    signs = (_IN_LINES, _PASSWORD_IN_URL, SHAPES, ANNOUNCED)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not any(re.search(sign, line) for sign in signs))


_SHORTEST = 8  # characters of a value that is masked wherever it stands; shorter ones are words
# Tokens of known shapes, by words of which each of them holds one: texts without any, which are most, are not searched.
TOKENS = {
    "sk-": r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}",  # Anthropic, OpenAI and their like
    "gho_ ghp_ ghs_ ghu_ ghr_": r"gh[opsur]_[A-Za-z0-9]{20,}",
    "github_pat_": r"github_pat_[A-Za-z0-9_]{20,}",
    "glpat-": r"glpat-[A-Za-z0-9_-]{16,}",
    "AKIA ASIA": r"(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "AIza": r"AIza[A-Za-z0-9_-]{30,}",
    "xox xapp-": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}",
    "k_live_ k_test_": r"[sr]k_(?:live|test)_[A-Za-z0-9]{20,}",
    "whsec_ gsk_ r8_ ntn_ dckr_pat_ lin_api_ sbp_ dop_v1_ shpat_ shpss_ shpca_ hf_": (
        r"(?:whsec|gsk|r8|ntn|dckr_pat|lin_api|sbp|dop_v1|shp(?:at|ss|ca)|hf)_[A-Za-z0-9]{20,}"
    ),
    "xai- pplx-": r"(?:xai|pplx)-[A-Za-z0-9]{30,}",
    "gl ATATT3 hvs. ya29. AGE-SECRET-KEY-1 SG.": (
        r"(?:gl[a-z]{2,4}-|ATATT3|hvs\.|ya29\.|AGE-SECRET-KEY-1|SG\.)[A-Za-z0-9_.-]{20,}"
    ),
    "dapi :AA": r"dapi[0-9a-f]{32}\b|\d{8,10}:AA[A-Za-z0-9_-]{33}",
    "npm_ pypi-": r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}",
    "eyJ": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",  # JSON web tokens
}
PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
SHAPES = re.compile(rf"\b(?:{'|'.join(TOKENS.values())})|{PRIVATE_KEY}", re.DOTALL)
SIGNS = words(" ".join(("-----BEGIN", *TOKENS)))
_ANNOUNCING = words("/services/ /api/webhooks/ sig= accountkey= password= basic bearer x-api-key:")
ANNOUNCED = re.compile(  # what is none by itself, but after one of these words; to look at every place takes long
    r"(?<=[/= ])(?:(?<=hooks\.slack\.com/services/)\S{20,}|(?<=/api/webhooks/)\d+/[A-Za-z0-9_-]{30,}"
    r"|(?i:(?<=[?&;]sig=)|(?<=[?&;]accountkey=)|(?<=[?&;]password=)|(?<=authorization: basic ))[^\s&;'\"]{8,}"
    r"|(?i:(?<=bearer )|(?<=x-api-key: ))[A-Za-z0-9._~+/-]{16,}=*)"
)


Mask = Callable[[str], str]
_PLAIN = frozenset((type(None), bool, int, float))  # what holds no text


def masking(env: Mapping[str, str]) -> Mask:
    """Return what replaces secrets in a text: values of credentials in the environment, and tokens of known shapes.

    Everything that leaves goes through one of these where it is written: notes, events, pull requests, files, the screen.
    """
    values = {
        value: name for name, value in env.items() if is_secret(name) and len(value.strip()) >= _SHORTEST
    }
    known = re.compile(
        "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)) or r"(?!)"
    )

    def mask(text: str) -> str:
        named = known.sub(lambda found: f"[masked {values[found[0]]}]", text) if values else text
        told = IN_ADDRESS.sub("[masked]", named) if "://" in named else named
        told = SHAPES.sub("[masked]", told) if any(map(told.__contains__, SIGNS)) else told
        return ANNOUNCED.sub("[masked]", told) if any(map(told.lower().__contains__, _ANNOUNCING)) else told

    return mask


masked = masking({})
"""For texts that are made where nobody knows the environment."""


def masked_in(value: Any, mask: Mask, spared: Collection[str] = ()) -> Any:
    """Return a value with every text in it masked, keys and fields of the spared names apart; itself where none changes."""
    if type(value) is str:  # not the words of an enumeration
        told = mask(value)
        return value if told == value else told
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        found = [masked_in(item, mask, spared) for item in items]
        if all(map(is_, found, items)):
            return items
        return found if isinstance(value, list) else tuple(found)
    if isinstance(value, Mapping):
        return {
            masked_in(key, mask): item if key in spared else masked_in(item, mask, spared)
            for key, item in cast("Mapping[Any, Any]", value).items()
        }
    return value if isinstance(value, type) else _with_masked_fields(value, mask, spared)


def _with_masked_fields(value: Any, mask: Mask, spared: Collection[str]) -> Any:
    changed: dict[str, Any] = {}
    for name in getattr(value, "__match_args__", ()):
        old = getattr(value, name)
        if (
            type(old) not in _PLAIN
            and name not in spared
            and (new := masked_in(old, mask, spared)) is not old
        ):
            changed[name] = new
    if not changed:
        return value
    from dataclasses import replace  # noqa: PLC0415 - slow to load, and there is hardly ever something to mask

    return replace(value, **changed)
