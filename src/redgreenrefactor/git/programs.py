"""Programs that git's settings name: what leads into the project is not run, for sessions write there."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from redgreenrefactor.model.values import field, frozen
from redgreenrefactor.sandbox.secrets import words

# What is run for whom, and what is said instead where it leads into the project; compiled where it may matter.
_INSTEAD = (
    (r"filter\..*\.(clean|smudge|process)", ""),
    (r"merge\..*\.driver", "false"),
    (r"gpg\.(.*\.)?program|gpg\.ssh\.defaultkeycommand", "false"),
    (r"core\.sshcommand", "ssh"),
    (r"core\.(askpass|editor|pager)", ""),
    (r"core\.alternaterefscommand|hook\..*\.command", "true"),
    (r"remote\..*\.uploadpack", "git-upload-pack"),
    (r"remote\..*\.receivepack", "git-receive-pack"),
)
# How the keys end that name a program: others, and most are, need no closer look.
_ENDINGS = frozenset(
    words(
        "clean smudge process driver program defaultkeycommand sshcommand askpass editor pager alternaterefscommand "
        "command uploadpack receivepack update helper"
    )
)
_HELPER = r"credential\.(.*\.)?helper"
# How remotes are reached: from a file of the project none of it counts, and not all of it can be overruled.
_REACHING = r"(url|remote|http|https|protocol|credential|ssh)\..*|core\.gitproxy"
_LOADERS = (  # that run what their arguments, or files in the current folder, name
    r"cd|(ba|da|z|k|fi)?sh|\.|source|exec|env|eval|xargs|nice|time|perl|ruby|php|lua|[gm]?awk|sed|node|deno|bun|python[\d.]*"
)
RUNNERS = (
    r"g?make|np[mx]|yarn|pnpm|just|task|rake|bundle|tox|nox|uvx?|poetry|hatch|pipenv|cargo|go|gradlew?|mvnw?"
)
_ASSIGNMENT = r"(?s:\w+=.*)"
_BUILT = r"(\$\w+|\$\{\w+\}|\)|`)[\"']?/"  # a path that is put together when it runs
_OPERATORS = frozenset("();<>|&")
_SAFE_PYTHON = r"-[A-Za-z]*[IP][A-Za-z]*"


@frozen
class ConfigEntry:
    """One setting, and the file it comes from."""

    origin: str
    key: str
    value: str


@frozen
class Overruled:
    """What git is told instead of settings that lead into the project."""

    options: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    told: tuple[str, ...] = ()
    reaching: tuple[str, ...] = ()  # settings of the project about how remotes are reached


def config_files(entries: Iterable[ConfigEntry], root: Path, home: Path) -> set[Path]:
    """Return the files that settings come from, and those that they would have git include, there or not."""
    found = {home / ".gitconfig", home / ".config/git/config"}
    for entry in entries:
        origin = root / entry.origin.removeprefix("file:")
        found.add(origin)
        if entry.key.startswith("include") and entry.key.endswith(".path"):
            within = home / entry.value[2:] if entry.value.startswith("~/") else origin.parent / entry.value
            found.add(within)
    return found


def parsed(fields: Iterable[str]) -> Iterator[ConfigEntry]:
    """Yield the settings as `git config --list --show-origin -z` prints them."""
    walk = iter(fields)
    for origin, entry in zip(walk, walk, strict=False):
        key, _, value = entry.partition("\n")
        yield ConfigEntry(origin, key, value)


@frozen
class _Judged:
    entry: ConfigEntry
    foreign: bool  # it comes from a file of the project
    instead: str | None  # what is said in its place, if it names a program
    helper: bool  # of which there may be many
    leads_in: bool

    @property
    def told(self) -> str:
        entry = self.entry
        return f"{entry.key}={entry.value} ({_named(entry.origin)}) leads into the project: it is not run"


def overruled(
    entries: Iterable[ConfigEntry], root: Path, own: tuple[Path, ...], environ: Mapping[str, str]
) -> Overruled:
    """Return what git is to be told in a checkout; git's own folders are not part of the project."""
    judge = _Judge(root, environ)
    entries = tuple(entries)
    foreign = {origin: _of_project(origin, root, own) for origin in {entry.origin for entry in entries}}
    known = [_judged(entry, judge, foreign[entry.origin]) for entry in entries]
    last = {found.entry.key: found for found in known if found.instead is not None}
    distrusted = [found for found in last.values() if found.leads_in]
    settings = {found.entry.key: found.instead or "" for found in distrusted}
    filters = [key.rpartition(".")[0] for key in settings if key.startswith("filter.")]
    settings |= {f"{name}.required": "false" for name in filters}
    options = [f"{key}={value}" for key, value in settings.items()]
    helpers = [found for found in known if found.helper]
    if bad := [found for found in helpers if found.leads_in]:
        good = (found.entry for found in helpers if not found.leads_in)
        options += ["credential.helper=", *(f"{entry.key}={entry.value}" for entry in good)]
    reaching = [
        f"{found.entry.key} ({_named(found.entry.origin)})"
        for found in known
        if found.foreign
        and found.instead is None
        and not found.helper
        and re.fullmatch(_REACHING, found.entry.key)
    ]
    flags = tuple(word for option in options for word in ("-c", option))
    return Overruled(flags, settings, tuple(found.told for found in (*distrusted, *bad)), tuple(reaching))


