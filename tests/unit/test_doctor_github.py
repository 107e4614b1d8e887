"""What the doctor says about pull requests."""

import pytest

from github_server import TOKEN, github
from redgreenrefactor.config import Flags
from redgreenrefactor.doctor import RemarkLevel, examine
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.surroundings import Surroundings
from repos import Repo


def remarks(repo: Repo, **environ: str) -> list[tuple[RemarkLevel, str]]:
    around = Surroundings(repo.path, {**repo.env, **environ}, Flags(), lambda _: None, Interrupt())
    return [(found.level, found.message) for name, found in examine(around).remarks if name == "github"]


def test_a_repository_without_a_remote_needs_no_words(repo: Repo) -> None:
    assert remarks(repo) == []


def test_no_token_is_a_warning_and_nobody_is_asked(repo: Repo) -> None:
    repo.git("remote", "add", "origin", "https://ada:s3cret@github.com/acme/calc.git")
    ((level, message),) = remarks(repo)
    assert level is RemarkLevel.WARNING
    assert "GITHUB_TOKEN is not set" in message


@pytest.mark.parametrize(
    ("token", "push", "level", "words"),
    [
        (TOKEN, True, RemarkLevel.OK, "acme/calc"),
        (TOKEN, False, RemarkLevel.WARNING, "may not write to acme/calc"),
        ("wrong", True, RemarkLevel.WARNING, "does not accept GITHUB_TOKEN"),
    ],
)
def test_a_token_is_tried(repo: Repo, token: str, push: bool, level: RemarkLevel, words: str) -> None:
    repo.git("remote", "add", "origin", "git@github.com:acme/calc.git")
    with github() as server:
        server.push = push
        ((found, message),) = remarks(repo, GITHUB_TOKEN=token, GITHUB_API_URL=server.url)
    assert found is level
    assert words in message
