"""What a Python suite finds around it, and where its bytecode goes."""

import base64
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.filesystem import below, head_of, remove, text_of
from redgreenrefactor.model.evidence import ALL, Manner
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners.virtual import activated
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.permissions import BYTECODE
from redgreenrefactor.sandbox.policy import writable
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.sandbox.toolchains import environments_in

ConfineSuite = Callable[[Path, Manner], Cage | None]  # what holds a run in a checkout

_USUAL = ".venv"
RUNS = "runs"
_UV = re.compile(r"\buv\b")
_MANAGERS = re.compile(r"\b(?:poetry|pipenv|pdm)\b")
_PASSING = re.compile(
    r"(_|PWD|OLDPWD|SHLVL|COLUMNS|LINES|LS_COLORS|DISPLAY|WINDOWID|STY|PS1|INVOCATION_ID|JOURNAL_STREAM"
    r"|(TERM|COLORTERM|SSH_|XDG_|TMUX|DBUS_|GPG_|SYSTEMD_|PROMPT|TDD_).*)"
)  # variables that differ from terminal to terminal
_HEADER = 16  # bytes: magic, flags, the source's time, the source's size
_CHECKED_HASH = 0b11  # the flags of bytecode that is compared with its source's content
_RACE = 1  # seconds within which a source may change without its time telling


def unheld(_folder: Path, _manner: Manner) -> Cage | None:
    """Hold no suite."""
    return None


