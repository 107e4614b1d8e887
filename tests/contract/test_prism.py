"""GitHub's own description of its interface judges what we send, what we read, and what our little GitHub answers."""

import fcntl
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from github_server import DESCRIPTION, TOKEN, github
from redgreenrefactor.errors import ForgeError
from redgreenrefactor.forge.address import Address
from redgreenrefactor.forge.github import GitHub
from redgreenrefactor.model.review_task import Draft, PullRequestState

pytestmark = pytest.mark.slow

PRISM = "@stoplight/prism-cli@5.14.2"
PATIENCE = 120.0
DRAFT = Draft("Add a calculator", "It adds.", "tdd/calc", "main")


@pytest.fixture(scope="module")
def prism() -> Path:
    """Return the program, fetched once and kept; without npm, or out of its reach, there is no judge."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: GitHub's description cannot be served")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redgreenrefactor-tests"
    folder = home / PRISM.rpartition("@")[2]
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "node_modules" / ".bin" / "prism"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            fetched = subprocess.run(
                [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), PRISM],
                capture_output=True,
                text=True,
                check=False,
            )
            if fetched.returncode or not program.exists():
                pytest.skip(f"npm could not fetch {PRISM}: {(fetched.stderr or fetched.stdout)[-300:]}")
    return program


@contextmanager
def judged_by(prism: Path, *args: str) -> Generator[str]:
    """Serve the description while the block runs, and return where."""
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [prism, args[0], *args[1:], "--host", "127.0.0.1", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, process)
            yield url
        finally:
            process.terminate()


def _wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, "prism ended"
        assert time.monotonic() < deadline, "prism did not start"
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError as answered:
            answered.close()
            return
        except OSError:
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="module")
def examples(prism: Path) -> Iterator[GitHub]:
    """A GitHub that checks requests and answers with GitHub's own examples."""
    with judged_by(prism, "mock", str(DESCRIPTION)) as url:
        yield GitHub(Address("", "octocat", "Hello-World", url), TOKEN, pause=lambda _: None, waits=())


def test_the_examples_of_the_description_are_understood(examples: GitHub) -> None:
    found = examples.find("new-topic")
    assert found is not None
    assert (found.number, found.state, found.head_branch) == (1347, PullRequestState.MERGED, "new-topic")
    assert found.url == "https://github.com/octocat/Hello-World/pull/1347"
    assert examples.list("new-topic") == (found,)
    assert examples.list("another") == ()
    made = examples.create(DRAFT)
    assert (made.number, made.base_branch) == (1347, "master")
    assert examples.update(1347, "x", "y").number == 1347
    assert isinstance(examples.may_push(), bool)


def test_a_request_against_the_description_is_noticed(examples: GitHub) -> None:
    """Without this the other tests would prove nothing."""
    wrong = replace(DRAFT, head=7)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ForgeError) as raised:
        examples.create(wrong)
    assert raised.value.type == "GitHubRejected"


def test_a_whole_life_of_a_pull_request_keeps_to_the_description(prism: Path) -> None:
    """Every request of ours and every answer of the server that flows are tested with is checked on its way."""
    with (
        github() as server,
        judged_by(prism, "proxy", str(DESCRIPTION), server.url, "--errors") as url,
    ):
        forge = GitHub(Address("", "acme", "calc", url), TOKEN, pause=lambda _: None, waits=())
        assert forge.may_push()
        assert forge.find("tdd/calc") is None
        made = forge.create(DRAFT)
        assert forge.find("tdd/calc") == made
        assert forge.create(DRAFT) == made  # refused with 422, and found
        assert forge.update(made.number, "Add and subtract", "Both.").title == "Add and subtract"
        server.close(1, merged=True)
        assert [pull.state for pull in forge.list("tdd/calc")] == [PullRequestState.MERGED]
