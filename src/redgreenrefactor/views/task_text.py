"""What became of a task, in words: the summary that is kept, and the section the output ends with."""

from collections.abc import Sequence

from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus, TaskPhase
from redgreenrefactor.model.workflow import PhaseName

FAILURE = "green-phase-failure.md"
_SHORT = 200  # characters of a reason
_GO_ON = "Nothing is lost: type the same command again, or 'rgr resume', to go on."


def last_section(result: TaskFileResult) -> str:
    """Return the one section that tells a machine, or a person in a hurry, how the task ended."""
    match result.status:
        case TaskFileStatus.COMPLETE:
            return _complete(result)
        case TaskFileStatus.FAILED:
            return _failed(result)
        case _:
            return _blocked(result)


def one_line(result: TaskFileResult) -> str:
    """Return how a task among others ended, and why."""
    why = f" ({_line(result.error)[:_SHORT]})" if result.error else ""
    return f"{result.task.id}: {result.status}{why}"


def _complete(result: TaskFileResult) -> str:
    cycle = "Red → Green → Refactor" if result.task.tdd else "one plain session, judged by the criteria"
    lines = [
        "## TASK COMPLETE",
        "",
        f"TDD cycle completed: {cycle}" if result.task.tdd else f"Task completed: {cycle}",
        f"Test results: {results(result.passed, result.total)}",
        f"Coverage: {coverage(result)}",
    ]
    if result.task.tdd:
        lines.append(f"Green phase iterations: {result.iterations}/{result.max_iterations}")
    return "\n".join([*lines, f"Files modified: {', '.join(result.files) or 'none'}"])


def _failed(result: TaskFileResult) -> str:
    phase = _title(result.phase)
    if result.phase is PhaseName.GREEN:
        reached = f"Max iterations ({result.max_iterations}) reached"
        tests = result.lacks_passing_tests
        reason = f"{reached} without passing tests" if tests else f"{reached}: {result.error}"
        action, where = "All changes auto-reverted", f"See .process/{FAILURE}"
    else:
        reason = result.error or "the work was rejected"
        action = f"The changes of {phase} were reverted"
        where = f"See {result.summary}" if result.summary else "'rgr status' shows the last handoff"
    return "\n".join(
        [
            "## TASK FAILED",
            "",
            f"**Phase:** {phase}",
            f"**Reason:** {_line(reason)}",
            f"**Action:** {action}",
            f"**Diagnostics:** {where}",
        ]
    )


def _blocked(result: TaskFileResult) -> str:
    return "\n".join(
        [
            "## TASK BLOCKED",
            "",
            f"**Blocker:** {_line(result.error or 'the task was stopped')}",
            f"**Need:** {_line(result.hint) or _GO_ON}",
            f"**Attempted:** {_attempted(result)}",
            f"**Phase:** {_title(result.phase).lower()}",
        ]
    )


def _attempted(result: TaskFileResult) -> str:
    tried = [f"{phase.name} ({_times(phase.attempts)})" for phase in result.phases if phase.attempts]
    return ", ".join(tried) or "nothing yet: the surroundings were checked first"


