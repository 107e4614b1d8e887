"""What suites and sessions may do in a repository: the policies of the program."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from redgreenrefactor.filesystem import LARGEST, head_of, remove, text_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import secrets, system, toolchains
from redgreenrefactor.sandbox.policy import Level, Mount, MountMode, Policy, hidden, readable, writable

BYTECODE = "bytecode"  # in the folder for what suites compile
TEMPORARY = Path("/tmp")  # noqa: S108 - inside, where it is the program's own
_MOST_FILES = 200  # that are made read-only one by one; the gates see to the rest
_SETTINGS = secrets.words(
    ".m2/settings.xml .gradle/gradle.properties .cargo/config.toml .cargo/config .npmrc"
)
# Of these settings: whom Maven signs in to, and other files that git would have to be able to read.
_LEFT_OUT = re.compile(
    r"(?im)<servers>[\s\S]*?</servers>|^[ \t]*\[include(?:if[^]\n]*)?\].*(?:\n(?![ \t]*\[).*)*"
)


@frozen
class Ground:
    """Where a repository's checkout lies, and what of ours belongs to it."""

    root: Path
    git_dir: Path
    common_dir: Path
    object_stores: tuple[Path, ...]  # the repository's own, then those it borrows from
    project: Path
    cache: Path  # ours, for this checkout
    compiled: Path  # ours: byte code
    environ: Mapping[str, str]
    tools: tuple[Path, ...] = ()  # the user's, found before any session could have a say

    @property
    def home(self) -> Path:
        """The user's home folder."""
        return _home(self.environ)


@frozen
class UserTools:
    """Where the user's tools lie, and what virtual environments inside the project would have us show beside."""

    own: tuple[Path, ...]
    leads: tuple[toolchains.Lead, ...]

    @property
    def shown(self) -> tuple[Path, ...]:
        """All of it: for whoever has had the leads approved."""
        return (*self.own, *_with_links(lead.folder for lead in self.leads))


def tools_of(root: Path, project: Path, environ: Mapping[str, str]) -> UserTools:
    """Return where the user's tools lie; in the checkout none, which has rules of its own, and links of sessions."""
    home = _home(environ)
    places = [*toolchains.environments(root, project, environ)]
    leads = [(place, lead) for place in places for lead in toolchains.leads(place, home)]
    outside = (lead.folder for place, lead in leads if not place.is_relative_to(root))
    found = (*toolchains.tools(environ, home), *toolchains.interpreters(), *outside)
    own = _with_links(path for path in found if path.exists() and not path.is_relative_to(root))
    known = (*own, root, *map(Path, system.PROGRAMS))
    inside = (lead for place, lead in leads if place.is_relative_to(root) and lead.folder.exists())
    new = (lead for lead in inside if not any(lead.folder.is_relative_to(place) for place in known))
    return UserTools(own, tuple(new))


