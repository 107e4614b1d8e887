"""Runs carried to a remote and back: nothing is overwritten, and two people's notes come together."""

from dataclasses import replace
from pathlib import Path

import pytest

from ledgers import Told, ledger_of, read, surroundings, tell_run, write
from redgreenrefactor import recovery
from redgreenrefactor.config import Flags, load
from redgreenrefactor.errors import LedgerError, NotReadyError, UsageError
from redgreenrefactor.git import lock
from redgreenrefactor.git.refs import NOTES, Refs, damage
from redgreenrefactor.git.transfer import Carried
from redgreenrefactor.model.handoff import Handoff
from repos import MakeRepo, Repo


def push(repo: Repo, remote: str | None = None, path: Path | None = None) -> Carried:
    with surroundings(repo, path) as (around, _):
        return recovery.push(around, remote)


def fetch(repo: Repo, remote: str | None = None) -> Carried:
    with surroundings(repo) as (around, _):
        return recovery.fetch(around, remote)


def init(repo: Repo) -> list[bool]:
    with surroundings(repo) as (around, _):
        return [setting.new for setting in recovery.init(around)]


@pytest.fixture
def bare(tmp_path: Path, env: dict[str, str]) -> Repo:
    bare = Repo(tmp_path / "bare.git", env)
    bare.path.mkdir()
    bare.git("init", "-q", "--bare", "-b", "main")
    return bare


@pytest.fixture
def mine(make_repo: MakeRepo, bare: Repo) -> Repo:
    repo = make_repo("mine")
    repo.git("remote", "add", "origin", str(bare.path))
    return repo


@pytest.fixture
def run(mine: Repo) -> Told:
    told = tell_run(mine)
    mine.git("update-ref", "refs/tdd/attempts/r/1-RED-1", told.commits["1-RED"])
    mine.git("update-ref", "refs/tdd/kept/r/x-1", told.commits["1-GREEN"])
    return told


def clone(bare: Repo, name: str = "theirs") -> Repo:
    repo = Repo(bare.path.parent / name, bare.env)
    bare.git("clone", "-q", str(bare.path), str(repo.path))
    repo.git("config", "user.name", "Bob")
    repo.git("config", "user.email", "bob@localhost")
    return repo


def changed(repo: Repo, commit: str, timestamp: str, feature: str) -> None:
    handoff = read(repo, commit)
    assert handoff
    write(repo, {commit: replace(handoff, timestamp=timestamp, feature=feature)})


def feature(repo: Repo, commit: str) -> str:
    handoff = read(repo, commit)
    return handoff.feature if handoff else ""


def tell_more(repo: Repo, name: str) -> None:
    """Make one more turn of the run."""
    handoff = read(repo)
    assert handoff
    commit = repo.commit(f"plan: {name}", {f"{name}.txt": "x\n"})
    write(repo, {commit: replace(handoff, cycle_number=2)})


def fetch_apart(repo: Repo) -> None:
    with pytest.raises(NotReadyError, match="have gone different ways"):
        fetch(repo)


# --- there and back


def test_a_run_is_carried_to_another_clone_with_all_that_belongs_to_it(
    mine: Repo, bare: Repo, run: Told
) -> None:
    head = run.commits["1-REFACTOR"]
    assert push(mine) == Carried("origin", "main", head, "pushed", 3, moved=True)
    there = bare.refs()
    assert (there["refs/heads/main"], there["refs/tdd/runs/r"]) == (head, head)
    assert there["refs/tdd/attempts/r/1-RED-1"] == run.commits["1-RED"]
    assert "branch.main" not in mine.git("config", "--list")
    theirs = clone(bare)
    assert fetch(theirs) == Carried("origin", "main", head, "fetched", 3)
    with ledger_of(theirs) as ledger:
        assert len(list(ledger.history())) == 5
    assert theirs.refs()["refs/tdd/kept/r/x-1"] == run.commits["1-GREEN"]
    assert push(mine) == Carried("origin", "main", head, "unchanged", 0)
    assert fetch(theirs) == Carried("origin", "main", head, "unchanged", 0)
    assert bare.refs() == there