def _times(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def _title(phase: PhaseName | None) -> str:
    return str(phase or PhaseName.RED).capitalize()


def _line(text: str) -> str:
    return " ".join(text.split())


def results(passed: int | None, total: int | None) -> str:
    """Return how many tests passed, as far as a runner tells."""
    if total is None:
        return "judged by the exit code of the test command; single tests were not counted"
    rate = f" ({100 * (passed or 0) / total:.0f}%)" if total else ""
    return f"{passed}/{total} passed{rate}"


def coverage(result: TaskFileResult) -> str:
    """Return the figure and the target, or why there is none."""
    target = result.task.expected_coverage or "none"
    figure = (
        f"{result.coverage:g}%" if result.coverage is not None else f"not measured, {result.coverage_note}"
    )
    return f"{figure} (target: {target})"


# --- the summary


def summary(result: TaskFileResult, changes: Sequence[str], content: Sequence[str] = ()) -> str:
    """Return the summary of a task as it is kept in a file."""
    task = result.task
    parts = [f"# Task: {task.id} {task.title}"]
    if task.tdd:
        parts += ["## TDD Cycle Summary", _red(result), _green(result), _refactor(result)]
    else:
        parts += ["## Plain Session", _plain(result)]
    parts += [
        "## Implementation Summary",
        "### Files Modified\n" + ("\n".join(f"- {line}" for line in changes) or "- none"),
        "### Content Added\n" + ("\n".join(f"- {line}" for line in content) or "- none"),
        "### Warnings\n" + ("\n".join(f"- {_line(line)}" for line in result.warnings) or "- none"),
        f"## TDD Compliance: {result.compliance}/100\n"
        + (
            "\n".join(f"- -{item.points}: {item.why}" for item in result.deductions)
            or "- nothing was deducted"
        ),
        f"## Status: {_status(result)}",
    ]
    return "\n\n".join(parts) + "\n"


def _status(result: TaskFileResult) -> str:
    if result.status is TaskFileStatus.COMPLETE:
        return "Complete (TDD Compliant)" if result.task.tdd else "Complete"
    return f"{str(result.status).capitalize()}: {_line(result.error or '')}".rstrip(": ")


def _phase(result: TaskFileResult, name: PhaseName) -> TaskPhase:
    return result.of(name) or TaskPhase(name, done=False)


def _red(result: TaskFileResult) -> str:
    red = _phase(result, PhaseName.RED)
    files = ", ".join(red.facts.test_files or ()) or "none"
    count = "not counted" if red.facts.written is None else red.facts.written
    early = "some tests passed already: see the warnings" if _warned(red) else "All tests failing as expected"
    lines = [
        "### Red Phase: Write Failing Tests",
        f"- Test Cases Written: {count} (expected: {result.task.test_count or 'not said'})",
        f"- Test Files: {files}",
        f"- Initial Result: {early if red.done else 'not completed'}",
    ]
    return "\n".join(lines)


def _warned(phase: TaskPhase) -> bool:
    return any(finding.type == "UnexpectedPass" for finding in phase.findings)


def _green(result: TaskFileResult) -> str:
    green = _phase(result, PhaseName.GREEN)
    scopes = "; ".join(cycle.scope for cycle in result.task.cycles if cycle.scope)
    lines = [
        "### Green Phase: Implement to Pass Tests",
        f"- Implementation Scope: {scopes or 'not said'}",
        f"- Test-Fix Iterations: {green.attempts}/{result.max_iterations}",
        f"- Final Test Results: {results(green.passed, green.total) if green.measured else 'none'}",
        f"- Coverage: {coverage(result)}",
        f"- Iteration Details: {_logs(green.attempts)}",
    ]
    return "\n".join(lines)


def _logs(tries: int) -> str:
    return f"See green-fix-iteration-{'1' if tries == 1 else '*'}.md" if tries else "none"


def _refactor(result: TaskFileResult) -> str:
    phase = _phase(result, PhaseName.REFACTOR)
    ways = phase.facts.complexity
    if ways and ways.before is not None:
        complexity = f"{ways.before} before, {ways.after} after"
    else:
        complexity = f"not measured ({(ways and ways.why) or 'nothing was changed'})"
    regression = "All tests still passing" if phase.done else "not completed"
    lines = [
        "### Refactor Phase: Improve Code Quality",
        f"- Refactorings Applied: {len(phase.facts.refactored or ()) if phase.done else 0} files changed",
        f"- Complexity (cyclomatic): {complexity}",
        f"- Regression Test: {regression}",
        f"- Final Test Results: {results(phase.passed, phase.total) if phase.measured else 'none'}",
    ]
    return "\n".join(lines)


def _plain(result: TaskFileResult) -> str:
    phase = _phase(result, PhaseName.CODE)
    return "\n".join(
        [
            f"- Final Test Results: {results(phase.passed, phase.total) if phase.measured else 'none'}",
            f"- Coverage: {coverage(result)}",
        ]
    )
