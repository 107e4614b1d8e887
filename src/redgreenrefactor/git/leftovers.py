"""What a session has left lying about: logs, scratch and editor files that nothing uses and no commit should hold."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.git.executable import Git, encoded

NAMED = 5  # files that a warning names before it counts the rest
_NAMES = re.compile(
    r"""
      .*\.(log(\.\d+)?|orig|rej|bak|sw[nop]|tmp|temp|stackdump)  # logs, merges, editors
    | .*~ | \.\#.* | \#.*\# | \.DS_Store | Thumbs\.db
    | nohup\.out | (vg)?core(\.\d+)? | hs_err_pid\d+.*
    | (scratch|tmp|temp|debug)(\d+|[-_][^.]*)?(\.(txt|out|py|js|sh))?
    | (scratch|tmp)(\d+|[-_][^.]*)?\.(md|json|html|xml|csv|diff|patch)
    """,
    re.VERBOSE,
)
_FOLDERS = frozenset({"scratch", ".scratch", "tmp", ".tmp"})
_CODE = re.compile(r"\.(py|js)$")  # imported without its ending
_COMPILED = re.compile(r"\.(go|rs|java|kt|kts|scala|swift|cs|c|cc|cpp|h|hpp|rb|php|ex|exs|ts|tsx|jsx)$")
_KEPT = re.compile(r"test_|__init__\.py$|conftest\.py$|\.(git)?keep$|.*[._-](test|spec)\.\w+$")


def looks_left_behind(path: str) -> bool:
    """Tell whether a new file is called as nobody calls what belongs to a project."""
    pure = PurePosixPath(path)
    if _KEPT.match(pure.name) or _COMPILED.search(pure.name):
        return False
    return bool(_NAMES.fullmatch(pure.name) or _FOLDERS.intersection(pure.parts[:-1]))


def unused(git: Git, paths: Sequence[str]) -> list[str]:
    """Return those of these files that no other text in the checkout speaks of, and that have none of their kind beside.

    Who reads every `*.log` of a folder speaks of all of them; who ignores them does not.
    """
    return [path for path in paths if not _is_spoken_of(git, path, paths) and not _has_kin(git, path, paths)]


def _is_spoken_of(git: Git, path: str, others: Sequence[str]) -> bool:
    name = PurePosixPath(path)
    words = [name.name, *_by_ending(name.suffix)]
    elsewhere = (":/", ":(exclude,glob)**/.*ignore", *(f":(exclude,top,literal){other}" for other in others))
    look = ("grep", "--quiet", "-I", "--untracked", "--no-recurse-submodules")
    found = [git.attempt(*look, "-F", *(f"-e{word}" for word in words), "--", *elsewhere)]
    if _CODE.search(path):
        found.append(git.attempt(*look, "-F", "-w", f"-e{name.stem}", "--", *elsewhere))
    return any(each.exit_code != 1 for each in found)


def _by_ending(suffix: str) -> list[str]:
    return [f"*{suffix}", f'"{suffix}"', f"'{suffix}'"] if suffix else []


def _has_kin(git: Git, path: str, others: Sequence[str]) -> bool:
    """Tell whether files with the same ending are tracked in the same folder."""
    name = PurePosixPath(path)
    if not name.suffix or _CODE.search(path):
        return False
    beside = git.fields("ls-files", "-z", "--", f":(top,literal){name.parent}")
    return any(
        PurePosixPath(each).parent == name.parent and each.endswith(name.suffix) and each not in others
        for each in beside
    )


def kept(git: Git, index: Path, paths: Sequence[str]) -> str:
    """Return a commit of its own that holds these files as they lie there; the index is made for it."""
    env = {"GIT_INDEX_FILE": str(index)}
    index.unlink(missing_ok=True)
    try:
        git.raw("update-index", "--add", "-z", "--stdin", stdin=encoded(_listed(paths)), env=env)
        return git.text("commit-tree", git.text("write-tree", env=env), "-m", "kept: left out of a commit")
    finally:
        index.unlink(missing_ok=True)


def removed(root: Path, paths: Sequence[str]) -> None:
    """Take these files away, and the folders that were there for nothing else."""
    for path in paths:
        (root / path).unlink(missing_ok=True)
        for folder in PurePosixPath(path).parents[:-1]:
            with suppress(OSError):
                (root / folder).rmdir()


def told(paths: Sequence[str], ref: str) -> str:
    """Return the warning about files that were left out."""
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"left out of the commit, being used by nothing: {', '.join(paths[:NAMED])}{more}; kept at {ref}"


def untracked(git: Git) -> Iterator[str]:
    """Yield the files, one by one, that git neither tracks nor ignores."""
    return git.fields("ls-files", "--others", "--exclude-standard", "-z")


def _listed(paths: Sequence[str]) -> str:
    return "".join(f"{path}\0" for path in paths)
