"""The suite runs every phase is judged by, and what they show whatever the phase."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from redgreenrefactor.gates.rules.findings import named, tail, tampering, uncollectable
from redgreenrefactor.gates.rules.replacements import hidden, replaced
from redgreenrefactor.languages.paths import is_test
from redgreenrefactor.model.evidence import (
    CollectError,
    Evidence,
    Inquiry,
    SuiteRun,
    TestId,
    TestKey,
    TestResult,
    Trial,
)
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Severity, Verdict, rule

HARMLESS = ("pytest_generate_tests",)  # a hook that makes more of a test, and takes none away


@frozen
class Measured:
    """The three suite runs a phase is judged by: before the run, before the turn, after it."""

    legacy: SuiteRun
    before: SuiteRun
    after: SuiteRun
    shifting: frozenset[tuple[str, str]] = frozenset()  # definitions whose ids differ from run to run

    @property
    def twins(self) -> dict[TestId, TestId]:
        """Tests that were there and still are, each with what it is called now: a runner may number parameter sets anew."""
        given: dict[tuple[TestKey, str], list[TestId]] = {}
        for result in (
            self.after.results.values() if any(r.given for r in self.before.results.values()) else ()
        ):
            given.setdefault((result.origin, result.given), []).append(result.id)
        found: dict[TestId, TestId] = {}
        for old in self.before.results.values():
            if old.given and (same := given.get((old.origin, old.given))):
                found[old.id] = same.pop(same.index(old.id) if old.id in same else 0)
        rest = self.before.ids & self.after.ids - found.keys() - set(found.values())
        return {**found, **{name: name for name in rest}}

    @property
    def lost(self) -> list[TestId]:
        """Tests that were there and are gone; what does not collect any more is not counted as lost."""
        missing = self.before.ids - self.twins.keys() - self.after.deselected
        return sorted(r.id for r in self._counted(self.before, missing, self.after.uncollected))

    @property
    def deselected(self) -> list[TestId]:
        """Tests that were run, are still collected, and are kept from running now."""
        return sorted(self.before.ids & self.after.deselected - self.after.ids)

    @property
    def fresh(self) -> list[TestResult]:
        """Tests that were not there before; what did not collect before is not counted as added."""
        known = set(self.twins.values())
        new = [name for name in self.after.results if name not in known]
        return self._counted(self.after, new, self.before.uncollected)

    @property
    def broken(self) -> list[TestResult]:
        """Tests that used to pass, are still there and no longer do; one slip before the turn changes nothing."""
        used_to = self.before.passed | (self.legacy.passed & self.before.ids)
        now = {new for old, new in self.twins.items() if old in used_to}
        return [self.after.results[name] for name in sorted(now - self.after.passed)]

    def _counted(self, run: SuiteRun, names: Iterable[TestId], broken: frozenset[str]) -> list[TestResult]:
        results = (run.results[name] for name in names)
        return [r for r in results if r.file not in broken and r.origin not in self.shifting]


def measure(evidence: Evidence) -> Inquiry[Measured | Verdict]:
    """Run the suite where it was not run yet; a verdict instead where the runner did not come to its end."""
    legacy = yield from _settled(Trial(evidence.opening))
    before = yield from _settled(Trial(evidence.base))
    if not before.finished:
        return rule(undecided(before, "before this turn"))
    after = yield from _settled(Trial(evidence.head))
    if elsewhere := before.foreign or after.foreign:
        return rule(foreign(elsewhere))
    if after.timed_out:
        return rule(timed_out(after))
    if not after.finished and after.errors and not _quits(after.errors[0]):
        return rule(uncollectable(after.errors[0], "Make every file of the tests importable."))
    if not after.finished:
        alive = yield Trial(evidence.base, repeat=2)  # is it the attempt, or have the surroundings changed?
        return rule(died(evidence, after) if alive.finished else undecided(alive, "although nothing changed"))
    measured = Measured(legacy, before, after)
    if _may_shift(evidence, measured):
        again = yield Trial(evidence.opening, repeat=3)  # some tests are named after chance, or the hour
        return replace(measured, shifting=_shifting(legacy, again))
    return measured


def _may_shift(evidence: Evidence, measured: Measured) -> bool:
    """Tell whether a test that is lost may only go by another name: its file is untouched, or has its definition still."""
    touched = {change.path for change in evidence.changes}
    still = {result.origin for result in measured.after.results.values()}
    lost = [measured.before.results[name] for name in measured.lost]
    known = [result for result in lost if result.file in measured.legacy.files]
    return any(f"{evidence.prefix}{r.file}" not in touched or r.origin in still for r in known)


def _shifting(one: SuiteRun, two: SuiteRun) -> frozenset[tuple[str, str]]:
    """Return the definitions whose tests go by other names each time the same tree is run."""
    if not two.finished:
        return frozenset()
    results = {**one.results, **two.results}
    return frozenset(results[name].origin for name in one.ids ^ two.ids)


def _settled(trial: Trial) -> Inquiry[SuiteRun]:
    """Run once, and once more where the runner died without a report, or ran something else than the checkout."""
    run = yield trial
    if (not run.finished and not run.timed_out) or run.foreign:
        run = yield replace(trial, repeat=1)
    return run


def undecided(run: SuiteRun, when: str) -> Finding:
    """Return the finding that nothing could be measured."""
    why = "ran past test.timeout" if run.timed_out else f"left no report (exit code {run.exit_code})"
    return Finding(
        FindingType.UNDECIDED,
        f"the test runner {why}{_while(run)} {when}: {tail(run)}",
        hint="Run the test command yourself, mend what is wrong, then type 'rgr resume'.",
    )


def foreign(files: Sequence[str], then: str = "type 'rgr resume'") -> Finding:
    """Return the finding that the tests were run on other files than the commit's."""
    return Finding(
        FindingType.UNDECIDED,
        f"the tests import files of your own folder, not of the clean checkout they are run in: {named(files)}",
        hint="Look for an absolute path to the project (sys.path, PYTHONPATH, a .pth file),"
        f" or for files that lie only there; then {then}.",
    )


