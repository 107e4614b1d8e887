"""A token for git: where it is sent, and where it is not."""

import base64

import pytest

from redgreenrefactor.git.remote import credentials, remote_url
from redgreenrefactor.git.repository import open_repository
from repos import Repo

BASIC = "Authorization: Basic " + base64.b64encode(b"x-access-token:t0ken").decode()


def given(repo: Repo, url: str, host: str = "github.com") -> dict[str, str]:
    repo.git("remote", "add", "origin", url)
    repository = open_repository(repo.path, repo.env)
    try:
        return dict(credentials(repository, "t0ken", host))
    finally:
        repository.close()


@pytest.mark.parametrize(
    ("url", "host", "place"),
    [
        ("https://github.com/acme/calc.git", "github.com", "https://github.com"),
        ("https://git.firm.example:8443/acme/calc", "git.firm.example:8443", "https://git.firm.example:8443"),
        ("http://127.0.0.1:8080/acme/calc", "127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_the_token_goes_to_its_own_host_in_a_variable(repo: Repo, url: str, host: str, place: str) -> None:
    assert given(repo, url, host) == {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{place}/.extraHeader",
        "GIT_CONFIG_VALUE_0": BASIC,
    }


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/acme/calc.git",
        "http://github.com/acme/calc.git",
        "https://ada:s3cret@github.com/acme/calc.git",
        "git@github.com:acme/calc.git",
        "ssh://git@github.com/acme/calc.git",
        "/srv/acme/calc.git",
        "https://[broken/acme/calc",
    ],
)
def test_it_goes_nowhere_else(repo: Repo, url: str) -> None:
    assert given(repo, url) == {}


def test_credentials_that_git_has_itself_are_enough(repo: Repo) -> None:
    repo.git("config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic abc")
    assert given(repo, "https://github.com/acme/calc.git") == {}


def test_settings_of_the_environment_stay(repo: Repo) -> None:
    repo.git("remote", "add", "origin", "https://github.com/acme/calc.git")
    environ = {**repo.env, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    repository = open_repository(repo.path, environ)
    found = credentials(repository, "t0ken", "github.com")
    repository.close()
    assert (found["GIT_CONFIG_COUNT"], found["GIT_CONFIG_VALUE_1"]) == ("2", BASIC)


def test_no_remote_has_no_address(repo: Repo) -> None:
    repository = open_repository(repo.path, repo.env)
    assert remote_url(repository) is None
    repository.close()