def _judged(entry: ConfigEntry, judge: "_Judge", foreign: bool) -> _Judged:  # noqa: FBT001
    key, value = entry.key, entry.value
    if key.rpartition(".")[2] not in _ENDINGS:
        return _Judged(entry, foreign, None, helper=False, leads_in=False)
    helper = re.fullmatch(_HELPER, key) is not None
    instead = next((said for pattern, said in _INSTEAD if re.fullmatch(pattern, key)), None)
    if re.fullmatch(r"submodule\..*\.update", key) and value.startswith("!"):
        instead = "checkout"
    runs = bool(value) and (instead is not None or helper)
    shell = not helper or value.startswith(
        ("!", "/")
    )  # otherwise a name that git looks for among its own programs
    leads_in = runs and (foreign or (shell and judge.leads_in(value.removeprefix("!"))))
    return _Judged(entry, foreign, instead, helper, leads_in)


def safe_path(path: str, root: Path) -> str:
    """Return a search path without what is relative, or lies in the project."""
    real = Path(os.path.realpath(root))
    kept = [
        folder
        for folder in path.split(os.pathsep)
        if os.path.isabs(folder) and not Path(os.path.realpath(folder)).is_relative_to(real)  # noqa: PTH117
    ]
    return os.pathsep.join(kept)


def _of_project(origin: str, root: Path, gits: tuple[Path, ...]) -> bool:
    """Tell whether a setting comes from a file that sessions can write."""
    kind, _, name = origin.partition(":")
    if kind == "blob":
        return True
    if kind != "file":
        return False
    real = Path(os.path.realpath(root / name))
    own = [Path(os.path.realpath(folder)) for folder in gits]
    return real.is_relative_to(os.path.realpath(root)) and not any(
        real.is_relative_to(place) for place in own
    )


def _named(origin: str) -> str:
    return origin.partition(":")[2] or origin


class _Judge:
    """Tells whether a command leads into the project."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self._root = Path(os.path.realpath(root))
        self._home = environ.get("HOME", "")
        self._path = environ.get("PATH", os.defpath)

    def leads_in(self, command: str) -> bool:
        """Tell whether something of the project is run; where that cannot be told, it is assumed."""
        from redgreenrefactor.model.task import shell_words  # noqa: PLC0415 - few settings name programs

        words = shell_words(command)
        if words is None or re.search(_BUILT, command):
            return True
        part: list[str] = []
        for word in [*words, ";"]:
            if word and set(word) <= _OPERATORS:
                if part and self._part_leads_in(part):
                    return True
                part = []
            elif part or not re.fullmatch(_ASSIGNMENT, word):
                part.append(word)
        return any(self._is_inside(piece) for word in words for piece in _pieces(word))

    def _part_leads_in(self, words: list[str]) -> bool:
        program, arguments = words[0], words[1:]
        if "/" in program:
            if not program.startswith(("/", "~/")) or self._is_inside(program):
                return True
        else:
            import shutil  # noqa: PLC0415 - slow to load, and few settings name programs

            found = shutil.which(program, path=safe_path(self._path, self._root))
            if (found is None and shutil.which(program, path=self._path)) or (
                found and self._is_inside(found)
            ):
                return True
        name = program.rpartition("/")[2]
        if program.startswith("$") or re.fullmatch(RUNNERS, name):
            return True
        if not re.fullmatch(_LOADERS, name):
            return False
        if name.startswith("python") and not (arguments and re.fullmatch(_SAFE_PYTHON, arguments[0])):
            return True
        named = [piece for word in arguments for piece in _pieces(word)]
        return any(
            (self._root / piece).exists() for piece in named if piece not in (".", "..") and "\0" not in piece
        )

    def _is_inside(self, piece: str) -> bool:
        """Tell whether something is the path of what lies, or may come to lie, in the project."""
        if piece.startswith(("./", "../")):
            return True
        if piece.startswith("~/"):
            piece = f"{self._home}/{piece[2:]}"
        if piece.startswith("/"):
            return Path(os.path.realpath(piece)).is_relative_to(self._root)
        first = piece.partition("/")[0]
        return "/" in piece and bool(first) and (self._root / first).exists()


def _pieces(word: str) -> list[str]:
    """Return what in a word may be a path."""
    found = [
        piece
        for piece in re.split(r"[\s=:,;'\"`()]+", word)
        if piece and "%" not in piece and "\0" not in piece
    ]
    return [*found, *(piece.lstrip("-")[1:] for piece in found if piece.startswith("-") and len(piece) > 2)]  # noqa: PLR2004
