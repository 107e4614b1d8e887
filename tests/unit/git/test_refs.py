"""What a session did to refs is told, put back, and never lost."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.errors import GitError
from redgreenrefactor.git.executable import Git, scrubbed
from redgreenrefactor.git.refs import KEPT, NOTES, STASH, Damage, Refs, damage, read_refs, update_refs
from repos import Repo

OWN = "refs/heads/main"
OTHER = "refs/heads/other"
BEFORE = Refs({OWN: "1" * 40, OTHER: "2" * 40, "refs/tags/v1": "3" * 40})
UNHARMED = Damage((), (), {}, {}, {})


def harm(later: Mapping[str, str | None], before: Refs = BEFORE) -> Damage:
    return damage(before, before.changed(later), OWN, "r")


def test_nothing_happened() -> None:
    assert harm({}) == UNHARMED


def test_the_own_branch_may_move_and_even_go() -> None:
    assert harm({OWN: "9" * 40}) == UNHARMED
    assert harm({OWN: None}) == UNHARMED


def test_a_detached_run_has_no_branch_of_its_own() -> None:
    later = BEFORE.changed({OWN: "9" * 40})
    assert damage(BEFORE, later, None, "r").rewritten == (f"{OWN} was moved",)


def test_a_moved_ref_comes_back_and_where_it_stood_is_kept() -> None:
    assert harm({OTHER: "9" * 40}) == Damage(
        rewritten=(f"{OTHER} was moved",),
        warnings=(),
        kept={f"{KEPT}r/heads/other-9999999999": "9" * 40},
        removed={},
        restored={OTHER: "2" * 40},
    )


def test_a_deleted_ref_comes_back() -> None:
    assert harm({"refs/tags/v1": None}) == Damage(
        ("refs/tags/v1 was deleted",), (), kept={}, removed={}, restored={"refs/tags/v1": "3" * 40}
    )


@pytest.mark.parametrize("name", ["refs/heads/new", "refs/tags/v2", STASH, "refs/tdd/attempts/r/1-RED-9"])
def test_a_new_ref_is_kept_out_of_the_way_with_a_warning(name: str) -> None:
    place = f"{KEPT}r/{name.removeprefix('refs/')}-9999999999"
    assert harm({name: "9" * 40}) == Damage(
        rewritten=(),
        warnings=(f"{name} was made by the session; it is kept at {place}",),
        kept={place: "9" * 40},
        removed={name: "9" * 40},
        restored={},
    )


def test_a_stash_on_top_of_the_users_is_new_and_the_users_comes_back() -> None:
    stashed = BEFORE.changed({STASH: "4" * 40})
    found = harm({STASH: "5" * 40}, stashed)
    assert (found.rewritten, found.restored, found.removed) == ((), {STASH: "4" * 40}, {})
    assert found.kept == {f"{KEPT}r/stash-5555555555": "5" * 40}
    assert len(found.warnings) == 1


def test_a_users_stash_that_is_dropped_is_deleted() -> None:
    stashed = BEFORE.changed({STASH: "4" * 40})
    assert harm({STASH: None}, stashed).rewritten == (f"{STASH} was deleted",)


@pytest.mark.parametrize("name", ["refs/remotes/origin/main", "refs/prefetch/remotes/origin/main"])
@pytest.mark.parametrize("oid", ["9" * 40, None])
def test_a_fetch_is_nobodys_fault(name: str, oid: str | None) -> None:
    assert harm({name: oid}, BEFORE.changed({name: "4" * 40})) == UNHARMED
    assert harm({name: "9" * 40}) == UNHARMED


@pytest.mark.parametrize("in_use", [Refs(BEFORE.oids, frozenset({OTHER})), BEFORE])
def test_a_branch_in_use_elsewhere_is_somebody_elses(in_use: Refs) -> None:
    later = Refs({**BEFORE.oids, OTHER: "9" * 40}, frozenset({OTHER}))
    assert damage(in_use, later, OWN, "r") == UNHARMED


@pytest.mark.parametrize("kind", ["attempts", "kept"])
def test_other_runs_add_their_own_refs_and_nobody_moves_them(kind: str) -> None:
    theirs = f"refs/tdd/{kind}/other/1-RED-1"
    assert harm({theirs: "9" * 40}) == UNHARMED
    assert harm({theirs: "9" * 40}, BEFORE.changed({theirs: "4" * 40})).rewritten == (f"{theirs} was moved",)
    assert harm({f"refs/tdd/{kind}/r/1-RED-1": "9" * 40}).removed == {f"refs/tdd/{kind}/r/1-RED-1": "9" * 40}


def test_the_notes_are_nobodys_to_move() -> None:
    before = BEFORE.changed({NOTES: "4" * 40})
    assert harm({NOTES: "9" * 40}, before).rewritten == (f"{NOTES} was moved",)
    assert harm({NOTES: "9" * 40}).removed == {NOTES: "9" * 40}


names = st.sampled_from([OWN, OTHER, "refs/tags/v1", "refs/heads/x", STASH, NOTES, "refs/remotes/o/m"])
states = st.dictionaries(names, st.text("abcdef", min_size=40, max_size=40))


@given(states, states)
def test_putting_right_gives_what_was_before_and_loses_nothing(
    before: dict[str, str], later: dict[str, str]
) -> None:
    found = damage(Refs(before), Refs(later), OWN, "r")
    mended = {**{name: oid for name, oid in later.items() if name not in found.removed}, **found.restored}
    mine = (OWN, "refs/remotes/o/m")
    assert {name: oid for name, oid in mended.items() if name not in mine} == {
        name: oid for name, oid in before.items() if name not in mine
    }
    lost = {oid for name, oid in later.items() if name not in mine} - set(mended.values())
    assert lost <= set(found.kept.values())


# --- with git


@pytest.fixture
def git(repo: Repo) -> Git:
    return Git(repo.path, scrubbed(repo.env, repo.path))


def test_all_refs_are_read_and_branches_of_other_checkouts_are_in_use(repo: Repo, git: Git) -> None:
    head = repo.git("rev-parse", "HEAD")
    repo.git("tag", "-a", "-m", "annotated", "v1")
    odd = "odd\nname\0".strip("\0")
    repo.git("worktree", "add", "-q", "-b", "elsewhere", str(repo.path.parent / odd))
    refs = read_refs(git)
    assert refs.oids == {
        OWN: head,
        "refs/heads/elsewhere": head,
        "refs/tags/v1": repo.git("rev-parse", "v1"),
    }
    assert refs.in_use == {"refs/heads/elsewhere"}


def test_a_symbolic_ref_is_only_another_name(repo: Repo, git: Git) -> None:
    repo.git("symbolic-ref", "refs/heads/master", OWN)
    assert list(read_refs(git).oids) == [OWN]


def test_steps_are_carried_out_one_after_the_other(repo: Repo, git: Git) -> None:
    head = repo.git("rev-parse", "HEAD")
    repo.git("branch", "a/b")
    update_refs(git, [], ["delete refs/heads/a/b"], [f"update refs/heads/a {head}"])
    assert set(read_refs(git).oids) == {OWN, "refs/heads/a"}


def test_a_step_is_done_whole_or_not_at_all(repo: Repo, git: Git) -> None:
    head = repo.git("rev-parse", "HEAD")
    with pytest.raises(GitError, match="update-ref failed"):
        update_refs(git, [f"update refs/heads/a {head}", f"update refs/heads/b {'1' * 40}"])
    assert set(read_refs(git).oids) == {OWN}


def test_a_symbolic_ref_is_replaced_not_followed(repo: Repo, git: Git) -> None:
    head = repo.git("rev-parse", "HEAD")
    later = repo.commit("feat: more")
    repo.git("symbolic-ref", "refs/tags/v1", OWN)
    update_refs(git, [f"update refs/tags/v1 {head}"])
    assert read_refs(git).oids == {OWN: later, "refs/tags/v1": head}


def test_nothing_to_do_starts_nothing(git: Git) -> None:
    update_refs(Git(git.folder / "nowhere", git.env), [], [])
