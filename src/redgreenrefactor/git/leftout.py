"""What never belongs into a commit: dependency folders, caches, build outputs."""

from collections.abc import Callable
from pathlib import PurePosixPath

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
