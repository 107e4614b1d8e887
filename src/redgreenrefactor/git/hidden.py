"""Tracked files that git was told not to look at: what the user has hidden stays hidden, and nothing else does."""

import hashlib
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from redgreenrefactor.errors import some_of
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.git.executable import Git, decoded, encoded

LARGEST = 1 << 30  # bytes of an index
NAMED = 5  # files that a warning names before it counts the rest
ASSUMED, SKIPPED = "assume-unchanged", "skip-worktree"
# How `git ls-files -v` spells it: small letters are assumed to be unchanged, an S is not to be in the checkout.
_ODD = re.compile(rb"\0([^H\0]) ([^\0]+)")
_BITS: Mapping[str, Callable[[str], bool]] = {ASSUMED: str.islower, SKIPPED: lambda tag: tag in "Ss"}


def hidden_in(git: Git) -> dict[str, str]:
    """Return the files git does not look at, each with git's letter for why."""
    # Most files are plain, and there may be very many: only the others are looked at one by one.
    listing = b"\0" + git.raw("ls-files", "-v", "-z")
    found = {decoded(path): tag.decode() for tag, path in _ODD.findall(listing)}
    return {path: tag for path, tag in found.items() if any(has(tag) for has in _BITS.values())}


def index_digest(git: Git) -> str:
    """Return what is another one if anything has been changed in what git knows of the files of a checkout."""
    digest, git_dir = hashlib.sha256(), Path(git.env["GIT_DIR"])
    for place in (git_dir / "index", *sorted(git_dir.glob("sharedindex.*"))):
        with suppress(OSError):
            digest.update(head_of(place, LARGEST, follow=False))
    return digest.hexdigest()


def shown_again(git: Git, before: Mapping[str, str], index: str = "") -> tuple[str, ...]:
    """Let git look at every file but those that were hidden before, and not at those; return what was hidden since.

    `index`: the digest of one in which nothing else was hidden; as long as it is the same, git is not asked.
    """
    if (index and index_digest(git) == index) or (now := hidden_in(git)) == before:
        return ()
    found: set[str] = set()
    for bit, has in _BITS.items():
        was = {path for path, tag in before.items() if has(tag)}
        is_now = {path for path, tag in now.items() if has(tag)}
        _mark(git, f"no-{bit}", is_now - was)
        _mark(git, bit, (was - is_now) & _tracked(git))
        found |= is_now - was
    return tuple(sorted(found))


@contextmanager
def left_alone(git: Git, hidden: Mapping[str, str]) -> Generator[None]:
    """Keep these files as they are while the others are reset: git would replace what is only assumed to be unchanged."""
    assumed = {path for path, tag in hidden.items() if not _BITS[SKIPPED](tag)}
    if assumed:
        _mark(git, SKIPPED, assumed & _tracked(git))
    try:
        yield
    finally:
        if hidden:
            shown_again(git, hidden)


def told(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return a warning about files that a session has hidden, if there are any."""
    what = "hidden from git during the session, and looked at all the same"
    return (f"{what}: {some_of(paths, NAMED)}",) if paths else ()


def _listed(git: Git) -> list[bytes]:
    return git.raw("ls-files", "-v", "-z").split(b"\0")


def _tracked(git: Git) -> set[str]:
    return {decoded(entry[2:]) for entry in _listed(git)}


def _mark(git: Git, how: str, paths: Iterable[str]) -> None:
    if listed := "".join(f"{path}\0" for path in sorted(paths)):
        git.raw("update-index", f"--{how}", "-z", "--stdin", stdin=encoded(listed))
