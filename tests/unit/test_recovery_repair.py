"""Notes that were spoilt, lost or written apart: mended, found again, merged, and nothing is thrown away."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ledgers import Told, ledger_of, read, surroundings, tell_run, write
from redgreenrefactor import recovery
from redgreenrefactor.errors import LedgerError, NotReadyError
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.model.chain import runs_of
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.workflow import PhaseName
from repos import MakeRepo, Repo

Spoil = Callable[[Repo, Told], None]


def mend(repo: Repo, *, dry: bool = False, path: Path | None = None) -> recovery.Mended:
    with surroundings(repo, path) as (around, _):
        return recovery.repair_notes(around, dry=dry)


def actions(done: recovery.Mended) -> list[str]:
    return [mended.action for mended in done.mends]


def put(repo: Repo, commit: str, text: bytes | str) -> None:
    """Make this the text of a commit's note, behind everybody's back."""
    file = repo.path / ".git/note"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    repo.git("notes", "--ref=tdd-handoffs", "add", "-f", "-F", str(file), commit)


def phases(repo: Repo) -> list[str]:
    with ledger_of(repo) as ledger:
        return [str(entry.handoff.phase) for entry in ledger.history()]


WHOLE = ["REFACTOR", "GREEN", "RED", "PLAN", "PLAN"]


def kept(repo: Repo) -> list[str]:
    return [name for name in repo.refs() if name.startswith("refs/tdd/kept/notes/")]


def test_where_nothing_is_wrong_nothing_is_done(repo: Repo) -> None:
    assert mend(repo) == recovery.Mended((), 0, dry=False)
    tell_run(repo)
    before = repo.refs()
    assert mend(repo) == recovery.Mended((), 5, dry=False)
    assert repo.refs() == before


# --- notes that cannot be read


@pytest.mark.parametrize("text", ["nonsense", "[]", b"\xff\xfe", '{"phase": "RED"}', '{"phase": "RED", "ne'])
def test_a_spoilt_note_says_again_what_it_said_before(repo: Repo, text: str | bytes) -> None:
    run = tell_run(repo)
    good = read(repo, run.commits["1-GREEN"])
    put(repo, run.commits["1-GREEN"], text)
    blob = repo.git("rev-parse", f"{NOTES}:{run.commits['1-GREEN']}")
    done = mend(repo)
    assert actions(done) == ["mended"]
    assert read(repo, run.commits["1-GREEN"]) == good
    assert phases(repo) == WHOLE
    assert repo.refs()[str(done.mends[0].kept)] == blob
    assert mend(repo).mends == ()


def test_a_note_that_never_could_be_read_is_dropped_and_kept(repo: Repo) -> None:
    run = tell_run(repo)
    mine = repo.commit("docs: mine")
    put(repo, mine, "nonsense")
    done = mend(repo)
    assert actions(done) == ["dropped"]
    assert repo.git("cat-file", "-p", str(done.mends[0].kept)) == "nonsense"
    assert (done.notes, phases(repo)) == (5, WHOLE)
    assert run.commits["1-RED"] in repo.git("notes", "--ref=tdd-handoffs", "list")


def test_notes_that_git_has_joined_are_taken_apart(repo: Repo) -> None:
    head = repo.git("rev-parse", "HEAD")
    old = Handoff(PhaseName.PLAN, PhaseName.RED, "r", "f", cycle_number=1, timestamp="t1", attempts=1)
    new = replace(old, phase=PhaseName.RED, next_phase=PhaseName.GREEN, timestamp="t2")
    other = replace(old, run_id="other")
    marks = "<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n"
    put(
        repo,
        head,
        f"\ufeff{marks[0]}{to_json(new)}{marks[1]}{to_json(other)}\n{{cut: off\n{to_json(old)}{marks[2]}",
    )
    assert actions(mend(repo)) == ["mended"]
    found = read(repo)
    assert runs_of(found) == [new, other]


def test_a_note_whose_text_is_gone_and_a_folder_that_is_gone(repo: Repo) -> None:
    run = tell_run(repo)
    rows = [f"100644 blob {'1' * 40}\t{run.commits['1-RED']}\n", f"040000 tree {'2' * 40}\tab\n"]
    listing = repo.git("ls-tree", NOTES).splitlines()
    rows += [f"{line}\n" for line in listing if run.commits["1-RED"] not in line]
    tree = repo.git("mktree", "--missing", stdin="".join(rows))
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-p", NOTES, "-m", "holes"))
    done = mend(repo)
    assert sorted(actions(done)) == ["mended", "rearranged"]
    assert phases(repo) == WHOLE
    write(repo, {run.commits["1-RED"]: Handoff(PhaseName.PLAN, PhaseName.PLAN, "x")})


@pytest.mark.parametrize("part", [f"{NOTES}^{{tree}}", f"{NOTES}:COMMIT"])
def test_notes_whose_objects_are_damaged_come_from_their_history_and_can_be_carried_on(
    repo: Repo, part: str
) -> None:
    run = tell_run(repo)
    before, earlier = read(repo), repo.git("rev-parse", NOTES)
    write(repo, {run.commits["1-REFACTOR"]: replace(_latest(repo), timestamp="2027-01-01T00:00:00Z")})
    oid = repo.git("rev-parse", part.replace("COMMIT", run.commits["1-REFACTOR"]))
    file = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    file.chmod(0o644)
    file.write_bytes(b"")
    with pytest.raises(LedgerError, match="is gone") as refused:
        read(repo)
    assert "repair-notes" in refused.value.hint
    assert "rearranged" in actions(mend(repo))
    assert (phases(repo), read(repo)) == (WHOLE, before)
    assert mend(repo).mends == ()
    repo.git("rev-list", "--objects", "--all")
    repo.git("merge-base", "--is-ancestor", earlier, NOTES)
    file.unlink()
    repo.git("clone", "-q", "--mirror", "--no-local", ".", str(repo.path.parent / "copy"))


def test_what_a_partial_clone_has_not_fetched_yet_is_not_lost(repo: Repo) -> None:
    tell_run(repo)
    repo.git("config", "uploadpack.allowFilter", "true")
    theirs = Repo(repo.path.parent / "theirs", repo.env)
    repo.git("clone", "-q", "--filter=blob:none", "--no-local", str(repo.path), str(theirs.path))
    theirs.git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
    before = theirs.refs()
    moved = repo.path.rename(repo.path.parent / "elsewhere")
    with pytest.raises(NotReadyError, match="not here") as refused:
        mend(theirs)
    assert "git fetch" in refused.value.hint
    assert theirs.refs() == before
    moved.rename(repo.path)
    assert mend(theirs).mends == ()
    assert phases(theirs) == WHOLE


def test_a_folder_called_like_a_note_is_none(repo: Repo) -> None:
    tell_run(repo)
    mine = repo.commit("docs: mine")
    rows = f"{repo.git('ls-tree', NOTES)}\n040000 tree {repo.git('rev-parse', 'HEAD^{tree}')}\t{mine}\n"
    tree = repo.git("mktree", stdin=rows)
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-p", NOTES, "-m", "x"))
    assert read(repo) is None
    assert phases(repo) == WHOLE


# --- the ref


def to_blob(repo: Repo, _: Told) -> None:
    repo.git("update-ref", NOTES, repo.git("hash-object", "-w", "--stdin", stdin="what?"))


def to_tree(repo: Repo, _: Told) -> None:
    repo.git("update-ref", NOTES, repo.git("rev-parse", f"{NOTES}^{{tree}}"))


def to_tag(repo: Repo, _: Told) -> None:
    repo.git("tag", "-a", "-m", "x", "v1", NOTES)
    repo.git("update-ref", NOTES, repo.git("rev-parse", "v1"))


def to_nothing(repo: Repo, _: Told) -> None:
    (repo.path / ".git" / NOTES).write_text("1" * 40 + "\n")


def to_rubbish(repo: Repo, _: Told) -> None:
    (repo.path / ".git" / NOTES).write_text("rubbish")


def to_rubbish_over_packed(repo: Repo, _: Told) -> None:
    repo.git("pack-refs", "--all")
    (repo.path / ".git" / NOTES).write_text("")


def to_the_branch(repo: Repo, _: Told) -> None:
    repo.git("update-ref", NOTES, "main")


def another_name_of_the_branch(repo: Repo, _: Told) -> None:
    repo.git("symbolic-ref", NOTES, "refs/heads/main")


def another_name_of_nothing(repo: Repo, _: Told) -> None:
    repo.git("symbolic-ref", NOTES, "refs/heads/nowhere")


def deleted(repo: Repo, _: Told) -> None:
    repo.git("update-ref", "-d", NOTES)


def overwritten(repo: Repo, _: Told) -> None:
    first = repo.git("rev-list", "--max-parents=0", NOTES)
    repo.git("update-ref", "refs/heads/pushed", first)
    write(repo, {repo.git("rev-parse", "HEAD"): replace(_latest(repo), timestamp="t9")})
    repo.git("fetch", "-q", ".", f"+refs/heads/pushed:{NOTES}")
    repo.git("branch", "-q", "-D", "pushed")


def _latest(repo: Repo) -> Handoff:
    latest = read(repo)
    assert latest is not None
    return latest


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "spoil",
    [
        to_blob,
        to_tree,
        to_tag,
        to_nothing,
        to_rubbish,
        to_rubbish_over_packed,
        to_the_branch,
        another_name_of_the_branch,
        another_name_of_nothing,
        deleted,
        overwritten,
    ],
)
def test_a_ref_that_leads_nowhere_is_put_right(repo: Repo, spoil: Spoil) -> None:
    run = tell_run(repo)
    spoil(repo, run)
    heads = repo.git("for-each-ref", "refs/heads")
    before = repo.git("for-each-ref", "--format=%(objectname)", NOTES)
    looked = mend(repo, dry=True)
    assert repo.git("for-each-ref", "--format=%(objectname)", NOTES) == before
    done = mend(repo)
    assert done.mends == looked.mends
    assert (done.notes, phases(repo)) == (5, WHOLE)
    assert mend(repo).mends == ()
    write(repo, {run.commits["1-RED"]: Handoff(PhaseName.PLAN, PhaseName.PLAN, "x")})
    assert repo.git("for-each-ref", "refs/heads") == heads
    if spoil in (to_blob, to_tree, to_tag):
        assert before in repo.refs().values()


def test_what_several_fetches_have_thrown_over_comes_back(repo: Repo) -> None:
    tell_run(repo)
    latest = _latest(repo)
    repo.git("update-ref", "refs/heads/pushed", NOTES)
    mine = [repo.commit(f"docs: {number}") for number in range(2)]
    for commit in mine:
        write(repo, {commit: replace(latest, carried_from=commit)})
        repo.git("fetch", "-q", ".", f"+refs/heads/pushed:{NOTES}")
    assert actions(mend(repo)) == ["restored", "restored"]
    assert all(read(repo, commit) for commit in mine)


@pytest.mark.parametrize("spoil", [to_the_branch, another_name_of_the_branch])
def test_a_branch_is_no_notes_and_gets_none(repo: Repo, spoil: Spoil) -> None:
    run = tell_run(repo)
    spoil(repo, run)
    with pytest.raises(LedgerError, match="holds no notes") as refused:
        write(repo, {run.commits["1-RED"]: Handoff(PhaseName.PLAN, PhaseName.PLAN, "x")})
    assert "repair-notes" in refused.value.hint
    assert repo.git("rev-parse", "main") == run.commits["1-REFACTOR"]


def test_notes_under_another_name_stay_there(repo: Repo) -> None:
    run = tell_run(repo)
    repo.git("update-ref", "refs/notes/mine", NOTES)
    repo.git("symbolic-ref", NOTES, "refs/notes/mine")
    put(repo, run.commits["1-RED"], "nonsense")
    assert actions(mend(repo)) == ["mended"]
    assert repo.git("symbolic-ref", NOTES) == "refs/notes/mine"
    assert phases(repo) == WHOLE


def test_what_never_held_notes_ends_without_any(repo: Repo) -> None:
    to_blob(repo, Told({}))
    assert actions(mend(repo)) == ["pointed"]
    assert NOTES not in repo.refs()
    assert len(kept(repo)) == 1


# --- the tree


def many(repo: Repo, count: int) -> list[str]:
    stream = [
        f"commit refs/heads/many\nmark :{number}\ncommitter A <a@x> {number} +0000\ndata 1\nx\n"
        + (f"from :{number - 1}\n" if number > 1 else "")
        for number in range(1, count + 1)
    ]
    repo.git("fast-import", "--quiet", stdin="".join(stream))
    return repo.git("rev-list", "many").split()


def test_notes_written_flat_are_fanned_out_again(repo: Repo) -> None:
    commits = many(repo, 300)
    write(repo, {commit: Handoff(PhaseName.PLAN, PhaseName.RED, "r") for commit in commits})
    tree = repo.git("rev-parse", f"{NOTES}^{{tree}}")
    rows = [line.split("\t") for line in repo.git("ls-tree", "-r", NOTES).splitlines()]
    flat = "".join(f"{what}\t{path.replace('/', '')}\n" for what, path in rows)
    flat += f"100644 blob {repo.git('hash-object', '-w', '--stdin', stdin='mine')}\tREADME\n"
    repo.git("update-ref", NOTES, repo.git("commit-tree", repo.git("mktree", stdin=flat), "-m", "flat"))
    assert actions(mend(repo)) == ["rearranged"]
    assert repo.git("show", f"{NOTES}:README") == "mine"
    rest = [line for line in repo.git("ls-tree", NOTES).splitlines() if "README" not in line]
    assert repo.git("mktree", stdin="".join(f"{line}\n" for line in rest)) == tree


def test_notes_in_wrong_folders_or_twice_are_found(repo: Repo) -> None:
    run = tell_run(repo)
    head = run.commits["1-REFACTOR"]
    rows = dict(line.split("\t")[::-1] for line in repo.git("ls-tree", NOTES).splitlines())
    inner = repo.git("mktree", stdin=f"{rows.pop(head)}\t{head[3:]}\n")
    red = run.commits["1-RED"]
    again = repo.git("mktree", stdin=f"{rows[red]}\t{red[2:]}\n")
    flat = [f"{what}\t{path}\n" for path, what in rows.items()]
    flat += [f"040000 tree {inner}\t{head[:3]}\n", f"040000 tree {again}\t{red[:2]}\n"]
    tree = repo.git("mktree", stdin="".join(flat))
    repo.git("update-ref", NOTES, repo.git("commit-tree", tree, "-m", "odd"))
    assert actions(mend(repo)) == ["rearranged"]
    assert phases(repo) == WHOLE
    assert repo.git("notes", "--ref=tdd-handoffs", "list").count("\n") == 4


# --- commits that are gone or rewritten


def vanished(repo: Repo) -> str:
    blob = repo.git(
        "hash-object", "-w", "--stdin", stdin=to_json(Handoff(PhaseName.RED, PhaseName.GREEN, "r"))
    )
    rows = repo.git("ls-tree", NOTES) + f"\n100644 blob {blob}\t{'1' * 40}\n"
    repo.git(
        "update-ref", NOTES, repo.git("commit-tree", repo.git("mktree", stdin=rows), "-p", NOTES, "-m", "x")
    )
    return "1" * 40


def test_a_note_on_a_vanished_commit_is_dropped_and_kept(repo: Repo) -> None:
    tell_run(repo)
    commit = vanished(repo)
    tip = repo.git("rev-parse", NOTES)
    done = mend(repo)
    assert [(one.action, one.commit) for one in done.mends] == [("dropped", commit)]
    assert (done.notes, [repo.refs()[name] for name in kept(repo)]) == (5, [tip])
    assert commit not in repo.git("notes", "--ref=tdd-handoffs", "list")
    assert mend(repo).mends == ()


def test_a_note_on_a_commit_that_may_be_elsewhere_is_left(repo: Repo) -> None:
    tell_run(repo)
    vanished(repo)
    repo.git("remote", "add", "origin", "nowhere")
    before = repo.refs()
    assert actions(mend(repo)) == ["left"]
    assert repo.refs() == before


def test_after_an_amend_or_a_rebase_without_settings_notes_are_found_again(repo: Repo) -> None:
    base = repo.git("rev-parse", "HEAD")
    tell_run(repo, 2)
    repo.git("commit", "-q", "--amend", "-m", "refactor: said better")
    assert actions(mend(repo)) == ["moved"]
    assert phases(repo)[0] == "REFACTOR"
    repo.git("checkout", "-q", "-b", "upstream", base)
    repo.commit("docs: upstream", {"UPSTREAM.md": "x\n"})
    repo.git("checkout", "-q", "main")
    repo.git("rebase", "-q", "upstream")
    done = mend(repo)
    assert actions(done) == ["moved"] * 8
    with ledger_of(repo) as ledger:
        told = [(str(entry.handoff.phase), entry.handoff.cycle_number) for entry in ledger.history()]
    assert told == [
        *((phase, 2) for phase in ("REFACTOR", "GREEN", "RED", "PLAN")),
        *((phase, 1) for phase in ("REFACTOR", "GREEN", "RED", "PLAN")),
        ("PLAN", 0),
    ]
    assert mend(repo).mends == ()


def test_branches_that_are_damaged_do_not_hinder_it(repo: Repo) -> None:
    run = tell_run(repo)
    (repo.path / ".git/refs/heads/broken").write_text("1" * 40 + "\n")
    put(repo, run.commits["1-RED"], "nonsense")
    repo.git("commit", "-q", "--amend", "-m", "refactor: other words")
    assert sorted(actions(mend(repo))) == ["mended", "moved"]
    assert phases(repo) == WHOLE


def test_the_users_own_commits_get_nobodys_note(repo: Repo) -> None:
    tell_run(repo)
    repo.git("checkout", "-q", "-b", "other", "main~2")
    repo.commit("docs: mine", {"mine.txt": "1\n"})
    repo.git("branch", "-q", "-D", "main")
    repo.commit("docs: nothing")
    repo.git("update-ref", "refs/tdd/kept/r/rolled-back", "other@{1}")
    assert mend(repo).mends == ()


def test_a_commit_that_vanished_is_known_by_its_list(repo: Repo) -> None:
    listed = repo.commit("plan: list", {"test-list.md": "- [ ] a\n"})
    red = repo.commit("test: a", {"t.py": "1\n"})
    blob = repo.git("rev-parse", "HEAD:test-list.md")
    write(repo, {listed: Handoff(PhaseName.PLAN, PhaseName.RED, "r", cycle_number=1, test_list=blob)})
    lost = Handoff(PhaseName.RED, PhaseName.GREEN, "r", cycle_number=1, test_list=blob)
    text = repo.git("hash-object", "-w", "--stdin", stdin=to_json(lost))
    rows = repo.git("ls-tree", NOTES) + f"\n100644 blob {text}\t{'1' * 40}\n"
    repo.git(
        "update-ref", NOTES, repo.git("commit-tree", repo.git("mktree", stdin=rows), "-p", NOTES, "-m", "x")
    )
    assert actions(mend(repo)) == ["moved", "dropped"]
    assert read(repo, red) == lost


# --- two people


def test_notes_written_apart_are_merged_by_the_newest(make_repo: MakeRepo) -> None:
    repo = make_repo()
    run = tell_run(repo)
    common = repo.git("rev-parse", NOTES)
    red, green = (read(repo, run.commits[name]) for name in ("1-RED", "1-GREEN"))
    assert red
    assert green
    write(repo, {run.commits["1-RED"]: replace(red, timestamp="2027", feature="theirs")})
    write(repo, {run.commits["1-GREEN"]: replace(green, timestamp="2027", feature="theirs")})
    put(repo, run.commits["1-PLAN"], "theirs is spoilt")
    theirs = repo.git("rev-parse", NOTES)
    repo.git("update-ref", "refs/notes/origin/tdd-handoffs", theirs)
    repo.git("update-ref", NOTES, common)
    write(repo, {run.commits["1-GREEN"]: replace(green, timestamp="2028", feature="ours")})
    ours = repo.git("rev-parse", NOTES)
    done = mend(repo)
    assert [(one.action, one.commit) for one in done.mends] == [("merged", run.commits["1-RED"])]
    found = [read(repo, run.commits[name]) for name in ("1-RED", "1-GREEN")]
    assert [one.feature for one in found if one] == ["theirs", "ours"]
    assert phases(repo) == WHOLE
    assert repo.git("rev-parse", f"{NOTES}^1", f"{NOTES}^2").split() == [ours, theirs]
    assert mend(repo).mends == ()


def test_a_copy_that_is_only_ahead_is_simply_taken(repo: Repo) -> None:
    run = tell_run(repo)
    before = repo.git("rev-parse", NOTES)
    write(repo, {run.commits["1-RED"]: Handoff(PhaseName.PLAN, PhaseName.PLAN, "more", timestamp="2027")})
    after = repo.git("rev-parse", NOTES)
    repo.git("update-ref", "refs/remotes/origin/notes/tdd-handoffs", after)
    repo.git("update-ref", NOTES, before)
    assert actions(mend(repo)) == ["merged"]
    assert repo.git("rev-parse", NOTES) == after


def test_it_works_in_a_subfolder_of_a_linked_worktree(repo: Repo) -> None:
    repo.commit("chore: folder", {"sub/x.txt": "x\n"})
    run = tell_run(repo)
    put(repo, run.commits["1-RED"], "nonsense")
    side = repo.path.parent / "side"
    repo.git("worktree", "add", "-q", str(side))
    assert actions(mend(repo, path=side / "sub")) == ["mended"]
