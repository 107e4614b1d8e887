"""Judging the turns of a run again, each in a clean checkout, by the gates that judged them first."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.gates.rules.findings import tail
from redgreenrefactor.gates.rules.note_claims import (
    about_turn,
    believed,
    carried_over,
    chained,
    recorded,
    shares,
)
from redgreenrefactor.gates.rules.unjudged import still_holds
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.goals.test_list import plan_at
from redgreenrefactor.languages.paths import module_files
from redgreenrefactor.loop.lab import Lab, brought_by_red
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.events import LookedBack
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure, SuiteRun, TestId, Trial
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.proof import ROUND, WORKED, Checked, CheckedCycle, Link, Verification
from redgreenrefactor.model.session import Report
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
)
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.detection import belongs
from redgreenrefactor.ports import Snapshots
from redgreenrefactor.verify.judging import Yardsticks, time_left
from redgreenrefactor.verify.recorded_run import RecordedRun, Wanted, tests_noted

TIMES = (
    3  # a turn that does not hold is measured so often: what only happens sometimes is no proof against it
)
STUBBORN = 8  # runs of a test from before the run until it counts as broken, not as flaky
BROKEN = (FindingType.LEGACY_BROKEN, FindingType.TEST_FAILURE)
LEGACY = "legacy"  # stands for the tests from before the run where their commit is out of reach


def spread(numbers: Sequence[int], most: int) -> list[int]:
    """Return so many of the numbers, at equal distances, the last of them always."""
    many = min(most, len(numbers))
    return [numbers[(place + 1) * len(numbers) // many - 1] for place in range(many)]


def is_cheap(link: Link) -> bool:
    """Tell whether a turn is judged without running anything."""
    return link.after.handoff.phase is PhaseName.PLAN


@frozen
class Retrial:
    """A run, and what is needed to judge its turns again."""

    run: RecordedRun
    yardsticks: Yardsticks
    ledger: GitLedger

    @property
    def past(self) -> Snapshots:
        """The commits."""
        return self.yardsticks.past

    @cached_property
    def _ours(self) -> frozenset[TestId]:
        return self.ledger.tests_written()

    def judge(self, wanted: Wanted, sample: int | None = None) -> Verification:
        """Return what holds of the run's cycles, or of those with one of these commits; of some of them, if so wanted."""
        run = self.run
        if run.table.unknown:
            return Verification(missing=(f"run {run.run_id} was not judged: {run.table.unknown}",))
        asked = [number for number in run.cycles if run.is_asked_for(number, wanted)]
        dear = {link.after.handoff.cycle_number for link in run.links if not is_cheap(link)}
        whole = [number for number in asked if number in dear]
        chosen = spread(whole, sample or len(whole))
        cycles = [number for number in asked if number in chosen or number not in dear]
        left_out = f"{len(whole) - len(chosen)} of {len(whole)} cycles were not judged (--sample {sample})"
        links = [link for link in run.links if link.after.handoff.cycle_number in cycles]
        if links and run.baseline is not None:
            # Compiles what every later run needs, before anything runs that a session has written.
            self.yardsticks.at(run.baseline).lab.answer(Trial(run.baseline, keeps=True))
        self._runnable(links)
        turns: dict[str, _Retried] = {}
        noted = [None if is_cheap(link) else link.after.handoff.facts.judged_seconds or 0.0 for link in links]
        started = time.monotonic()
        for done, link in enumerate(links):
            left = time_left(noted, done, time.monotonic() - started)
            self.yardsticks.around.emit(LookedBack(done + 1, len(links), _about(link), left))
            self._measure_ahead(links[done:])
            turns[link.after.commit] = self._turn(link)
        checked = [self._cycle(number, turns) for number in cycles]
        worked = [cycle for cycle in checked if cycle.phases or run.has_lost(cycle.cycle_number)]
        others = [cycle for cycle in checked if cycle not in worked]
        in_rounds = run.table.in_rounds
        return Verification(
            cycles=() if in_rounds else tuple(worked),
            rounds=tuple(worked) if in_rounds else (),
            findings=tuple(finding for cycle in others for finding in cycle.findings),
            warnings=tuple(finding for cycle in others for finding in cycle.warnings),
            missing=(
                *run.out_of_reach(wanted),
                *([f"run {run.run_id}: {left_out}"] if cycles != asked else ()),
            ),
        )

    def _measure_ahead(self, links: Sequence[Link]) -> None:
        """Have the suites run side by side that the next turns are judged by, where that saves time."""
        lab = self.yardsticks.at(links[0].before.commit).lab
        worked = [link for link in links if link.after.handoff.phase in WORKED]
        alike = [link for link in worked if self.yardsticks.at(link.before.commit).lab is lab]
        lab.answer_ahead(Trial(link.after.commit) for link in alike)

    def outlasted(self, opening: str | None, left: str, now: str) -> list[Finding]:
        """Return which tests of the runs since an opening no longer hold after commits that are no turns."""
        yardstick = self.yardsticks.at(left)
        evidence = Evidence(
            phase=PhaseName.REFACTOR,
            case=None,
            base=left,
            head=now,
            opening=opening or LEGACY,
            changes=self.past.changes(left, now),
            report=Report(""),
            handoff=self.run.last.handoff,
            prefix=self.past.prefix,
            command=yardstick.command,
            read=self.past.source,
        )
        if not evidence.changes:
            return []
        known = _settled(yardstick.lab, Trial(left))
        own = None if self.run.table.in_rounds else self._own(opening, yardstick.lab, known)
        # Where single tests are told, they are asked for as the run did; else nobody knows why a command fails.
        lab = yardstick.lab if known.measure is Measure.PER_TEST else self.yardsticks.at(now).lab
        return lab.judge(still_holds(evidence, known, own))

    def _own(self, opening: str | None, lab: Lab, known: SuiteRun) -> frozenset[TestId]:
        """Return the tests that came with the runs since an opening."""
        if opening is not None:
            return known.ids - _settled(lab, Trial(opening)).ids
        named = tests_noted(self.ledger, self.run.run_id)
        return frozenset(name for name in known.ids if any(belongs(name, test) for test in named))

    # --- the ground

    def _runnable(self, links: Sequence[Link]) -> None:
        """Refuse where the tests cannot be run here at all: that says nothing about the history."""
        done = [link for link in links if link.after.handoff.test_result is TestOutcome.PASS]
        if not done:
            return
        yardstick, commit = self.yardsticks.at(done[-1].before.commit), done[-1].after.commit
        run = _settled(yardstick.lab, Trial(commit))
        if not run.finished and not run.errors:
            why = "ran past test.timeout" if run.timed_out else f"did not come to its end: {tail(run)}"
            raise _not_runnable(f"the test command {yardstick.command!r} {why}")
        for error in run.errors:
            name = (error.missing.name if error.missing and not error.missing.owner else None) or ""
            if name and not self._is_ours(commit, name.partition(".")[0]):
                raise _not_runnable(f"{error.file} needs the package {name!r}, which is not installed here")

    def _is_ours(self, commit: str, name: str) -> bool:
        """Tell whether a module is one that the project holds."""
        return any(
            self.past.source(commit, f"{self.past.prefix}{file}") is not None for file in module_files(name)
        )

    @cached_property
    def _legacy(self) -> SuiteRun | None:
        """The tests from before the run, guessed from its oldest commit here; None: they can be run."""
        if self.run.baseline is not None or not self.run.links:
            return None
        oldest = self.run.links[0].before.commit
        run = _settled(self.yardsticks.at(oldest).lab, Trial(oldest))
        own = tests_noted(self.ledger, self.run.run_id)
        kept = {name: r for name, r in run.results.items() if not any(belongs(name, test) for test in own)}
        return replace(run, results=kept)

    # --- one turn

    def _turn(self, link: Link) -> "_Retried":
        """Judge one turn; what does not hold is measured anew before it is believed."""
        evidence = self._evidence(link)
        judged = self._tried(link, evidence)
        for _ in range(TIMES - 1):
            if judged.holds or not judged.asked or judged.only_told_wrong:
                break
            self.yardsticks.at(link.before.commit).lab.measure_anew()
            judged = self._tried(link, evidence)
        return self._excused(judged, evidence)

    def _tried(self, link: Link, evidence: Evidence) -> "_Retried":
        table, note, plan = self.run.table, link.after.handoff, evidence.plan_after
        structure = tuple(chained(link))
        if not table.knows(note.phase):
            return _Retried(link, Verdict(Ruling.ACCEPTED), structure)
        watch, yardstick = _Overseer(self._legacy), self.yardsticks.at(link.before.commit)
        lab = yardstick.patient if note.outcome is Outcome.COVERED else yardstick.lab
        verdict = lab.judge(watch.over(table.gates[note.phase](evidence)))
        if verdict.ruling is Ruling.ACCEPTED:
            differs = (
                *recorded(link, table.workflow.phase(note.phase), plan, verdict),
                *shares(link, verdict),
            )
        else:
            differs = tuple(about_turn(verdict.findings, note.phase, link.after.commit))
        return _Retried(link, verdict, (*structure, *differs), watch.asked, self._result(link, verdict))

    def _evidence(self, link: Link) -> Evidence:
        before, after = link.before, link.after
        yardstick, plan = self.yardsticks.at(before.commit), plan_at(self.past, before.commit)
        return Evidence(
            phase=after.handoff.phase,
            case=before.handoff.current_test,
            base=before.commit,
            head=after.commit,
            opening=self.run.baseline or LEGACY,
            changes=self.past.changes(before.commit, after.commit),
            report=Report(_answer(after.handoff)),
            handoff=believed(before.handoff, plan),
            ours=self._ours,
            earlier=self.past.changes(None, before.commit) if before.handoff.leads_on else (),
            plan_before=plan,
            plan_after=plan_at(self.past, after.commit),
            prefix=self.past.prefix,
            command=yardstick.command,
            rules=yardstick.rules,
            read=self.past.source,
            brought=lambda path: brought_by_red((link.after for link in self.run.links), self.past, path),
        )

    def _result(self, link: Link, verdict: Verdict) -> TestOutcome | None:
        """Return what the cycle's test does at a commit, by the verdict or by its own result."""
        if verdict.test_result is not None or link.after.handoff.phase not in WORKED:
            return verdict.test_result
        run = _settled(self.yardsticks.at(link.before.commit).lab, Trial(link.after.commit))
        if run.measure is Measure.EXIT_CODE or not run.finished:
            return (TestOutcome.PASS if run.green else TestOutcome.FAIL) if run.finished else None
        tests = link.after.handoff.facts.new_tests or link.before.handoff.facts.new_tests
        found = [r for r in run.results.values() if any(belongs(r.id, name) for name in tests)]
        passed = bool(found) and not run.errors and all(result.passed for result in found)
        return TestOutcome.PASS if passed else TestOutcome.FAIL

    def _excused(self, judged: "_Retried", evidence: Evidence) -> "_Retried":
        """Return the judgement without blame for tests from before the run that fail only now and then."""
        errors = judged.verdict.findings if judged.verdict.ruling is Ruling.REJECTED else ()
        kinds = {finding.type for finding in errors if finding.severity is Severity.ERROR}
        if not kinds or kinds - set(BROKEN) or not self._is_flaky(evidence):
            return judged
        words = "tests from before the run fail here now and then"
        flaky = Finding(FindingType.FLAKY_TEST, words, severity=Severity.WARNING)
        kept = [finding for finding in judged.findings if finding.type not in BROKEN]
        return replace(judged, findings=(*kept, flaky), result=judged.link.after.handoff.test_result)

    def _is_flaky(self, evidence: Evidence) -> bool:
        """Tell whether all that fails was there before the run, and passes or fails by chance."""
        if evidence.opening == LEGACY:
            return False
        lab = self.yardsticks.at(evidence.base).lab
        before, after = (_settled(lab, Trial(commit)) for commit in (evidence.opening, evidence.head))
        if after.measure is Measure.EXIT_CODE:
            return False  # nobody knows which tests fail
        failing = {name for name in after.ids if name not in after.passed}
        if evidence.phase is PhaseName.RED:
            failing &= before.ids  # the new test has to fail
        if after.errors or failing - before.ids:
            return False
        failing &= before.passed
        for number in range(STUBBORN):
            if not failing:
                return True
            here = lab.answer(Trial(evidence.head, tests=tuple(sorted(failing)), repeat=10 + number))
            failing -= here.passed
            there = lab.answer(Trial(evidence.opening, tests=tuple(sorted(failing)), repeat=10 + number))
            failing &= there.passed
        return not failing

    # --- one cycle

    def _cycle(self, number: int, turns: "dict[str, _Retried]") -> CheckedCycle:
        run = self.run
        own = [turns[link.after.commit] for link in run.links_of(number)]
        found = [finding for cycle, finding in run.findings if cycle == number]
        found += [
            finding
            for before, after in run.carries
            if after.handoff.cycle_number == number
            for finding in carried_over(
                before.handoff, after.handoff, after.commit, plan_at(self.past, after.commit)
            )
        ]
        found += [finding for judged in own for finding in judged.findings]
        phases = {
            judged.link.after.handoff.phase: Checked(judged.link.after.commit, judged.result, judged.holds)
            for judged in own
            if judged.link.after.handoff.phase in (*WORKED, *ROUND)
        }
        case = next((e.handoff.current_test for e in run.entries(number) if e.handoff.current_test), None)
        return CheckedCycle(
            number,
            case.description if case else None,
            phases,
            tuple(finding for finding in found if finding.severity is Severity.ERROR),
            tuple(finding for finding in found if finding.severity is not Severity.ERROR),
            run.run_id,
            run.table.in_rounds,
        )


