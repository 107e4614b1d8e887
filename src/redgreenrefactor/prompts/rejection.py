"""What a retry is told: what was rejected, why, where, and what to do instead."""

from collections.abc import Iterator, Sequence

from redgreenrefactor.model.decision import built_on, rejections_of, was_rejected
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, Rejection
from redgreenrefactor.model.verdict import GRAVITY, STOPPING, Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.advice import advice
from redgreenrefactor.prompts.quote import in_line, quoted

EVIDENCE = 3400  # characters of what was wrong, a thousand tokens at most
EARLIER = 5  # rejections before the last one that are told
_HINTS_FOR_PEOPLE = (FindingType.AGENT_FAILURE, FindingType.TIMEOUT)  # settings and commands of theirs


def rejection(phase: PhaseName, handoff: Handoff, findings: Sequence[Finding]) -> str:
    """Return the end of a retry's task; nothing where there was no error, or none that was the work's."""
    if handoff.error is None or not was_rejected(handoff):
        return ""
    details = handoff.error_details or ErrorDetails("", handoff.error)
    reasons = _gravest_first(findings) or [
        Finding(kind, details.message) for kind in FindingType if kind == details.type
    ]
    told = [told_of(finding) for finding in reasons] or [
        f"{details.type}: {details.message}".removeprefix(": ")
    ]
    *before, last = rejections_of(handoff) or (None,)
    ref = _ref(handoff, last)
    shown = f" `git show {ref}` shows them." if ref else ""
    again = any(each and last and each.type == last.type for each in before)
    parts = [
        "## The last attempt was rejected",
        _ground(handoff, last) + shown,
        "What was wrong with it:",
        quoted("\n\n".join(told), EVIDENCE),
        _instead(advice(phase, _kinds(phase, handoff, reasons), ref, again=again)),
        earlier(handoff),
    ]
    return "\n\n".join(part for part in parts if part)


def _kinds(phase: PhaseName, handoff: Handoff, reasons: Sequence[Finding]) -> Iterator[FindingType]:
    """Yield what advice is wanted on; RED may change the implementation file, only not so, as the hint says."""
    planned = handoff.current_test.impl_file if handoff.current_test and phase is PhaseName.RED else ""
    for finding in reasons:
        allowed = bool(planned and finding.file and finding.file.endswith(planned))
        if not (allowed and finding.type is FindingType.SCOPE_VIOLATION):
            yield finding.type


def earlier(handoff: Handoff) -> str:
    """Return, in short, the rejections before the last one, lest they are earned again; nothing where there are none."""
    listed = [_in_short(handoff, each) for each in rejections_of(handoff)[:-1][-EARLIER:]]
    return "\n".join(["Attempts before were rejected, too:", "", *listed]) if listed else ""


def told_of(finding: Finding) -> str:
    """Return a finding as a session is told of it: its place once, and no hint that is for people."""
    where = "".join(_where(finding))
    hint = f"\nHint: {finding.hint}" if finding.hint and finding.type not in _HINTS_FOR_PEOPLE else ""
    return f"{finding.type}{where}: {finding.message}{hint}"


def _where(finding: Finding) -> Iterator[str]:
    if finding.file and finding.file not in finding.message:
        yield f" in {finding.file}"
    if finding.file and finding.line and f":{finding.line}" not in finding.message:
        yield f", line {finding.line}"


def _ground(handoff: Handoff, last: Rejection | None) -> str:
    """Return where the session starts: tries that build on each other find the last one's files."""
    if built_on(handoff):
        return "The files you find are those of an earlier try: mend them, and commit all of it."
    if last and not last.kept:
        return "It left no change behind; you start where it started."
    return "Its changes were undone; you start where it started."


def _gravest_first(findings: Sequence[Finding]) -> list[Finding]:
    errors = (each for each in findings if each.severity is Severity.ERROR and each.type not in STOPPING)
    return sorted(errors, key=lambda finding: GRAVITY[finding.type])


def _in_short(handoff: Handoff, rejected: Rejection) -> str:
    ref = _ref(handoff, rejected)
    shown = f" (`git show {ref}`)" if ref else ""
    return f"- {rejected.attempt}: {rejected.type}: {in_line(rejected.message)}{shown}"


def _ref(handoff: Handoff, rejected: Rejection | None) -> str:
    """Return where to look at rejected work, if any was committed."""
    return f"refs/tdd/attempts/{handoff.run_id}/{rejected.kept}" if rejected and rejected.kept else ""


def _instead(lines: Sequence[str]) -> str:
    return "What to do instead:\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""
