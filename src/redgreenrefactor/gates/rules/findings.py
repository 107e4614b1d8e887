"""Findings as several rules spell them, and the words that messages are made of."""

import re
from collections.abc import Iterable, Iterator, Sequence

from redgreenrefactor.errors import some_of
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.model.evidence import Change, CollectError, Evidence, SuiteRun, TestId, TestResult
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

# How runners and compilers begin to tell what is wrong: below it come frames, sources and counts.
_ERROR = re.compile(
    r"(?:Error|Exception|Failure)(?: \[\w+\])?: *\S|(?:^|[\s:])error(?:\[\w+\]| TS\d+)?: "
    r"|panicked at |--- FAIL: |^\s*● |^not ok "
)
# What node's runner tells of a test before it says what was wrong.
_BESIDE = re.compile(r"^\s*(---$|(duration_ms|location|failureType|type): |error: \|-$)")
# What pytest says to whoever sits before it.
_FOR_PEOPLE = re.compile(r" Use -v+ to get (more|the full) diff$")
LONGEST = 300  # characters of why a test failed
NAMED = 5  # tests a message names before it counts the rest


def scope(change: Change, what: str, hint: str) -> Finding:
    """Return the finding that a path is out of bounds."""
    return Finding(FindingType.SCOPE_VIOLATION, f"{change.path}: {what}", change.path, hint=hint)


def tampering(
    file: str, line: int | None, what: str, hint: str | None = None, severity: Severity = Severity.ERROR
) -> Finding:
    """Return the finding that something is aimed at the tests, with its place."""
    where = f"{file}:{line}" if line else file
    return Finding(FindingType.TEST_TAMPERING, f"{where}: {what}", file, line or None, hint, severity)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return those findings that reject."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


@frozen
class Spot:
    """Where to look."""

    file: str | None
    line: int | None


def place_in(result: TestResult) -> Spot:
    """Return the line of the test's own file where it failed, else where it is defined."""
    for frame in reversed(result.frames):
        if frame.file == result.file:
            return Spot(frame.file, frame.line)
    return Spot(result.file or None, result.line or None)


def brief(result: TestResult) -> str:
    """Return why a test failed, in one line."""
    words = _FOR_PEOPLE.sub("", " ".join(result.message.split()))
    text = (
        f"{result.exception}: {words}"
        if result.exception and not words.startswith(result.exception)
        else words
    )
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return shown or str(result.status)


def named(ids: Sequence[TestId]) -> str:
    """Return the first few ids, and how many more there are."""
    return some_of(ids, NAMED)


def tail(run: SuiteRun) -> str:
    """Return the end of what the runner printed, in one line."""
    return " | ".join(_printed(run)[-3:])[-500:] or "it printed nothing"


def printed_error(run: SuiteRun) -> str:
    """Return the first error that the runner printed, in one line; the end of it all where none is known as one."""
    lines = [line for line in _printed(run) if not _BESIDE.search(line)]
    start = next((index for index, line in enumerate(lines) if _ERROR.search(line)), None)
    return tail(run) if start is None else " | ".join(map(str.strip, lines[start : start + 5]))[:500]


def _printed(run: SuiteRun) -> list[str]:
    return [line for line in run.output.strip().splitlines() if line.strip()]


def last_line(text: str) -> str:
    """Return the end of a report, where its cause stands."""
    lines = text.strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""


def failure(result: TestResult, hint: str = "Make this test pass.") -> Finding:
    """Return the finding that a test does not pass."""
    place = place_in(result)
    return Finding(
        FindingType.TEST_FAILURE,
        f"{result.id} fails: {brief(result)}",
        place.file,
        place.line,
        hint=hint,
    )


def worth_a_look(change: Change, line: int | None, what: str) -> Finding:
    """Return what a person may want to look at; it rejects nothing."""
    where = f"{change.path}:{line}" if line else change.path
    return Finding(
        FindingType.SCOPE_VIOLATION, f"{where}: {what}", change.path, line, severity=Severity.WARNING
    )


def about(result: TestResult, kind: FindingType, what: str, hint: str) -> Finding:
    """Return a finding about one test, at its definition."""
    return Finding(kind, what, result.file, result.line or None, hint)


def uncollectable(
    error: CollectError,
    hint: str,
    kind: FindingType = FindingType.COMPILATION_ERROR,
    where: str = "",
    what: str = "cannot be collected",
) -> Finding:
    """Return the finding that a file cannot be collected."""
    said = f"{where or error.file} {what}: {last_line(error.message)}"
    return Finding(kind, said, error.file, error.line, hint)


def nothing_done(evidence: Evidence, hint: str) -> list[Finding]:
    """Return the finding that a phase which has to change something did not, if so."""
    if evidence.changes:
        return []
    return [Finding(FindingType.NOTHING_DONE, f"{evidence.phase} changed nothing", hint=hint)]


def python_tests(evidence: Evidence) -> Iterator[tuple[Change, str | None, str | None]]:
    """Yield the Python files of the tests that were touched, with their texts before and after."""
    for change in evidence.changes:
        if change.path.endswith(".py") and is_test(evidence, change.path):
            yield change, change.old_text, change.new_text
