"""What a retry is told: what was rejected, why, where, and what to do instead."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from redgreenrefactor.model.decision import built_on, rejections_of, was_rejected
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, Rejection
from redgreenrefactor.model.verdict import GRAVITY, STOPPING, Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName
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
    again = any(each and last and each.type == last.type for each in before)
    parts = [
        "## The last attempt was rejected",
        ground(handoff),
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


def ground(handoff: Handoff) -> str:
    """Return where the session starts, and where to look at what was rejected."""
    last = next(reversed(rejections_of(handoff)), None)
    ref = _ref(handoff, last)
    shown = f" `git show {ref}` shows them." if ref else ""
    basis = built_on(handoff)
    if basis and undone(handoff):
        was = "It broke the rules, so its changes were undone."
        return f"{was}{shown} The files you find, uncommitted, are those of an earlier try, {basis}."
    if basis:
        return f"The files you find are those of an earlier try: mend them, and commit all of it.{shown}"
    if last and not ref:
        return "It left no change behind; you start where it started."
    return f"Its changes were undone; you start where it started.{shown}"


def undone(handoff: Handoff) -> bool:
    """Tell whether a session finds other files than those of the last attempt: that was rolled back, or broke the rules."""
    basis, last = built_on(handoff), next(reversed(rejections_of(handoff)), None)
    return basis is None or (last is not None and last.kept not in ("", basis))


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


MOST = 4  # pieces of advice a brief gives: more would hide the gravest


def advice(
    phase: PhaseName, kinds: Iterable[FindingType], ref: str = "", *, again: bool = False
) -> tuple[str, ...]:
    """Return what to do instead, the gravest first; after a failed GREEN, whether to go another way.

    The ref is where the rejected work can be found; `again` tells that it failed like this before.
    """
    found = sorted(set(kinds), key=lambda kind: GRAVITY[kind])
    lines = [_said(phase, kind, ref) for kind in found if kind in _ADVICE][:MOST]
    way = _way(found, f": `git checkout {ref} -- FILES`" if ref else "", again=again)
    return (*lines, way) if phase is PhaseName.GREEN and way else tuple(lines)


def _way(found: Collection[FindingType], reuse: str, *, again: bool) -> str:
    """Return whether a failed GREEN's code is worth another try, or another approach is."""
    if set(found) == {FindingType.TEST_TAMPERING}:
        return f"Take back what is named above; what else is right may be used again{reuse}."
    if _LOST_APPROACH.intersection(found) or (again and FindingType.TEST_FAILURE in found):
        return "Take another approach than the rejected one, rather than mending it."
    if FindingType.TEST_FAILURE in found:
        return f"If the rejected code is nearly right, use it again{reuse} and mend it; otherwise take another approach."
    return f"What was right may be used again{reuse}." if reuse and _NEAR_MISSES.intersection(found) else ""


def _said(phase: PhaseName, kind: FindingType, ref: str) -> str:
    if phase is PhaseName.REVIEW and kind in _TO_REVIEWERS:
        return _TO_REVIEWERS[kind]
    if phase is PhaseName.RED and kind is FindingType.COMPILATION_ERROR:
        return f"{_ADVICE[kind]} {_STUB}"
    if phase is PhaseName.REFACTOR and kind is FindingType.TEST_FAILURE:
        return f"{_ADVICE[kind]} {_AS_THEY_WERE}"
    if phase is PhaseName.PLAN and kind is FindingType.MALFORMED_HANDOFF and ref:
        return f"{_ADVICE[kind]} The rejected list may be used again: `git checkout {ref} -- test-list.md`."
    if phase is not PhaseName.REFACTOR or kind is not FindingType.TEST_TAMPERING:
        return _ADVICE[kind]
    again = f": `git checkout {ref} -- FILES`" if ref else ""
    return (
        f"Put back what is named above as it was; the rest of the rejected commit may be used again{again}."
    )


_STUB = "Where planned code does not exist yet, put a stub into the implementation file or import inside the test."
_AS_THEY_WERE = (
    "Where you touch tests, the old ones have to pass on the new code, too: change no value that they expect."
)
_TO_REVIEWERS = {
    FindingType.SCOPE_VIOLATION: "Leave nothing behind: scratch files go to a temporary folder, not into the workspace.",
    FindingType.MALFORMED_HANDOFF: (
        "End with one JSON object that holds your verdict and its words, and write a line break in them as `\\n`."
    ),
}
_ADVICE = {
    FindingType.HISTORY_REWRITTEN: (
        "Add one commit on top of the commit you find;"
        " leave every other commit, branch, tag, stash and note as it is."
    ),
    FindingType.TEST_TAMPERING: (
        "Leave existing tests, the test runner and its configuration exactly as they are,"
        " and write code that does not know whether it is being tested."
    ),
    FindingType.SCOPE_VIOLATION: "Change only the files your phase may change.",
    FindingType.MALFORMED_HANDOFF: (
        "Make `test-list.md` and the JSON answer agree: the first open box is the current test,"
        " ticked lines stay as they are, and whatever goes is named under `dropped`."
    ),
    FindingType.NOTHING_DONE: "Your phase must change something, and the change must be committed.",
    FindingType.COMPILATION_ERROR: "Make every file parse, compile and collect.",
    FindingType.NO_TEST_ADDED: "Add one test that the test command collects: right folder, right name.",
    FindingType.TOO_FEW_TESTS: "Write one test for each case, whether it looks hard to test or not.",
    FindingType.TOO_MANY_TESTS: "Add one test only; the other cases have their own turn.",
    FindingType.UNEXPECTED_PASS: (
        "Check the assertion: does the test really exercise this case, and would it notice a wrong result?"
        " If it missed the point, write a test that fails. If the behaviour is truly there already,"
        " commit the same honest test again; do not bend it until it fails."
    ),
    FindingType.WRONG_FAILURE: (
        "Let the test fail only for want of the behaviour:"
        " see that its own set-up, names, files and packages are right."
    ),
    FindingType.MEANINGLESS_TEST: (
        "Assert the result of the planned code, so that right code passes and wrong code fails."
    ),
    FindingType.TEST_FAILURE: "Run the whole suite before you commit.",
    FindingType.LEGACY_BROKEN: "Tests that passed before must go on passing, unchanged.",
    FindingType.FLAKY_TEST: "Make the test independent of time, chance, network and the order of tests.",
    FindingType.COVERAGE_TOO_LOW: "Write no code that no test executes.",
    FindingType.NOT_MINIMAL: "Take away whatever no test asks for.",
    FindingType.TIMEOUT: "Work in smaller steps, and start nothing that waits or never ends.",
    FindingType.AGENT_FAILURE: "The last session ended before its work was done. Begin again.",
}
_LOST_APPROACH = frozenset({FindingType.TEST_TAMPERING, FindingType.LEGACY_BROKEN, FindingType.FLAKY_TEST})
_NEAR_MISSES = frozenset(
    {FindingType.COMPILATION_ERROR, FindingType.COVERAGE_TOO_LOW, FindingType.NOT_MINIMAL}
)
