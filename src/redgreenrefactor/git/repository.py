"""One repository and one checkout of it: where it lies, what state it is in, who we are there."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from redgreenrefactor.errors import GitError, NotReadyError
from redgreenrefactor.filesystem import LARGEST, checkout_around, head_of, replace_file
from redgreenrefactor.git.executable import Git, advice, check_version, decoded, encoded, said, scrubbed
from redgreenrefactor.git.objects import SUBMODULE, Objects
from redgreenrefactor.git.programs import ConfigEntry, Overruled, config_files, overruled, parsed
from redgreenrefactor.model.values import field, frozen, replace

OURS = {
    "GIT_AUTHOR_NAME": "RedGreenRefactor",
    "GIT_AUTHOR_EMAIL": "rgr@localhost",
    "GIT_COMMITTER_NAME": "RedGreenRefactor",
    "GIT_COMMITTER_EMAIL": "rgr@localhost",
}
IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
COLUMNS = {"1": 8, "u": 10}  # before a path that is changed, or unmerged, in what `git status` prints


@frozen
class CheckoutStatus:
    """What `git status` says."""

    head: str | None  # None: there is no commit yet
    branch: str | None  # None: HEAD is detached
    tracked: tuple[str, ...]
    untracked: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    modules: frozenset[str] = frozenset()  # of the tracked ones those that are, or were, repositories

    @property
    def dirty(self) -> tuple[str, ...]:
        """Everything that differs from the commit."""
        return (*self.tracked, *self.untracked)


@frozen
class Repository:
    """A repository seen from one of its checkouts; nothing is written by opening it."""

    root: Path  # of the checkout
    prefix: str  # the project inside it: nothing, or a path with a closing slash
    git_dir: Path  # of this checkout
    common_dir: Path  # shared by all checkouts
    environ: Mapping[str, str]
    identity: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def project(self) -> Path:
        """The folder the program was asked to work in."""
        return self.root / self.prefix if self.prefix else self.root

    @property
    def main(self) -> Path | None:
        """The main checkout; None where there is none."""
        if self.git_dir == self.common_dir:
            return self.root
        return self.common_dir.parent if self.common_dir.name == ".git" else None

    @property
    def main_project(self) -> Path | None:
        """The same folder in the main checkout."""
        return self.main / self.prefix if self.main else None

    @cached_property
    def git(self) -> Git:
        """Git in the checkout, acting as the user, or as us where git does not know the user.

        It is told where everything lies: settings that lead it elsewhere could have it clean up there.
        """
        places = {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.root)}
        env = {**scrubbed(self.environ, self.root), **self.identity, **places}
        return Git(self.root, env, overruled=self._options)

    @cached_property
    def excluding(self) -> Git:
        """The same, ignoring also what is left out of commits."""
        option = ("-c", f"core.excludesFile={self.cache / 'exclude'}")
        return Git(self.root, self.git.env, option, self._options)

    @cached_property
    def objects(self) -> Objects:
        """The repository's objects."""
        return Objects(self.git)

    @cached_property
    def config(self) -> Mapping[str, str]:
        """Git's configuration as it is now; the last value of a key counts."""
        found = {entry.key: entry.value for entry in self._entries}
        return {**found, **self.programs.settings}

    @cached_property
    def _programs(self) -> list[Overruled]:
        return [self._judged(self._entries)]

    @property
    def programs(self) -> Overruled:
        """What is said to git instead of settings that lead into the project, as they were last looked at."""
        return self._programs[-1]

    def look_again(self) -> tuple[str, ...]:
        """Look at git's settings anew, for a session may have changed files they come from; tell what is new."""
        before, now = self.programs, self._judged(self._listed_again())
        self._programs.append(now)
        return tuple(line for line in now.told if line not in before.told)

    def _options(self) -> tuple[str, ...]:
        return self.programs.options

    def _judged(self, entries: list[ConfigEntry]) -> Overruled:
        found = overruled(entries, self.root, (self.git_dir, self.common_dir), self.environ)
        if odd := [key for key in found.settings if "=" in key]:
            raise NotReadyError(
                f"git's setting {odd[0]} leads into the project and cannot be overruled",
                hint="Give it a name without '=', or unset it: see 'git config --show-origin --list'.",
                type="UnsafeSetting",
            )
        return found

    @cached_property
    def _entries(self) -> list[ConfigEntry]:
        return self._listed()

    @cached_property
    def _listings(self) -> list[tuple[list[ConfigEntry], dict[Path, tuple[int, ...]]]]:
        """What git has listed, the newest last, and the files it came from as they were then."""
        return []

    def _listed_again(self) -> list[ConfigEntry]:
        """Return git's settings as they are now; git is asked only where a file they come from is another one."""
        if not self._listings or self._stamps(self._listings[-1][0]) != self._listings[-1][1]:
            known = self._listed()
            self._listings.append((known, self._stamps(known)))
        return self._listings[-1][0]

    def _stamps(self, entries: Iterable[ConfigEntry]) -> dict[Path, tuple[int, ...]]:
        """Return what tells whether one of the files has changed that settings come from, or would come from."""
        home = Path(self.environ.get("HOME") or "/")
        own = (self.git_dir / "config", self.git_dir / "config.worktree", self.common_dir / "config")
        return {place: _stamp(place) for place in (*own, *config_files(entries, self.root, home))}

    def _listed(self) -> list[ConfigEntry]:
        git = Git(self.root, scrubbed(self.environ, self.root))
        return list(parsed(git.fields("config", "-z", "--list", "--show-origin")))

    @cached_property
    def cache(self) -> Path:
        """Where a folder of our own is, outside the repository, the same for every run in this checkout."""
        import hashlib  # noqa: PLC0415 - slow to load, and nothing that only looks comes here

        name = hashlib.sha256(os.fsencode(self.git_dir)).hexdigest()[:16]
        return own_folder(self.environ, self.root) / name

    def make_cache(self) -> Path:
        """Make that folder, where it is not there yet, for nobody but us; return it."""
        for folder in (self.cache.parent, self.cache):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.cache.parent.lstat().st_uid != os.getuid():
            raise NotReadyError(
                f"{self.cache.parent} is somebody else's", hint="Set XDG_CACHE_HOME to a folder of yours."
            )
        return self.cache

    @cached_property
    def mark(self) -> Path:
        """Where a session in this checkout is remembered."""
        from redgreenrefactor.git.mark import place_of  # noqa: PLC0415 - whoever only looks leaves none

        return place_of(own_folder(self.environ, self.root), self.root)

    def status(self) -> CheckoutStatus:
        """Return the state of the checkout; what is left out of commits counts as ignored."""
        return _parsed_status(
            list(
                self.excluding.fields(
                    "status",
                    "--porcelain=v2",
                    "--branch",
                    "-z",
                    "--no-renames",
                    "--untracked-files=normal",
                    "--ignored=matching",
                    "--ignore-submodules=dirty",
                ),
            ),
        )

    @property
    def put_away(self) -> str:
        """What to do with uncommitted changes; git puts nothing away before there is a commit."""
        if self.objects.resolve("HEAD") is None:
            return "Commit them: git add -A && git commit -m 'what is there'. Then try again."
        return "Commit them, or put them away with 'git stash -u', then try again."

    def in_progress(self) -> str | None:
        """Return what was begun here and not finished, e.g. a merge."""
        return next((what for name, what in IN_PROGRESS.items() if (self.git_dir / name).exists()), None)

    def exclude(self, *patterns: str) -> None:
        """Make git ignore what matches these in every checkout, without a file of the project being touched."""
        place = self.common_dir / "info" / "exclude"
        text = ""
        with suppress(OSError):
            text = place.read_text("utf-8", "surrogateescape")
        missing = [pattern for pattern in patterns if pattern not in text.splitlines()]
        if not missing:
            return
        try:
            place.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise GitError(
                f"{place.parent} cannot be made: {error.strerror}",
                hint="Make the repository writable for this user, then try again.",
            ) from error
        separator = "" if not text or text.endswith("\n") else "\n"
        replace_file(place, encoded(text + separator + "".join(f"{pattern}\n" for pattern in missing)))

    def exclude_path(self, path: str) -> None:
        """Make git ignore this very path in every checkout."""
        self.exclude(f"/{_literal(path)}")

    def write_excludes(self, *folders: str) -> None:
        """Make git ignore what is left out of commits and these folders, besides what the user ignores everywhere."""
        from redgreenrefactor.git.artifacts import PATTERNS  # noqa: PLC0415 - whoever only looks leaves nothing out

        users = ""
        with suppress(OSError):
            users = decoded(head_of(self._users_excludes(), LARGEST))
        text = "\n".join([users, *PATTERNS, *(f"/{_literal(folder)}/" for folder in folders), ""])
        replace_file(self.make_cache() / "exclude", encoded(text))

    def _users_excludes(self) -> Path:
        home = Path(self.environ.get("HOME", "~")).expanduser()
        configured = self.config.get("core.excludesfile", "")
        if configured.startswith("~/"):
            return home / configured[2:]
        if configured:
            return self.root / configured
        return Path(self.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "ignore"

    def close(self) -> None:
        """End what was started for reading."""
        self.objects.close()


def own_folders(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    """Yield where our own folder may be: never inside the checkout, where sessions write."""
    import tempfile  # noqa: PLC0415 - slow to load

    home = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    shared = (tempfile.gettempdir(), "/tmp", "/var/tmp")  # noqa: S108 - a folder of our own in it
    places = (Path(place) / f"redgreenrefactor-{os.getuid()}" for place in shared)
    temporary = next((place for place in places if not place.resolve().is_relative_to(root)), None)
    bases = (Path(home) / "redgreenrefactor", *([temporary] if temporary else ()))
    return (base for base in bases if not base.resolve().is_relative_to(root))


def own_folder(environ: Mapping[str, str], root: Path) -> Path:
    """Return where our own folder is, or can be made; nobody else's is used."""
    for base in own_folders(environ, root):
        with suppress(OSError):
            there = next(place for place in (base, *base.parents) if os.path.lexists(place))
            ours = there != base or base.lstat().st_uid == os.getuid()
            if ours and there.is_dir() and os.access(there, os.W_OK | os.X_OK):
                return base
    raise NotReadyError(
        "there is no folder outside the repository to keep a clean checkout in",
        hint="Make ~/.cache or the temporary folder writable, or set XDG_CACHE_HOME.",
    )


def open_repository(project: Path, environ: Mapping[str, str], *, to_look: bool = False) -> Repository:
    """Return the repository a folder lies in; none, a bare one, or a git that is too old to work is a NotReadyError."""
    git = Git(project, scrubbed(environ, checkout_around(project)))
    asked = ("--is-bare-repository", "--git-dir", "--git-common-dir", "--show-prefix", "--show-toplevel")
    found = git.attempt("rev-parse", *asked)
    told = decoded(found.stdout).split("\n")
    if told[0] == "true":
        raise NotReadyError(
            f"{project} is a bare repository", hint="Clone it, and work in the clone: 'git clone …'."
        )
    if found.exit_code != 0:
        complaint = said(found)
        if "not a git repository" not in complaint:
            raise NotReadyError(f"git cannot read {project}: {complaint}", hint=advice(complaint))
        raise NotReadyError(
            f"{project} is not in a git repository", hint=f"Type 'git init {project}', then try again."
        )
    if not to_look:
        check_version(git)
    _, git_dir, common_dir, prefix, *root = told
    repository = Repository(
        root=Path("\n".join(root).removesuffix("\n")),
        prefix=prefix,
        git_dir=(project / git_dir).resolve(),
        common_dir=(project / common_dir).resolve(),
        environ=environ,
    )
    return _introduced(repository)


def _introduced(repository: Repository) -> Repository:
    """Return the repository with our own identity where git knows nobody else's."""
    known = repository.config
    by_config = known.get("user.name") and known.get("user.email")
    by_environment = all(repository.environ.get(name) for name in OURS)
    if by_config or by_environment:
        return repository
    return replace(repository, identity=OURS)


def _stamp(place: Path) -> tuple[int, ...]:
    """Return what tells a file from what it was; nothing for one that is not there."""
    with suppress(OSError):
        found = place.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    return ()


def _literal(path: str) -> str:
    """Return the pattern that matches this path and no other."""
    return re.sub(r"([\\*?\[ ])", r"\\\1", path)


def quoted(path: Path) -> str:
    """Return a path as git's list of object folders spells it: a line each, so what would break one is escaped."""
    text = str(path)
    if not text.startswith(('"', "#")) and "\n" not in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def setting(key: str, value: str) -> str:
    """Return a setting as a file of git's has it; one that cannot be spelt there is left out."""
    section, _, rest = key.partition(".")
    inner, _, name = rest.rpartition(".")
    if "\n" in key or "\n" in value or "\0" in key:
        return ""
    inner, value = (text.replace("\\", "\\\\").replace('"', '\\"') for text in (inner, value))
    heading = f'[{section} "{inner}"]' if inner else f"[{section}]"
    return f'{heading}\n\t{name} = "{value}"\n'


def _parsed_status(fields: list[str]) -> CheckoutStatus:
    head: str | None = None
    branch: str | None = None
    tracked: list[str] = []
    untracked: list[str] = []
    ignored: list[str] = []
    modules: set[str] = set()
    for entry in fields:
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.oid "):
            head = None if entry.endswith("(initial)") else entry.split(" ")[2]
        elif entry.startswith("# branch.head "):
            branch = None if entry == "# branch.head (detached)" else entry.split(" ", 2)[2]
        elif kind == "?":
            untracked.append(rest)
        elif kind == "!":
            ignored.append(rest)
        elif kind in COLUMNS:
            *columns, path = entry.split(" ", COLUMNS[kind])
            tracked.append(path)
            modules |= {path} if SUBMODULE in columns else set()
    return CheckoutStatus(head, branch, tuple(tracked), tuple(untracked), tuple(ignored), frozenset(modules))
