"""The end of a terminal, where a few rows are drawn again and again; what is to stay is printed above them."""

import os
import threading
from collections.abc import Callable, Sequence
from math import ceil

from redgreenrefactor.views.lines import NARROWEST, Outlet, Row, measure, painted

FRAMES_A_SECOND = 8
USUAL = os.terminal_size((80, 25))
UP, ERASE, HIDE, SHOW = "\x1b[1A", "\x1b[2K", "\x1b[?25l", "\x1b[?25h"


class LiveRegion:
    """Draws rows while it is at work; they and the hidden cursor are put back when it stops."""

    def __init__(
        self, outlet: Outlet, draw: Callable[[int], Sequence[Row]], *, color: bool, width: int | None = None
    ) -> None:
        self._outlet = outlet
        self._draw = draw  # returns the rows for so many columns
        self._color = color
        self._width = width
        self._drawn: Sequence[Row] = ()
        self._stopped: threading.Event | None = None
        self._lock = threading.RLock()

    @property
    def size(self) -> os.terminal_size:
        """How large the terminal is now."""
        size = self._outlet.size or USUAL
        columns = size.columns or USUAL.columns if self._width is None else self._width
        return os.terminal_size((max(columns, NARROWEST), size.lines or USUAL.lines))

    def start(self) -> None:
        """Draw from now on, several times a second."""
        with self._lock:
            if self._stopped is None:
                self._stopped = threading.Event()
                self._outlet.write(HIDE)
                self.refresh()
                threading.Thread(target=self._tick, args=(self._stopped,), daemon=True).start()

    def stop(self) -> None:
        """Leave nothing of what was drawn, and show the cursor again."""
        with self._lock:
            if self._stopped is not None:
                self._stopped.set()
                self._stopped = None
                self._outlet.write(SHOW + self._erased())

    def refresh(self, above: Sequence[Row] = ()) -> None:
        """Draw anew, below rows that are to stay."""
        with self._lock:
            text = self._erased() + "".join(f"{painted(row, color=self._color)}\n" for row in above)
            if self._stopped is not None:
                columns, lines = self.size
                self._drawn = self._draw(columns - 1)[: max(lines - 1, 1)]
                text += "\n".join(painted(row, color=self._color) for row in self._drawn)
            self._outlet.write(text)

    def _tick(self, stopped: threading.Event) -> None:
        while not stopped.wait(1 / FRAMES_A_SECOND):
            with self._lock:
                if self._stopped is stopped:
                    self.refresh()

    def _erased(self) -> str:
        """Return what takes the drawn rows away; a terminal that has become narrower shows each as several."""
        if not self._drawn:
            return ""
        taken = sum(max(ceil(measure(row) / self.size.columns), 1) for row in self._drawn)
        self._drawn = ()
        return f"\r{ERASE}" + f"{UP}{ERASE}" * (taken - 1)
