"""What a checkout beside the main one is lent by it: ignored files that tests need and git does not bring."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.git.checkout import Room
from redgreenrefactor.git.executable import Git, encoded, scrubbed
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.untracked import is_furniture, links
from redgreenrefactor.writing import remove

OURS = (".codex", ".workflow")  # what is written beside the project about tasks


def lend(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Bring what the main checkout ignores into another one, dependencies by link, small files by copy.

    What git would not ignore there is not brought; links it is told to ignore, for patterns such as `.venv/`
    mean folders only.
    """
    room, brought = Room(), list[str]()
    for path, source in _lendable(repository, folder):
        target = folder / path
        if target.exists() or target.is_symlink() or not target.parent.is_dir():
            continue
        with suppress(OSError, shutil.Error):
            if links(source) or not room.holds(source):
                target.symlink_to(source)
            elif source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            else:
                shutil.copy2(source, target)
            brought.append(path)
    _ignored(repository, folder, brought)
    return tuple(brought)


def lent(repository: Repository) -> tuple[Path, ...]:
    """Return what lies in the main checkout and is used from this one; in the main one that is nothing."""
    return tuple(
        source
        for path, source in _lendable(repository, repository.root)
        if (repository.root / path).is_symlink()
    )


def _lendable(repository: Repository, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield what the main checkout ignores and another one may need, by its name there."""
    main = repository.main
    if main is None or main == folder:
        return
    git = Git(main, {**scrubbed(repository.environ, main), "GIT_DIR": str(repository.common_dir)})
    asked = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    listing = git.attempt(*asked)
    for entry in (
        listing.stdout.decode("utf-8", "surrogateescape").split("\0") if not listing.exit_code else ()
    ):
        path = entry.rstrip("/")
        source = main / path
        own = not path or path.partition("/")[0] in OURS or (source / ".git").exists()
        if not own and is_furniture(path) and not folder.is_relative_to(source):
            yield path, source


def _ignored(repository: Repository, folder: Path, brought: list[str]) -> None:
    """See to it that nothing of what was brought is ever committed."""
    if not brought:
        return
    git = Git(folder, scrubbed(repository.environ, folder))
    names = "".join(f"{path}\0" for path in brought)
    known = git.attempt("check-ignore", "-z", "--stdin", stdin=encoded(names)).stdout
    ignored = set(known.decode("utf-8", "surrogateescape").split("\0"))
    for path in brought:
        place = folder / path
        if path in ignored:
            continue
        if place.is_symlink():
            repository.exclude_path(path)
        else:
            remove(place)
