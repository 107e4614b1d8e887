"""What a retry is told: what was rejected, why, where, and what to do instead."""

from collections.abc import Sequence

from redgreenrefactor.model.decision import built_on, cycle_of, was_rejected
from redgreenrefactor.model.handoff import ErrorDetails, Handoff
from redgreenrefactor.model.verdict import GRAVITY, STOPPING, Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.advice import advice
from redgreenrefactor.prompts.quote import quoted

EVIDENCE = 3400  # characters of what was wrong, a thousand tokens at most


def rejection(phase: PhaseName, handoff: Handoff, attempt: int, findings: Sequence[Finding]) -> str:
    """Return the end of a retry's task; nothing where there was no error, or none that was the work's."""
    if handoff.error is None or not was_rejected(handoff):
        return ""
    reasons = _gravest_first(findings)
    details = handoff.error_details or ErrorDetails("", handoff.error)
    told = [_told(finding) for finding in reasons] or [
        f"{details.type}: {details.message}".removeprefix(": ")
    ]
    kinds = [finding.type for finding in reasons] or [kind for kind in FindingType if kind == details.type]
    parts = [
        "## The last attempt was rejected",
        _ground(handoff) + _kept(phase, handoff, attempt),
        "What was wrong with it:",
        quoted("\n\n".join(told), EVIDENCE),
        _instead(advice(phase, kinds, _ref(phase, handoff, attempt))),
    ]
    return "\n\n".join(part for part in parts if part)


def _ground(handoff: Handoff) -> str:
    """Return where the session starts: tries that build on each other find the last one's files."""
    if built_on(handoff):
        return "The files you find are those of an earlier try: mend them, and commit all of it."
    return "Its changes were undone; you start where it started."


def _gravest_first(findings: Sequence[Finding]) -> list[Finding]:
    errors = (each for each in findings if each.severity is Severity.ERROR and each.type not in STOPPING)
    return sorted(errors, key=lambda finding: GRAVITY[finding.type])


def _told(finding: Finding) -> str:
    line = f", line {finding.line}" if finding.line else ""
    where = f" in {finding.file}{line}" if finding.file else ""
    hint = f"\nHint: {finding.hint}" if finding.hint else ""
    return f"{finding.type}{where}: {finding.message}{hint}"


def _kept(phase: PhaseName, handoff: Handoff, attempt: int) -> str:
    """Return where to look at the rejected work."""
    ref = _ref(phase, handoff, attempt)
    return f" If it made a commit, `git show {ref}` shows it." if ref else ""


def _ref(phase: PhaseName, handoff: Handoff, attempt: int) -> str:
    last = attempt - 1
    if last < 1 or not handoff.run_id:
        return ""
    return f"refs/tdd/attempts/{handoff.run_id}/{cycle_of(handoff)}-{phase}-{last}"


def _instead(lines: Sequence[str]) -> str:
    return "What to do instead:\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""
