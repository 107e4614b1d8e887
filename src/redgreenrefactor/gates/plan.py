"""PLAN: the list is kept honestly, and the next case is its first open box."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, cast

from redgreenrefactor.gates.rules.answers import objects, unreadable
from redgreenrefactor.gates.rules.findings import errors, scope
from redgreenrefactor.gates.rules.leaning import serves_tests
from redgreenrefactor.gates.rules.scope import history
from redgreenrefactor.languages.paths import holds_tests, inside, is_plain_code, is_runners
from redgreenrefactor.model.codec import ShapeError, reader
from redgreenrefactor.model.decision import has_worked, is_finished, progress
from redgreenrefactor.model.evidence import Evidence, Inquiry, Judgement, Trial
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import LIST, Case, Item, comparable
from redgreenrefactor.model.handoff import LONG_LIST
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, rule

ANSWER = (
    'End with one JSON object: {"currentTest": {"description": "…", "testFile": "…", "implFile": "…"}}, '
    'or {"currentTest": null} when every box is ticked and this run\'s cases are done.'
)
NOT_YET_PLANNED = (
    f"Add the cases of the feature to {LIST}, and answer with the first. "
    "If the feature is there already, plan the case that shows it: it will be covered."
)


@frozen
class Answer:
    """What PLAN said: the next case, or that there is none, what comes later, and what it gave up."""

    case: Case | None
    dropped: frozenset[str]
    upcoming: tuple[Case, ...] = ()


def plan(evidence: Evidence) -> Judgement:
    """Only the list changed, it tells the truth about what is done, and the answer is its first open item."""
    found = [*history(evidence), *_scope(evidence)]
    answer = read_answer(evidence.report.message)
    found += _nothing_done(evidence)
    if isinstance(answer, str):  # what it would have given up nobody knows
        unknown = frozenset(item.key for item in evidence.plan_before.open)
        return rule(*found, _malformed(answer, ANSWER), *_list_kept(evidence, unknown))
    found += [*_list_kept(evidence, answer.dropped), *_agrees(evidence, answer)]
    if errors(found):
        return rule(*found)
    case = _as_listed(evidence, answer.case)
    if case and (wrong := (yield from _leaned_on(evidence, case.impl_file))):
        return rule(*found, wrong)
    upcoming = tuple(_plain_paths(each) for each in answer.upcoming[:LONG_LIST])
    return rule(*found, case=case, upcoming=upcoming, facts=Facts(dropped=_dropped(evidence)))


def _leaned_on(evidence: Evidence, file: str) -> Inquiry[Finding | None]:
    """Return that a planned file is one which only tests use; the suite's run before the turn tells, and is known."""
    text = evidence.text(file)
    if text is None:
        return None
    run = yield Trial(evidence.base)
    if not file.endswith(".py"):  # who opens a file is only seen in runs that look closely
        run = yield Trial(evidence.base, tests=tuple(sorted(run.passed)), trace=True)
    if not serves_tests(evidence, run, file, text):
        return None
    hint = "Name a file for the code; what tests lean on stays as it is."
    return _malformed(f"implFile {file!r} is used by tests alone", hint)


def _dropped(evidence: Evidence) -> tuple[str, ...]:
    """Return the open items that were given up, in their own words."""
    present = {item.key for item in evidence.plan_after.items}
    return tuple(item.text for item in evidence.plan_before.open if item.key not in present)


def read_answer(message: str) -> Answer | str:
    """Return the last JSON object of a message that names a current test, or what is wrong with it."""
    bodies = [body for body in objects(message) if "currentTest" in body or "current_test" in body]
    if not bodies:
        return unreadable(message, "currentTest")
    body = bodies[-1]
    raw: Any = body["currentTest"] if "currentTest" in body else body["current_test"]
    try:
        case = reader(Case | None)(raw)
        given = cast("list[dict[str, Any]]", body.get("dropped") or [])
        dropped = frozenset(comparable(str(item["description"])) for item in given)
        upcoming = reader(tuple[Case, ...])(body.get("upcoming") or [])
    except (KeyError, TypeError, ShapeError) as error:
        return f"currentTest, upcoming or dropped has the wrong shape: {error!r}"
    for each in (*((case,) if case else ()), *upcoming):
        if not all((each.description.strip(), each.test_file.strip(), each.impl_file.strip())):
            where = "currentTest" if each is case else f"upcoming {each.description!r}"
            return f"{where} needs a description, a testFile and an implFile"
    return Answer(case, dropped, upcoming)


