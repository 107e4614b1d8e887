"""How far pytest may go in a process that is kept loaded: to where the first thing of the project would be loaded.

Its own plug-ins have set themselves up by then, which is a third of what a small run takes.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from rgr_records import Paths

# Where a plug-in of somebody else's does something that may differ from run to run.
_HOOKS = (
    *("pytest_load_initial_conftests", "pytest_cmdline_main", "pytest_configure", "pytest_sessionstart"),
    *("pytest_report_header", "pytest_plugin_registered"),
)
_HARMLESS = (
    "_pytest",
    "pytest",
    "rgr_pytest_probe",
    "anyio",
    "_hypothesis_pytestplugin",
)  # only declare marks


class Trap:
    """Stands before all that find modules, and lets a process depart when the first one of the project is asked for."""

    def __init__(self, paths: Paths, depart: Callable[[], None]) -> None:
        self._paths = paths
        self._depart = depart
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Leave it to others to find a module, in a process of its own if it is the project's."""
        others = (finder for finder in sys.meta_path if finder is not self and _home(finder) != "_pytest")
        specs = (finder.find_spec(name, path, target) for finder in others)
        found = next((spec for spec in specs if spec is not None), None)
        if found is None or not found.has_location or not self._paths.inside(found.origin or ""):
            return None
        self._depart()
        bootstrap: Any = sys.modules["importlib._bootstrap"]
        return bootstrap._find_spec(name, path, target)  # noqa: SLF001 - from the start: the finders have changed

    def remove(self) -> None:
        """Stand there no longer."""
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]


def departs_early(config: Any) -> bool:
    """Tell whether something of the project, or of a plug-in that is not known, comes before the tests are collected."""
    callers = (getattr(config.hook, name, None) for name in _HOOKS)
    implementations = [found for caller in callers if caller for found in caller.get_hookimpls()]
    return any(_home(found.plugin) not in _HARMLESS for found in implementations) or any(
        map(os.path.exists, _conftests(config))
    )


def initial_files(config: Any) -> Any:
    """Return what decides, beside settings, what is loaded before any test: paths to collect, and what lies there."""
    return list(map(os.path.exists, _conftests(config))), list(_anchors(config))


def _home(plugin: Any) -> str:
    """Return the package that a plug-in comes from."""
    name = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    return str(name).partition(".")[0]


def _anchors(config: Any) -> Iterator[str]:
    """Yield the paths that the line or the settings name, as far as they are there."""
    start = str(config.invocation_params.dir)
    yield start
    for word in config.known_args_namespace.file_or_dir:
        yield os.path.join(start, str(word).partition("::")[0])  # noqa: PTH118
    for pattern in config.getini("testpaths"):
        yield from sorted(glob.iglob(os.path.join(start, pattern), recursive=True))  # noqa: PTH118, PTH207


def _conftests(config: Any) -> Iterator[str]:
    """Yield the files that pytest would load before it collects, whether they are there or not."""
    places = dict.fromkeys(_anchors(config))
    for place in list(places):
        places.update(dict.fromkeys(sorted(glob.iglob(os.path.join(glob.escape(place), "test*", "")))))  # noqa: PTH118, PTH207
        while place != os.path.dirname(place):  # noqa: PTH120
            place = os.path.dirname(place)  # noqa: PTH120, PLW2901
            places[place] = None
    for place in places:
        yield os.path.join(place, "conftest.py")  # noqa: PTH118
