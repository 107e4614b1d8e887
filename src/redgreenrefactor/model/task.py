"""A task file as a value: what is to be done, how it is known to be done, and what the sessions are given."""

import re
import shlex
from enum import StrEnum

from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName

ITERATIONS = 3  # tries of Green where neither the step nor the task says otherwise


class Strategy(StrEnum):
    """How a task's sessions hang together with those of earlier tasks."""

    NEW = "new"
    RESUME = "resume"
    FORK = "fork"
    MERGE_FORK = "merge_fork"


@frozen
class Cycle:
    """Test cases that belong together, and how much of the code they have to reach."""

    test_count: int
    test_cases: tuple[str, ...] = ()
    scope: str = ""
    expected_coverage: str = ""  # as it was written
    coverage_min: float | None = None  # per cent


@frozen
class Step:
    """One entry of `implementation`."""

    description: str
    phase: PhaseName | None = None  # None: told to every session, belongs to no phase
    actions: tuple[str, ...] = ()
    modification_points: tuple[str, ...] = ()
    logic_flow: tuple[str, ...] = ()
    max_iterations: int | None = None


@frozen
class Look:
    """One step of `pre_analysis`: what is read and run before anybody works."""

    name: str
    action: str = ""
    commands: tuple[str, ...] = ()
    binding: bool = False  # a failure blocks the task


@frozen
class Lineage:
    """The id under which a task's sessions are known, and the ids they go on from."""

    id: str = ""
    strategy: Strategy = Strategy.NEW
    resume_from: tuple[str, ...] = ()


NO_LINEAGE = Lineage()


@frozen
class Source:
    """A piece of what was gathered before anybody works."""

    title: str
    text: str
    path: str = ""  # the file that it is, which every session is shown as it is then


@frozen
class Criterion:
    """One line of `convergence.criteria`; without a command it is shown, not measured."""

    text: str
    command: str | None = None


@frozen
class Task:
    """A task file whose every field has been looked at."""

    id: str
    title: str
    description: str
    tdd: bool
    criteria: tuple[Criterion, ...]
    cycles: tuple[Cycle, ...] = ()
    steps: tuple[Step, ...] = ()
    max_iterations: int = ITERATIONS
    files_to_read: tuple[str, ...] = ()
    focus_paths: tuple[str, ...] = ()
    context_package: str | None = None
    shared_context: tuple[tuple[str, str], ...] = ()
    looks: tuple[Look, ...] = ()
    cli_tool: str | None = None  # None: the configured agent works
    link: Lineage = NO_LINEAGE
    depends_on: tuple[str, ...] = ()
    session: str | None = None  # None: the run's id

    @property
    def test_count(self) -> int:
        """How many test cases Red has to write; 0 where the task does not say."""
        return sum(cycle.test_count for cycle in self.cycles)

    @property
    def test_cases(self) -> tuple[str, ...]:
        """The cases by name, those of all cycles."""
        return tuple(case for cycle in self.cycles for case in cycle.test_cases)

    @property
    def coverage_min(self) -> float | None:
        """The highest coverage that any cycle expects, per cent."""
        return max(
            (cycle.coverage_min for cycle in self.cycles if cycle.coverage_min is not None), default=None
        )

    @property
    def expected_coverage(self) -> str:
        """The same as it was written."""
        wanted = self.coverage_min
        return next((cycle.expected_coverage for cycle in self.cycles if cycle.coverage_min == wanted), "")

    @property
    def commands(self) -> tuple[str, ...]:
        """The criteria that can be run, each once."""
        return tuple(dict.fromkeys(item.command for item in self.criteria if item.command))

    def step(self, phase: PhaseName) -> Step | None:
        """Return the step of a phase."""
        return next((step for step in self.steps if step.phase is phase), None)


_SIGNS = re.compile(r"\s*(?:>=?|≥|=)?\s*(\d+(?:[.,]\d+)?)\s*%?\s*")


def percentage(text: str | float | None) -> float | None:
    """Return the per cent that a text such as '>=85%', '85' or '> 80 %' asks for; None where it asks for none."""
    found = _SIGNS.fullmatch(str(text)) if text is not None else None
    return float(found[1].replace(",", ".")) if found else None


