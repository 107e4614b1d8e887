"""Make the pictures of the README from a real `rgr demo`: what a terminal shows, as SVG, and the top of its report.

    make pictures

The demo runs in a pseudo-terminal of 100 columns that a terminal emulator reads, so colours and layout are what
people see. The report is looked at by chromium, which has to be installed.
"""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS, ROWS = 100, 400
WIDE, HIGH = 1100, 1180  # of the report, in pixels
PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
MOMENT = (
    "GREEN → refactor · attempt 2",
    "in the code? 2 of ",
)  # while a gate asks, of the case whose first GREEN cheats
SHOWN = ("cycle 3 · ", " done · ")  # from the case's first line to the last one that moves
CLOSING, AFTERWARDS = (
    "✓ complete after ",
    "The repository is ",
)  # the summary of the whole run; what only a demo says
THEME = TerminalTheme(
    background=(22, 24, 29),
    foreground=(214, 218, 224),
    normal=[
        *((22, 24, 29), (240, 113, 120), (127, 200, 127), (229, 192, 123)),
        *((97, 175, 239), (198, 120, 221), (86, 182, 194), (214, 218, 224)),
    ],
)
# As rich's own, but for its fonts, which a reader's machine would have to fetch.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def main() -> None:
    """Run the demo, and write what its terminal showed."""
    during, rows = played([str(Path(sys.executable).with_name("rgr")), "demo"])
    first, last = (next(at for at, text in enumerate(during) if mark in text.plain) for mark in SHOWN)
    closing = next(at for at, text in enumerate(rows) if text.plain.startswith(CLOSING))
    end = next(at for at, text in enumerate(rows) if text.plain.startswith(AFTERWARDS)) - 1
    write(PICTURES / "run.svg", "$ rgr demo", during[first : last + 1])
    write(PICTURES / "summary.svg", "the end of a run", rows[closing:end])
    photograph(repository_in(rows[end + 1 :]), PICTURES / "report.png")


def repository_in(rows: list[Text]) -> Path:
    """Return where the demo says that it has worked; a long path goes on in the next line."""
    told = re.search(rf"{AFTERWARDS}(\S+?)[.;]?(?:\s|$)", "".join(text.plain for text in rows))
    if told is None or not Path(told[1]).is_dir():
        sys.exit("the demo does not say where its repository is")
    return Path(told[1])


def photograph(repository: Path, path: Path) -> None:
    """Write what a browser shows of a report of the run there, before one scrolls."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no chromium is installed: the picture of the report stays as it was")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        rgr = str(Path(sys.executable).with_name("rgr"))
        subprocess.run(
            [rgr, "report", "-o", str(page)], cwd=repository, check=True, stdout=subprocess.DEVNULL
        )
        looking = [
            chromium,
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/home",
        ]
        size = f"--window-size={WIDE},{HIGH}"
        subprocess.run(
            [*looking, size, f"--screenshot={path}", page.as_uri()], check=True, capture_output=True
        )


def played(command: list[str]) -> tuple[list[Text], list[Text]]:
    """Return what a terminal shows while a command goes on in it, and after it has ended."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    during: list[Text] = []
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is gone
            break
        if not read:
            break
        stream.feed(read)
        if not during and all(any(mark in line for line in screen.display) for mark in MOMENT):
            during = shown(screen)
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        sys.exit(f"{command} ended with exit code {code}")
    return during, shown(screen)


def shown(screen: pyte.Screen) -> list[Text]:
    """Return the lines of a screen."""
    return [row(screen, number) for number in range(ROWS)]


def row(screen: pyte.Screen, number: int) -> Text:
    """Return one line of the screen with its colours."""
    text = Text(no_wrap=True)
    for column in range(COLUMNS):
        cell = screen.buffer[number][column]
        colour = None if cell.fg == "default" else cell.fg.replace("brown", "yellow")
        text.append(cell.data, Style(color=colour, bold=cell.bold, italic=cell.italics))
    text.rstrip()
    return text


def write(path: Path, title: str, rows: list[Text]) -> None:
    """Write these lines as a picture."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(
            record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for line in (*rows, Text()):  # the last one is cut off
            console.print(line)
        path.write_text(console.export_svg(title=title, theme=THEME, code_format=SVG, unique_id=path.stem))


if __name__ == "__main__":
    main()
