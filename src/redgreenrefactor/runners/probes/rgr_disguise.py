"""Lets a running test look like any other code: no frame, name or variable tells that it is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_VARIABLE = "PYTEST_CURRENT_TEST"
_NAME, _FILE, _MODULE = "rgr_disguised", "rgr_disguised.py", "rgr_disguised"
_RUNNERS_ARGV = sys.argv


class Disguise:
    """A test's functions under other names, for as long as it runs."""

    def __init__(self, test: Any) -> None:
        self._functions = {id(found): found for found in _functions(test, 0)}.values()
        self._codes = [function.__code__ for function in self._functions]
        self._spaces: list[tuple[dict[str, Any], Any]] = []
        self._variable: str | None = None
        self._argv: list[str] = []

    def put_on(self) -> None:
        """Hide what the test is."""
        self._variable = os.environ.pop(_VARIABLE, None)
        self._argv = sys.argv
        if sys.argv is _RUNNERS_ARGV:  # else a fixture has put its own there
            sys.argv = [_FILE]
        for function, code in zip(self._functions, self._codes):  # noqa: B905 - Python 3.8
            function.__code__ = _renamed(code, outermost=True)
            space = function.__globals__
            self._spaces.append((space, space.get("__name__")))
            sys.modules[_MODULE] = sys.modules.get(
                str(space.get("__name__")), sys
            )  # for whoever patches by name
            space["__name__"] = _MODULE

    def take_off(self) -> None:
        """Let it be seen again."""
        for function, code in zip(self._functions, self._codes):  # noqa: B905
            function.__code__ = code
        for space, name in reversed(self._spaces):
            space["__name__"] = name
        self._spaces = []
        sys.argv = self._argv
        sys.modules.pop(_MODULE, None)
        if self._variable is not None:
            os.environ[_VARIABLE] = self._variable


def _functions(test: Any, depth: int) -> Iterator[FunctionType]:
    """Yield a test's own function, however it is wrapped."""
    if isinstance(test, FunctionType):
        yield test
    if depth > 5:  # noqa: PLR2004 - a chain longer than any real one
        return
    for inner in (
        getattr(test, "__func__", None),
        getattr(test, "__wrapped__", None),
        getattr(test, "func", None),
        getattr(getattr(test, "hypothesis", None), "inner_test", None),
    ):
        if inner is not None and inner is not test:
            yield from _functions(inner, depth + 1)


def _renamed(code: CodeType, *, outermost: bool) -> CodeType:
    constants = tuple(_renamed(c, outermost=False) if isinstance(c, CodeType) else c for c in code.co_consts)
    changed: Any = {"co_filename": _FILE, "co_consts": constants}
    if outermost:
        changed["co_name"] = _NAME
        if hasattr(code, "co_qualname"):
            changed["co_qualname"] = _NAME
    return code.replace(**changed)