@frozen
class _Retried:
    """A turn that was judged again."""

    link: Link
    verdict: Verdict
    findings: tuple[Finding, ...]
    asked: bool = False  # something was measured
    result: TestOutcome | None = None

    @property
    def holds(self) -> bool:
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def only_told_wrong(self) -> bool:
        """Whether the turn itself is accepted, and nothing but its note or its place is wrong: that does not vary."""
        kinds = {finding.type for finding in self.findings if finding.severity is Severity.ERROR}
        return self.verdict.ruling is Ruling.ACCEPTED and kinds <= {
            FindingType.HISTORY_REWRITTEN,
            FindingType.MALFORMED_HANDOFF,
        }


@dataclass
class _Overseer:
    """Looks over a gate's shoulder: whether it asked anything."""

    legacy: SuiteRun | None
    asked: bool = False

    def over(self, judgement: Judgement) -> Judgement:
        """Pass on questions and answers; questions for tests out of reach are answered here."""
        try:
            question = next(judgement)
            while True:
                self.asked = True
                if question.commit == LEGACY and self.legacy is not None:
                    question = judgement.send(self.legacy)
                    continue
                question = judgement.send((yield question))
        except StopIteration as end:
            return cast("Verdict", end.value)


def _settled(lab: Lab, trial: Trial) -> SuiteRun:
    """Run once, and once more where the runner died without a report."""
    run = lab.answer(trial)
    if not run.finished and not run.timed_out:
        run = lab.answer(replace(trial, repeat=1))
    return run


def _answer(note: Handoff) -> str:
    """Return what a session must have said, by its note."""
    if note.phase is not PhaseName.PLAN:
        return note.facts.message or ""
    given = [{"description": text, "reason": ""} for text in note.facts.dropped]
    return json.dumps({"currentTest": written(note.current_test), "dropped": given})


def _about(link: Link) -> str:
    note = link.after.handoff
    return f"cycle {note.cycle_number}, {note.phase} {link.after.commit[:10]}"


def _not_runnable(what: str) -> NotReadyError:
    return NotReadyError(
        what,
        hint="Install what the project's tests need (e.g. 'pip install -r requirements.txt'), or set "
        "TDD_TEST_COMMAND, then type 'rgr verify' again.",
        type="TestsNotRunnable",
    )
