"""Every way a remote is written, and where its forge answers."""

from pathlib import Path

import pytest

from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.forge.address import address_of


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
        ("https://firm.ghe.com/acme/calc", "firm.ghe.com", "https://api.firm.ghe.com"),
        ("git@firm.ghe.com:acme/calc.git", "firm.ghe.com", "https://api.firm.ghe.com"),
    ],
)
def test_a_remote_names_host_owner_and_repository(remote: str, host: str, api: str) -> None:
    address = address_of(remote, {})
    assert (address.host, address.slug, address.api) == (host, "acme/calc", api)


@pytest.mark.parametrize(
    ("remote", "host", "api"),
    [
        ("git@git.firm.example:acme/calc.git", "git.firm.example", "https://git.firm.example/api/v3"),
        ("ssh://git@git.firm.example:2222/acme/calc", "git.firm.example", "https://git.firm.example/api/v3"),
        (
            "https://git.firm.example:8443/acme/calc",
            "git.firm.example:8443",
            "https://git.firm.example:8443/api/v3",
        ),
        ("http://git.firm.example:80/acme/calc", "git.firm.example", "https://git.firm.example/api/v3"),
    ],
)
def test_another_host_is_asked_only_where_it_was_named_and_with_tls(remote: str, host: str, api: str) -> None:
    with pytest.raises(NotReadyError) as raised:
        address_of(remote, {"PATH": ""})
    assert raised.value.type == "RepositoryNotFound"
    assert f"github.host={host} in tdd.properties" in raised.value.hint
    assert "GITHUB_API_URL=https://" in raised.value.hint
    address = address_of(remote, {}, "git.firm.example")
    assert (address.host, address.slug, address.api, address.known) == (host, "acme/calc", api, True)
    given = address_of(remote, {"GITHUB_API_URL": "https://git.firm.example/api/v3"})
    assert (given.api, given.known) == ("https://git.firm.example/api/v3", True)


def test_a_host_on_this_machine_may_do_without_tls() -> None:
    remote = "http://127.0.0.1:8080/acme/calc"
    with pytest.raises(NotReadyError):
        address_of(remote, {})
    assert address_of(remote, {}, "127.0.0.1").api == "http://127.0.0.1:8080/api/v3"


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com.evil.example/acme/calc",
        "https://evilghe.com/acme/calc",
        "https://gitlab.com/acme/calc",
        "https://github.com@evil.example/acme/calc",
    ],
)
def test_hosts_that_only_look_like_it_get_no_token(remote: str) -> None:
    for environ in ({}, {"GITHUB_API_URL": "https://api.github.com"}):
        with pytest.raises(NotReadyError) as raised:
            address_of(remote, environ)
        assert raised.value.type == "RepositoryNotFound"
    elsewhere = address_of(remote, {"GITHUB_API_URL": "https://git.firm.example/api/v3"})
    assert not elsewhere.known  # asked about there, but nothing is pushed with the token


def test_no_token_is_sent_to_an_interface_without_tls() -> None:
    with pytest.raises(NotReadyError) as raised:
        address_of("git@github.com:acme/calc.git", {"GITHUB_API_URL": "http://git.firm.example/api/v3"})
    assert raised.value.type == "RepositoryNotFound"
    assert "GITHUB_API_URL=https://git.firm.example/api/v3" in raised.value.hint


@pytest.mark.parametrize(
    ("remote", "to", "host"),
    [
        ("git@github.com-work:acme/calc.git", "github.com", "github.com"),
        ("ssh://git@work/acme/calc", "ssh.github.com", "github.com"),
        ("git@work:acme/calc.git", "Git.Firm.Example", "git.firm.example"),
    ],
)
def test_an_ssh_alias_is_what_ssh_makes_of_it(tmp_path: Path, remote: str, to: str, host: str) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\n[ $# = 2 ] && [ $1 = -G ] && echo user git && echo hostname {to}\n")
    ssh.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/bin:/usr/bin"}
    assert address_of(remote, environ, "git.firm.example").host == host
    with pytest.raises(NotReadyError) as raised:
        address_of("https://work/acme/calc", environ)
    assert raised.value.type == "RepositoryNotFound"  # only ssh knows aliases


@pytest.mark.parametrize("alias", ["nobody-knows-it", "-oProxyCommand=x", "a$(b)"])
def test_a_host_that_ssh_cannot_tell_about_stays_what_it_is(tmp_path: Path, alias: str) -> None:
    for environ in ({"PATH": str(tmp_path)}, {"PATH": "/bin:/usr/bin"}):
        with pytest.raises(NotReadyError) as raised:
            address_of(f"git@{alias}:acme/calc.git", environ)
        assert alias.lower() in raised.value.message


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
    assert raised.value.type == "RepositoryNotFound"
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
    assert "https://[masked]@host/only" in raised.value.message
    with pytest.raises(UsageError) as refused:
        address_of("git@github.com:acme/calc.git", {"GITHUB_API_URL": "ftp://ada:s3cret@host"})
    assert "s3cret" not in refused.value.message
