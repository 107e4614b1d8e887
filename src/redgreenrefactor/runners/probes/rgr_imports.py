"""Imports come from the checkout, also where the project is installed in place of a copy."""

from __future__ import annotations

import os
import sys
from typing import Any, cast

from rgr_records import is_installed


class Redirection:
    """Paths inside the person's project, wherever that is checked out, and what they are in the checkout."""

    def __init__(self, homes: list[str], folder: str) -> None:
        self._folder = os.path.realpath(folder)
        self._inside = _closed(self._folder)
        spelled = {_closed(place) for home in homes for place in (home, os.path.realpath(home))}
        # The innermost first: one checkout may lie in another.
        self._roots = sorted(spelled - {_closed(self._folder)}, key=len, reverse=True)

    def of(self, path: object) -> str | None:
        """Return the same path in the checkout, if it lies in the project and exists there."""
        root = self._root(path)
        if root is None or not isinstance(path, str):
            return None
        there = os.path.join(self._folder, path[len(root) :]).rstrip(os.sep)  # noqa: PTH118
        return there if os.path.exists(there) else None  # noqa: PTH110

    def is_foreign(self, path: object) -> str | None:
        """Return the path relative to the project, if it lies there and not in the checkout."""
        root = self._root(path)
        return None if root is None or not isinstance(path, str) else path[len(root) :].replace(os.sep, "/")

    def _root(self, path: object) -> str | None:
        if not isinstance(path, str):
            return None
        for root in self._roots:
            if (path.startswith(root) or path + os.sep == root) and not is_installed(path, root):
                return None if path.startswith(self._inside) else root  # a checkout may lie in its project
        return None


def redirect(to: Redirection) -> None:
    """Make editable installs of the project lead to the checkout."""
    sys.path[:] = [to.of(entry) or entry for entry in sys.path]
    for finder in list(sys.meta_path):
        home: Any = sys.modules.get(getattr(finder, "__module__", ""))
        if getattr(home, "__name__", "").startswith("__editable__"):
            for table in (getattr(home, "MAPPING", None), getattr(home, "NAMESPACES", None)):
                _redirect_table(table, to)
        _redirect_table(getattr(finder, "_redirections", None), to)


def _redirect_table(table: Any, to: Redirection) -> None:
    if not isinstance(table, dict):
        return
    rows = cast("dict[str, Any]", table)
    for name, value in rows.items():
        if isinstance(value, list):
            rows[name] = [to.of(entry) or entry for entry in cast("list[Any]", value)]
        else:
            rows[name] = to.of(value) or value


def foreign_files(of: Redirection) -> list[str]:
    """Return the files of the person's project that were imported from there and not from the checkout."""
    found = (of.is_foreign(getattr(module, "__file__", None)) for module in list(sys.modules.values()))
    return sorted({file for file in found if file})


def installed_modules() -> list[str]:
    """Return the modules that were imported from installed packages and the language's own, in their order."""
    library = _closed(os.path.dirname(os.__file__))  # noqa: PTH120
    found: list[str] = []
    for name, module in list(sys.modules.items()):
        spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
        if not isinstance(file, str) or getattr(spec, "name", None) != name or name[:4] == "rgr_":
            continue
        if file.startswith(library) or is_installed(file):
            found.append(name)
    return found


def _closed(path: str) -> str:
    return path.rstrip(os.sep) + os.sep
