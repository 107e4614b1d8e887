"""What a program prints: passed on line by line as it comes, and kept within bounds."""

import codecs
import os
from collections.abc import Callable
from io import FileIO

PIECE = 65_536  # what is read or written at once, in bytes, and the longest line that is passed on whole
_LEFT_IN_PIPE = 1024  # pieces: more than a pipe holds, but an end where somebody out of reach goes on writing

Tell = Callable[[str], None]


class OutputStream:
    """What comes out of a pipe: passed on by the line, and kept within bounds."""

    def __init__(self, source: FileIO, keep: int, tell: Tell | None) -> None:
        self.source = source
        self._ends = _Ends(keep)
        self._lines = _Lines(tell) if tell else None
        os.set_blocking(source.fileno(), False)

    def read(self) -> bytes | None:
        """Take in and return what is there: nothing at the pipe's end, None if there may be more later."""
        chunk: bytes | None = self.source.read(PIECE)
        if chunk:
            self._ends.add(chunk)
            if self._lines:
                self._lines.add(chunk)
        return chunk

    def finish(self) -> None:
        """Take in what was left in the pipe when the last writer was gone."""
        for _ in range(_LEFT_IN_PIPE):
            if not self.read():
                break
        if self._lines:
            self._lines.finish()

    def kept(self) -> bytes:
        """Return what was kept."""
        return self._ends.joined()


class _Ends:
    """The beginning and the end of a stream, half of what is kept each, and how much there was in all."""

    def __init__(self, keep: int) -> None:
        self._head_room = keep // 2
        self._tail_room = keep - keep // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, chunk: bytes) -> None:
        """Remember the chunk, and forget what has become the middle."""
        room = self._head_room - len(self._head)
        self._total += len(chunk)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._tail_room + PIECE:  # seldom, because it copies
            del self._tail[: len(self._tail) - self._tail_room]

    def joined(self) -> bytes:
        """Return all of it or, with a line in the middle that says how much is left out, both ends."""
        left_out = self._total - self._head_room - self._tail_room
        if left_out <= 0:
            return bytes(self._head + self._tail)
        marker = b"\n[... %d bytes left out ...]\n" % left_out
        return bytes(self._head + marker + self._tail[len(self._tail) - self._tail_room :])


class _Lines:
    """Text that is passed on line by line as it comes; a very long line in pieces."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""

    def add(self, chunk: bytes, *, final: bool = False) -> None:
        """Pass on the lines that these bytes complete."""
        *complete, begun = (self._begun + self._decoder.decode(chunk, final)).split("\n")
        for line in complete:
            self._tell(self._pass_on(line).removesuffix("\r"))
        self._begun = self._pass_on(begun)

    def finish(self) -> None:
        """Pass on a last line that nothing has completed."""
        self.add(b"", final=True)
        if self._begun:
            self._tell(self._begun)

    def _pass_on(self, line: str) -> str:
        """Pass on what is too long for one line; return the rest, which is never empty for want of it."""
        while len(line) > PIECE:
            self._tell(line[:PIECE])
            line = line[PIECE:]
        return line