def test_the_branch_goes_forward_with_what_others_pushed(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    theirs = clone(bare)
    fetch(theirs)
    more = mine.commit("docs: more", {"more.txt": "x\n"})
    push(mine)
    assert fetch(theirs).moved
    assert theirs.git("rev-parse", "HEAD") == more
    assert theirs.git("status", "--porcelain") == ""
    assert (theirs.path / "more.txt").exists()
    assert not [name for name in theirs.refs() if "rolled-back" in name]


def test_a_dirty_tree_keeps_its_branch_but_gets_the_notes(mine: Repo, bare: Repo, run: Told) -> None:
    mine.git("push", "-q", "origin", "main~1:refs/heads/main")
    theirs = clone(bare)
    push(mine)
    theirs.write("mine.txt", "dear\n")
    with pytest.raises(NotReadyError, match=r"mine\.txt"):
        fetch(theirs)
    assert NOTES in theirs.refs()
    assert theirs.git("rev-parse", "HEAD") == run.commits["1-GREEN"]


def test_a_detached_head_carries_notes_and_refs(mine: Repo, bare: Repo, run: Told) -> None:
    mine.git("checkout", "-q", "--detach")
    assert push(mine).branch is None
    assert "refs/heads/main" not in bare.refs()
    assert bare.refs()["refs/tdd/runs/r"] == run.commits["1-REFACTOR"]
    assert fetch(mine).branch is None


# --- two people


@pytest.mark.long
def test_two_peoples_notes_come_together_by_the_newest(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    theirs = clone(bare)
    fetch(theirs)
    changed(theirs, run.commits["1-RED"], "2027", "theirs")
    changed(theirs, run.commits["1-GREEN"], "2027", "theirs")
    assert push(theirs).notes == "pushed"
    changed(mine, run.commits["1-GREEN"], "2028", "mine")
    changed(mine, run.commits["1-PLAN"], "2026-12", "mine")
    assert push(mine).notes == "merged"
    for repo in (mine, theirs):
        fetch(repo)
        assert [feature(repo, run.commits[name]) for name in ("1-PLAN", "1-RED", "1-GREEN")] == [
            "mine",
            "theirs",
            "mine",
        ]
    assert bare.refs()[NOTES] == mine.refs()[NOTES] == theirs.refs()[NOTES]


def test_notes_without_anything_in_common_come_together_too(mine: Repo, bare: Repo, run: Told) -> None:
    mine.git("push", "-q", "origin", "main")
    theirs = clone(bare)
    write(
        theirs, {run.commits["0-PLAN"]: Handoff(_plan().phase, _plan().next_phase, "other", timestamp="2020")}
    )
    push(theirs)
    assert push(mine).notes == "merged"
    with ledger_of(mine) as ledger:
        assert len(list(ledger.history())) == 5


def _plan() -> Handoff:
    from redgreenrefactor.model.workflow import PhaseName  # noqa: PLC0415

    return Handoff(PhaseName.PLAN, PhaseName.PLAN)


def test_newer_commits_of_others_are_not_overwritten(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    theirs = clone(bare)
    pushed = theirs.commit("docs: theirs")
    theirs.git("push", "-q")
    mine.commit("docs: mine")
    before = bare.refs()
    with pytest.raises(NotReadyError, match="does not lead to") as refusal:
        push(mine)
    assert (refusal.value.exit_code, "rgr fetch" in refusal.value.hint) == (3, True)
    with pytest.raises(NotReadyError, match="different ways") as refusal:
        fetch(mine)
    assert "git rebase origin/main" in refusal.value.hint
    with pytest.raises(NotReadyError) as refusal:
        push(mine)
    assert f"git rebase {pushed[:10]}" in refusal.value.hint
    assert bare.refs() == before
    init(mine)
    mine.git("rebase", "-q", "origin/main")
    assert push(mine).moved


def test_after_a_rollback_the_branch_is_the_persons_to_force(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    with surroundings(mine) as (around, _):
        recovery.rollback(around, run.commits["1-RED"])
    with pytest.raises(NotReadyError, match="does not lead to") as refusal:
        push(mine)
    assert not fetch(mine).moved
    assert mine.git("rev-parse", "HEAD") == run.commits["1-RED"]
    force = refusal.value.hint.split("'")[-4]
    assert force.startswith("git push --force-with-lease")
    mine.git(*force.split()[1:])
    push(mine)
    there = bare.refs()
    assert there["refs/heads/main"] == there["refs/tdd/runs/r"] == run.commits["1-RED"]
    assert run.commits["1-REFACTOR"] in there.values()
    assert feature(mine, run.commits["1-REFACTOR"])


@pytest.mark.long
def test_a_name_that_others_have_taken_is_not_taken_away(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    theirs = clone(bare)
    fetch(theirs)
    odd = theirs.git("commit-tree", "HEAD^{tree}", "-m", "odd")
    theirs.git("update-ref", "refs/tdd/attempts/r/1-RED-2", odd)
    push(theirs)
    mine.git("update-ref", "refs/tdd/attempts/r/1-RED-2", run.commits["1-PLAN"])
    push(mine)
    there = bare.refs()
    assert there["refs/tdd/attempts/r/1-RED-2"] == odd
    assert there[f"refs/tdd/kept/attempts/r/1-RED-2-{run.commits['1-PLAN'][:10]}"] == run.commits["1-PLAN"]
    fetch(mine)
    assert mine.refs()["refs/tdd/attempts/r/1-RED-2"] == run.commits["1-PLAN"]
    assert mine.refs()[f"refs/tdd/kept/attempts/r/1-RED-2-{odd[:10]}"] == odd
    before = bare.refs()
    fetch(mine)
    push(mine)
    assert set(bare.refs()) - set(before) <= {f"refs/tdd/kept/attempts/r/1-RED-2-{odd[:10]}"}


@pytest.mark.long
def test_many_refs_go_in_several_pieces(mine: Repo, bare: Repo, run: Told) -> None:
    head = run.commits["1-RED"]
    lines = "".join(f"update refs/tdd/kept/r/many-{number} {head}\n" for number in range(450))
    mine.git("update-ref", "--stdin", stdin=lines)
    assert push(mine).refs == 453
    theirs = clone(bare)
    assert fetch(theirs).refs == 453


@pytest.mark.long
def test_merging_waits_for_nobody_who_works_here(mine: Repo, bare: Repo, run: Told) -> None:
    push(mine)
    theirs = clone(bare)
    fetch(theirs)
    changed(theirs, run.commits["1-RED"], "2027", "theirs")
    push(theirs)
    changed(mine, run.commits["1-GREEN"], "2027", "mine")
    with lock.held(mine.path / ".git" / lock.NAME):
        with pytest.raises(NotReadyError, match="another orchestrator"):
            push(mine)
        with pytest.raises(NotReadyError, match="another orchestrator"):
            fetch(mine)
    assert push(mine).notes == "merged"


# --- remotes


def test_the_branchs_own_remote_then_origin_then_the_only_one(make_repo: MakeRepo, bare: Repo) -> None:
    repo = make_repo("solo")
    with pytest.raises(NotReadyError, match="no remote") as refusal:
        push(repo)
    assert "git remote add" in refusal.value.hint
    repo.git("remote", "add", "only", str(bare.path))
    assert push(repo).remote == "only"
    repo.git("remote", "add", "second", "nowhere")
    with pytest.raises(UsageError, match="several remotes"):
        push(repo)
    assert push(repo, "only").remote == "only"
    repo.git("config", "branch.main.remote", "only")
    assert push(repo).remote == "only"
    with pytest.raises(UsageError, match="no remote 'third'"):
        push(repo, "third")


def test_a_remote_out_of_reach_is_one_line_without_credentials(mine: Repo, run: Told) -> None:
    mine.git("remote", "set-url", "origin", "http://ada:s3cret@127.0.0.1:9/x.git")
    before = mine.refs()
    for carry in (push, fetch):
        with pytest.raises(NotReadyError, match="cannot be reached") as refusal:
            carry(mine)
        assert "s3cret" not in refusal.value.message + refusal.value.hint
        assert "\n" not in refusal.value.message
        assert "git ls-remote origin" in refusal.value.hint
    mine.git("remote", "set-url", "origin", str(mine.path.parent / "gone"))
    with pytest.raises(NotReadyError, match="cannot be reached"):
        push(mine)
    assert mine.refs() == before


def test_a_remote_that_refuses_says_why(mine: Repo, bare: Repo, run: Told) -> None:
    hook = bare.path / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'not on a Sunday' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(NotReadyError, match="not on a Sunday") as refusal:
        push(mine)
    assert "lets you write branches" in refusal.value.hint
    assert bare.refs() == {}


def test_notes_here_that_are_none_are_repaired_before_they_are_carried(
    mine: Repo, bare: Repo, run: Told
) -> None:
    push(mine)
    mine.git("update-ref", NOTES, mine.git("rev-parse", "HEAD:README.md"))
    for carry in (push, fetch):
        with pytest.raises(LedgerError, match="does not point to a commit") as refusal:
            carry(mine)
        assert "repair-notes" in refusal.value.hint
    mine.git("update-ref", "-d", NOTES)
    mine.git("symbolic-ref", NOTES, "refs/heads/main")
    with pytest.raises(LedgerError, match="holds no notes"):
        fetch(mine)
    assert mine.git("rev-parse", "main") == run.commits["1-REFACTOR"]


@pytest.mark.parametrize("thing", ["main", "main:README.md"])
@pytest.mark.long
def test_notes_there_that_are_none_are_the_persons_to_replace(
    mine: Repo, bare: Repo, run: Told, thing: str
) -> None:
    push(mine)
    theirs = clone(bare)
    bare.git("update-ref", NOTES, bare.git("rev-parse", thing))
    for repo, typed in ((theirs, f":{NOTES}"), (mine, f"+{NOTES}")):
        for carry in (push, fetch):
            with pytest.raises(LedgerError, match="on origin holds no notes") as refusal:
                carry(repo)
            assert f"'git push origin {typed}'" in refusal.value.hint
    mine.git("push", "-q", "origin", f"+{NOTES}")
    assert push(mine).notes == "unchanged"
    assert fetch(theirs).notes == "fetched"
    assert read(theirs) == read(mine)


def test_a_tag_that_is_called_like_the_branch_changes_nothing(mine: Repo, bare: Repo, run: Told) -> None:
    mine.git("tag", "main", "HEAD~1")
    assert (push(mine).branch, push(mine).moved) == ("main", False)
    assert bare.refs()["refs/heads/main"] == run.commits["1-REFACTOR"]
    assert fetch(mine).branch == "main"


@pytest.mark.long
def test_two_who_went_on_with_the_same_run_are_told_that_they_have_gone_different_ways(
    mine: Repo, bare: Repo, run: Told
) -> None:
    push(mine)
    theirs = clone(bare)
    fetch(theirs)
    tell_more(theirs, "theirs")
    push(theirs)
    tell_more(mine, "mine")
    fetch_apart(mine)
    mine.git("push", "-q", "--force", "origin", "main")
    push(mine)
    fetch_apart(theirs)


def test_an_unborn_branch_has_nothing_to_push_and_is_told_how_to_begin(
    make_repo: MakeRepo, mine: Repo, bare: Repo, run: Told
) -> None:
    push(mine)
    empty = make_repo("empty", born=False)
    empty.git("remote", "add", "origin", str(bare.path))
    with pytest.raises(NotReadyError, match="no commit yet"):
        push(empty)
    with pytest.raises(NotReadyError, match="no commit yet") as refusal:
        fetch(empty)
    assert "git pull origin main" in refusal.value.hint
    assert NOTES in empty.refs()


def test_copies_of_a_remotes_refs_are_nobodys_doing() -> None:
    copies = {"refs/notes/origin/tdd-handoffs": "1", "refs/tdd/runs/r": "1"}
    moved = damage(Refs(copies), Refs(dict.fromkeys(copies, "2")), None, "r")
    assert (moved.rewritten, moved.kept) == ((), {})
    assert damage(Refs({}), Refs(copies), None, "r").kept == {}
    assert damage(Refs({}), Refs({"refs/notes/other": "1"}), None, "r").kept


# --- settings


def test_init_has_notes_follow_and_come_and_says_so_once(mine: Repo, bare: Repo, run: Told) -> None:
    assert init(mine) == [True, True, True]
    before = mine.git("config", "--local", "--list")
    assert init(mine) == [False, False, False]
    assert mine.git("config", "--local", "--list") == before
    theirs_first = mine.git("fetch")  # nothing is there yet: that is no failure
    assert theirs_first == ""
    push(mine)
    mine.git("fetch", "-q")
    assert mine.refs()["refs/notes/origin/tdd-handoffs"] == bare.refs()[NOTES]
    mine.git("commit", "-q", "--amend", "-m", "refactor: other words")
    mine.git("rebase", "-q", "--force-rebase", "HEAD~3")
    with ledger_of(mine) as ledger:
        assert [str(entry.handoff.phase) for entry in ledger.history()] == [
            "REFACTOR",
            "GREEN",
            "RED",
            "PLAN",
            "PLAN",
        ]


def test_init_leaves_alone_what_is_set_already(mine: Repo) -> None:
    mine.git("config", "--global", "notes.rewriteRef", "refs/notes/*")
    mine.git("config", "notes.rewriteMode", "ignore")
    assert init(mine) == [False, False, True]
    assert mine.git("config", "notes.rewriteMode") == "ignore"


def test_a_template_of_settings_is_written_once_and_sets_nothing(mine: Repo) -> None:
    with surroundings(mine) as (around, _):
        file = Path(recovery.write_properties(around))
        assert load(("tdd.properties", file.read_text()), {}, Flags()) == load(None, {}, Flags())
        with pytest.raises(UsageError, match="is there already"):
            recovery.write_properties(around)


def test_settings_of_ones_own_are_written_once_and_leave_the_tree_clean(mine: Repo) -> None:
    with surroundings(mine) as (around, _):
        file = recovery.write_own_properties(around)
        assert file is not None
        assert "#max.retries=3" in Path(file).read_text()
        assert mine.git("status", "--porcelain") == ""
        assert recovery.write_own_properties(around) is None


def test_settings_of_the_project_are_left_alone(mine: Repo) -> None:
    mine.commit("chore: settings", {"tdd.properties": "max.retries=5\n"})
    with surroundings(mine) as (around, _):
        assert recovery.write_own_properties(around) is None
        (mine.path / "tdd.properties").unlink()
        assert recovery.write_own_properties(around) is None  # it is git's to bring it back


def test_a_name_that_is_in_the_way_there_is_told(mine: Repo, bare: Repo, run: Told) -> None:
    mine.git("push", "-q", "origin", "main:refs/tdd/kept/r")
    with pytest.raises(NotReadyError, match=r"refs/tdd/kept/r") as refusal:
        push(mine)
    assert "rgr push" in refusal.value.hint
