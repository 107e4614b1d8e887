"""Text that comes in pieces, passed on by the line."""

from redgreenrefactor.ports import Say
from redgreenrefactor.prompts.quote import plain

LONGEST = 200  # characters that are held back at most


class Lines:
    """Passes on every line as soon as it is complete, and a long one between two words."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._begun = ""

    def add(self, text: str) -> None:
        """Take in the next piece."""
        *complete, begun = (self._begun + text).split("\n")
        for line in complete:
            self._tell(line)
        while len(begun) > LONGEST:
            head = begun[:LONGEST].rpartition(" ")[0] or begun[:LONGEST]
            self._tell(head)
            begun = begun[len(head) :]
        self._begun = begun

    def finish(self) -> None:
        """Pass on what nothing has completed."""
        self._tell(self._begun)
        self._begun = ""

    def _tell(self, line: str) -> None:
        if text := plain(line).strip():
            self._say(text)
