"""Files that no commit should hold: dependency folders, caches and build outputs; logs, scratch and editor files."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from redgreenrefactor.errors import some_of
from redgreenrefactor.filesystem import below
from redgreenrefactor.git.executable import Git, nul_terminated, temporary_index

NAMES = frozenset(
    {
        "node_modules",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".gradle",
        ".idea",
    },
)
BESIDE = {
    "target": ("pom.xml", "Cargo.toml"),
    "build": ("build.gradle", "build.gradle.kts"),
}
PATTERNS = (*sorted(NAMES), "*.pyc")
NAMED = 5  # files that a warning names before it counts the rest
_SCRATCH = re.compile(
    r"""
      .*\.(log(\.\d+)?|orig|rej|bak|sw[nop]|tmp|temp|stackdump)  # logs, merges, editors
    | .*~ | \.\#.* | \#.*\# | \.DS_Store | Thumbs\.db
    | nohup\.out | (vg)?core(\.\d+)? | hs_err_pid\d+.*
    | (scratch|tmp|temp|debug)(\d+|[-_][^.]*)?(\.(txt|out|py|js|sh))?
    | (scratch|tmp)(\d+|[-_][^.]*)?\.(md|json|html|xml|csv|diff|patch)
    """,
    re.VERBOSE,
)
_SCRATCH_FOLDERS = frozenset({"scratch", ".scratch", "tmp", ".tmp"})
_CODE = re.compile(r"\.(py|js)$")  # imported without its ending
_COMPILED = re.compile(r"\.(go|rs|java|kt|kts|scala|swift|cs|c|cc|cpp|h|hpp|rb|php|ex|exs|ts|tsx|jsx)$")
_KEPT = re.compile(r"test_|__init__\.py$|conftest\.py$|\.(git)?keep$|.*[._-](test|spec)\.\w+$")


def left_out(path: str, exists: Callable[[str], bool]) -> bool:
    """Tell whether a new file belongs to what is left out; `exists` says which files stand beside it."""
    pure = PurePosixPath(path)
    if path.endswith(".pyc") or NAMES.intersection(pure.parts):
        return True
    return any(_is_output(folder, exists) for folder in pure.parents if folder.name)


def _is_output(folder: PurePosixPath, exists: Callable[[str], bool]) -> bool:
    if exists(str(folder / "pyvenv.cfg")):
        return True
    return any(exists(str(folder.parent / name)) for name in BESIDE.get(folder.name, ()))


def files_at(git: Git, untracked: Sequence[str]) -> list[str]:
    """Return the files at untracked paths; what lies in a folder, and is not ignored, is asked for."""
    folders = [path for path in untracked if path.endswith("/")]
    where = [f":(top,literal){path}" for path in folders] if len(folders) <= NAMED else [":/"]
    inside = git.fields("ls-files", "--others", "--exclude-standard", "-z", "--", *where) if folders else ()
    return list(dict.fromkeys((*(path for path in untracked if path not in folders), *inside)))


def unused_scratch(git: Git, new: Iterable[str]) -> list[str]:
    """Return those of these new files that look like scratch, and that nothing in the checkout uses.

    No other text speaks of them, and none of their kind is beside them. Who reads every `*.log` of a folder speaks
    of all of them; who ignores them does not.
    """
    paths = [path for path in new if is_scratch(path) and _is_file(git.folder / path)]
    return [path for path in paths if not _is_spoken_of(git, path, paths) and not _has_kin(git, path, paths)]


def is_scratch(path: str) -> bool:
    """Tell whether a new file is called as nobody calls what belongs to a project."""
    pure = PurePosixPath(path)
    if _KEPT.match(pure.name) or _COMPILED.search(pure.name):
        return False
    return bool(_SCRATCH.fullmatch(pure.name) or _SCRATCH_FOLDERS.intersection(pure.parts[:-1]))


def _is_file(place: Path) -> bool:
    return place.is_file() and not place.is_symlink()


def _is_spoken_of(git: Git, path: str, others: Sequence[str]) -> bool:
    name = PurePosixPath(path)
    words = [name.name, *([f"*{name.suffix}", f'"{name.suffix}"', f"'{name.suffix}'"] if name.suffix else [])]
    elsewhere = (":/", ":(exclude,glob)**/.*ignore", *(f":(exclude,top,literal){other}" for other in others))
    look = ("grep", "--quiet", "-I", "--untracked", "--no-recurse-submodules")
    found = [git.attempt(*look, "-F", *(f"-e{word}" for word in words), "--", *elsewhere)]
    if _CODE.search(path):
        found.append(git.attempt(*look, "-F", "-w", f"-e{name.stem}", "--", *elsewhere))
    return any(each.exit_code != 1 for each in found)


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


def commit_files(git: Git, paths: Sequence[str]) -> str:
    """Make a commit of its own that holds these files as they lie there; return it."""
    with temporary_index() as env:
        git.raw("update-index", "--add", "-z", "--stdin", stdin=nul_terminated(paths), env=env)
        return git.text("commit-tree", git.text("write-tree", env=env), "-m", "kept: left out of a commit")


def delete_files(root: Path, paths: Sequence[str]) -> None:
    """Take these files away, and the folders that were there for nothing else."""
    for path in paths:
        (root / path).unlink(missing_ok=True)
        for folder in PurePosixPath(path).parents[:-1]:
            with suppress(OSError):
                (root / folder).rmdir()


def warning(paths: Sequence[str], ref: str) -> str:
    """Return what is said about files that were left out."""
    return f"left out of the commit, being used by nothing: {some_of(paths, NAMED)}; kept at {ref}"


def outputs(root: Path, path: str) -> Iterator[str]:
    """Yield environments and build outputs at, or in, an untracked path."""
    folder = root / path
    if path.endswith("/") and folder.is_dir():
        entries = list(below(folder))
        for place in (Path(entry.path) for entry in entries if entry.name == "pyvenv.cfg"):
            yield place.parent.relative_to(root).as_posix()
        built = (entry for entry in entries if entry.name in BESIDE and entry.is_dir())
        for place in (folder, *(Path(entry.path) for entry in built)):
            relative = place.relative_to(root).as_posix()
            if left_out(f"{relative}/x", lambda name: (root / name).exists()):
                yield relative
