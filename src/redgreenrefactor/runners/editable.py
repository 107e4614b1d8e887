"""Packages that are installed in place lead to the main checkout; in one beside it, they should not."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from redgreenrefactor.filesystem import text_of
from redgreenrefactor.runners.suite_context import moved, virtual_environments

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
