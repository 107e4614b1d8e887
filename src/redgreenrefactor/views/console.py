"""A run as it happens: on a terminal with live lines at the end, elsewhere as plain lines."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from redgreenrefactor.model.events import Event, RunEnded, SessionSaid
from redgreenrefactor.views.attention import Waiting
from redgreenrefactor.views.lines import (
    NARROWEST,
    WIDEST,
    Ink,
    Outlet,
    Row,
    Span,
    Tone,
    cut,
    in_color,
    ink_for,
    measure,
)
from redgreenrefactor.views.live_region import FRAMES_A_SECOND, LiveRegion
from redgreenrefactor.views.story import Story

Clock = Callable[[], float]

INDENT = 2  # columns, of what moves: the spinner's
WORD = 8  # columns below which nothing is told of what a session says
LONG = 20  # seconds: whoever started such a run may be looking elsewhere when it ends
# What terminals make a note on the desktop of, also far away; those that do not know it show nothing.
NOTIFY, NOTIFIED = "\x1b]9;", "\x1b\\"


class PlainView:
    """Lines without colours or movement, each written at once."""

    def __init__(self, stream: TextIO, *, quiet: bool = False, width: int = WIDEST) -> None:
        self._outlet = Outlet(stream)
        self._story = Story(ink_for(stream), quiet=quiet, starts=True)
        self._width = max(width, NARROWEST)
        self._lock = threading.RLock()

    def __call__(self, event: Event) -> None:
        """Show what happened; never raises for what the stream does."""
        with self._lock:
            for row in self._story.tell(event, self._width):
                self._outlet.write("".join(span.text for span in row).rstrip() + "\n")

    def close(self) -> None:
        """Nothing is left to be put back."""


class TerminalView:
    """One line for each thing that is finished, and below them what is waited for and how far the run has come.

    What moves and the hidden cursor are put back by `close`, or by the end of the run; the next event
    after `close` brings them back, so that somebody else may have the terminal in between.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        quiet: bool = False,
        color: bool = True,
        width: int | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._ink = ink_for(stream)
        self._story = Story(self._ink, quiet=quiet)
        self._quiet = quiet
        self._clock = clock
        self._begun = self._since = clock()
        self._lock = threading.RLock()
        self._outlet = Outlet(stream)
        self._live = LiveRegion(self._outlet, self._moving, color=color, width=width)

    def __call__(self, event: Event) -> None:
        """Show what happened; never raises for what the stream does."""
        with self._lock:
            before = self._story.waiting
            rows = self._story.tell(event, self._columns)
            if not same_wait(self._story.waiting, before):
                self._since = self._clock()
            if self._story.waiting is None:
                self._live.stop()
            elif not self._quiet:
                self._live.start()
            if rows or not isinstance(event, SessionSaid):  # a talkative session is shown at the usual pace
                self._live.refresh(rows)
            if isinstance(event, RunEnded) and event.seconds >= LONG:
                self._outlet.write(f"\a{NOTIFY}rgr: {self._ink.line(event.status)}{NOTIFIED}")

    def close(self) -> None:
        """Take the live lines away and show the cursor again."""
        with self._lock:
            self._live.stop()

    @property
    def _columns(self) -> int:
        return min(self._live.size.columns, WIDEST)

    def _moving(self, width: int) -> list[Row]:
        """Return what is redrawn all the time: the phases, what is waited for, how far the run has come."""
        now, room, story, ink = self._clock(), width - INDENT, self._story, self._ink
        waiting, elapsed = story.waiting or Waiting(""), max(now - self._since, 0.0)
        rows = [awaited(waiting, elapsed, story.said, room, ink)]
        if waiting.turn:
            figures = story.progress.figures(clock_face(now - self._begun), room)
            rows = [story.progress.track(room), *rows, figures]
        frame = ink.spinner[int(elapsed * FRAMES_A_SECOND) % len(ink.spinner)]
        marks = (frame, *" " * len(rows))
        drawn = [(Span(mark, Tone.HINT), Span(" "), *row) for mark, row in zip(marks, rows, strict=False)]
        return [(), *drawn] if waiting.turn else drawn


View = PlainView | TerminalView


def view_for(
    stream: TextIO, environ: Mapping[str, str], *, quiet: bool = False, no_color: bool = False
) -> View:
    """Return the view that suits the stream and what its owner asked for."""
    if not stream.isatty() or environ.get("TERM") == "dumb":
        told = environ.get("COLUMNS", "")
        return PlainView(stream, quiet=quiet, width=min(int(told), WIDEST) if told.isdecimal() else WIDEST)
    return TerminalView(stream, quiet=quiet, color=in_color(stream, environ, unwanted=no_color))


def same_wait(one: Waiting | None, two: Waiting | None) -> bool:
    """Tell whether the same is waited for, however much of it is done meanwhile."""
    return one is two or (one and (one.what, one.turn)) == (two and (two.what, two.turn))


def awaited(waiting: Waiting, elapsed: float, said: str, width: int, ink: Ink) -> Row:
    """Return what is waited for, since when, and as much as there is room for of what a session says meanwhile."""
    so_far = f"{' ' if waiting.what.endswith('?') else ': '}{waiting.so_far}" if waiting.so_far else ""
    past = (Span(so_far), Span(f" {ink.dot} {clock_face(elapsed)}", Tone.FAINT))
    row = (Span(cut(waiting.what, width - measure(past), ink)), *past)
    room = width - measure(row)
    return (*row, Span(cut(f"  {said}", room, ink), Tone.FAINT)) if said and room > WORD else row


def clock_face(elapsed: float) -> str:
    """Return seconds as a stop-watch shows them."""
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"  # noqa: PLR2004
