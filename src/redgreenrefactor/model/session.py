"""One fresh piece of an agent's work: what it is told, and what it says afterwards."""

from collections.abc import Mapping
from math import floor, log10
from typing import Any

from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.model.workflow import PhaseName, RoleName

EVERY_STRATEGY = frozenset({"new", "resume", "fork", "merge_fork"})  # ways to go on from earlier sessions
MORE_MONEY = "Give it a larger budget: --budget USD, or budget.usd and budget.phase.usd in tdd.properties."
TOOLS = ("Read", "Write", "Edit", "Bash", "Glob", "Grep")


@frozen
class Role:
    """Who a session is asked to be."""

    name: RoleName
    description: str
    system_prompt: str
    tools: tuple[str, ...] = TOOLS
    model: str = ""
    preamble: str = ""  # what the system prompt begins with, the same for every role


@frozen
class Brief:
    """Everything one session is told."""

    role: Role
    phase: PhaseName
    cycle: int
    attempt: int
    run_id: str
    task: str
    handoff: str  # the handoff it starts from, as JSON text
    case: Case | None = None  # that it works at
    allowance_usd: float | None = None  # what the session may cost; None: whatever it takes
    session: str = ""  # the id it is known by to later sessions, where it has one
    strategy: str = ""  # how it goes on from others: new, resume, fork, merge_fork
    resume_from: tuple[str, ...] = ()  # their ids
    continues: tuple[str, ...] = ()  # the same, as the agent's own program calls them

    @property
    def text(self) -> str:
        """The whole brief as one text: the role, then the task."""
        return f"{self.role.system_prompt.rstrip()}\n\n{self.task.rstrip()}\n"


@frozen
class Usage:
    """What a session used; the input counts neither what was read from nor written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            sum(costs) if costs else None,
        )


def dollars(usd: float) -> str:
    """Return an amount for people: cents, and of less than a dollar what tells it from nothing and from its like."""
    places = 2 if usd >= 1 or usd <= 0 else 2 - floor(log10(usd))
    whole, _, rest = f"{usd:.{places}f}".partition(".")
    return f"{whole}.{rest.rstrip('0'):0<2} USD"


@frozen
class Report:
    """What a session said and used: a claim, never evidence."""

    message: str = ""
    usage: Usage | None = None
    failure: Finding | None = None
    model: str = ""  # that answered, as its maker calls it; nothing where the agent does not say
    paid_before: float = (
        0.0  # US dollars of the usage that do not count against the budget of this invocation
    )
    session: str = ""  # by which a program that is an agent finds it again
    version: str = ""  # of that program
    refused: tuple[str, ...] = ()  # what that program did not let it do
    held: bool = False  # an agent that is a program was in the sandbox


@frozen
class Uttered:
    """What a model said between two calls, or before its end."""

    text: str


@frozen
class Called:
    """A tool was called; the id tells calls of one session apart."""

    id: str
    tool: str
    arguments: Mapping[str, Any]


@frozen
class Answered:
    """What the call of that id came to."""

    id: str
    text: str
    failed: bool = False


Step = Uttered | Called | Answered


_NOTHING_ASKED = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)


def answered(brief: Brief, message: str, usage: Usage | None = None, model: str = "") -> Report:
    """Return the report of a session that came to its end; where an answer is asked, silence is a failure."""
    if message.strip() or brief.phase in _NOTHING_ASKED:
        return Report(message.strip(), usage, model=model)
    finding = Finding(
        FindingType.AGENT_FAILURE,
        f"the {brief.phase} session ended without a final message, and its answer was asked for",
    )
    return Report("", usage, finding, model)


def overdue(limit: float | None) -> Finding:
    """Return what a session failed of that was ended after so many seconds."""
    return Finding(
        FindingType.TIMEOUT,
        f"the session ran past its limit of {limit:g} s and was ended",
        hint="Raise session.timeout in tdd.properties if it needs longer.",
    )
