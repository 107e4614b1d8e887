"""A run as it happens: on a terminal with a live last line, elsewhere as plain lines."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, TextIO, cast

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
    cut_row,
    ink_for,
    measure,
)
from redgreenrefactor.views.story import Story

if TYPE_CHECKING:
    from rich.text import Text

Clock = Callable[[], float]

FRAMES_A_SECOND = 8
LONG = 20  # seconds: whoever started such a run may be looking elsewhere when it ends
STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.FAINT: "dim",
    Tone.GOOD: "green",
    Tone.BAD: "bold red",
    Tone.WARN: "yellow",
    Tone.COMMIT: "yellow",
    Tone.HINT: "cyan",
    Tone.PLAN: "bold magenta",
    Tone.RED: "bold red",
    Tone.GREEN: "bold green",
    Tone.REFACTOR: "bold blue",
}


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
    """One line for each thing that is finished, and a last line that tells what is waited for.

    The last line and the hidden cursor are put back by `close`, or by the end of the run; the next event
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
        from rich.console import Console  # noqa: PLC0415 - rich is heavy: only when something is drawn
        from rich.live import Live  # noqa: PLC0415

        self._ink = ink_for(stream)
        self._story = Story(self._ink, quiet=quiet)
        self._quiet = quiet
        self._clock = clock
        self._since = clock()
        self._lock = threading.RLock()
        self._console = Console(
            file=cast("IO[str]", Outlet(stream)),
            force_terminal=True,
            force_interactive=True,
            force_jupyter=False,
            legacy_windows=False,
            color_system="standard" if color else None,
            no_color=not color,
            width=width,
            height=None if width is None else 25,
            markup=False,
            highlight=False,
            emoji=False,
        )
        self._live = Live(
            console=self._console,
            get_renderable=self._last_line,
            refresh_per_second=FRAMES_A_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __call__(self, event: Event) -> None:
        """Show what happened; never raises for what the stream does."""
        with self._lock:
            before = self._story.waiting
            rows = self._story.tell(event, self._columns)
            if not same_wait(self._story.waiting, before):
                self._since = self._clock()
            if self._story.waiting is None:
                self._live.stop()
            if rows:
                self._print(rows)
            if isinstance(event, RunEnded) and event.seconds >= LONG:
                self._console.bell()
            if self._story.waiting and not self._quiet:
                self._live.start()
                if not isinstance(event, SessionSaid):  # a talkative session is shown at the usual pace
                    self._live.refresh()

    def close(self) -> None:
        """Take the live line away and show the cursor again."""
        with self._lock:
            self._live.stop()

    @property
    def _columns(self) -> int:
        return max(min(self._console.width, WIDEST), NARROWEST)

    def _print(self, rows: list[Row]) -> None:
        text = styled(tuple(span for row in rows for span in (*row, Span("\n"))))
        self._console.print(text, soft_wrap=True, end="")

    def _last_line(self) -> "Text":
        waiting = self._story.waiting or Waiting("")
        elapsed = max(self._clock() - self._since, 0.0)
        return styled(last_line(waiting, elapsed, self._story.said, self._console.width - 1, self._ink))


View = PlainView | TerminalView


def view_for(
    stream: TextIO, environ: Mapping[str, str], *, quiet: bool = False, no_color: bool = False
) -> View:
    """Return the view that suits the stream and what its owner asked for."""
    if not stream.isatty() or environ.get("TERM") == "dumb":
        told = environ.get("COLUMNS", "")
        return PlainView(stream, quiet=quiet, width=min(int(told), WIDEST) if told.isdecimal() else WIDEST)
    return TerminalView(stream, quiet=quiet, color=not (no_color or environ.get("NO_COLOR")))


def styled(row: Row) -> "Text":
    """Return the row in colours."""
    from rich.text import Text  # noqa: PLC0415

    text = Text(no_wrap=True, overflow="crop", end="")
    for span in row:
        text.append(span.text, style=STYLES[span.tone])
    return text


def same_wait(one: Waiting | None, two: Waiting | None) -> bool:
    """Tell whether the same is waited for, however much of it is done meanwhile."""
    return one is two or (one and (one.what, one.where)) == (two and (two.what, two.where))


def last_line(waiting: Waiting, elapsed: float, said: str, width: int, ink: Ink) -> Row:
    """Return the live line; where it is too narrow the places go first, what is waited for stays."""
    dot = f" {ink.dot} "
    frame = Span(f"{ink.spinner[int(elapsed * FRAMES_A_SECOND) % len(ink.spinner)]} ", Tone.HINT)
    past = Span(f"{dot}{clock_face(elapsed)}", Tone.FAINT)
    told = f"{waiting.what} ({waiting.so_far})" if waiting.so_far else waiting.what
    what = Span(cut(told, width - measure((frame, past)), ink))
    tail = Span(f"  {said}" if said else "", Tone.FAINT)
    for where in (waiting.where, waiting.where[:2], waiting.where[1:2]):
        row: Row = (frame, Span("".join(place + dot for place in where), Tone.FAINT), what, past)
        if measure(row) <= width:
            return cut_row((*row, tail), width, ink)
    return cut_row((frame, what, past), width, ink)


def clock_face(elapsed: float) -> str:
    """Return seconds as a stop-watch shows them."""
    minutes, rest = divmod(int(elapsed), 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"  # noqa: PLR2004
