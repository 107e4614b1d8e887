"""Why a new test fails: for want of the behaviour, or for a reason of its own."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import brief, place_in
from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.languages.paths import is_tests_own
from redgreenrefactor.model.evidence import Evidence, Kind, Missing, Status, TestResult
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import Finding, FindingType

LONGEST = 600  # characters of a failure that a note tells


def how_it_failed(result: TestResult) -> str:
    """Return where and how a test failed, with its line ends."""
    spot, words = place_in(result), result.message.strip()
    where = f"{spot.file}:{spot.line}: " if spot.file and spot.line else ""
    said = words if words.startswith(result.exception) else f"{result.exception}: {words}"
    text = f"{where}{said or result.status}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def wrong_reason(evidence: Evidence, result: TestResult) -> Iterator[Finding]:
    """Yield why a failure has nothing to do with the missing behaviour."""
    case = evidence.case
    if case is None or result.kind is Kind.ASSERTION or _right_reason(evidence, case, result):
        return
    spot = place_in(result)
    where = f"{spot.file}:{spot.line}" if spot.file and spot.line else result.id
    phase = "in its set-up" if result.status is Status.ERROR else "but not for want of the behaviour"
    yield Finding(
        FindingType.WRONG_FAILURE,
        f"{where}: the new test fails {phase}: {brief(result)}",
        spot.file,
        spot.line,
        hint="It has to fail because the planned code is missing or wrong: an assertion on its result, "
        "or the planned name not found.",
    )


def _right_reason(evidence: Evidence, case: Case, result: TestResult) -> bool:
    """Tell whether a failure that is no assertion comes from the planned code, or from its not being there."""
    missing = result.missing
    if missing is not None and (
        python.is_planned(missing.name, missing.owner, case.impl_file)
        or _is_planned_class(evidence, case, missing.owner)
    ):
        return True
    if result.exception in ("ImportError", "ModuleNotFoundError", "NameError", "FixtureLookupError"):
        return False
    if _through_code(evidence, result):
        return True
    return result.exception != "RecursionError" and _calls_planned(evidence, case, result)


def _is_planned_class(evidence: Evidence, case: Case, owner: str | None) -> bool:
    """Tell whether what lacks a name is an object of a class that the planned file defines."""
    tree = python.parsed(evidence.text(case.impl_file))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} if tree else set[str]()
    return owner is not None and owner.rpartition(".")[2] in names


def _through_code(evidence: Evidence, result: TestResult) -> bool:
    """Tell whether the error came out of the project's own code, below the test."""
    return any(
        not is_tests_own(evidence, frame.file) and not PurePosixPath(frame.file).is_absolute()
        for frame in result.frames
    )


def _calls_planned(evidence: Evidence, case: Case, result: TestResult) -> bool:
    """Tell whether a line of the tests on the way to the error calls the planned code or uses what came from it."""
    for frame in reversed(result.frames):
        text = evidence.text(frame.file)
        tree = python.parsed(text) if frame.file.endswith(".py") else None
        if tree is None:
            continue
        statement, function = python.statement_at(tree, frame.line), python.function_at(tree, frame.line)
        if statement is None or function is None or _misspelt(tree, result.missing):
            continue
        seeds = dataflow.imported_from(tree, case.impl_file)
        if dataflow.sets_up(tree, function, seeds):
            seeds |= {"self", "cls"}
        if result.kind is Kind.UNWRITTEN and _used_above(function, statement, seeds):
            return True  # no commit could have brought that file: it is for the code to write
        if dataflow.uses(statement, dataflow.derived(function, seeds)) or _starts(case, result, statement):
            return True
    return False


def _used_above(function: python.Function, statement: ast.stmt, names: frozenset[str]) -> bool:
    return any(
        isinstance(item, ast.Name) and item.id in names and item.lineno < statement.lineno
        for item in ast.walk(function)
    )


def _misspelt(tree: ast.Module, missing: Missing | None) -> bool:
    """Tell whether the name was looked for in a module that is not the project's to write."""
    return missing is not None and missing.owner is not None and missing.owner in set(python.imports(tree))


def _starts(case: Case, result: TestResult, statement: ast.stmt) -> bool:
    """Tell whether a program that failed is the planned one."""
    names = {case.impl_file, PurePosixPath(case.impl_file).name, *python.planned_modules(case.impl_file)}
    return result.exception == "CalledProcessError" and any(
        isinstance(item.value, str) and item.value in names for item in python.strings(statement)
    )
