"""Credentials stay with the orchestrator: what sessions and suites find in their environment."""

from collections.abc import Collection, Mapping
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
_HARMLESS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_DEFAULT_OUTPUT", "AWS_PAGER")


def without_secrets(env: Mapping[str, str], allowed_names: Collection[str] = ()) -> dict[str, str]:
    """Return the environment without credentials; those named by the user stay."""
    return {name: value for name, value in env.items() if name in allowed_names or not is_secret(name)}


def is_secret(name: str) -> bool:
    """Whether a variable of this name usually holds a credential; letter case does not matter."""
    upper = name.upper()
    return upper not in _HARMLESS and any(fnmatchcase(upper, pattern) for pattern in _SECRET)