@frozen
class SuiteContext:
    """What every suite runs with."""

    project: Path  # the person's own folder, which runs never touch
    env: Mapping[str, str]
    timeout: float
    cache: Path  # ours, outside every checkout: bytecode, and reports while they are written
    interrupt: Interrupt | None = None
    cage: ConfineSuite = unheld  # what holds a run in a checkout
    main: Path | None = None  # the same project in the main checkout, where its dependencies were installed
    warm: WarmProcesses | None = None  # what keeps runners loaded, for probes
    compiles: bool = (
        False  # what is run may be a compiler, so bytecode goes where Python puts it: into the checkout
    )

    def using(self, command: str) -> "SuiteContext":
        """Return the same with the project's own virtual environment active, as the command's package manager wants it."""
        return replace(self, env=with_managers(activated(self.env, self.project), command, self.project))

    @property
    def homes(self) -> tuple[Path, ...]:
        """Where the project lies as far as installed packages know."""
        return tuple(dict.fromkeys((self.project, self.main or self.project)))

    def prepared(self, folder: Path, *, keeps: bool = False) -> dict[str, str]:
        """Return the environment for a run in a checkout: imports from there, bytecode kept by us and fresh.

        Whoever can write bytecode decides what later runs execute, whatever their sources say. It is written while
        only the person's own code runs, and read from then on.
        """
        bytecode = self.cache.absolute() / BYTECODE
        bytecode.mkdir(parents=True, exist_ok=True)
        forget_uncertain_bytecode(bytecode, folder)
        env = {name: value for name, value in self.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {} if self.compiles else {"PYTHONPYCACHEPREFIX": str(bytecode)}
        env |= {} if keeps else {"PYTHONDONTWRITEBYTECODE": "1"}
        if env.get("PYTHONPATH"):
            entries = env["PYTHONPATH"].split(os.pathsep)
            for home in self.homes:
                entries = [moved(entry, home, folder) for entry in entries]
            env["PYTHONPATH"] = os.pathsep.join(entries)
        return env

    def run(
        self,
        line: str,
        folder: Path,
        manner: Manner = ALL,
        *,
        env: Mapping[str, str] | None = None,
        drop: Path | None = None,
    ) -> process.Finished:
        """Run a line of shell in a checkout as suites are run; what it has to say may go to a folder of its own."""
        cage = self.cage(folder, manner)
        return process.run(
            line,
            cwd=folder,
            env=self.prepared(folder, keeps=manner.keeps) if env is None else env,
            timeout=min(self.timeout, manner.limit or self.timeout),
            interrupt=self.interrupt,
            cage=cage.also(*writable(drop)) if cage and drop else cage,
        )

    @contextlib.contextmanager
    def drop(self) -> Generator[Path]:
        """Make a folder for what one run has to say, of which nobody knows the name, and take it away again."""
        folder = Path(tempfile.mkdtemp(dir=self.runs())).resolve()
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                remove(folder)

    def runs(self) -> Path:
        """Return where such folders are made."""
        runs = self.cache / RUNS
        runs.mkdir(parents=True, exist_ok=True)
        return runs

    def anchored(self, command: str) -> str:
        """Return the command with the project's virtual environments, which no checkout has, found all the same."""
        for folder in virtual_environments(self.project):
            spelled = rf"(?<![^\s;&|('\"=])(?:\./)?{re.escape(folder.name)}(?=/bin\b)"
            command = re.sub(spelled, shlex.quote(str(folder)).replace("\\", r"\\"), command)
        return command


def identity(command: str, project: Path, env: Mapping[str, str]) -> str:
    """Return what differs where the same tests on the same tree may give other results.

    That is the command, its programs, the packages installed beside them, and the environment.
    """
    programs = {shutil.which(word, path=env.get("PATH", os.defpath)) for word in command.split()}
    places = [Path(program) for program in sorted(filter(None, programs))]
    prefixes = {place.parent.parent for place in places} | set(virtual_environments(project))
    prefixes |= {Path(sys.prefix), Path(env.get("VIRTUAL_ENV") or sys.prefix)}
    packages = (
        file
        for prefix in sorted(prefixes)
        for file in sorted(prefix.glob("lib/python*/site-packages/*.*-info"))
    )
    variables = sorted(f"{name}={value}" for name, value in env.items() if not _PASSING.fullmatch(name))
    facts = [command, *map(_dated, places), *map(_dated, packages), *variables]
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()


def _dated(place: Path) -> str:
    try:
        return f"{place} {place.stat().st_mtime_ns}"
    except OSError:
        return str(place)


def with_managers(env: Mapping[str, str], command: str, project: Path) -> dict[str, str]:
    """Return the environment in which a package manager uses the project's virtual environment as it is."""
    kept = _of_poetry(project, env) if "poetry" in command else ()
    folder = next(iter((*virtual_environments(project), *kept)), None)
    known: dict[str, str] = {}
    if _UV.search(command) and (folder or "UV_PROJECT_ENVIRONMENT" in env):
        known = {"UV_NO_SYNC": "1", "UV_PROJECT_ENVIRONMENT": str(folder)}
    if folder and _MANAGERS.search(command):
        known["VIRTUAL_ENV"] = str(folder)
    return {**known, **env}


def _of_poetry(project: Path, env: Mapping[str, str]) -> list[Path]:
    """Return the environments that poetry keeps for a project in the home folder: it names them by the project's path."""
    path = os.fsencode(os.path.realpath(project))
    named = base64.urlsafe_b64encode(hashlib.sha256(path).digest()).decode()[:8]
    return sorted(Path(env.get("HOME", "/nonexistent")).glob(f".cache/pypoetry/virtualenvs/*-{named}-py3*"))


def virtual_environments(project: Path) -> Iterator[Path]:
    """Yield the folders right inside the project that are virtual environments, the usual one first."""
    yield from sorted(environments_in(project.absolute()), key=lambda place: place.name != _USUAL)


def moved(entry: str, project: Path, folder: Path) -> str:
    """Return the same place in the checkout, for a place in the project."""
    if not Path(entry).is_absolute():
        return entry
    for spelled, root in ((Path(entry), project), (Path(entry).resolve(), project.resolve())):
        if spelled.is_relative_to(root):
            return str(folder / spelled.relative_to(root))
    return entry


def forget_uncertain_bytecode(bytecode: Path, folder: Path) -> None:
    """Remove the kept bytecode of a checkout wherever its source may have changed unnoticed.

    Python compares a source's size and its time in whole seconds. A file replaced by one of the same size
    within the second it was compiled in, as one after another variant of it is tried, would not be noticed.
    """
    for spelled in {folder.absolute(), folder.resolve()}:
        for entry in below(bytecode.joinpath(*spelled.parts[1:])):
            if not entry.is_dir(follow_symlinks=False) and not _is_certain(Path(entry.path)):
                Path(entry.path).unlink(missing_ok=True)


def _is_certain(file: Path) -> bool:
    """Tell whether bytecode was written so long after its source that any later change shows."""
    try:
        header, written = head_of(file, _HEADER), file.stat().st_mtime
    except OSError:
        return False
    flags, changed = int.from_bytes(header[4:8], "little"), int.from_bytes(header[8:12], "little")
    if len(header) < _HEADER or flags == _CHECKED_HASH:
        return len(header) == _HEADER
    return flags == 0 and written >= changed + _RACE


_PROGRAMS = ("python", "python3", "pytest")  # beside which packages are installed that a session finds
_QUOTED = re.compile(r"""(['"])(/[^'"\n]+)\1""")


def imported_from(project: Path, main: Path | None, env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment in which Python imports the project from this checkout, not from the main one."""
    if main is None or main.resolve() == project.resolve():
        return env
    known = [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    places = sorted({moved(str(place), main, project) for place in _installed(project, main, env)})
    entries = dict.fromkeys([*places, *(moved(entry, main, project) for entry in known)])
    return {**env, "PYTHONPATH": os.pathsep.join(entries)} if entries else env


def _installed(project: Path, main: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders of the main checkout that installed packages lead to."""
    root = main.resolve()
    for prefix in _prefixes(project, main, env):
        for site in prefix.glob("lib/python*/site-packages"):
            for place in _led_to(site):
                if place.resolve().is_relative_to(root) and not place.resolve().is_relative_to(
                    prefix.resolve()
                ):
                    yield place


def _prefixes(project: Path, main: Path, env: Mapping[str, str]) -> set[Path]:
    """Return where a session's Python may have its packages."""
    programs = (shutil.which(name, path=env.get("PATH", os.defpath)) for name in _PROGRAMS)
    named = [env["VIRTUAL_ENV"]] if env.get("VIRTUAL_ENV") else []
    found = [Path(program).parent.parent for program in programs if program]
    return {*found, *map(Path, named), *virtual_environments(main), *virtual_environments(project)}


def _led_to(site: Path) -> Iterator[Path]:
    """Yield the folders that modules are imported from because of what is installed here."""
    for file in site.glob("*.pth"):
        yield from (Path(line) for line in text_of(file).splitlines() if line.startswith("/"))
    for file in (*site.glob("__editable__*.py"), *site.glob("_editable_*.py")):
        for _, path in _QUOTED.findall(text_of(file)):
            place = Path(path)
            yield place.parent.parent if place.name == "__init__.py" else place.parent
