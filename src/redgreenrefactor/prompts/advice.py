"""What to do instead, for every reason work is rejected."""

from collections.abc import Collection, Iterable

from redgreenrefactor.model.verdict import GRAVITY, FindingType
from redgreenrefactor.model.workflow import PhaseName

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
    if phase is not PhaseName.REFACTOR or kind is not FindingType.TEST_TAMPERING:
        return _ADVICE[kind]
    again = f": `git checkout {ref} -- FILES`" if ref else ""
    return f"Put back the tests named above as they were; the rest of the rejected commit may be used again{again}."


_STUB = "Where planned code does not exist yet, put a stub into the implementation file or import inside the test."
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
