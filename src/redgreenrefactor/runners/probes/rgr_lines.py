"""Which lines of the project are executed while it is watched."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from rgr_records import Paths

_TOOLS = (4, 3)  # numbers of sys.monitoring that nobody has a claim to


class Lines:
    """Lines of project files that were executed between `start` and `stop`, in any thread."""

    def __init__(self, paths: Paths) -> None:
        self.executed: dict[str, set[int]] = {}
        self._paths = paths
        self._files: dict[str, set[int] | None] = {}
        self._tool = _free_tool()
        self._before: Any = None

    def start(self) -> None:
        """Watch from now on."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            events = sys.monitoring.events
            sys.monitoring.register_callback(self._tool, events.LINE, self._reached)
            sys.monitoring.register_callback(self._tool, events.PY_START, self._started)
            sys.monitoring.set_events(self._tool, events.LINE | events.PY_START)
            return
        self._before = sys.gettrace()
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def stop(self) -> None:
        """Watch no longer; somebody else's tracing goes on."""
        if sys.version_info >= (3, 12) and self._tool is not None:
            sys.monitoring.set_events(self._tool, 0)
            return
        sys.settrace(self._before)
        threading.settrace(self._before)

    def _seen(self, code: CodeType) -> set[int] | None:
        """Return the lines to add to, or None for code that is not the project's."""
        name = code.co_filename
        if name not in self._files:
            file = self._paths.inside(name)
            self._files[name] = self.executed.setdefault(file, set()) if file else None
        return self._files[name]

    def _reached(self, code: CodeType, line: int) -> Any:
        """Note a line once: the interpreter need not tell of it again."""
        lines = self._seen(code)
        if lines is not None:
            lines.add(line)
        if sys.version_info >= (3, 12):
            return sys.monitoring.DISABLE
        return None

    def _started(self, code: CodeType, _: int) -> Any:
        """Note a function that is all on one line: 3.13 does not say that the line was reached."""
        if sys.version_info >= (3, 12):
            lines = {line for _, _, line in code.co_lines() if line}
            if lines == {code.co_firstlineno}:
                self._reached(code, code.co_firstlineno)
            return sys.monitoring.DISABLE
        return None

    def _enter(self, frame: FrameType, *_: Any) -> Callable[..., Any] | None:
        lines = self._seen(frame.f_code)
        if lines is None:
            return None

        def reached(frame: FrameType, event: str, *_: Any) -> Callable[..., Any]:
            if event == "line":
                lines.add(frame.f_lineno)
            return reached

        return reached


def _free_tool() -> int | None:
    if sys.version_info >= (3, 12):
        for number in _TOOLS:
            if sys.monitoring.get_tool(number) is None:
                sys.monitoring.use_tool_id(number, "rgr")
                return number
    return None
