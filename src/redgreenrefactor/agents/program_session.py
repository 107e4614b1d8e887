"""One session that a program holds: what is shown, noted and billed of it, and what is reported at its end."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.agents.billing import list_price
from redgreenrefactor.agents.conversation import SessionFailedError, SpokenLines
from redgreenrefactor.agents.endings import broke_off
from redgreenrefactor.agents.foreign_program import InstalledProgram
from redgreenrefactor.agents.program_events import (
    ActionRefused,
    ProgramEvent,
    ReplyBilled,
    RequestRetried,
    SessionConcluded,
    SessionOpened,
)
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.events import Emit, ModelAnswered, ToolUsed
from redgreenrefactor.model.session import (
    MORE_MONEY,
    Answered,
    Brief,
    Called,
    Report,
    Usage,
    Uttered,
    answered,
    dollars,
    overdue,
)
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.ports import Note, Say
from redgreenrefactor.prompts.quote import in_line
from redgreenrefactor.sandbox.output import PIECE
from redgreenrefactor.sandbox.process import Finished

_TELLING = ("file_path", "command", "cmd", "pattern", "path")
_MOST_REFUSALS = 20  # that a report names
NO_USAGE = Usage()


@dataclass
class ProgramSession:
    """What a session has said and used so far."""

    brief: Brief
    folder: Path
    found: InstalledProgram
    _: KW_ONLY
    say: Say
    note: Note
    emit: Emit
    session: str = ""
    model: str = ""
    version: str = ""
    held: bool = False
    usage: Usage = NO_USAGE
    concluded: SessionConcluded | None = None
    refused: list[str] = field(default_factory=list[str])
    _last_text: str = ""
    _calls: dict[str, tuple[Called, float]] = field(default_factory=dict[str, tuple[Called, float]])
    _since: float = field(default_factory=time.monotonic)

    def hear(self, event: ProgramEvent) -> None:
        """Take in what the program tells; a SessionFailedError where the session is not to go on."""
        match event:
            case SessionOpened():
                self.session, self.model = event.session, event.model or self.model
                self.version = event.version or self.version
            case Uttered():
                self._utter(event)
            case Called():
                self._calls[event.id] = event, time.monotonic()
                self.note(event)
                self.say(self._told(event))
            case Answered():
                self._answer(event)
            case ActionRefused():
                self._refuse(event)
            case RequestRetried():
                if event.hopeless:
                    raise SessionFailedError(event.hopeless)
                self.say(event.why)
            case ReplyBilled():
                self._bill(event)
            case SessionConcluded():
                self.concluded = event

    def _told(self, call: Called) -> str:
        """Return a call in a few words, paths as seen from the folder."""
        telling = next((str(call.arguments[name]) for name in _TELLING if name in call.arguments), "")
        return f"{call.tool} {in_line(telling.replace(f'{self.folder}/', ''))}".strip()

    def _utter(self, event: Uttered) -> None:
        self._last_text = event.text
        self.note(event)
        lines = SpokenLines(self.say)
        lines.add(event.text)
        lines.finish()

    def _answer(self, event: Answered) -> None:
        self.note(event)
        if event.id in self._calls:
            call, began = self._calls[event.id]
            self.emit(ToolUsed(call.tool, event.id, event.failed, time.monotonic() - began))
        self._check_allowance()

    def _refuse(self, event: ActionRefused) -> None:
        call = self._calls.get(event.call)
        what = f"{self._told(call[0])}: {event.why}" if call else event.why
        self.refused.append(f"{self.found.program.title} refused {what}")
        self.say(self.refused[-1])

    def _bill(self, event: ReplyBilled) -> None:
        self.model = event.model or self.model
        self.usage += self.priced(event.usage)
        now = time.monotonic()
        provider, asked = self.found.program.provider, self.brief.role.model or self.model
        self.emit(ModelAnswered(provider, asked, self.model, event.usage, now - self._since, "stop"))
        self._since = now

    def priced(self, usage: Usage) -> Usage:
        """Return a use with its cost: the program's own word, else by the list of prices, else none."""
        if usage.cost_usd is not None:
            return usage
        return replace(usage, cost_usd=list_price(usage, self.model, self.found.program.provider))

    def _check_allowance(self) -> None:
        """End a session that is about to ask for more than was left."""
        spent, allowance = self.usage.cost_usd or 0.0, self.brief.allowance_usd
        if allowance is not None and spent >= allowance:
            message = f"the session has spent {dollars(spent)} of the {dollars(allowance)} that were left"
            raise SessionFailedError(Finding(FindingType.BUDGET_EXCEEDED, message, hint=MORE_MONEY))

    # --- at the end

    @property
    def bill(self) -> Usage | None:
        """What the session has used, None where the program said nothing of it."""
        said = self.concluded.usage if self.concluded else None
        used = self.priced(said) if said is not None else self.usage
        return None if used == NO_USAGE else used

    def report(self, finished: Finished, timeout: float) -> Report:
        """Return what the session came to, by its own word and by how the program ended."""
        ended = self.concluded
        if finished.timed_out:
            return self.failed(overdue(timeout))
        if ended and ended.failure:
            return self.failed(ended.failure)
        if ended is None or finished.exit_code != 0:
            what = f"{self.found.program.title} told no result and" if ended is None else "the program"
            return self.failed(broke_off(what, finished, f"See whether '{self.found.path}' works by hand."))
        return self._signed(answered(self.brief, ended.message, self.bill, self.model))

    def failed(self, failure: Finding) -> Report:
        """Return the report of a session that came to nothing."""
        message = self.concluded.message if self.concluded else self._last_text
        return self._signed(Report(message.strip(), self.bill, failure, self.model))

    def _signed(self, report: Report) -> Report:
        refused = tuple(self.refused[:_MOST_REFUSALS])
        version = self.found.version or self.version
        return replace(report, session=self.session, version=version, refused=refused, held=self.held)


@dataclass
class JsonLines:
    """Lines that are JSON objects, however long; others are passed over."""

    tell: Callable[[Mapping[str, Any]], None]
    _begun: str = ""

    def __call__(self, line: str) -> None:
        """Take in a line, or a piece of a long one."""
        text, self._begun = self._begun + line, ""
        try:
            said: Any = json.loads(text)
        except (ValueError, RecursionError):
            if len(line) == PIECE:  # there is more to come
                self._begun = text
            return
        if isinstance(said, dict):
            self.tell(cast("Mapping[str, Any]", said))


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of what should be a list of them."""
    return (json_object(item) for item in json_list(value) if isinstance(item, dict))
