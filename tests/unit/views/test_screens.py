"""A run as a real terminal shows it, compared with screens that somebody has looked at.

To look at them anew: `RGR_SCREENS=1 pytest -m long tests/unit/views/test_screens.py` writes them, `git diff` shows what is different.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from screen_player import GO_ON, SHOWN, STOPS

SCREENS = Path(__file__).parents[2] / "data" / "screens"
HERE = Path(__file__).parent
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

pytestmark = [pytest.mark.long, pytest.mark.needs("tmux")]


class Screen:
    """A terminal of its own in which the player plays, up to where there is something to see."""

    def __init__(self, socket: Path, width: int, height: int = 60, environ: tuple[str, ...] = ()) -> None:
        self._tmux = ("tmux", "-f", os.devnull, "-S", str(socket))
        command = ("env", *environ, "PYTHONPATH=" + str(HERE), sys.executable, str(HERE / "screen_player.py"))
        size = ("-x", str(width), "-y", str(height))
        self._do("new-session", "-d", "-s", "s", *size, "--", *command)
        self._do("wait-for", SHOWN)

    def _do(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True, timeout=60)
        return done.stdout

    def go_on(self) -> None:
        self._do("wait-for", "-S", GO_ON)
        self._do("wait-for", SHOWN)

    def resize(self, width: int) -> None:
        self._do("resize-window", "-t", "s", "-x", str(width))

    def shown(self, *flags: str) -> str:
        lines = self._do("capture-pane", "-p", "-t", "s", *flags).splitlines()
        return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"

    def close(self) -> None:
        self._do("kill-server")


@pytest.fixture
def socket() -> Iterator[Path]:
    """Where tmux listens: the path of a socket has to be short."""
    with TemporaryDirectory(prefix="rgr-") as folder:
        yield Path(folder) / "s"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_run_looks_as_somebody_wanted_it_to(socket: Path, width: int) -> None:
    with closing(Screen(socket, width)) as screen:
        for stop in range(len(STOPS)):
            if stop:
                screen.go_on()
            shown, kept = screen.shown(), SCREENS / f"{width}-{stop + 1}.txt"
            if os.environ.get("RGR_SCREENS"):
                kept.write_text(shown)
            assert shown == kept.read_text(), f"at {width} columns, stop {stop + 1}"
            assert max(map(len, shown.splitlines())) <= width


def test_without_colours_it_says_the_same(socket: Path) -> None:
    with closing(Screen(socket, 80, environ=("NO_COLOR=1",))) as screen:
        screen.go_on()
        assert screen.shown("-e") == (SCREENS / "80-2.txt").read_text()


@pytest.mark.parametrize(("width", "later"), [(80, 60), (60, 100), (200, 60)])
def test_a_terminal_that_gets_another_size_keeps_nothing_of_what_moves(
    socket: Path, width: int, later: int
) -> None:
    with closing(Screen(socket, width)) as screen:
        screen.go_on()
        screen.resize(later)
        screen.go_on()
        assert sum(screen.shown().count(frame) for frame in SPINNER) == 1
        screen.go_on()
        left = screen.shown()
    assert not set(SPINNER) & set(left)
    assert "3 of 7" not in left
    assert " → green" not in left
