"""A branch and its handoffs are pushed over HTTP with the token, which nobody else gets to see."""

from collections.abc import Iterator

import pytest
from review_stage import APPROVE, ReviewStage, coded, command_lines, plain_repo, said

from git_server import GitServer, basic, git_server
from github_server import TOKEN, GitHubServer, github
from repos import MakeRepo


@pytest.fixture
def api() -> Iterator[GitHubServer]:
    with github() as serving:
        yield serving


@pytest.fixture
def stage(make_repo: MakeRepo, api: GitHubServer) -> ReviewStage:
    found = ReviewStage(plain_repo(make_repo), server=api)
    found.play({"CODE-1": coded(), "REVIEW-1": said(APPROVE)})
    return found


@pytest.fixture
def remote(stage: ReviewStage) -> Iterator[GitServer]:
    with git_server(stage.bare.parent.parent, stage.repo.env) as serving:
        stage.repo.git("remote", "set-url", "origin", f"{serving.url}/acme/calc.git")
        yield serving


@pytest.mark.long
def test_branch_notes_and_refs_are_pushed_with_a_token_that_nobody_sees(
    stage: ReviewStage, remote: GitServer, api: GitHubServer
) -> None:
    shown: list[str] = []
    remote.seen = lambda: shown.extend(command_lines())
    red = coded(test="import calc\n\n\ndef test_add():\n    assert calc.add(6, 3) == 10\n")
    stage.play({**stage.parts, "CODE-1-1": red, "CODE-1-2": coded()})
    events = stage.repo.path.parent / "events"
    done = stage.tdd("SPEC.md", "--json", "--events", str(events))
    assert done.code == 0, done
    task = stage.task

    pushed = stage.repo.git("ls-remote", str(stage.bare)).splitlines()
    refs = {name: oid for oid, name in (line.split("\t") for line in pushed)}
    here = stage.repo.refs()
    for name in (
        f"refs/heads/tdd/{task}",
        "refs/notes/tdd-handoffs",
        f"refs/tdd/attempts/{task}-review/1-CODE-1",
    ):
        assert refs[name] == here[name]
    assert refs[f"refs/tdd/runs/{task}-review"] == here[f"refs/heads/tdd/{task}"]
    assert len(api.pulls) == 1
    assert "branch.tdd" not in stage.repo.git("config", "--list")  # no upstream

    assert [line for line in remote.asked if "git-receive-pack" in line]
    assert any("push" in line for line in shown)
    written = stage.everything_written() + events.read_bytes()
    secrets = (TOKEN, basic(TOKEN).removeprefix("Basic "))
    for secret in secrets:
        assert not any(secret in line for line in shown)
        assert secret.encode() not in written
        assert secret not in done.out + done.err
        assert not any(secret in value for session in stage.sessions for value in session["env"].values())


@pytest.mark.long
@pytest.mark.parametrize("forbids", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_token_that_may_not_push_is_told_and_with_another_it_goes_on(
    stage: ReviewStage, remote: GitServer, api: GitHubServer, forbids: bool
) -> None:
    remote.forbids = forbids
    remote.token = TOKEN if forbids else "another"
    early = stage.tdd("SPEC.md", "--json")  # nothing is begun that could not be published
    assert (early.code, early.json["errorDetails"]["type"]) == (3, "RemoteRefused"), early
    assert (stage.sessions, stage.states(), stage.branches()) == ([], {}, ["main"])

    remote.token, remote.forbids = TOKEN, False
    forbid = f"touch {remote.root / 'forbids'}"
    remote.seen = lambda: setattr(remote, "forbids", (remote.root / "forbids").exists())
    stage.play({**stage.parts, "REVIEW-1": {**stage.parts["REVIEW-1"], "run": [forbid]}})
    done = stage.tdd("SPEC.md", "--json")
    for refused in (early, done):
        assert (refused.code, refused.json["errorDetails"]["type"]) == (3, "RemoteRefused"), refused
        assert remote.url in refused.json["error"]
        assert "GITHUB_TOKEN" in refused.json["hint"]
    task = stage.task
    assert f"rgr tdd --resume {task}" in done.json["hint"]
    assert (api.pulls, stage.pushed(f"refs/heads/tdd/{task}")) == ([], "")
    assert stage.states()[task]["status"] == "running"

    (remote.root / "forbids").unlink()
    more = stage.tdd("--resume", task, "--json")
    assert more.code == 0, more
    assert len(api.pulls) == 1
    assert len(stage.sessions) == 2


@pytest.mark.slow
def test_credentials_in_the_address_are_used_as_they_are_and_masked(
    stage: ReviewStage, remote: GitServer
) -> None:
    place = remote.url.replace("://", "://x-access-token:another-secret@")
    stage.repo.git("remote", "set-url", "origin", f"{place}/acme/calc.git")
    done = stage.tdd("SPEC.md", "--json")
    assert done.code == 3, done
    assert "another-secret" not in done.out + done.err
    assert "://[masked]@" in done.json["error"]
    remote.token = "another-secret"
    more = stage.tdd("SPEC.md", "--json")
    assert more.code == 0, more
    assert "another-secret" not in more.out + more.err