def _scope(evidence: Evidence) -> Iterator[Finding]:
    for change in evidence.changes:
        if inside(evidence, change.path) != LIST:
            hint = "Plan now; tests and code come in their own phases."
            if PurePosixPath(change.path).name == LIST:
                hint = f"The list stands in the project's folder: write {evidence.prefix}{LIST}."
            yield scope(change, f"PLAN changes only {evidence.prefix}{LIST}", hint)


def _earned(evidence: Evidence) -> set[str]:
    """Return the cases that cycles of this run, or of the one before it, have finished."""
    before = evidence.handoff.previous
    done, _ = progress(
        evidence.plan_before, evidence.handoff.current_test, finished=is_finished(evidence.handoff)
    )
    earlier = before.completed_tests if before else ()
    return {comparable(text) for text in (*done, *evidence.handoff.completed_tests, *earlier)}


def _unticked(evidence: Evidence) -> list[Item]:
    earned = _earned(evidence)
    return [item for item in evidence.plan_after.open if item.key in earned]


def _nothing_done(evidence: Evidence) -> Iterator[Finding]:
    if evidence.changes:
        return
    if not evidence.plan_after.items and not _emptied_by_a_person(evidence):
        yield Finding(
            FindingType.NOTHING_DONE,
            f"PLAN wrote no {LIST}",
            LIST,
            hint=f"Write {LIST}: one line '- [ ] …' for each case.",
        )
    elif waiting := _unticked(evidence):
        yield Finding(
            FindingType.NOTHING_DONE,
            f"PLAN left {LIST} as it was, but {waiting[0].text!r} is done",
            LIST,
            waiting[0].line,
            hint="Tick the box of every case that is done.",
        )


def _emptied_by_a_person(evidence: Evidence) -> bool:
    """Tell whether somebody has looked at the first list and left no open box in it."""
    return evidence.handoff.cycle_number > 0 and not evidence.plan_before.open


def _list_kept(evidence: Evidence, dropped: frozenset[str]) -> Iterator[Finding]:
    """Yield what was done to the list that the work so far does not justify."""
    before, after = evidence.plan_before, evidence.plan_after
    earned = _earned(evidence)
    given = Counter(item.key for item in before.done)
    for item in after.done:
        if given[item.key] > 0:
            given[item.key] -= 1
        elif item.key not in earned:
            yield _malformed(
                f"{item.text!r} is ticked, but no cycle of this run has done it",
                "Leave its box open: a box is ticked after its cycle.",
                item.line,
            )
    for item in before.done:
        if given[item.key] > 0:
            given[item.key] -= 1
            yield _malformed(
                f"the done item {item.text!r} was changed or taken away", "Leave done items as they are."
            )
    present = Counter(item.key for item in after.items)
    for item in before.open:
        if present[item.key] == 0 and item.key not in dropped:
            yield _malformed(
                f"the open item {item.text!r} is gone",
                'Bring it back, or name it in "dropped": [{"description": "…", "reason": "…"}].',
            )
    if evidence.changes:
        for item in _unticked(evidence):
            yield _malformed(f"{item.text!r} is done, but its box is open", "Tick its box.", item.line)


def _agrees(evidence: Evidence, answer: Answer) -> Iterator[Finding]:
    """Yield where the answer and the list say different things; a forgotten tick is told of elsewhere."""
    done = _earned(evidence)
    waiting = [item for item in evidence.plan_after.open if item.key not in done]
    if answer.case is None:
        yield from _not_over(evidence, waiting)
        return
    firsts = [items[0].key for items in (waiting, evidence.plan_after.open) if items]
    if comparable(answer.case.description) not in firsts:
        there = (
            "every case is done" if evidence.plan_after.items else f"{evidence.prefix}{LIST} holds no item"
        )
        first = repr(waiting[0].text) if waiting else f"none: {there}"
        yield _malformed(
            f"currentTest is {answer.case.description!r}, but the first open item is {first}",
            "Answer with the first '[ ]' of the list, word for word; reorder open items to choose another.",
        )
    yield from _upcoming(evidence, answer)
    for case in (answer.case, *answer.upcoming):
        yield from _misplaced(evidence, case)


