"""Output that is too long for a model: its head and its tail, and a word about the rest."""

OUTPUT = 30_000  # bytes a tool answers with
LINE = 500  # characters of one line of a search
_ROOM = 120  # for the word about the rest


def clipped(text: str, most: int = OUTPUT) -> str:
    """Return the text, or its head and tail in at most so many bytes, cut at line ends where there are some near."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most:
        return raw.decode("utf-8")
    room = max(most - _ROOM, 0)
    head, tail = _whole_lines(raw[: room - room // 3]), raw[len(raw) - room // 3 :]
    tail = tail[tail.find(b"\n", 0, len(tail) // 2) + 1 :]
    note = f"\n[… {len(raw) - len(head) - len(tail)} of {len(raw)} bytes left out …]\n"
    return head.decode("utf-8", "ignore") + note + tail.decode("utf-8", "ignore")


def _whole_lines(head: bytes) -> bytes:
    end = head.rfind(b"\n", len(head) // 2)
    return head if end < 0 else head[:end]


def shortened(line: str, most: int = LINE) -> str:
    """Return a line, cut where it is too long."""
    return line if len(line) <= most else f"{line[:most]} [… {len(line) - most} more characters]"
