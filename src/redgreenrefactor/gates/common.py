"""Rules that hold in every phase, and the measurements every phase wants."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from redgreenrefactor.gates import python
from redgreenrefactor.gates.manifests import files_run
from redgreenrefactor.gates.paths import inside, is_test, is_test_file, reconfigures
from redgreenrefactor.model.evidence import (
    Change,
    Evidence,
    SuiteRun,
    TestId,
    TestResult,
)
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.verdict import Finding, FindingType, Severity

SUBMODULE, LINK = "160000", "120000"
NAMED = 5  # tests a message names before it counts the rest


def history(evidence: Evidence) -> Iterator[Finding]:
    """Yield what was done to history and refs."""
    for what in evidence.rewritten:
        yield Finding(
            FindingType.HISTORY_REWRITTEN,
            f"history was rewritten: {what}; it has been put back",
            hint="Add commits on top only. Leave other branches, tags, notes and earlier commits alone.",
        )
    for what in evidence.pushed:
        yield Finding(
            FindingType.HISTORY_REWRITTEN,
            f"work that was not accepted yet has left the repository: {what}",
            hint="Push nothing, and leave the remote as it is now: what is accepted is published by others.",
        )


def off_limits(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to what no phase, or only PLAN, may touch."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if local == "tdd.properties":
            yield scope(
                change, "nobody changes tdd.properties during a run", "Leave the configuration as it is."
            )
        elif local == LIST:
            yield scope(
                change, f"only PLAN changes {LIST}", f"Leave {LIST} as it is: the next PLAN ticks the box."
            )
        elif SUBMODULE in _modes(change):
            yield scope(
                change, "the submodule's pointer was moved", "Leave submodules at the commits they have."
            )
        elif change.after and change.after.mode == LINK and _leaves(change.path, change.after.text or ""):
            yield scope(
                change, "the link leads out of the repository", "Link only to files of this repository."
            )
        elif veil := _veiled(change):
            yield tampering(
                change, 1, f"it is not run as it reads: its encoding is {veil}", "Write it in UTF-8."
            )


def _veiled(change: Change) -> str | None:
    """Return the encoding that a source has been given to hide what it does."""
    before, after = (python.veil(side.text) if side else None for side in (change.before, change.after))
    return after if change.path.endswith(".py") and after != before else None


def configuration(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to how tests are found and run."""
    for change in evidence.changes:
        what = reconfigures(change, evidence.command)
        if what is None and _is_run_by(evidence, change):
            what = "the test command runs it"
        if what:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{change.path} was changed, and {what}",
                change.path,
                hint="Leave the test runner and its configuration as they are.",
            )


def _is_run_by(evidence: Evidence, change: Change) -> bool:
    """Tell whether the test command names a file, or is a tool that reads it."""
    local = inside(evidence, change.path)
    words = evidence.command.replace("=", " ").split()
    tools = {
        "make": ("Makefile", "makefile", "GNUmakefile"),
        "tox": ("tox.ini",),
        "nox": ("noxfile.py",),
        "just": ("justfile", "Justfile"),
        "task": ("Taskfile.yml", "Taskfile.yaml"),
        "rake": ("Rakefile",),
    }
    read = {name for word in words for name in tools.get(word, ())}
    package = evidence.read(evidence.base, f"{evidence.prefix}package.json")
    started = files_run(package, evidence.command)
    planned = (evidence.case.test_file, evidence.case.impl_file) if evidence.case else ()
    named_files = {word.removeprefix("./") for word in words} | started.difference(planned)
    is_one = is_test_file(local or "") or (evidence.case is not None and local == evidence.case.test_file)
    return local is not None and (local in read or (local in named_files and not is_one))


def hooked(evidence: Evidence) -> Iterator[Finding]:
    """Yield new or changed ways into the runner: hooks, plug-ins, files kept from being collected."""
    for change in evidence.changes:
        if not change.path.endswith(".py") or not is_test(evidence, change.path):
            continue
        before, after = (python.hooks(side.text if side else None) for side in (change.before, change.after))
        for name, code in after.items():
            if before.get(name) != code:
                yield Finding(
                    FindingType.TEST_TAMPERING,
                    f"{change.path}: {name} changes how tests are collected or reported",
                    change.path,
                    hint="Write tests and fixtures only: take the hook away.",
                )


def tests_touched(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to tests by a phase that has none to write."""
    for change in evidence.changes:
        if is_test(evidence, change.path) and not reconfigures(change, evidence.command):
            done = "added" if change.before is None else "deleted" if change.after is None else "edited"
            hooks = python.hooks(change.after.text) if change.after and change.path.endswith(".py") else {}
            yield Finding(
                FindingType.TEST_TAMPERING if change.before or hooks else FindingType.SCOPE_VIOLATION,
                f"{change.path} was {done} in {evidence.phase}: tests stay as RED wrote them",
                change.path,
                _first_difference(change),
                hint="Make the test pass by changing the implementation only; leave tests and their data alone.",
            )


def scope(change: Change, what: str, hint: str) -> Finding:
    """Return the finding that a path is out of bounds."""
    return Finding(FindingType.SCOPE_VIOLATION, f"{change.path}: {what}", change.path, hint=hint)


def tampering(change: Change, line: int | None, what: str, hint: str) -> Finding:
    """Return the finding that a change is aimed at the tests, with its place."""
    where = f"{change.path}:{line}" if line else change.path
    return Finding(FindingType.TEST_TAMPERING, f"{where}: {what}", change.path, line, hint)


def asks_again(evidence: Evidence) -> bool:
    """Tell whether a test that passes at once is sent back, to be looked at again or for good."""
    details = evidence.handoff.error_details
    asked_again = details is not None and details.type == FindingType.UNEXPECTED_PASS
    policy = evidence.rules.red_on_pass
    return policy == "abort" or (evidence.rules.retries > 0 and not asked_again)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return those findings that reject."""
    return [finding for finding in findings if finding.severity is Severity.ERROR]


@dataclass(frozen=True, slots=True)
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
    words = " ".join(result.message.split())
    text = (
        f"{result.exception}: {words}"
        if result.exception and not words.startswith(result.exception)
        else words
    )
    return text[:300] or str(result.status)


def named(ids: Sequence[TestId]) -> str:
    """Return the first few ids, and how many more there are."""
    more = f" and {len(ids) - NAMED} more" if len(ids) > NAMED else ""
    return ", ".join(ids[:NAMED]) + more


def tail(run: SuiteRun) -> str:
    """Return the end of what the runner printed, in one line."""
    lines = [line for line in run.output.strip().splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-500:] or "it printed nothing"


def _modes(change: Change) -> set[str]:
    return {side.mode for side in (change.before, change.after) if side is not None}


def _leaves(path: str, target: str) -> bool:
    """Tell whether a link at this path points out of the repository."""
    if target.startswith("/"):
        return True
    depth = path.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        if depth < 0:
            return True
    return False


def _first_difference(change: Change) -> int | None:
    before, after = ((side.text or "").splitlines() if side else [] for side in (change.before, change.after))
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        if old != new:
            return number
    return min(len(before), len(after)) + 1 if before and after else None


def last_line(text: str) -> str:
    """Return the end of a report, where its cause stands."""
    lines = text.strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""
