"""Whether a note tells the truth about its commit: what it records against what is measured now."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redgreenrefactor.model.decision import Turn, accepted, cycle_of, is_finished, progress
from redgreenrefactor.model.evidence import Measure
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import Link
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity, Verdict
from redgreenrefactor.model.workflow import Phase, PhaseName

RESTORE = "Type 'rgr repair-notes' if notes were lost; else go back to the history that rgr made."


def chained(link: Link) -> Iterator[Finding]:
    """Yield where a commit does not stand where its note, and the one before it, say."""
    before, after = link.before.handoff, link.after.handoff
    name = f"{after.phase} {link.after.commit[:10]}"
    if after.phase is not before.next_phase or after.cycle_number != cycle_of(before):
        yield _rewritten(
            f"{name} of cycle {after.cycle_number} follows a handoff ({link.before.commit[:10]}) after which "
            f"{before.next_phase} of cycle {cycle_of(before)} is due"
        )
    opening = before.cycle_number == 0 and before.carried_from is None  # a branch may be rebased as a whole
    if link.between and not opening:
        yield _rewritten(f"{name}: {_commits(link.between)} before it without a handoff")
    if len(link.parents) != 1:
        yield _rewritten(f"{name} is a merge: a turn is one commit on top of the one before")
    if not link.prefixed:
        yield _rewritten(f"{name} has the subject {link.subject!r:.80}, which is no {after.phase} commit's")
    if after.feature != before.feature:
        yield _malformed(f"{name}: the note tells of another feature than the one before it")


def carried_over(before: Handoff, after: Handoff, commit: str, plan: Plan) -> Iterator[Finding]:
    """Yield where a handoff that was carried over to a later commit, with the list as it is there, is not the one it was."""
    relisted = before.phase is PhaseName.PLAN
    asked_again = relisted and after.next_phase is PhaseName.PLAN
    same = (after.phase, after.cycle_number) == (before.phase, before.cycle_number)
    if not same or (after.next_phase is not before.next_phase and not asked_again):
        yield _rewritten(
            f"{commit[:10]} carries a handoff of {after.phase}, cycle {after.cycle_number}, after which "
            f"{after.next_phase} is due; the one it was carried over from says otherwise"
        )
    for key, told in _CARRIED.items():
        changed = told(after) != told(before)
        if changed and not (key == "currentTest" and asked_again and after.current_test is None):
            yield _malformed(
                f"{commit[:10]} carries a handoff that says {key} {_shown(told(after))}; "
                f"the one it was carried over from says {_shown(told(before))}"
            )
    completed, pending = progress(plan, after.current_test, finished=False)
    listed = replace(after, completed_tests=completed, pending_tests=pending)
    yield from _lists(commit[:10], after, listed if relisted and _lists_differ(after, before) else before)


def _lists_differ(one: Handoff, two: Handoff) -> bool:
    return any(_lists("", one, two))


def believed(before: Handoff, plan: Plan) -> Handoff:
    """Return the handoff a turn started from; what an opening says is done counts as far as the list shows it."""
    if before.cycle_number > 0:
        return before
    completed, pending = progress(plan, None, finished=False)
    earlier = before.previous
    if earlier is not None:
        done, _ = progress(plan, earlier.current_test, finished=is_finished(earlier))
        earlier = replace(earlier, completed_tests=done)
    return replace(before, completed_tests=completed, pending_tests=pending, previous=earlier)


def recorded(link: Link, phase: Phase, plan: Plan, verdict: Verdict) -> Iterator[Finding]:
    """Yield where a note says something else than follows from its turn, judged again and accepted."""
    note = link.after.handoff
    turn = Turn(phase, note.cycle_number, note.attempts, plan, note.timestamp)
    due = accepted(link.before.handoff, turn, verdict)
    name = f"{note.phase} {link.after.commit[:10]}"
    for key, told in _TOLD.items():
        if told(note) != told(due) and not (key == "nextPhase" and _reached(note)):
            yield _malformed(
                f"{name}: the note says {key} {_shown(told(note))}, but it is {_shown(told(due))}"
            )
    if note.test_list is not None and note.test_list != plan.blob:
        yield _malformed(f"{name}: the note was written for another test-list.md than the commit holds")
    yield from _lists(name, note, due)
    yield from _tests(name, note, verdict)


def _reached(note: Handoff) -> bool:
    """Tell whether a task was over before its reviewer approved: somebody had opened its pull request."""
    over = note.next_phase is PhaseName.COMPLETE and note.reached is True
    return over and note.phase in (PhaseName.CODE, PhaseName.REVIEW)


def _case(case: Case | None) -> str | None:
    return f"{case.description!r} in {case.test_file} for {case.impl_file}" if case else None


_TOLD: Mapping[str, Callable[[Handoff], Any]] = {
    "nextPhase": lambda note: note.next_phase,
    "testResult": lambda note: note.test_result,
    "outcome": lambda note: note.outcome,
    "currentTest": lambda note: _case(note.current_test),
}


_CARRIED: Mapping[str, Callable[[Handoff], Any]] = {
    "feature": lambda note: note.feature,
    "testResult": _TOLD["testResult"],
    "outcome": _TOLD["outcome"],
    "currentTest": _TOLD["currentTest"],
    "tests": lambda note: ", ".join(sorted(note.facts.new_tests)) or None,
}


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _lists(name: str, note: Handoff, due: Handoff) -> Iterator[Finding]:
    """Yield where the cases done and to do are not those of the list; a long list is only counted."""
    for key, told, counted, ought in (
        ("completed", note.completed_tests, note.completed_count, due.completed_tests),
        ("pending", note.pending_tests, note.pending_count, due.pending_tests),
    ):
        if (counted is not None and counted != len(ought)) or (counted is None and told != ought):
            yield _malformed(f"{name}: the note's {key}Tests are not those that test-list.md shows")


def _tests(name: str, note: Handoff, verdict: Verdict) -> Iterator[Finding]:
    noted, found = (frozenset(facts.new_tests) for facts in (note.facts, verdict.facts))
    uncounted = note.facts.evidence == Measure.EXIT_CODE and not noted
    if found and noted != found and not uncounted:
        shown = [", ".join(sorted(names)[:3]) or "none" for names in (noted, found)]
        yield _malformed(f"{name}: the note names the test {shown[0]}, but the new one is {shown[1]}")


# --- shares


@frozen
class Share:
    """Of so many things tried, which ones went against the claim."""

    tried: int
    against: frozenset[str]

    @property
    def percent(self) -> int:
        """How much of it holds."""
        return round(100 * (self.tried - len(self.against)) / self.tried) if self.tried else 100


@frozen
class Claim:
    """A share that notes record: where it stands, and what it says."""

    share: Callable[[Facts], Share | None]
    words: str
    kind: FindingType


def _needed(facts: Facts) -> Share | None:
    found = facts.minimality
    return Share(found.hunks, frozenset(found.unneeded)) if found and found.hunks > 0 else None


def _noticed(facts: Facts) -> Share | None:
    found = facts.mutants
    return Share(found.tried, frozenset(found.missed or ())) if found and found.tried > 0 else None


_CLAIMS = (
    Claim(_needed, "of the change is needed by the new test", FindingType.NOT_MINIMAL),
    Claim(_noticed, "of the mutants are noticed by the new test", FindingType.MEANINGLESS_TEST),
)


def shares(link: Link, verdict: Verdict) -> Iterator[Finding]:
    """Yield where less is needed, or noticed, than the note claims; more or fewer may be tried each time."""
    note = link.after.handoff
    if note.phase is not PhaseName.GREEN:
        return
    name = f"{note.phase} {link.after.commit[:10]}"
    for claim in _CLAIMS:
        told, found = claim.share(note.facts), claim.share(verdict.facts)
        if told is None:
            continue
        said = f"{name}: the note says {told.percent} % {claim.words}"
        if found is None:
            yield _warning(claim, f"{said}; it could not be measured again")
            continue
        fresh = found.against - told.against
        if len(fresh) > max(0, found.tried - told.tried):
            yield _unsupported(claim, f"{said}, now it is {found.percent} %", fresh)
        elif told.percent != found.percent:
            yield _warning(claim, f"{said}, now it is {found.percent} %")


def _unsupported(claim: Claim, what: str, places: frozenset[str]) -> Finding:
    first = min(places)
    file, _, rest = first.partition(":")
    line = re.match(r"\d+", rest)
    return Finding(claim.kind, f"{what}: {first}", file, int(line[0]) if line else None, RESTORE)


def _warning(claim: Claim, what: str) -> Finding:
    return Finding(claim.kind, what, severity=Severity.WARNING)


def _rewritten(what: str) -> Finding:
    return Finding(FindingType.HISTORY_REWRITTEN, what, hint=RESTORE)


def _malformed(what: str) -> Finding:
    return Finding(FindingType.MALFORMED_HANDOFF, what, hint=RESTORE)


def _commits(number: int) -> str:
    return "a commit stands" if number == 1 else f"{number} commits stand"


def about_turn(findings: Sequence[Finding], phase: PhaseName, commit: str) -> Iterator[Finding]:
    """Yield the findings of a gate with the turn they are about before them."""
    for finding in findings:
        yield Finding(
            finding.type,
            f"{phase} {commit[:10]}: {finding.message}",
            finding.file,
            finding.line,
            finding.hint,
            finding.severity,
        )
