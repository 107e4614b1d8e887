"""What a session leaves behind is not the user's, whichever process looks at it; what the user has, is."""

from collections.abc import Iterator

import pytest

from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.untracked import RECORD, Untracked
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.loop.workflows import TDD
from repos import Repo

RED = TDD.phases[1]


class Invocations:
    """One process after another, in the same checkout."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.base = repo.commit("chore: ignore", {".gitignore": "*.cfg\ndata/\n"})
        self.opened: list[Repository] = []

    def start(self) -> GitWorkspace:
        self.opened.append(open_repository(self.repo.path, self.repo.env))
        return GitWorkspace(self.opened[-1])

    def seen(self, workspace: GitWorkspace) -> dict[str, str]:
        """Return the ignored files that tests find."""
        folder = workspace.checkout(self.base, {})
        found = (place for place in folder.rglob("*") if place.is_file() and ".git" not in place.parts)
        texts = {place.relative_to(folder).as_posix(): place.read_text() for place in found}
        return {name: text for name, text in texts.items() if name not in ("README.md", ".gitignore")}


@pytest.fixture
def invocations(repo: Repo) -> Iterator[Invocations]:
    made = Invocations(repo)
    yield made
    for repository in made.opened:
        repository.close()


def test_what_a_session_made_is_not_there_in_the_next_process_and_what_the_user_had_is(
    repo: Repo, invocations: Invocations
) -> None:
    repo.write("mine.cfg", "mine")
    repo.write("data/mine.txt", "mine")
    first = invocations.start()
    first.begin("r", invocations.base)
    repo.write("cheat.cfg", "cheat")
    repo.write("data/cheat.txt", "cheat")
    first.seal(invocations.base, RED, "x", empty=False)
    first.end()
    assert invocations.seen(invocations.start()) == {"mine.cfg": "mine", "data/mine.txt": "mine"}
    repo.write("later.cfg", "by the user, between two runs of the program")
    repo.write("cheat.cfg", "by the user, who has looked at it")
    assert sorted(invocations.seen(invocations.start())) == [
        "cheat.cfg",
        "data/mine.txt",
        "later.cfg",
        "mine.cfg",
    ]


def test_what_a_session_made_before_a_crash_is_known_after_it(repo: Repo, invocations: Invocations) -> None:
    repo.write("mine.cfg", "mine")
    invocations.start().begin("r", invocations.base)
    repo.write("cheat.cfg", "cheat")
    second = invocations.start()
    second.recover(lambda _commit: False)
    assert sorted(invocations.seen(second)) == ["mine.cfg"]


def test_a_file_of_the_users_that_a_session_changed_is_as_it_was_brought(
    repo: Repo, invocations: Invocations
) -> None:
    repo.write("mine.cfg", "mine")
    repo.write("data/mine.txt", "mine")
    first = invocations.start()
    first.checkout(invocations.base, {})
    first.begin("r", invocations.base)
    repo.write("mine.cfg", "changed by the session")
    repo.write("data/mine.txt", "changed by the session")
    first.seal(invocations.base, RED, "x", empty=False)
    assert invocations.seen(invocations.start()) == {"mine.cfg": "mine", "data/mine.txt": "mine"}
    repo.write("mine.cfg", "changed by the user, later")
    assert invocations.seen(invocations.start())["mine.cfg"] == "changed by the user, later"


def test_at_the_start_of_a_run_everything_is_the_users(repo: Repo, invocations: Invocations) -> None:
    first = invocations.start()
    first.adopt()
    first.begin("r", invocations.base)
    repo.write("made.cfg", "made")
    first.seal(invocations.base, RED, "x", empty=False)
    second = invocations.start()
    second.adopt()
    assert invocations.seen(second) == {"made.cfg": "made"}


def test_a_session_that_makes_a_file_again_has_made_it(repo: Repo, invocations: Invocations) -> None:
    workspace = invocations.start()
    for text in ("one", "two, longer"):
        workspace.begin("r", invocations.base)
        repo.write("made.cfg", text)
        workspace.seal(invocations.base, RED, "x", empty=False)
    assert invocations.seen(invocations.start()) == {}


def test_a_large_folder_and_an_environment_are_one_thing_each(repo: Repo) -> None:
    untracked = Untracked(repo.path, repo.path.parent, large=3)
    untracked.begin([])
    for number in range(4):
        repo.write(f"data/{number}", "")
    repo.write("env.cfg/pyvenv.cfg", "")
    repo.write("data/__pycache__/a.pyc", "")
    untracked.settle(["data/", "env.cfg/", "__pycache__/", "gone.cfg"])
    assert untracked.made("data")
    assert untracked.made("env.cfg")
    assert not untracked.made("data/1")
    assert not untracked.made("gone.cfg")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made": 1, "before": []}', "[" * 100_000])
def test_a_record_that_cannot_be_read_says_nothing(repo: Repo, text: str) -> None:
    (repo.path.parent / RECORD).write_text(text)
    untracked = Untracked(repo.path, repo.path.parent)
    assert untracked.changed() == []
    untracked.settle(["a.cfg"])
    assert not untracked.made("a.cfg")