def _while(run: SuiteRun) -> str:
    """Return which test was running when a run ended too early."""
    return f" while {run.cut_off} was running" if run.cut_off else ""


def timed_out(run: SuiteRun) -> Finding:
    """Return the finding that the suite took too long after the turn."""
    return Finding(
        FindingType.TIMEOUT,
        f"the suite ran past test.timeout{_while(run)}: {tail(run)}",
        hint="Look for an endless loop or a wait that never ends.",
    )


def died(evidence: Evidence, run: SuiteRun) -> Finding:
    """Return the finding that the runner died after the turn, having lived before it."""
    return Finding(
        FindingType.TEST_TAMPERING,
        f"the test runner did not come to its end after this {evidence.phase}{_while(run)} (exit code {run.exit_code}): "
        f"{tail(run)}",
        hint="Code and tests must let the runner finish: no os._exit, no sys.exit at import, no killed process.",
    )


def _quits(error: CollectError) -> bool:
    """Tell whether a file was not collected because something in it ends the program."""
    return error.exception in ("SystemExit", "Exit", "KeyboardInterrupt")


def interference(evidence: Evidence, measured: Measured) -> Iterator[Finding]:
    """Yield signs that the runner did not tell the truth, or that tests were changed while they ran."""
    run = measured.after
    known = set(measured.legacy.tampering)  # a project's own plug-in is no cheat
    for what in (sign for sign in run.tampering if sign not in known):
        yield Finding(
            FindingType.TEST_TAMPERING,
            f"the test runner was interfered with: {what}",
            hint="Remove whatever changes how tests are run or reported.",
        )
    if measured.deselected:
        first = measured.before.results[measured.deselected[0]]
        yield Finding(
            FindingType.TEST_TAMPERING,
            f"tests are kept from running: {named(measured.deselected)}",
            first.file,
            first.line or None,
            hint="Let every test run that ran before: nothing deselects it.",
        )
    for hook in sorted(run.hooks - measured.before.hooks - measured.legacy.hooks, key=lambda hook: hook.name):
        if hook.name not in HARMLESS:
            what = f"{hook.name} changes how tests are collected or reported"
            yield tampering(hook.file, hook.line, what, "Write tests and fixtures only: take the hook away.")
    reaches = (run.reach, measured.before.reach, measured.legacy.reach)
    yield from (*replaced(evidence, *reaches), *hidden(evidence, *reaches))
    for path in run.disturbed:
        touched = is_test(evidence, path)
        yield Finding(
            FindingType.TEST_TAMPERING if touched else FindingType.SCOPE_VIOLATION,
            f"{path} was changed on disk while the tests ran",
            path,
            hint="Leave the files of the project alone when tests run; write to temporary ones.",
            severity=Severity.ERROR if touched and path.endswith(".py") else Severity.WARNING,
        )


def uncollected(measured: Measured, hint: str) -> Iterator[Finding]:
    """Yield the files that cannot be collected, but for those that never could."""
    for error in measured.after.errors:
        if error.file not in measured.legacy.uncollected:
            kind = FindingType.TEST_TAMPERING if _quits(error) else FindingType.COMPILATION_ERROR
            yield uncollectable(error, hint, kind)


def gone(evidence: Evidence, measured: Measured) -> Iterator[Finding]:
    """Yield tests that have disappeared."""
    touched = {change.path for change in evidence.changes}
    lost = measured.lost
    legacy = [
        name
        for name in lost
        if name in measured.legacy.passed
        and f"{evidence.prefix}{measured.before.results[name].file}" not in touched
    ]
    others = [name for name in lost if name not in legacy]
    hint = "Bring them back: no test is deleted, deselected, renamed away or shadowed."
    yield from lost_tests(measured, others, "tests are gone", hint)
    hint = "Bring them back: the new feature must not take existing tests away."
    severity = Severity.ERROR if evidence.rules.legacy_on_break == "block" else Severity.WARNING
    what = "tests that passed before this run are gone"
    yield from lost_tests(measured, legacy, what, hint, FindingType.LEGACY_BROKEN, severity)


def lost_tests(
    measured: Measured,
    names: Sequence[TestId],
    what: str,
    hint: str | None = None,
    kind: FindingType = FindingType.TEST_TAMPERING,
    severity: Severity = Severity.ERROR,
) -> Iterator[Finding]:
    """Yield that these tests have disappeared, if there are any."""
    if names:
        file = measured.before.results[names[0]].file
        yield Finding(kind, f"{what}: {named(names)}", file, hint=hint, severity=severity)


def old_tests(evidence: Evidence) -> tuple[tuple[str, str | None], ...]:
    """Return the tests that a turn has touched as they were, to be put in place of what they are."""
    return tuple(
        (change.path, change.old_text)
        for change in evidence.changes
        if is_test(evidence, change.path) and (change.before is None or change.before.text is not None)
    )