_QUOTED = re.compile(r"`([^`]*[^`\s][^`]*)`")
_PROGRAMS = re.compile(
    r"bash|bundle|cargo|coverage|ctest|deno|dotnet|go|gradle|jest|make|mocha|mvn|mypy|node|nox|np[mx]|phpunit"
    r"|pnpm|poetry|pyright|pytest|python3?|rspec|ruff|sh|tox|uv|vitest|yarn|\./\S+"
)


def command_of(criterion: str) -> str | None:
    """Return what a criterion asks to run: all of it after '$ ', or what stands in backticks.

    In the middle of a sentence, where backticks may hold a name as well, only a well-known program counts.
    """
    stripped = criterion.strip()
    if stripped.startswith("$ "):
        return stripped[2:].strip() or None
    whole = _QUOTED.fullmatch(stripped)
    if whole:
        return whole[1].strip().removeprefix("$ ")
    quoted = (found.strip().removeprefix("$ ") for found in _QUOTED.findall(stripped))
    return next((text for text in quoted if _is_run(text)), None)


def _is_run(text: str) -> bool:
    return _PROGRAMS.fullmatch(text.split(maxsplit=1)[0]) is not None


_MODULE = re.compile(r"^python[\d.]* -m (?=pytest|unittest)")
_SHELL = re.compile(r"[;&|`$<>()]")  # more than words
_TESTS = re.compile(
    r"\b(pytest|py\.test|unittest|jest|vitest|mocha|ava|tox|nox|rspec|phpunit|ctest|mvnw?|gradlew?)\b"
    r"|\b(npm|yarn|pnpm)\s+(run\s+)?(t|test)\b|\bnode\s+(\S+\s+)*--test\b|\b(go|cargo|dotnet|deno)\s+test\b"
    r"|\bmake\s+(\S+\s+)*(test|check)\b"
)


def command_of_tests(task: Task) -> str:
    """Return the criterion that runs the tests: the first that names a runner, else the first command."""
    return next((command for command in task.commands if _TESTS.search(command)), task.commands[0])


def runs_all_of(project: str, command: str) -> bool:
    """Tell whether a task's command is the project's own test command, or that with more words."""
    own, given = (_MODULE.sub("", " ".join(text.split())) for text in (project, command))
    return given == own or (given.startswith(f"{own} ") and not _SHELL.search(given[len(own) :]))


_PLAIN = re.compile(r"[A-Za-z_][\w.+-]*|/\S+")
_NAME = re.compile(r"[^$*?\[\]~!<>-][^$*?\[\]~<>]*")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_BUILT_IN = re.compile(  # and the words that only begin something
    r"alias|bg|break|case|cd|command|continue|echo|eval|exec|exit|export|false|fg|for|hash|if|jobs|kill|printf|pwd|read"
    r"|set|shift|source|test|time|times|trap|true|type|ulimit|umask|unset|until|wait|while"
)


def programs_of(command: str) -> tuple[str, ...]:
    """Return the programs that a criterion cannot do without; none where its words are too much for us.

    A path inside the project is none of them: it may be part of the work.
    """
    return tuple(dict.fromkeys(word for word in _begun_with(command) if _PLAIN.fullmatch(word)))


def first_program(command: str) -> str | None:
    """Return the program or script that a line of shell starts first, if its words tell."""
    word = next(iter(_begun_with(command)), "")
    return word if _NAME.fullmatch(word) else None


def _begun_with(command: str) -> list[str]:
    """Return the first word of each part of a line of shell; nothing for those that the shell does itself."""
    words = shell_words(command) or []
    if "||" in words or "\n" in command.strip() or re.search(r"[`(){}]", command):
        return []
    found: list[str] = []
    begins = True
    for word in words:
        if begins and _ASSIGNED.match(word):
            continue
        if begins:
            found.append("" if _BUILT_IN.fullmatch(word) else word)
        begins = word in ("&&", ";", "|", "&")
    return found


def shell_words(command: str) -> list[str] | None:
    """Return the words and operators of a line of shell; None where a quote is left open."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None
