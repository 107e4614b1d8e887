"""Lines for a person who has asked something: a title, facts, rows with remarks, what to type next."""

from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.views.lines import NARROWEST, WIDEST, Ink, Row, Span, Tone, aligned, led

LABEL = 7
ROOMY = 40  # columns from which on a command and what it does stand side by side
AMPLE = 72  # columns from which on a table has room for what can also be looked up elsewhere


class TextPage:
    """Lines that fit into a width."""

    def __init__(self, width: int, ink: Ink | None) -> None:
        self.width = max(min(width, WIDEST), NARROWEST)
        self.ink = ink or Ink()
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All lines; the last one is left open, for whoever prints it."""
        return "\n".join(self._lines).rstrip("\n")

    def title(self, text: str, run_id: str) -> None:
        """Say what all of it is about."""
        run = f"run {self.ink.line(run_id)}" if run_id else ""
        self.add((Span(self.ink.headline(text), Tone.STRONG),), run, indent=0, keep=0)

    def row(self, left: Row, *right: str, indent: int = 2, keep: int = 1) -> list[str]:
        """Return a line with remarks at its right end."""
        rows = aligned(left, right, self.width, self.ink, indent=indent, keep=keep)
        return [self.ink.painted(row) for row in rows]

    def add(self, left: Row, *right: str, indent: int = 2, keep: int = 1) -> None:
        """Put such a line below the others."""
        self._lines += self.row(left, *right, indent=indent, keep=keep)

    def texts(
        self,
        text: str,
        tone: Tone = Tone.PLAIN,
        *,
        lead: str = "",
        of_lead: Tone = Tone.PLAIN,
        indent: int = 0,
        most: int = 12,
    ) -> list[str]:
        """Return a text of any length as lines, what stands before it in a tone of its own."""
        tones = (of_lead, tone)
        rows = led(text, self.width, self.ink, indent=indent, lead=lead, most=most, tones=tones)
        return [self.ink.painted(row) for row in rows]

    def say(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Put such a text below the others."""
        self._lines += self.texts(text, tone)

    def gap(self) -> None:
        """Leave a line empty."""
        self._lines.append("")

    def fact(self, label: str, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Say what is known of something."""
        self._lines += self.texts(text, tone, lead=f"  {label:<{LABEL}}", of_lead=Tone.FAINT)

    def why(self, error: str | None, kind: str | None) -> None:
        """Tell why the last attempt failed, if one did."""
        if error is not None:
            self.fact("why", f"{kind}: {error}" if kind else error, Tone.WARN)

    def advise(self, *advice: tuple[str, str]) -> None:
        """Say what to type, and what it does."""
        most = self.width // 2 if self.width >= ROOMY else 0  # a longer one has a line of its own
        longest = max((len(command) for command, _ in advice if len(command) <= most), default=0)
        for command, purpose in advice:
            lead = f"{self.ink.arrow} "
            if len(command) <= most:
                lead, text = f"{lead}{command:<{longest}}  ", purpose
            else:
                text = f"{command}\n{purpose}"
            self._lines += self.texts(text, lead=lead, of_lead=Tone.HINT, indent=2)


def going_on(command: str, purpose: str, kind: str | None) -> tuple[str, str]:
    """Return what to type to go on, and what it does: where the money is used up only with more of it."""
    if kind != FindingType.BUDGET_EXCEEDED:
        return command, purpose
    return f"{command} --budget USD", f"{purpose}, with that much more to spend"
