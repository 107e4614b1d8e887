"""What is used of the project while it is watched: lines that are executed, files, modules, programs."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from rgr_records import Paths

_STARTS = frozenset(("subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.system"))
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


class Reach:
    """What the tests' process asks for from `start` on; an audit hook stays for as long as the process."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._opened: set[str] = set()
        self._asked: set[str] = set()
        self._started = 0
        self._listens = False
        sys.addaudithook(self._heard)

    def start(self) -> None:
        """Listen from now on."""
        self._listens = True

    def facts(self) -> dict[str, Any]:
        """Return files of the project that were loaded or opened, modules that were not found, programs started."""
        self._listens = False
        loaded = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
        files = {self._paths.inside(path) for path in loaded | self._opened}
        return {
            "files": sorted(files - {""}),
            "missed": sorted(self._asked - set(sys.modules)),
            "programs": self._started,
        }

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._listens:
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            self._opened.add(os.path.abspath(os.fsdecode(arguments[0])))  # noqa: PTH100
        elif event == "import":
            self._asked.add(str(arguments[0]))
        elif event in _STARTS:
            self._started += 1


def _free_tool() -> int | None:
    if sys.version_info >= (3, 12):
        for number in _TOOLS:
            if sys.monitoring.get_tool(number) is None:
                sys.monitoring.use_tool_id(number, "rgr")
                return number
    return None
