"""GREEN and REFACTOR of a task, and a task without either: the ordinary gates, coverage, and every criterion."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from redgreenrefactor.gates.code import code, counted
from redgreenrefactor.gates.green import green
from redgreenrefactor.gates.refactor import refactor
from redgreenrefactor.gates.rules.coverage import covered
from redgreenrefactor.gates.rules.findings import tail
from redgreenrefactor.languages.complexity import complexity
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.model.evidence import Evidence, Judgement, Question, SuiteRun, Trial
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import UNMET
from redgreenrefactor.model.verdict import Finding, FindingType, Ruling, Severity, Verdict

OUTPUT = 6_000  # characters of what rejected tests printed that a note keeps
_NOT_STARTED = (126, 127)  # what a shell answers for a program that it cannot start or find


def task_green(task: Task, evidence: Evidence) -> Judgement:
    """Every test passes and none was touched, enough code is reached, and every criterion holds."""
    verdict = yield from green(evidence)
    return (yield from _finished(task, evidence, verdict))


def task_refactor(task: Task, evidence: Evidence) -> Judgement:
    """Everything that held after GREEN still does; the note says how complicated the code was and is."""
    verdict = yield from refactor(evidence)
    if evidence.changes:
        verdict = yield from covered(evidence, verdict)
        facts = {"refactored": [change.path for change in evidence.changes], **_simpler(evidence)}
        verdict = replace(verdict, facts={**verdict.facts, **facts})
    return (yield from _finished(task, evidence, verdict))


def task_plain(task: Task, evidence: Evidence) -> Judgement:
    """The suite is green, nothing was given up for it, enough code is reached, and every criterion holds."""
    verdict = yield from code(evidence)
    verdict = yield from covered(evidence, verdict)
    return (yield from _finished(task, evidence, verdict))


def _finished(task: Task, evidence: Evidence, verdict: Verdict) -> Judgement:
    """Return the verdict with the figures of the suite, turned down where another criterion does not hold."""
    run = yield Trial(evidence.head)
    facts = {**verdict.facts, "suite": counted(run)}
    broken: dict[str, Finding] = {}
    if verdict.ruling is Ruling.ACCEPTED:
        broken = yield from _broken(task, evidence)
    else:
        facts["output"] = run.output[-OUTPUT:]
    if broken:
        facts[UNMET] = list(broken)
    found = broken.values()
    wrong = {finding.type for finding in found if finding.severity is Severity.ERROR}
    ruling = verdict.ruling
    if wrong:
        ruling = Ruling.UNDECIDED if wrong == {FindingType.UNDECIDED} else Ruling.REJECTED
    return replace(verdict, ruling=ruling, findings=(*verdict.findings, *found), facts=facts)


def _broken(task: Task, evidence: Evidence) -> Generator[Question, SuiteRun, dict[str, Finding]]:
    """Return a finding for every command of the criteria, but the tests', that does not succeed."""
    found: dict[str, Finding] = {}
    for command in task.commands:
        if command == evidence.command:
            continue
        run = yield Trial(evidence.head, command=command)
        if run.exit_code in _NOT_STARTED:
            message = f"the criterion `{command}` could not be run (exit code {run.exit_code}): {tail(run)}"
            hint = "Install what it needs, or mend the criterion, then go on."
            found[command] = Finding(FindingType.UNDECIDED, message, hint=hint)
        elif run.timed_out or run.exit_code:
            why = "ran past test.timeout" if run.timed_out else f"fails (exit code {run.exit_code})"
            message = f"the criterion `{command}` {why}: {tail(run)}"
            found[command] = Finding(FindingType.TEST_FAILURE, message, hint="Make every criterion hold.")
    return found


def _simpler(evidence: Evidence) -> dict[str, Any]:
    """Return how many ways lead through the files REFACTOR changed, before and after."""
    paths = [
        change.path
        for change in evidence.changes
        if change.path.endswith(".py") and not is_test(evidence, change.path)
    ]
    if not paths:
        return {"complexity": {"why": "only Python code is measured, and none was changed"}}
    before, after = (
        complexity(evidence.read(commit, path) for path in paths) for commit in (evidence.base, evidence.head)
    )
    return {"complexity": {"before": before, "after": after}}
