"""Credentials stay with the orchestrator: what sessions and suites find in their environment."""

import re
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase

_SECRET = (
    "*API_KEY*",
    "*APIKEY*",
    "*ACCESS_KEY*",
    "*PRIVATE_KEY*",
    "*SIGNING_KEY*",
    "*ENCRYPTION_KEY*",
    "*_SECRET*",
    "SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*_PWD",
    "*_TOKEN",
    "TOKEN",
    "*AUTHTOKEN*",
    "*_AUTH",
    "*_AUTH_CONFIG",
    "*_PAT",
    "*_CREDENTIAL",
    "*_CREDENTIALS",
    "*_CREDENTIALS_*",
    "*_CUSTOM_HEADERS",
    "AWS_*",
)
_IN_URL = re.compile(r"(?P<start>[A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]+@")
_HARMLESS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_DEFAULT_OUTPUT", "AWS_PAGER")


def without_secrets(env: Mapping[str, str], allowed_names: Collection[str] = ()) -> dict[str, str]:
    """Return the environment without credentials; those named by the user stay."""
    return {name: value for name, value in env.items() if name in allowed_names or not is_secret(name)}


def is_secret(name: str) -> bool:
    """Whether a variable of this name usually holds a credential; letter case does not matter."""
    upper = name.upper()
    return upper not in _HARMLESS and any(fnmatchcase(upper, pattern) for pattern in _SECRET)


_SHORTEST = 8  # characters of a value that is masked wherever it stands; shorter ones are words
_SHAPES = re.compile(
    r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"  # Anthropic, OpenAI and their like
    r"|\b(?:gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{20,})"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"  # JSON web tokens
    r"|(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"  # user and password of an address
    r"|(?i:(?<=bearer )|(?<=x-api-key: ))[A-Za-z0-9._~+/-]{16,}=*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


def masking(env: Mapping[str, str]) -> Callable[[str], str]:
    """Return what replaces secrets in a text: values of credentials in the environment, and tokens of known shapes."""
    values = {
        value: name for name, value in env.items() if is_secret(name) and len(value.strip()) >= _SHORTEST
    }
    known = re.compile(
        "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True)) or r"(?!)"
    )

    def masked(text: str) -> str:
        named = known.sub(lambda found: f"[masked {values[found[0]]}]", text)
        return _SHAPES.sub("[masked]", named)

    return masked


def masked(text: str, *secrets: str) -> str:
    """Return the text with these secrets, and the credentials of every address in it, made unreadable."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return _IN_URL.sub(r"\g<start>***@", text)