def _with_links(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths, each once, and where links lead to."""
    return tuple(dict.fromkeys(place for path in paths for place in (path, Path(os.path.realpath(path)))))


def _home(environ: Mapping[str, str]) -> Path:
    return Path(os.path.normpath(environ.get("HOME") or Path.home()))


def suite_policy(ground: Ground, folder: Path, level: Level, *, network: bool, keeps: bool = False) -> Policy:
    """Return what a suite may do: write into its clean checkout, read the project, use tools; nothing else."""
    inside = folder.relative_to(ground.cache).parts if folder.is_relative_to(ground.cache) else ()
    checkout = ground.cache / inside[0] if inside else folder  # the project may be a folder in it
    tools = ground.cache / "tools-suite"
    places = [
        *_surroundings(ground, tools, level),
        *readable(ground.root, *ground.object_stores[1:]),
        *hidden(ground.git_dir, ground.common_dir),
        *readable(ground.object_stores[0]),
        *writable(checkout),
        *(writable if keeps else readable)(ground.compiled / BYTECODE),
        *readable(checkout / ".git", checkout.with_name(f"{checkout.name}.git")),
    ]
    return Policy(
        _real(places, ground),
        network=network,
        devices=True,
        temporary=ground.cache,
        environment=_caches(ground, tools, level),
    )


def session_policy(
    ground: Ground, level: Level, *, lent: Sequence[Mount], protected: Sequence[str], network: bool
) -> Policy:
    """Return what a session's commands may do: write into the checkout, but not to what is protected there.

    What is lent is shown in the place of its git folder; where there is nothing, that is the real one.
    """
    tools = ground.cache / "tools-session"
    own = secrets.FILES if ground.home.is_relative_to(ground.root) else ()
    places = [
        *_surroundings(ground, tools, level),
        *writable(ground.root),
        *hidden(*(ground.home / name for name in own)),
    ]
    if lent:
        places += lent
        if (ground.root / ".git").is_file():
            places += readable(ground.root / ".git")
        places += readable(*(ground.root / path for path in collapsed(protected)))
        if not network:
            places += (*readable(*_installed(ground)), *_module_caches(ground, tools))
    else:
        places += writable(
            ground.git_dir, *(ground.common_dir / name for name in ("objects", "refs/heads", "logs"))
        )
        places += readable(ground.common_dir, *ground.object_stores[1:])
    return Policy(
        _real(places, ground),
        network=network,
        temporary=ground.cache if level is Level.LANDLOCK else None,
        environment=_caches(ground, tools, level),
    )


def collapsed(paths: Iterable[str]) -> list[str]:
    """Return the paths, those below another one left out; of too many, folders only."""
    kept: list[str] = []
    for path in sorted({path.rstrip("/") + "/" for path in paths}):
        if not kept or not path.startswith(kept[-1]):
            kept.append(path)
    return [path.rstrip("/") for path in kept][:_MOST_FILES]


def _surroundings(ground: Ground, tools: Path, level: Level) -> Iterator[Mount]:
    """Yield what both have: an empty home with the user's tools in it, read-only, and caches of their own."""
    home = ground.home
    yield Mount(home, MountMode.SCRATCH)
    cache = tools / "cache"
    if cache.is_symlink() or not cache.is_dir():
        remove(cache)  # a session may have put it there
    cache.mkdir(parents=True, exist_ok=True)
    if level is Level.BUBBLEWRAP:
        yield Mount(home / ".cache", MountMode.WRITE, cache)
    else:
        yield from (*writable(tools), *readable(_settings(tools)))
    yield from readable(*ground.tools)
    if level is Level.BUBBLEWRAP:
        yield from writable(tools)
        yield from _cleaned_settings(home, tools)


def _settings(tools: Path) -> Path:
    """Return where copies of settings lie: not among the tools, where a session could put a link in their place."""
    return tools.with_name(f"settings-{tools.name}")


def _cleaned_settings(home: Path, tools: Path) -> Iterator[Mount]:
    """Yield copies of tools' settings that say where things come from, without what is secret in them."""
    for name in _SETTINGS:
        if copy := _cleaned(home / name, tools):
            yield Mount(home / name, MountMode.READ, copy)


def _cleaned(file: Path, tools: Path) -> Path | None:
    """Return a copy of a file of settings without lines that look like secrets; None if there is no such file."""
    try:
        return _copied(file, head_of(file, LARGEST).decode(), tools)
    except (OSError, ValueError):
        return None


def _copied(file: Path, text: str, tools: Path) -> Path:
    """Return a file with the text of another one, without what is secret in it or leads on."""
    copy = _settings(tools) / f"{file.parent.name}-{file.name}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(secrets.without_secret_lines(_LEFT_OUT.sub("", text)), "utf-8")
    return copy


def _git_settings(ground: Ground, tools: Path) -> Path:
    """Return a copy of the user's settings of git, which gives up where it may not read a file that they name."""
    users = ground.home / (ground.environ.get("GIT_CONFIG_GLOBAL") or ".gitconfig")
    return _copied(users, f"{text_of(users)}\n[core]\n\texcludesFile = /dev/null\n", tools)


def _caches(ground: Ground, tools: Path, level: Level) -> dict[str, str]:
    """Return the variables that lead tools to caches of their own, and let them read the user's."""
    home = ground.home
    found = {
        "GOCACHE": str(tools / "go-build"),
        "npm_config_cache": str(tools / "npm"),
        "PIP_CACHE_DIR": str(tools / "pip"),
        "GRADLE_USER_HOME": str(tools / "gradle"),
    }
    if (home / ".gradle" / "caches").is_dir():
        found["GRADLE_RO_DEP_CACHE"] = str(home / ".gradle" / "caches")
        _shadow(home / ".gradle" / "wrapper" / "dists", tools, "gradle/wrapper/dists")
    if level is Level.BUBBLEWRAP:
        return {**found, "TMPDIR": str(TEMPORARY)}
    found["XDG_CACHE_HOME"] = str(tools / "cache")
    if java := ground.environ.get("JAVA_TOOL_OPTIONS"):
        found["JAVA_TOOL_OPTIONS"] = java
    if not (home / ".m2" / "repository").exists():
        given = ground.environ.get("MAVEN_OPTS", "")
        found["MAVEN_OPTS"] = f"{given} -Dmaven.repo.local={tools / 'm2'}".strip()
    found["GIT_CONFIG_GLOBAL"] = str(_git_settings(ground, tools))
    return found


def _shadow(source: Path, tools: Path, name: str) -> None:
    """Make folders like those of the source, two deep, with links to what is in them: what is new goes beside."""
    with suppress(OSError):
        for inner in source.glob("*/*"):
            below = Path(name) / inner.relative_to(source)
            place = tools / below
            if os.path.realpath(place) != str(Path(os.path.realpath(tools)) / below):
                continue  # a session has put a link in the way
            place.mkdir(parents=True, exist_ok=True)
            for entry in inner.iterdir():
                if not (place / entry.name).exists() and entry.suffix != ".lck":
                    (place / entry.name).symlink_to(entry)


def _installed(ground: Ground) -> Iterator[Path]:
    """Yield the dependencies in the checkout: what tests are run with is not for sessions to change."""
    for base in dict.fromkeys((ground.root, ground.project)):
        yield from toolchains.environments_in(base)
        yield base / "node_modules"


def _module_caches(ground: Ground, tools: Path) -> Iterator[Mount]:
    """Yield the caches that tools keep in node_modules: inside they are the session's own, or nothing could be run."""
    lent = (path for path in ground.tools if path.name == "node_modules")
    own = (path for path in _installed(ground) if path.name == "node_modules")
    for modules in (*lent, *(path for path in own if os.path.realpath(path) == str(path))):
        for place in (modules / name for name in toolchains.CACHES):
            with suppress(OSError):  # a mount needs a folder to be put on
                if (modules / "vite").is_dir() and not place.is_symlink():
                    place.mkdir(exist_ok=True)
            if place.is_dir() and not place.is_symlink():
                yield Mount(place, MountMode.WRITE, tools / "cache")


def _real(places: Iterable[Mount], ground: Ground) -> tuple[Mount, ...]:
    """Return the places, each also where links lead to: programs find things under both names.

    Links inside the checkout are not followed, and what they are in the way of is left out: a session may have
    put them there.
    """
    found: list[Mount] = []
    for place in places:
        real = Path(os.path.realpath(place.path))
        plain = place.source is None and place.access is not MountMode.HIDE
        if plain and real != _without_links(place.path, ground):
            continue
        if plain and real != place.path:
            found.append(Mount(real, place.access))
        found.append(place)
    return tuple(found)


def _without_links(path: Path, ground: Ground) -> Path:
    """Return where a path really lies if no link inside the checkout, or inside our cache, leads elsewhere."""
    for base in (ground.root, ground.common_dir, ground.cache):
        if path.is_relative_to(base):
            return Path(os.path.realpath(base)) / path.relative_to(base)
    return Path(os.path.realpath(path))