def _upcoming(evidence: Evidence, answer: Answer) -> Iterator[Finding]:
    """Yield cases that are said to come later and are no open box."""
    waiting = {item.key for item in evidence.plan_after.open}
    for case in answer.upcoming:
        if comparable(case.description) not in waiting:
            yield _malformed(
                f"upcoming names {case.description!r}, which is no open item of {LIST}",
                "Name later open boxes there, word for word, or leave it out.",
            )


def _misplaced(evidence: Evidence, case: Case) -> Iterator[Finding]:
    """Yield what is wrong with the files that a case is planned for."""
    outside = [
        (name, path)
        for name, path in (("testFile", case.test_file), ("implFile", case.impl_file))
        if _outside(path)
    ]
    for name, path in outside:
        yield _malformed(
            f"{name} {path!r} lies outside the project", "Name a path inside the project, relative."
        )
    if PurePosixPath(case.test_file) == PurePosixPath(case.impl_file):
        yield _malformed("testFile and implFile are the same file", "Name two different files.")
    if not outside:
        yield from _swapped(evidence, case)


def _not_over(evidence: Evidence, waiting: Sequence[Item]) -> Iterator[Finding]:
    """Yield why an answer that names no case is too early."""
    if waiting:
        many = f"{len(waiting)} boxes are" if len(waiting) > 1 else "1 box is"
        yield _malformed(
            f"currentTest is null, but {many} open, first {waiting[0].text!r}",
            "Answer with the first open item.",
            waiting[0].line,
        )
    elif not evidence.plan_after.items:
        if evidence.changes:
            yield _malformed(f"{LIST} holds no item", "Write one line '- [ ] …' for each case.")
    elif not has_worked(evidence.handoff) and not _emptied_by_a_person(evidence):
        yield _malformed("currentTest is null, but this run has worked no case yet", NOT_YET_PLANNED)


def _swapped(evidence: Evidence, case: Case) -> Iterator[Finding]:
    """Yield paths that would make code of tests that are there, or tests of code: each has its own rules."""
    there, here = (evidence.text(str(PurePosixPath(path))) for path in (case.test_file, case.impl_file))
    ours = {str(PurePosixPath(path)) for path in (case.test_file, case.impl_file)} & {LIST, "tdd.properties"}
    if ours:
        yield _malformed(f"{min(ours)!r} is neither a test nor code", "Name files for tests and code.")
    if is_runners(case.impl_file) or (here is not None and holds_tests(case.impl_file, here)):
        yield _malformed(
            f"implFile {case.impl_file!r} holds tests, or says how they are run",
            "Name a file for the code; tests and their configuration stay as they are.",
        )
    if there and is_plain_code(case.test_file, there):
        yield _malformed(f"testFile {case.test_file!r} holds code and no test", "Name a file for tests.")


def _as_listed(evidence: Evidence, case: Case | None) -> Case | None:
    """Return the case in the list's own words, its paths in plain form."""
    return replace(_plain_paths(case), description=evidence.plan_after.open[0].text) if case else None


def _plain_paths(case: Case) -> Case:
    paths = [str(PurePosixPath(path)) for path in (case.test_file, case.impl_file)]
    return Case(case.description, *paths)


def _outside(path: str) -> bool:
    pure = PurePosixPath(path)
    parts = {part.lower() for part in pure.parts}
    steers_git = bool(parts & {"..", ".git", ".gitattributes"})
    return pure.is_absolute() or steers_git or not parts or not path.isprintable() or "\\" in path


def _malformed(what: str, hint: str, line: int | None = None) -> Finding:
    return Finding(FindingType.MALFORMED_HANDOFF, what, LIST if line else None, line, hint)
