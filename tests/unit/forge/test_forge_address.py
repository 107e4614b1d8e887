"""Every way a remote is written, and where its forge answers."""

import pytest

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.forge.address import address_of
from redgreenrefactor.sandbox.secrets import masked


@pytest.mark.parametrize(
    ("remote", "host", "api"),
    [
        ("https://github.com/acme/calc.git", "github.com", "https://api.github.com"),
        ("https://github.com/acme/calc", "github.com", "https://api.github.com"),
        ("https://github.com/acme/calc/", "github.com", "https://api.github.com"),
        ("https://ada:s3cret@github.com/acme/calc.git", "github.com", "https://api.github.com"),
        ("https://GitHub.com/acme/calc.git", "github.com", "https://api.github.com"),
        ("git@github.com:acme/calc.git", "github.com", "https://api.github.com"),
        ("github.com:acme/calc", "github.com", "https://api.github.com"),
        ("git@github.com:/acme/calc.git", "github.com", "https://api.github.com"),
        ("ssh://git@github.com/acme/calc.git", "github.com", "https://api.github.com"),
        ("ssh://git@ssh.github.com:443/acme/calc.git", "github.com", "https://api.github.com"),
        ("git+ssh://git@github.com/acme/calc.git", "github.com", "https://api.github.com"),
        ("git://github.com/acme/calc", "github.com", "https://api.github.com"),
        ("git@git.firm.example:acme/calc.git", "git.firm.example", "https://git.firm.example/api/v3"),
        ("ssh://git@git.firm.example:2222/acme/calc", "git.firm.example", "https://git.firm.example/api/v3"),
        (
            "https://git.firm.example:8443/acme/calc",
            "git.firm.example:8443",
            "https://git.firm.example:8443/api/v3",
        ),
        ("http://git.firm.example/acme/calc", "git.firm.example", "http://git.firm.example/api/v3"),
        ("https://firm.ghe.com/acme/calc", "firm.ghe.com", "https://api.firm.ghe.com"),
        ("git@firm.ghe.com:acme/calc.git", "firm.ghe.com", "https://api.firm.ghe.com"),
    ],
)
def test_a_remote_names_host_owner_and_repository(remote: str, host: str, api: str) -> None:
    address = address_of(remote, {})
    assert (address.host, address.slug, address.api) == (host, "acme/calc", api)


@pytest.mark.parametrize(
    "remote",
    [
        "/srv/git/acme/calc.git",
        "../acme/calc.git",
        "file:///srv/git/acme/calc.git",
        "https://github.com/calc",
        "https://github.com/group/acme/calc",
        "https://github.com/acme/.git",
        "https://[broken/acme/calc",
        "https://github.com:port/acme/calc",
        "ftp://github.com/acme/calc",
        "C:\\acme\\calc",
        "nonsense",
    ],
)
def test_what_is_on_no_forge_is_refused_by_name(remote: str) -> None:
    with pytest.raises(NotReadyError) as raised:
        address_of(remote, {})
    assert raised.value.type == "NotGitHub"
    assert remote in raised.value.message
    assert "--forge none" in raised.value.hint


@pytest.mark.parametrize("remote", [None, ""])
def test_no_remote_is_told_with_what_to_type(remote: str | None) -> None:
    with pytest.raises(NotReadyError) as raised:
        address_of(remote, {})
    assert raised.value.type == "NoRemote"


def test_a_given_interface_wins_over_the_host() -> None:
    given = {"GITHUB_API_URL": "http://127.0.0.1:8080/api/v3/"}
    assert address_of("git@github.com:acme/calc.git", given).api == "http://127.0.0.1:8080/api/v3"


@pytest.mark.parametrize(
    "remote", ["/srv/git/acme/calc.git", "file:///srv/git/acme/calc.git", "../acme/calc"]
)
def test_a_folder_names_owner_and_repository_where_the_interface_is_given(remote: str) -> None:
    address = address_of(remote, {"GITHUB_API_URL": "http://127.0.0.1:8080"})
    assert address.slug == "acme/calc"


@pytest.mark.parametrize(
    "url", ["github.com", "ftp://x", "http://", "http://a b", "http://[x", "http://h:port", "http://h:0"]
)
def test_an_interface_that_is_no_address_is_bad_configuration(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        address_of("git@github.com:acme/calc.git", {"GITHUB_API_URL": url})
    assert "GITHUB_API_URL" in raised.value.message


def test_credentials_in_an_address_are_never_shown() -> None:
    with pytest.raises(NotReadyError) as raised:
        address_of("https://ada:s3cret@host/only", {})
    assert "s3cret" not in raised.value.message
    assert "https://***@host/only" in raised.value.message
    with pytest.raises(UsageError) as refused:
        address_of("git@github.com:acme/calc.git", {"GITHUB_API_URL": "ftp://ada:s3cret@host"})
    assert "s3cret" not in refused.value.message


def test_every_address_in_a_text_is_masked_and_the_rest_left_alone() -> None:
    text = (
        "fatal: unable to access 'https://x-access-token:ghp_1@github.com/a/b.git/': see git@github.com:a/b"
    )
    assert masked(text) == (
        "fatal: unable to access 'https://***@github.com/a/b.git/': see git@github.com:a/b"
    )
