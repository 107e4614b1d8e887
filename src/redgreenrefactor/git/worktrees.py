"""Checkouts beside the main one, each with a branch of its own: made whole or not at all, and taken away safely."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import LARGEST, head_of, remove, replace_file
from redgreenrefactor.git import lock
from redgreenrefactor.git.executable import Git, decoded, scrubbed
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.refs import KEPT, update_refs
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.chain import of_run
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.values import frozen

READY = "rgr-ready"  # in the git folder of a worktree that was made whole


@frozen
class Worktree:
    """One checkout of a repository, as git lists it."""

    path: Path
    branch: str | None  # full name of the ref; None: detached, or bare
    bare: bool = False


def worktrees(repository: Repository) -> tuple[Worktree, ...]:
    """Return every checkout git knows of, the main one first."""
    listing = repository.git.text("worktree", "list", "--porcelain")
    return tuple(_parsed(block.split("\n")) for block in listing.split("\n\n") if block.strip())


def main_root(repository: Repository) -> Path:
    """Return the folder of the main checkout; where that is bare, of the one we were started in."""
    first = worktrees(repository)[0]
    return repository.root if first.bare else first.path


def goes_on_in(repository: Repository, ledger: GitLedger, entry: Entry) -> Path | None:
    """Return the other checkout that has later handoffs of a run which began here, or is that of its branch."""
    if entry.handoff.cycle_number or entry.handoff.carried_from is not None:
        return None
    here = repository.root.resolve()
    others = (tree for tree in worktrees(repository) if tree.branch and tree.path.resolve() != here)
    for tree in others:
        tip = repository.objects.resolve(tree.branch or "")
        if tip == entry.commit:
            branch = entry.handoff.branch
            going_on = tree.branch == branch if branch else _is_worked_at(tree.path)
        else:
            noted = ledger.read(tip) if tip else None
            going_on = noted is not None and of_run(noted, entry.handoff.run_id) is not None
        if going_on and tree.path.is_dir():
            return tree.path
    return None


def _is_worked_at(folder: Path) -> bool:
    own = folder / ".git"
    with suppress(OSError):
        return lock.is_held((own if own.is_dir() else git_dir_of(folder)) / lock.NAME)
    return False


def make(repository: Repository, folder: Path, branch: str, start: str) -> None:
    """Check out a branch in a folder of its own; a branch that is not there yet begins at the start."""
    ref = f"refs/heads/{branch}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NotReadyError(
            f"{folder} is there already",
            hint="Look what it is; remove it if it is not needed, then try again.",
            type="WorktreeExists",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotReadyError(
            f"{folder.parent} cannot be made: {error.strerror}",
            hint="Make the folder above it writable, or set worktree.dir in tdd.properties.",
            type="WorktreeFailed",
        ) from error
    tip = repository.objects.resolve(ref)
    repository.git.raw("worktree", "add", "--quiet", "--force", "--detach", str(folder), tip or start)
    git = _git_in(folder, repository)
    # The branch is taken before it is there: nobody ever sees it as one that no checkout has in use.
    git.raw("symbolic-ref", "HEAD", ref)
    if tip is None:
        git.raw("update-ref", ref, start, "0" * len(start))
    from redgreenrefactor.git.local_files import bring_ignored  # noqa: PLC0415 - whoever only looks makes none

    bring_ignored(repository, folder)
    replace_file(git_dir_of(folder) / READY, b"")


def is_made(repository: Repository, folder: Path) -> bool:
    """Tell whether a worktree of the repository is there, whole: a repository of somebody else's is none."""
    with suppress(OSError):
        git_dir = git_dir_of(folder).resolve()
        return git_dir.parent == repository.common_dir / "worktrees" and (git_dir / READY).exists()
    return False


def unmake(repository: Repository, folder: Path) -> None:
    """Take a worktree away, however much of it is there; whatever is in its folder is lost. Never the main one."""
    main, *others = worktrees(repository)
    if folder.resolve() == main.path:
        return
    known = next((tree for tree in others if tree.path == folder.resolve()), None)
    if known is not None:
        done = repository.git.attempt("worktree", "remove", "--force", "--force", str(known.path))
        if done.exit_code:
            _forget(repository, known.path)
    if folder.is_dir() and (known is not None or not any(folder.iterdir())):
        with suppress(OSError):
            remove(folder)
    with suppress(OSError):
        folder.parent.rmdir()  # only if it is empty


def drop_branch(repository: Repository, branch: str, keep_as: str) -> str | None:
    """Delete a branch that nobody else has checked out; what is merged nowhere is kept; return the ref it is kept at."""
    ref = f"refs/heads/{branch}"
    tip = repository.objects.resolve(ref)
    if tip is None:
        return None
    kept = None if _is_merged(repository, tip, ref) else keep(repository, tip, keep_as)
    update_refs(repository.git, [f"delete {ref} {tip}"])
    return kept


def keep(repository: Repository, commit: str, name: str) -> str:
    """Make a commit stay reachable at refs/tdd/kept/NAME; another one that stood there gets a name of its own."""
    ref = f"{KEPT}{name}"
    before = repository.objects.resolve(ref)
    if before == commit:
        return ref
    commands = [f"update {ref} {commit} {before or '0' * len(commit)}"]
    if before and not repository.git.is_ancestor(before, commit):
        commands.append(f"update {ref}-{before[:10]} {before}")
    update_refs(repository.git, commands)
    return ref


def _parsed(lines: list[str]) -> Worktree:
    facts = {line.partition(" ")[0]: line.partition(" ")[2] for line in lines}
    return Worktree(Path(facts["worktree"]), facts.get("branch"), "bare" in facts)


def git_dir_of(folder: Path) -> Path:
    """Return the git folder of a worktree; none is an OSError."""
    return Path(decoded(head_of(folder / ".git", LARGEST, follow=False)).removeprefix("gitdir:").strip())


def _git_in(folder: Path, repository: Repository) -> Git:
    env = {**scrubbed(repository.environ, folder), **repository.identity}
    return Git(folder, env, overruled=lambda: repository.programs.options)


def _forget(repository: Repository, folder: Path) -> None:
    """Make git forget a worktree whose folder is broken or gone."""
    for admin in _administered(repository, folder):
        with suppress(OSError):
            remove(admin)


def _administered(repository: Repository, folder: Path) -> Iterator[Path]:
    for place in (repository.common_dir / "worktrees").glob("*/gitdir"):
        with suppress(OSError):
            if Path(place.read_text().strip()).parent == folder:
                yield place.parent


def _is_merged(repository: Repository, tip: str, ref: str) -> bool:
    """Tell whether another branch holds the commit; a copy of the same branch elsewhere does not count."""
    name = ref.removeprefix("refs/heads/")
    listing = repository.git.text(
        "for-each-ref", "--contains", tip, "--format=%(refname)", "refs/heads/", "refs/remotes/"
    )
    return any(
        found != ref and found.removeprefix("refs/remotes/").partition("/")[2] != name
        for found in listing.split()
    )
