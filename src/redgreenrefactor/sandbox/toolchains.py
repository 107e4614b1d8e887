"""Where a user's tools lie: shown read-only inside, without what is secret among them."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.secrets import FILES, words

# Below the home folder. What lies beside these and is not named here is not shown: credentials mostly do.
IN_HOME = words(
    ".pyenv .rbenv .nvm .nodenv .goenv .jenv .asdf .sdkman .volta .fnm .n .rustup .ghcup .opam .stack .elan .swiftly "
    ".pixi .nix-profile .nix-defexpr .dotnet .deno/bin .bun/bin .bun/install .juliaup .julia .mix .gem "
    ".cargo/bin .cargo/registry .cargo/git .cargo/env go/bin go/pkg .local/bin .local/lib .local/pipx "
    ".local/share/uv .local/share/mise .local/share/rtx .local/share/fnm .local/share/pnpm .local/share/pypoetry "
    ".local/share/virtualenvs .local/share/pipx .local/share/hatch .local/share/gem .local/share/pdm "
    ".local/share/coursier .virtualenvs miniconda3 anaconda3 miniforge3 mambaforge .conda/envs .conda/pkgs "
    ".m2/repository .m2/wrapper .gradle/caches .gradle/wrapper .gradle/jdks .ivy2/cache .sbt .nuget/packages "
    ".npm .npm-global .yarn .pnpm-store .hex .pub-cache nltk_data scikit_learn_data .keras"
)
# In the cache folder, these are more data than cache: tests that were set up outside look for them.
IN_CACHE = words(
    "huggingface torch ms-playwright ms-playwright-go Cypress puppeteer electron electron-builder selenium "
    "pre-commit pypoetry deno coursier bazelisk node-gyp nltk_data tiktoken fontconfig"
)
VARIABLES = words(
    "JAVA_HOME JDK_HOME GOROOT GOPATH CARGO_HOME RUSTUP_HOME PYENV_ROOT NVM_DIR SDKMAN_DIR VIRTUAL_ENV CONDA_PREFIX "
    "CONDA_ROOT ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT M2_HOME MAVEN_HOME GRADLE_HOME RBENV_ROOT VOLTA_HOME "
    "NODE_PATH PYTHONPATH PYTHONHOME PERL5LIB GEM_HOME GEM_PATH LD_LIBRARY_PATH PNPM_HOME BUN_INSTALL "
    "UV_PROJECT_ENVIRONMENT UV_PYTHON_INSTALL_DIR"
)
OF_PYTHON = ("VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT")
_PROGRAMS = ("bin", "sbin", "shims")
ENVIRONMENTS = (".venv", "venv")  # of a project, that are used without being activated
MARKS = ("pyvenv.cfg", "conda-meta")  # what tells that a folder is a Python environment
CACHES = (".vite", ".vite-temp", ".vitest", ".cache")  # that tools keep in node_modules
_LONGEST = 1 << 20  # bytes of a file that tells where packages lie


def tools(env: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Yield the folders with a user's tools and what they have fetched, by their names, PATH and variables."""
    yield from (home / name for name in IN_HOME)
    yield from (home / ".cache" / name for name in IN_CACHE)
    for entry in _paths(env.get("PATH", "")):
        whole = entry.parent if entry.name in _PROGRAMS else entry
        yield from [place for place in (whole, entry) if _is_harmless(place, home)][:1]
        yield from _behind_links(entry, home)
    for name in VARIABLES:
        yield from (path for path in _paths(env.get(name, "")) if _is_harmless(path, home))


def _behind_links(folder: Path, home: Path) -> Iterator[Path]:
    """Yield where the programs of a small folder really lie, e.g. one interpreter linked into `~/bin`."""
    with suppress(OSError):
        links = [entry for entry in os.scandir(folder) if entry.is_symlink() and folder.is_relative_to(home)]
        for target in {Path(os.path.realpath(entry.path)).parent for entry in links[:200]}:
            whole = target.parent if target.name in _PROGRAMS else target
            yield from (place for place in (whole, target) if _is_harmless(place, home))


def interpreters() -> Iterator[Path]:
    """Yield what our own interpreter needs, and our own modules."""
    yield from (Path(place) for place in dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix)))
    yield Path(__file__).parents[1]


@frozen
class Lead:
    """A folder that a virtual environment needs to see outside itself, and the file that says so."""

    folder: Path
    file: Path


def environments(root: Path, project: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the virtual environments in use: the user's own, and those in the project that are found by their names."""
    used = (*(env.get(name, "") for name in OF_PYTHON), sys.prefix)
    named = (base / name for base in dict.fromkeys((project, root)) for name in ENVIRONMENTS)
    for place in dict.fromkeys(
        (*(Path(os.path.normpath(path)) for path in used if path.startswith("/")), *named)
    ):
        if place.is_dir():
            yield place


def environments_in(folder: Path) -> list[Path]:
    """Return the Python environments right inside a folder, by name."""
    return sorted({found.parent for mark in MARKS for found in folder.glob(f"*/{mark}")})


def leads(environment: Path, home: Path) -> Iterator[Lead]:
    """Yield what a virtual environment is made from, and what it imports in place."""
    for place, file in (*_made_from(environment), *_in_place(environment)):
        if _is_harmless(place, home):
            yield Lead(place, file)


def _made_from(environment: Path) -> Iterator[tuple[Path, Path]]:
    settings = environment / "pyvenv.cfg"
    for line in _lines(settings):
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip().startswith("/"):
            yield Path(os.path.normpath(value.strip())).parent, settings


def _in_place(environment: Path) -> Iterator[tuple[Path, Path]]:
    for packages in environment.glob("lib/python*/site-packages"):
        yield from _path_files(packages)
        yield from _direct(packages)


def _path_files(packages: Path) -> Iterator[tuple[Path, Path]]:
    for file in packages.glob("*.pth"):
        yield from (
            (Path(os.path.normpath(line.strip())), file) for line in _lines(file) if line.startswith("/")
        )


def _direct(packages: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folders of packages that were installed in place, as the standard has it written down."""
    for file in packages.glob("*.dist-info/direct_url.json"):
        with suppress(ValueError, AttributeError):
            url = urlsplit(str(json.loads("".join(_lines(file))).get("url", "")))
            if url.scheme == "file":
                yield Path(os.path.normpath(unquote(url.path))), file


def _lines(file: Path) -> list[str]:
    """Return the lines of a file that a project brings, none for what is no plain file."""
    with suppress(OSError):
        return head_of(file, _LONGEST).decode("utf-8", "replace").splitlines()
    return []


def _paths(value: str) -> Iterator[Path]:
    for entry in value.split(os.pathsep):
        if entry.startswith("/"):
            yield Path(os.path.normpath(entry))


def _is_harmless(path: Path, home: Path) -> bool:
    """Tell whether showing a folder shows one tool, or one project, and not everything the user has."""
    real = Path(os.path.realpath(path))
    for place in (path, real):
        if home.is_relative_to(place) or len(place.parts) <= 2:  # noqa: PLR2004 - the root, or right below it
            return False
        if any(place.is_relative_to(home / name) or name in place.parts for name in FILES):
            return False
        if place in (home / ".local", home / ".cache", home / ".local" / "share"):
            return False
    return not any(real.is_relative_to(place) for place in ("/proc", "/dev", "/run", "/var/run", "/etc"))
