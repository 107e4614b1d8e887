"""The loop, with everything around it in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notes import with_keys
from redgreenrefactor.errors import InterruptedRunError, StoppedRunError
from redgreenrefactor.gates import TDD_GATES
from redgreenrefactor.goals.test_list import plan_at
from redgreenrefactor.loop.budget import RunLimits
from redgreenrefactor.loop.engine import Ended, Engine
from redgreenrefactor.loop.finished_turn import Hooks
from redgreenrefactor.loop.sessions import Sessions
from redgreenrefactor.loop.workflows import PLAIN, TDD, review, taskfile
from redgreenrefactor.model.decision import (
    Turn,
    carried,
    cycle_of,
    opening,
    refreshed,
    rejections_of,
    stopped,
)
from redgreenrefactor.model.events import (
    FOR_TRANSCRIPTS,
    Diagnosed,
    Emit,
    Event,
    Judged,
    Paused,
    SessionBegan,
    SessionEnded,
    SessionReported,
    SessionSaid,
    TurnStarted,
    Warned,
    WorkSealed,
)
from redgreenrefactor.model.evidence import Evidence, Judgement, Rules, SuiteRun
from redgreenrefactor.model.goal import Case, Plan
from redgreenrefactor.model.handoff import (
    Diagnosis,
    ErrorDetails,
    Handoff,
    State,
    from_json,
    to_json,
    to_object,
)
from redgreenrefactor.model.result import Entry, RunStatus
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Severity,
    TestOutcome,
    Verdict,
    left_out,
    rule,
)
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Sealed, SessionInterruptedError
from redgreenrefactor.testing import FakeAgent, FakeLedger, FakeWorkspace

NOWHERE = Path("/nowhere")
REJECTED = rule(Finding(FindingType.TEST_FAILURE, "it fails"))
UNDECIDED = rule(Finding(FindingType.UNDECIDED, "no report"))
COVERED = rule(test_result=TestOutcome.PASS, outcome=Outcome.COVERED)
WARNED = rule(test_result=TestOutcome.PASS, outcome=Outcome.WARNED)
FREE = RunLimits()

Script = Iterable[Verdict | None]  # None: accepted in the ordinary way


class World:
    """A run in memory: sessions keep the list and write one file a turn; verdicts follow a script, then accept."""

    def __init__(self, script: Script = (), cases: Iterable[str] = ("one", "two")) -> None:
        self.workspace = FakeWorkspace(NOWHERE, {"README.md": "hello\n"})
        self.ledger = FakeLedger(self.workspace)
        self.script = deque(script)
        self.cases = list(cases)
        self.events: list[Event] = []
        self.pauses: list[float] = []
        self.path: list[tuple[str, int, int]] = []
        self.usage: Usage | None = None
        self.time = 0.0
        self.ticks = 0
        self.agent = FakeAgent(self.session)
        self.session_does: Callable[[Brief], Report | str | None] = lambda _brief: None

    # --- what the engine is given

    def session(self, brief: Brief, folder: Path) -> Report | str:
        assert folder == self.workspace.project
        self.time += 10
        special = self.session_does(brief)
        if special is not None:
            return special
        if brief.phase is PhaseName.REVIEW:
            return Report("{}", self.usage)
        if brief.phase is PhaseName.PLAN:
            boxes = (
                f"- [{'x' if number + 1 < brief.cycle else ' '}] {case}"
                for number, case in enumerate(self.cases)
            )
            self.workspace.files["test-list.md"] = "\n".join(boxes)
        else:
            self.workspace.files[f"{brief.phase}-{brief.cycle}.py"] = f"attempt {brief.attempt}\n"
        return Report("done", self.usage)

    def judge(self, judgement: Judgement) -> Verdict:
        judgement.close()
        brief = self.agent.briefs[-1]
        self.time += 1
        self.path.append((brief.phase, brief.cycle, brief.attempt))
        scripted = self.script.popleft() if self.script else None
        return self.good(brief) if scripted is None else scripted

    def good(self, brief: Brief) -> Verdict:
        if brief.phase is PhaseName.PLAN:
            rest = self.cases[brief.cycle - 1 :]
            return rule(case=Case(rest[0], "test_x.py", "x.py") if rest else None)
        return rule(test_result=TestOutcome.FAIL if brief.phase is PhaseName.RED else TestOutcome.PASS)

    def brief(self, phase: Phase, handoff: Handoff, attempt: int) -> Brief:
        role = Role(phase.role, "", "")
        return Brief(role, phase.name, cycle_of(handoff), attempt, handoff.run_id, "", to_json(handoff))

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def now(self) -> str:
        self.ticks += 1
        return f"t{self.ticks}"

    def keep_result(self, commit: str) -> str | None:
        return None

    def sessions(self, emit: Emit) -> Sessions:
        agents = dict.fromkeys(PhaseName, self.agent)
        return Sessions(self.workspace, agents, self, emit, lambda: self.time)

    def engine(self, **changes: Any) -> Engine:
        usual = Engine(
            workflow=TDD,
            gates=TDD_GATES,
            hooks=Hooks(),
            workspace=self.workspace,
            ledger=self.ledger,
            lab=self,
            sessions=self.sessions(changes.get("emit", self.events.append)),
            plan_at=lambda commit: plan_at(self.workspace, commit),
            rules=Rules(),
            emit=self.events.append,
            clock=lambda: self.time,
            now=self.now,
            pause=self.pause,
            opening="",
        )
        return replace(usual, **changes)

    # --- what happens

    def opened(self) -> Entry:
        head = self.workspace.head()
        self.ledger.write({head: opening("r", "count", "t0", Plan(), None)})
        return self.latest()

    def run(self, start: Entry | None = None, limits: RunLimits = FREE, **changes: Any) -> Ended:
        return self.engine(**changes).run(start or self.opened(), limits)

    def resume(self, limits: RunLimits = FREE, **changes: Any) -> Ended:
        latest = self.latest()
        return self.run(Entry(latest.commit, refreshed(latest.handoff)), limits, **changes)

    def latest(self) -> Entry:
        latest = self.ledger.latest()
        assert latest is not None
        return latest

    def subjects(self) -> list[str]:
        return [self.workspace.commits[commit].subject for commit in self.workspace.line()][::-1]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def due(entry: Entry) -> dict[str, Any]:
    return to_object(entry.handoff)["due"]


# --- accepted


def test_two_cases_make_nine_commits_and_a_complete_run() -> None:
    world = World()
    ended = world.run()
    assert ended.status is RunStatus.COMPLETE
    assert ended.entry == world.latest()
    assert world.subjects() == [
        "chore: start",
        "plan: list the cases",
        "test: one",
        "feat: one",
        "refactor: one",
        "plan: update the list of cases",
        "test: two",
        "feat: two",
        "refactor: two",
        "plan: update the list of cases",
    ]
    assert [(entry.handoff.phase, entry.handoff.cycle_number) for entry in world.ledger.history()][:2] == [
        (PhaseName.PLAN, 3),
        (PhaseName.REFACTOR, 2),
    ]
    assert world.latest().handoff.state is State.COMPLETE
    assert world.workspace.session is None


def test_an_accepted_note_says_who_how_long_and_which_list() -> None:
    world = World()
    world.run(limits=RunLimits(max_cycles=1))
    notes = {entry.handoff.phase: entry for entry in world.ledger.history() if entry.handoff.cycle_number}
    red = notes[PhaseName.RED].handoff
    listed = world.workspace.read(notes[PhaseName.RED].commit, "test-list.md")
    assert listed is not None
    assert (red.agent, red.seconds, red.retries, red.sealed) == ("fake", 11.0, 0, True)
    assert (red.test_list, red.model, red.usage, red.signed) == (listed[0], None, None, None)
    assert red.pending_tests == ("two",)


def test_a_commit_of_the_agents_own_is_not_called_sealed() -> None:
    world = World()

    def commit(brief: Brief) -> Report | None:
        if brief.phase is not PhaseName.RED:
            return None
        world.workspace.files["test_x.py"] = "…"
        world.workspace.commit("test: mine")
        return Report()

    world.session_does = commit
    world.run(limits=RunLimits(max_cycles=1))
    red = next(entry for entry in world.ledger.history() if entry.handoff.phase is PhaseName.RED)
    assert red.handoff.sealed is None
    assert world.workspace.commits[red.commit].subject == "test: mine"


def test_what_transcripts_need_is_told_too() -> None:
    world = World()
    world.run(limits=RunLimits(max_cycles=1))
    began, reported, sealed = [event for event in world.events if isinstance(event, FOR_TRANSCRIPTS)][:3]

    assert isinstance(began, SessionBegan)
    assert (began.brief.phase, began.agent, began.folder) == (
        PhaseName.PLAN,
        "fake",
        str(world.workspace.project),
    )
    assert began.base == [*world.workspace.line()][-1]
    assert isinstance(reported, SessionReported)
    assert reported.seconds == 10.0
    assert isinstance(sealed, WorkSealed)
    assert sealed.subject == "plan: list the cases"
    assert [change.path for change in sealed.changes] == ["test-list.md"]


def test_events_tell_a_turn_from_its_start_to_its_verdict() -> None:
    world = World()
    world.run(limits=RunLimits(max_cycles=1))
    told = [event for event in world.events if not isinstance(event, FOR_TRANSCRIPTS)]
    plan = told[:4]
    commit = [*world.workspace.line()][-2]
    assert plan == [
        TurnStarted(PhaseName.PLAN, 1, 1, None, "fake"),
        SessionSaid("fake works at PLAN"),
        SessionEnded(10.0, failed=False),
        Judged(
            PhaseName.PLAN,
            1,
            1,
            rule(case=Case("one", "test_x.py", "x.py")),
            commit,
            "plan: list the cases",
            11.0,
        ),
    ]
    assert world.of(TurnStarted)[1].case == Case("one", "test_x.py", "x.py")


def test_a_covered_case_needs_no_green_and_no_refactoring() -> None:
    world = World([None, COVERED])
    assert world.run().status is RunStatus.COMPLETE
    assert [phase for phase, _, _ in world.path] == [
        "PLAN",
        "RED",
        "PLAN",
        "RED",
        "GREEN",
        "REFACTOR",
        "PLAN",
    ]
    red = next(entry.handoff for entry in world.ledger.history() if entry.handoff.outcome is Outcome.COVERED)
    assert red.completed_tests == ("one",)


@pytest.mark.parametrize(("red", "commits"), [(WARNED, True), (None, False)])
def test_green_may_be_empty_only_after_a_warning(red: Verdict | None, commits: bool) -> None:
    world = World([None, red, UNDECIDED])
    world.session_does = lambda brief: Report() if brief.phase is PhaseName.GREEN else None
    ended = world.run()
    assert (world.of(Judged)[-1].commit is not None) is commits
    assert world.of(Judged)[-1].subject == ("feat: one" if commits else "")
    assert ended.status is RunStatus.STOPPED


def test_a_refactoring_may_change_nothing() -> None:
    world = World()
    world.session_does = lambda brief: Report() if brief.phase is PhaseName.REFACTOR else None
    assert world.run().status is RunStatus.COMPLETE
    assert "refactor: no changes needed" in world.subjects()


def test_gates_see_what_was_measured() -> None:
    world = World()
    answer = '{"currentTest": {"description": "one", "testFile": "test_x.py", "implFile": "x.py"}}'

    def plan(brief: Brief) -> str | None:
        world.session_does = lambda _brief: Report()
        world.session(brief, world.workspace.project)
        world.workspace.files["test-list.md"] = "- [ ] one\n"
        return answer

    def judge(judgement: Judgement) -> Verdict:
        try:
            next(judgement)
            while True:
                judgement.send(SuiteRun())
        except StopIteration as end:
            return end.value

    world.session_does = plan
    world.judge = judge
    ended = world.run(rules=Rules(retries=0))
    accepted = ended.entry.handoff
    assert (accepted.phase, accepted.current_test) == (PhaseName.PLAN, Case("one", "test_x.py", "x.py"))
    assert accepted.error_details is not None
    assert accepted.error_details.type == "NothingDone"


def test_what_a_turn_had_no_time_for_is_for_the_next_one() -> None:
    world = World([None, None, left_out(rule(test_result=TestOutcome.PASS), ["the rest"])], ["one"])
    seen: list[tuple[PhaseName, list[str]]] = []

    def gate(evidence: Evidence) -> Judgement:
        seen.append((evidence.phase, [change.path for change in evidence.earlier]))
        yield from ()
        return rule()

    def judge(judgement: Judgement) -> Verdict:
        assert not list(judgement)
        return given(judgement)

    given, world.judge = world.judge, judge
    world.run(gates=dict.fromkeys(PhaseName, gate))
    assert dict(seen)[PhaseName.REFACTOR] == ["GREEN-1.py"]
    assert (dict(seen)[PhaseName.GREEN], dict(seen)[PhaseName.PLAN]) == (
        ["RED-1.py"],
        [],
    )  # whose files are RED's


def test_a_turn_without_a_current_case_is_named_after_what_was_asked_for() -> None:
    world = World([UNDECIDED])
    start = world.opened()
    odd = replace(start.handoff, phase=PhaseName.PLAN, next_phase=PhaseName.RED, cycle_number=1)
    world.run(Entry(start.commit, odd))
    assert world.of(Judged)[-1].subject == "test: count"


# --- rejected


def test_retries_wait_longer_each_time_and_carry_the_error() -> None:
    world = World([None, REJECTED, REJECTED, REJECTED])
    ended = world.run(limits=RunLimits(max_cycles=1))
    assert world.pauses == [1.0, 2.0, 4.0]
    assert world.of(Paused) == [Paused(1.0), Paused(2.0), Paused(4.0)]
    assert [attempt for phase, _, attempt in world.path if phase == "RED"] == [1, 2, 3, 4]
    third = world.agent.briefs[3]
    assert '"error": "it fails"' in third.handoff
    assert '"retryCount": 2' in third.handoff
    red = next(entry.handoff for entry in world.ledger.history() if entry.handoff.phase is PhaseName.RED)
    assert (red.retry_count, red.attempts, red.error, red.retries) == (3, 4, None, 3)
    assert ended.status is RunStatus.STOPPED


def test_waiting_is_scaled_and_bounded() -> None:
    world = World([REJECTED] * 14)
    world.run(rules=Rules(retries=20), backoff=0.5, limits=RunLimits(max_cycles=1))
    assert world.pauses[:3] == [0.5, 1.0, 2.0]
    assert world.pauses[10:] == [512.0] * 4


def test_a_rejected_attempt_is_kept_noted_and_rewound() -> None:
    world = World([None, REJECTED])
    planned: list[str] = []

    def look(seconds: float) -> None:
        planned.append(world.workspace.head())
        assert world.workspace.files == world.workspace.commits[planned[0]].tree
        here = world.latest().handoff
        assert (here.phase, here.next_phase, here.state) == (PhaseName.PLAN, PhaseName.RED, State.RUNNING)
        assert (here.error, here.retry_count, here.attempts) == ("it fails", 1, 1)
        assert here.error_details is not None
        assert here.error_details.type == "TestFailure"

    world.run(pause=look, limits=RunLimits(max_cycles=1))
    attempt = world.workspace.refs["refs/tdd/attempts/r/1-RED-1"]
    assert world.workspace.commits[attempt].parent == planned[0]
    note = world.ledger.read(attempt)
    assert note is not None
    assert (note.phase, note.cycle_number, note.error, note.attempts) == (PhaseName.RED, 1, "it fails", 1)
    assert note.agent == "fake"


def test_a_rejected_attempt_that_did_nothing_leaves_only_a_note() -> None:
    world = World([None, REJECTED])
    world.session_does = lambda brief: Report() if (brief.phase, brief.attempt) == ("RED", 1) else None
    world.run(limits=RunLimits(max_cycles=1))
    assert world.workspace.refs == {}
    assert (world.of(Judged)[1].commit, world.of(Judged)[1].subject) == (None, "")
    assert world.path[1:3] == [("RED", 1, 1), ("RED", 1, 2)]


def test_an_attempt_whose_commit_is_empty_is_kept_but_shows_nothing() -> None:
    world = World([None, None, None, REJECTED])
    world.session_does = lambda brief: Report() if (brief.phase, brief.attempt) == ("REFACTOR", 1) else None
    kept: list[str] = []

    def look(seconds: float) -> None:
        kept.append(rejections_of(world.latest().handoff)[-1].kept)

    world.run(pause=look, limits=RunLimits(max_cycles=1))
    assert "refs/tdd/attempts/r/1-REFACTOR-1" in world.workspace.refs
    assert kept == [""]


def test_after_the_last_retry_the_run_aborts_at_the_last_good_commit() -> None:
    world = World([None, *[REJECTED] * 4])
    ended = world.run()
    assert (ended.status, ended.reason) == (RunStatus.FAILED, "it fails")
    assert ended.entry == world.latest()
    handoff = ended.entry.handoff
    assert (handoff.state, handoff.retry_count, handoff.attempts) == (State.ABORTED, 3, 4)
    assert world.pauses == [1.0, 2.0, 4.0]
    assert [event.aborts for event in world.of(Judged)] == [False, False, False, False, True]
    assert world.subjects()[-1] == "plan: list the cases"
    assert world.workspace.files == world.workspace.commits[ended.entry.commit].tree


def test_a_resumed_run_has_fresh_retries_and_counts_attempts_on() -> None:
    world = World([None, *[REJECTED] * 2])
    assert world.run(rules=Rules(retries=1)).status is RunStatus.FAILED
    world.script.extend([REJECTED])
    assert world.resume(rules=Rules(retries=1)).status is RunStatus.COMPLETE
    assert [attempt for phase, cycle, attempt in world.path if (phase, cycle) == ("RED", 1)] == [1, 2, 3, 4]
    assert world.pauses == [1.0, 1.0]


def test_attempts_count_on_from_what_is_kept() -> None:
    world = World()
    world.workspace.set_aside(world.workspace.head(), "r", "1-PLAN-6")
    world.run(limits=RunLimits(max_cycles=1))
    assert world.path[:2] == [("PLAN", 1, 7), ("RED", 1, 1)]


def test_a_failed_session_is_rejected_without_being_judged() -> None:
    failure = Finding(FindingType.AGENT_FAILURE, "it died")
    world = World()

    def fail(brief: Brief) -> Report | None:
        world.workspace.files["half.py"] = "1\n"
        return Report(failure=failure) if brief.attempt == 1 and brief.phase is PhaseName.PLAN else None

    world.session_does = fail
    world.run(limits=RunLimits(max_cycles=1))
    first = world.of(Judged)[0]
    assert first.verdict == rule(failure)
    assert world.workspace.source(world.workspace.refs["refs/tdd/attempts/r/1-PLAN-1"], "half.py") == "1\n"
    assert world.path[0] == ("PLAN", 1, 2)
    assert world.of(SessionEnded)[0].failed


def test_a_failed_session_that_did_nothing_makes_no_commit() -> None:
    world = World()
    failure = Finding(FindingType.AGENT_FAILURE, "it died")
    world.session_does = lambda brief: Report(failure=failure)
    ended = world.run(rules=Rules(retries=0))
    assert (ended.status, world.of(Judged)[0].commit) == (RunStatus.FAILED, None)
    assert world.subjects() == ["chore: start"]


def test_history_that_a_failed_session_has_rewritten_is_graver_than_its_failure() -> None:
    world = World([None])

    def rewrite(brief: Brief) -> Report | None:
        if brief.phase is PhaseName.PLAN:
            return None
        world.workspace.reset(list(world.workspace.line())[-1])
        world.workspace.commit("test: elsewhere")
        return Report(failure=Finding(FindingType.AGENT_FAILURE, "it died"))

    world.session_does = rewrite
    ended = world.run(rules=Rules(retries=0))
    details = ended.entry.handoff.error_details
    assert details is not None
    assert details.type == "HistoryRewritten"
    assert {finding.type for finding in ended.entry.handoff.findings} == {
        FindingType.AGENT_FAILURE,
        FindingType.HISTORY_REWRITTEN,
    }
    assert world.subjects() == ["chore: start", "plan: list the cases"]


class Remarking(FakeWorkspace):
    """A workspace that always has something to remark."""

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        return replace(super().seal(base, phase, description, empty=empty), warnings=("a tag was made",))


@pytest.mark.parametrize("fails", [True, False])
def test_what_the_workspace_remarks_is_recorded_and_rejects_nothing(fails: bool) -> None:
    world = World()
    world.workspace = Remarking(NOWHERE)
    world.ledger = FakeLedger(world.workspace)
    if fails:
        world.session_does = lambda _: Report(failure=Finding(FindingType.AGENT_FAILURE, "it died"))
    world.run(rules=Rules(retries=0), limits=RunLimits(max_cycles=1))
    verdict = world.of(Judged)[0].verdict
    remark = Finding(FindingType.SCOPE_VIOLATION, "a tag was made", severity=Severity.WARNING)
    assert verdict.findings[-1] == remark
    assert (verdict.gravest is not None) is fails


class Pushing(FakeWorkspace):
    """A workspace whose sessions push what they do."""

    def seal(self, base: str, phase: Phase, description: str, *, empty: bool) -> Sealed:
        sealed = super().seal(base, phase, description, empty=empty)
        return replace(sealed, pushed=("main was moved",), advice=("type: git push",))


def test_a_push_reaches_the_gate_and_what_to_do_about_it_only_the_person() -> None:
    world = World()
    world.workspace = Pushing(NOWHERE)
    world.ledger = FakeLedger(world.workspace)
    world.session_does = lambda _: Report(failure=Finding(FindingType.AGENT_FAILURE, "it died"))
    ended = world.run(rules=Rules(retries=0))
    assert ended.entry.handoff.error_details is not None
    assert ended.entry.handoff.error_details.type == "HistoryRewritten"
    assert "git push" not in str(ended.entry.handoff.findings)
    assert [event.message for event in world.of(Warned)] == ["type: git push"]


# --- undecided


def test_what_could_not_be_measured_stops_the_run_and_is_not_counted() -> None:
    world = World([None, REJECTED, UNDECIDED])
    ended = world.run()
    assert (ended.status, ended.reason) == (RunStatus.STOPPED, "no report")
    handoff = world.latest().handoff
    assert (handoff.state, handoff.retry_count, handoff.attempts) == (State.STOPPED, 1, 1)
    assert world.subjects()[-1] == "plan: list the cases"
    assert [ref for ref in world.workspace.refs if ref.startswith("refs/tdd/kept/r/undecided-attempt-")]
    assert world.pauses == [1.0]
    assert world.workspace.session is None
    world.resume(RunLimits(max_cycles=1))
    assert world.path[2:4] == [("RED", 1, 2), ("RED", 1, 2)]


# --- interrupted


def strike(*_: Any) -> Any:
    raise InterruptedRunError("interrupted by SIGINT")


def test_what_an_interrupted_session_used_is_paid_and_the_attempt_is_not_counted() -> None:
    world = World()

    def interrupt(brief: Brief) -> None:
        if brief.phase is PhaseName.RED:
            raise SessionInterruptedError("interrupted by SIGINT", Usage(1, 2, cost_usd=0.5))

    world.session_does = interrupt
    ended = world.run()
    assert ended.status is RunStatus.INTERRUPTED
    assert due(ended.entry)["usage"]["costUsd"] == 0.5
    assert (ended.entry.handoff.attempts_due, ended.entry.handoff.state) == (0, State.STOPPED)
    world.session_does = lambda _brief: None
    done = world.resume(RunLimits(max_cycles=1))
    assert done.status is RunStatus.STOPPED
    red = next(entry for entry in world.ledger.history() if entry.handoff.phase is PhaseName.RED)
    assert to_object(red.handoff)["usage"]["outputTokens"] >= 2


def test_an_interrupted_session_is_kept_and_comes_again() -> None:
    world = World()

    def interrupt(brief: Brief) -> None:
        if brief.phase is PhaseName.RED:
            world.workspace.files["half.py"] = "1\n"
            strike()

    world.session_does = interrupt
    ended = world.run()
    assert (ended.status, ended.reason) == (RunStatus.INTERRUPTED, "interrupted by SIGINT")
    handoff = world.latest().handoff
    assert (handoff.state, handoff.next_phase, handoff.attempts_due) == (State.STOPPED, PhaseName.RED, 0)
    ((ref, commit),) = world.workspace.refs.items()
    assert world.workspace.source(commit, "half.py") == "1\n"
    assert world.of(Warned) == [Warned(f"what the interrupted session had done is kept at {ref}")]
    assert "half.py" not in world.workspace.files
    assert world.workspace.session is None
    world.session_does = lambda _: None
    assert world.resume().status is RunStatus.COMPLETE
    assert world.path[1] == ("RED", 1, 1)


def test_what_stops_a_run_inside_stops_the_run() -> None:
    world = World()

    def stop(_brief: Brief) -> None:
        raise StoppedRunError("no money left", type=FindingType.BUDGET_EXCEEDED)

    world.session_does = stop
    ended = world.run()
    assert (ended.status, ended.reason, ended.type) == (
        RunStatus.STOPPED,
        "no money left",
        FindingType.BUDGET_EXCEEDED,
    )
    assert world.latest().handoff.state is State.STOPPED


def test_an_interrupted_session_that_did_nothing_needs_no_words() -> None:
    world = World()
    world.session_does = strike
    assert world.run().status is RunStatus.INTERRUPTED
    assert (world.of(Warned), world.workspace.refs) == ([], {})


class Struck(World):
    """A lab that is interrupted."""

    def judge(self, judgement: Judgement) -> Verdict:
        return strike()


def test_an_interruption_while_a_turn_is_judged_keeps_its_commit_which_is_judged_later() -> None:
    world = World()
    ended = world.run(lab=Struck())
    assert ended.status is RunStatus.INTERRUPTED
    ((ref, commit),) = world.workspace.refs.items()
    assert ref.startswith("refs/tdd/kept/r/interrupted-session-")
    assert world.workspace.commits[commit].subject == "plan: list the cases"
    assert world.subjects() == ["chore: start"]
    assert world.resume(RunLimits(max_cycles=1)).status is RunStatus.STOPPED
    assert world.path[0] == ("PLAN", 1, 1)
    assert commit in world.workspace.line()
    assert [brief.phase for brief in world.agent.briefs] == ["PLAN", "RED", "GREEN", "REFACTOR"]
    assert sum("is judged now" in warned.message for warned in world.of(Warned)) == 1


def test_what_is_judged_later_was_paid_before_and_is_noted_once() -> None:
    world = World()
    world.usage = Usage(1, 2, cost_usd=0.5)
    world.run(lab=Struck())
    assert world.resume(lab=Struck()).status is RunStatus.INTERRUPTED
    ended = world.resume(RunLimits(budget_usd=0.4))
    assert ended.type is FindingType.BUDGET_EXCEEDED
    assert [brief.phase for brief in world.agent.briefs] == ["PLAN", "RED"]
    plan = world.ledger.read(world.workspace.commits[ended.entry.commit].parent or "")
    assert plan is not None
    assert (plan.usage, plan.seconds) == (world.usage, 11.0)


def test_what_was_judged_is_not_judged_again_and_rejected_work_comes_anew() -> None:
    world = World()
    world.run(lab=Struck())
    world.script.append(REJECTED)
    assert world.resume(RunLimits(max_cycles=1)).status is RunStatus.STOPPED
    assert world.path[:2] == [("PLAN", 1, 1), ("PLAN", 1, 2)]
    assert [brief.attempt for brief in world.agent.briefs[:2]] == [1, 2]


def test_what_was_sealed_on_another_commit_is_left_alone() -> None:
    world = World()
    world.run(lab=Struck())
    latest = world.latest()
    world.workspace.files["users.txt"] = "own"
    head = world.workspace.commit("chore: the user's")
    world.ledger.write({head: carried(latest.handoff, latest.commit, "t")})
    assert world.resume(RunLimits(max_cycles=1)).status is RunStatus.STOPPED
    assert [brief.phase for brief in world.agent.briefs[:3]] == ["PLAN", "PLAN", "RED"]


def test_a_session_that_failed_is_made_again() -> None:
    world = World()
    failure = Finding(FindingType.AGENT_FAILURE, "no")
    world.session_does = lambda brief: Report("", failure=failure) if len(world.agent.briefs) == 1 else None
    taken: list[str] = []

    def stop(seconds: float) -> None:
        taken.append(world.latest().handoff.error or "")
        strike()

    assert world.run(pause=stop).status is RunStatus.INTERRUPTED
    assert (taken, world.workspace.unjudged("r", PhaseName.PLAN, 1)) == (["no"], None)


def test_an_agent_whose_work_waits_to_be_judged_is_not_probed() -> None:
    class Careful(FakeAgent):
        def probe(self, brief: Brief) -> None:
            raise AssertionError(brief.phase)

    world = World()
    world.agent = Careful(world.session)
    world.run(lab=Struck())
    world.sessions(world.events.append).probe(TDD, world.latest().handoff)


def test_an_interruption_while_waiting_keeps_the_rejection_and_touches_no_file() -> None:
    world = World([REJECTED])

    def pause(seconds: float) -> None:
        world.workspace.files["the users own.txt"] = "precious"
        strike()

    ended = world.run(pause=pause)
    assert ended.status is RunStatus.INTERRUPTED
    handoff = world.latest().handoff
    assert (handoff.state, handoff.error, handoff.attempts) == (State.STOPPED, "it fails", 1)
    assert world.workspace.files["the users own.txt"] == "precious"
    assert world.of(Warned) == []
    assert list(world.workspace.refs) == ["refs/tdd/attempts/r/1-PLAN-1"]


# --- limits


def test_cycles_are_counted_in_this_invocation_covered_ones_too() -> None:
    world = World([None, COVERED], cases=("one", "two", "three"))
    ended = world.run(limits=RunLimits(max_cycles=2))
    assert (ended.status, ended.reason) == (RunStatus.STOPPED, "--max-cycles 2 reached")
    assert ended.entry == world.latest()
    assert (ended.entry.handoff.state, ended.entry.handoff.cycle_number) == (State.STOPPED, 2)
    assert world.resume(RunLimits(max_cycles=1)).status is RunStatus.STOPPED
    assert world.resume(RunLimits(max_cycles=1)).status is RunStatus.COMPLETE


def test_a_cycle_that_was_begun_earlier_counts_when_it_ends() -> None:
    world = World([None, None, UNDECIDED])
    world.run()
    ended = world.resume(RunLimits(max_cycles=1))
    assert (ended.reason, world.latest().handoff.cycle_number) == ("--max-cycles 1 reached", 1)


def test_a_budget_stops_the_run_before_the_next_turn_retries_included() -> None:
    world = World([None, REJECTED])
    world.usage = Usage(cost_usd=0.5)
    ended = world.run(limits=RunLimits(budget_usd=1.0))
    assert (ended.status, ended.reason) == (
        RunStatus.STOPPED,
        "the budget of 1.00 USD is used up: 1.00 USD were spent",
    )
    handoff = world.latest().handoff
    assert (handoff.state, handoff.error, handoff.retry_count) == (State.STOPPED, "it fails", 1)


@pytest.mark.parametrize("usage", [None, Usage(10, 10), Usage(cost_usd=0.1)])
def test_a_budget_that_is_not_used_up_stops_nothing(usage: Usage | None) -> None:
    world = World()
    world.usage = usage
    assert world.run(limits=RunLimits(budget_usd=1.0)).status is RunStatus.COMPLETE


def test_a_phases_budget_stops_its_retries_and_is_new_with_every_phase() -> None:
    world = World([None, REJECTED])
    world.usage = Usage(cost_usd=0.5)
    ended = world.run(limits=RunLimits(phase_usd=0.5))
    assert (ended.status, ended.reason) == (
        RunStatus.STOPPED,
        "the phase's budget of 0.50 USD is used up: 0.50 USD were spent",
    )
    assert ended.type is FindingType.BUDGET_EXCEEDED
    assert world.latest().handoff.stopped_by is FindingType.BUDGET_EXCEEDED
    assert world.path == [("PLAN", 1, 1), ("RED", 1, 1)]
    done = world.resume(RunLimits(phase_usd=0.5))
    assert (done.status, done.entry.handoff.stopped_by) == (RunStatus.COMPLETE, None)


def test_sessions_are_told_what_they_may_cost() -> None:
    world = World([None, REJECTED])
    world.usage = Usage(cost_usd=0.25)
    world.run(limits=RunLimits(budget_usd=1.0, phase_usd=0.625))
    assert [brief.allowance_usd for brief in world.agent.briefs] == [0.625, 0.625, 0.375, 0.25]


def test_without_a_budget_sessions_may_cost_whatever_it_takes() -> None:
    world = World()
    world.run()
    assert {brief.allowance_usd for brief in world.agent.briefs} == {None}


@pytest.mark.parametrize("kind", [FindingType.BUDGET_EXCEEDED, FindingType.MODEL_UNAVAILABLE])
def test_what_no_retry_would_mend_stops_the_run_and_is_not_counted(kind: FindingType) -> None:
    world = World()
    world.usage = Usage(cost_usd=0.25)
    failure = Finding(kind, "not now")
    world.session_does = lambda brief: (
        Report("", world.usage, failure) if brief.phase is PhaseName.RED else None
    )
    ended = world.run()
    handoff = world.latest().handoff
    assert (ended.status, ended.reason) == (RunStatus.STOPPED, "not now")
    assert (handoff.state, handoff.attempts, handoff.retry_count) == (State.STOPPED, 0, 0)
    assert handoff.error_details == ErrorDetails(kind, "not now")
    assert due(ended.entry)["usage"]["costUsd"] == 0.25
    world.session_does = lambda _brief: None
    assert world.resume().status is RunStatus.COMPLETE


def test_an_agent_that_can_is_probed_with_the_brief_it_will_get() -> None:
    world = World()

    class Cautious(FakeAgent):
        def probe(self, brief: Brief) -> None:
            probed.append(brief)

    probed: list[Brief] = []
    world.agent = Cautious(world.session)
    handoff = Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r")
    world.sessions(world.events.append).probe(TDD, handoff)
    assert [(brief.phase, brief.attempt) for brief in probed] == [(PhaseName.PLAN, 1)]


def test_agents_that_come_later_are_asked_for_a_word_before_the_first_begins() -> None:
    world = World()
    asked: list[str] = []

    class First(FakeAgent):
        def probe(self, brief: Brief) -> None:
            asked.append(brief.phase)

        def greet(self) -> None:
            asked.append("first")

    class Later(FakeAgent):
        def greet(self) -> None:
            asked.append("later")

    first, later = First(world.session), Later(world.session)
    mixed = {name: later if name is PhaseName.GREEN else first for name in PhaseName}
    sessions = replace(world.sessions(world.events.append), agents=mixed)
    sessions.probe(TDD, Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r"))
    assert asked == ["later", "PLAN"]


def test_an_agent_that_cannot_be_probed_is_not() -> None:
    world = World()
    world.sessions(world.events.append).probe(TDD, Handoff(PhaseName.PLAN, PhaseName.PLAN, run_id="r"))
    assert world.agent.briefs == []


# --- what attempts use


def test_usage_and_seconds_of_rejected_and_unmeasured_attempts_add_up() -> None:
    world = World([None, REJECTED, UNDECIDED])
    world.usage = Usage(10, 5, 3, 2, 0.25)
    ended = world.run()
    twice = {
        "inputTokens": 20,
        "outputTokens": 10,
        "cacheReadTokens": 6,
        "cacheWriteTokens": 4,
        "costUsd": 0.5,
    }
    assert due(ended.entry) == {"usage": twice, "seconds": 22.0}
    world.resume(RunLimits(max_cycles=1))
    red = next(entry.handoff for entry in world.ledger.history() if entry.handoff.phase is PhaseName.RED)
    assert (red.usage and (red.usage.input_tokens, red.usage.cost_usd)) == (30, 0.75)
    assert (red.seconds, red.due) == (33.0, None)
    green = next(entry.handoff for entry in world.ledger.history() if entry.handoff.phase is PhaseName.GREEN)
    assert (green.usage and green.usage.input_tokens, green.seconds) == (10, 11.0)


def test_an_attempt_that_tells_no_usage_adds_only_time() -> None:
    world = World([REJECTED, REJECTED])
    world.session_does = lambda brief: Report("x", Usage(7)) if brief.attempt == 1 else None
    ended = world.run(rules=Rules(retries=1))
    assert due(ended.entry)["usage"]["inputTokens"] == 7
    assert due(ended.entry)["seconds"] == 22.0


def test_where_nobody_tells_usage_there_is_none() -> None:
    world = World([REJECTED])
    ended = world.run(rules=Rules(retries=0))
    assert due(ended.entry) == {"usage": None, "seconds": 11.0}


@pytest.mark.parametrize("odd", ["odd", {"seconds": "long", "usage": []}])
def test_unreadable_sums_of_another_tool_count_as_nothing(odd: Any) -> None:
    world = World([REJECTED])
    start = world.opened()
    handoff = with_keys(start.handoff, error="it failed", due=odd)
    ended = world.run(Entry(start.commit, handoff), rules=Rules(retries=0))
    assert due(ended.entry) == {"usage": None, "seconds": 11.0}


# --- approval


class Approving(Hooks):
    """A person who is asked, and does this; or nobody."""

    needs_approval = True

    def __init__(self, does: Callable[[Entry], Entry | None]) -> None:
        self.does = does

    def approved(self, entry: Entry) -> Entry | None:
        return self.does(entry)


def test_nobody_there_to_approve_stops_the_run_after_the_first_list() -> None:
    world = World()
    ended = world.run(hooks=Approving(lambda _entry: None))
    assert (ended.status, ended.reason) == (RunStatus.STOPPED, "the list waits for approval")
    handoff = world.latest().handoff
    assert (handoff.state, handoff.awaiting, handoff.next_phase) == (State.STOPPED, "approval", PhaseName.RED)


def test_an_approved_list_is_worked_through_and_not_asked_for_again() -> None:
    world = World()
    asked: list[tuple[Entry, Handoff]] = []

    def approve(entry: Entry) -> Entry:
        asked.append((entry, world.latest().handoff))
        return entry

    assert world.run(hooks=Approving(approve)).status is RunStatus.COMPLETE
    ((entry, meanwhile),) = asked
    assert (entry.handoff.phase, entry.handoff.state) == (PhaseName.PLAN, State.RUNNING)
    assert (meanwhile.state, meanwhile.awaiting) == (State.STOPPED, "approval")
    noted = world.ledger.read(entry.commit)
    assert noted == entry.handoff


def test_whoever_changes_nothing_of_the_list_has_approved_it() -> None:
    class Trusting(Hooks):
        needs_approval = True

    assert World().run(hooks=Trusting()).status is RunStatus.COMPLETE


def test_a_changed_list_goes_on_from_its_own_commit() -> None:
    world = World()

    def approve(entry: Entry) -> Entry:
        if entry.handoff.carried_from or len(world.path) > 1:
            return entry
        commit = world.workspace.commit("plan: accepted list")
        again = replace(
            carried(entry.handoff, entry.commit, "t"), next_phase=PhaseName.PLAN, current_test=None
        )
        return Entry(commit, again)

    assert world.run(hooks=Approving(approve)).status is RunStatus.COMPLETE
    assert world.path[:3] == [("PLAN", 1, 1), ("PLAN", 1, 2), ("RED", 1, 1)]
    assert "plan: accepted list" in world.subjects()


def test_a_list_without_open_cases_needs_no_approval() -> None:
    world = World(cases=())
    assert world.run(hooks=Approving(strike)).status is RunStatus.COMPLETE


def test_a_rejected_list_is_not_shown() -> None:
    world = World([REJECTED])
    assert world.run(hooks=Approving(strike), rules=Rules(retries=0)).status is RunStatus.FAILED


# --- where there is nothing to do


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"next_phase": PhaseName.COMPLETE, "state": State.COMPLETE}, RunStatus.COMPLETE, ""),
        ({"state": State.STOPPED}, RunStatus.STOPPED, ""),
        ({"state": State.STOPPED, "error": "it failed"}, RunStatus.STOPPED, "it failed"),
        ({"state": State.ABORTED, "error": "it failed"}, RunStatus.FAILED, "it failed"),
    ],
)
def test_a_run_that_is_over_is_not_touched(change: dict[str, Any], status: RunStatus, reason: str) -> None:
    world = World()
    start = world.opened()
    over = Entry(start.commit, replace(start.handoff, **change))
    assert world.run(over) == Ended(status, over, reason)
    assert (world.events, world.latest()) == ([], start)


# --- stopping anywhere


class Crash(Exception):  # noqa: N818
    """The machine is gone."""


class Exhausted(Exception):  # noqa: N818
    """The script has come to its end."""


class CrashingLedger(FakeLedger):
    """A ledger after whose writes the machine may be gone."""

    def __init__(self, workspace: FakeWorkspace, tick: Callable[[], None]) -> None:
        super().__init__(workspace)
        self._tick = tick

    def write(self, notes: Mapping[str, Handoff]) -> None:
        super().write(notes)
        self._tick()


class Fragile(World):
    """A run that is cut off at given moments, and picked up from the ledger by a new engine."""

    def __init__(self, script: Script, crashes: Iterable[int] = ()) -> None:
        super().__init__(script, cases=("one", "two", "three"))
        self.moment = 0
        self.crashes = frozenset(crashes)
        self.ledger = CrashingLedger(self.workspace, self.tick)

    def tick(self) -> None:
        self.moment += 1
        if self.moment in self.crashes:
            raise Crash

    def session(self, brief: Brief, folder: Path) -> Report | str:
        """Work on what is there: what should be gone would show."""
        diary = self.workspace.files.get("diary.txt", "")
        self.workspace.files["diary.txt"] = f"{diary}{brief.phase}-{brief.cycle}-{brief.attempt}\n"
        return super().session(brief, folder)

    def emit(self, _event: Event) -> None:
        self.tick()

    def judge(self, judgement: Judgement) -> Verdict:
        judgement.close()
        if not self.script:
            raise Exhausted
        brief = self.agent.briefs[-1]
        if brief.phase is not PhaseName.RED and self.script[0] is COVERED:
            self.script[0] = None
        return super().judge(judgement)

    def recover(self) -> None:
        """Clean up as a new invocation does: a turn that is written down stays, another is undone."""
        head = self.workspace.head()
        if self.workspace.session is None:
            return
        note = self.ledger.read(head)
        child = self.workspace.commits[head].parent == self.workspace.session[1]
        if child and note is not None and note.error is None:
            self.workspace.end()
        else:
            self.workspace.abandon()

    def play(self) -> None:
        crashes, self.crashes = self.crashes, frozenset[int]()
        self.opened()
        self.crashes = crashes
        while self.latest().handoff.next_phase is not PhaseName.COMPLETE:
            try:
                self.resume(emit=self.emit, rules=Rules(retries=99))
            except Crash:
                self.recover()
            except Exhausted:
                self.recover()
                return

    def outcome(self) -> tuple[Any, ...]:
        latest = self.latest().handoff
        # Retries, and what they were for, begin anew where a run is gone on with.
        plain = replace(latest, timestamp="", retry_count=0, rejections=(), state=State.RUNNING)
        return self.path, self.subjects(), dict(self.workspace.files), plain


verdicts = st.lists(st.sampled_from([None, None, None, REJECTED, UNDECIDED, COVERED, WARNED]), max_size=30)


@given(verdicts, st.sets(st.integers(1, 150), max_size=20))
def test_cut_off_at_any_moment_and_picked_up_from_the_ledger_a_run_takes_the_same_path(
    script: list[Verdict | None], crashes: set[int]
) -> None:
    script = [None if verdict is WARNED else verdict for verdict in script]
    whole, broken = Fragile(script), Fragile(script, crashes)
    whole.play()
    broken.play()
    assert broken.outcome() == whole.outcome()


def test_a_stopped_note_is_what_a_resumed_run_starts_from() -> None:
    world = World([REJECTED])
    world.run(pause=strike)
    latest = world.latest()
    assert latest.handoff == stopped(latest.handoff, latest.handoff.timestamp)
    assert world.resume().status is RunStatus.COMPLETE


# --- other tables


FEEDBACK = rule(test_result=TestOutcome.PASS, outcome=Outcome.FEEDBACK)
TAMPERED = rule(Finding(FindingType.TEST_TAMPERING, "a test is gone"))


class Table(World):
    """The same world, working through another table."""

    def __init__(self, workflow: Workflow, script: Script = ()) -> None:
        super().__init__(script)
        self.workflow = workflow
        self.trees: list[dict[str, str]] = []

    def session(self, brief: Brief, folder: Path) -> Report | str:
        self.trees.append(dict(self.workspace.files))
        return super().session(brief, folder)

    def opened(self) -> Entry:
        first = self.workflow.first.name
        head = self.workspace.head()
        self.ledger.write({head: opening("r", "# Count things\n\nall", "t0", Plan(), None, first)})
        return self.latest()

    def engine(self, **changes: Any) -> Engine:
        gates = dict.fromkeys(PhaseName, TDD_GATES[PhaseName.PLAN])
        return super().engine(**{"workflow": self.workflow, "gates": gates, **changes})


def test_feedback_opens_another_round_and_approval_ends_the_run() -> None:
    world = Table(review(3), [None, FEEDBACK, None, None])
    ended = world.run()
    assert ended.status is RunStatus.COMPLETE
    assert world.subjects()[1:] == [
        "feat: Count things",
        "review: round 1",
        "feat: Count things",
        "review: round 2",
    ]
    assert [entry.handoff.cycle_number for entry in world.ledger.history()] == [2, 2, 1, 1, 0]


def test_rounds_that_are_used_up_abort_and_a_resumed_run_goes_round_again() -> None:
    world = Table(review(1), [None, FEEDBACK])
    ended = world.run()
    assert ended.status is RunStatus.FAILED
    handoff = ended.entry.handoff
    assert (handoff.state, handoff.next_phase) == (State.ABORTED, PhaseName.CODE)
    assert handoff.error_details
    assert handoff.error_details.type == "RoundsUsedUp"
    assert world.resume(workflow=review(2)).status is RunStatus.COMPLETE
    assert world.path[-2:] == [("CODE", 2, 1), ("REVIEW", 2, 1)]


def test_an_answer_of_a_phase_with_retries_of_its_own_is_asked_for_as_often_as_it_says() -> None:
    world = Table(review(3), [None, REJECTED, REJECTED])
    assert world.run().status is RunStatus.FAILED
    assert world.path == [("CODE", 1, 1), ("REVIEW", 1, 1), ("REVIEW", 1, 2)]


def test_tries_that_build_on_each_other_end_in_one_commit() -> None:
    world = Table(taskfile(3), [None, REJECTED, REJECTED, None, None])
    world.session_does = lambda brief: (
        world.workspace.files.update({f"try-{brief.attempt}": ""}) if brief.phase is PhaseName.GREEN else None
    )
    assert world.run().status is RunStatus.COMPLETE
    assert world.subjects()[1:] == ["test: Count things", "feat: Count things", "refactor: Count things"]
    assert {"try-1", "try-2", "try-3"} <= world.workspace.files.keys()


def test_a_try_that_broke_the_rules_is_not_built_on() -> None:
    world = Table(taskfile(3), [None, REJECTED, TAMPERED, None, None])
    world.session_does = lambda brief: (
        world.workspace.files.update({f"try-{brief.attempt}": ""}) if brief.phase is PhaseName.GREEN else None
    )
    assert world.run().status is RunStatus.COMPLETE
    assert "try-1" in world.workspace.files
    assert "try-2" not in world.workspace.files
    stays = [event.builds_on for event in world.of(Judged) if event.phase is PhaseName.GREEN]
    assert stays[:2] == [True, False]


def test_out_of_tries_everything_is_as_before_the_phase_and_the_tries_stay_reachable() -> None:
    world = Table(taskfile(2), [None, REJECTED, REJECTED])
    ended = world.run()
    assert ended.status is RunStatus.FAILED
    assert world.subjects()[1:] == ["test: Count things"]
    assert {"refs/tdd/attempts/r/1-GREEN-1", "refs/tdd/attempts/r/1-GREEN-2"} <= world.workspace.refs.keys()
    assert any(ref.startswith("refs/tdd/kept/") and "GREEN" in ref for ref in world.workspace.refs)


def test_what_no_retry_could_mend_ends_the_run_at_once() -> None:
    world = Table(taskfile(3), [replace(REJECTED, final=True)])
    ended = world.run()
    assert (ended.status, ended.entry.handoff.attempts) == (RunStatus.FAILED, 1)


def test_notes_say_what_a_workflow_wants_remembered() -> None:
    world = Table(taskfile(2), [None, REJECTED, None, None])

    class Remembering(Hooks):
        def remembered(self, note: Handoff, before: Handoff, turn: Turn, report: Report) -> Handoff:
            return with_keys(note, told=f"{before.next_phase}-{turn.attempt} {report.message}")

    assert world.run(hooks=Remembering()).status is RunStatus.COMPLETE
    told = [entry.handoff.unknown.value.get("told") for entry in world.ledger.history()]
    assert [str(line).split()[0] for line in told] == ["REFACTOR-1", "GREEN-2", "RED-1", "None"]


def test_a_diagnosis_stands_between_two_tries_and_changes_nothing() -> None:
    world = Table(taskfile(2), [None, REJECTED, None, None])
    world.usage = Usage(1, 1, cost_usd=0.5)

    def meddle(brief: Brief) -> Report | None:
        if brief.phase is not PhaseName.DIAGNOSE:
            return None
        world.workspace.files["scribble"] = ""
        return Report("off by one", world.usage)

    world.session_does = meddle
    assert world.run().status is RunStatus.COMPLETE
    phases = [brief.phase for brief in world.agent.briefs]
    assert phases == ["RED", "GREEN", "DIAGNOSE", "GREEN", "REFACTOR"]
    assert "GREEN-1.py" in world.trees[2]  # it sees the rejected try
    assert "scribble" not in world.trees[3]
    retried = from_json(world.agent.briefs[3].handoff)
    assert retried.diagnosis == Diagnosis(2, "off by one", failed=False)
    green = next(e.handoff for e in world.ledger.history() if e.handoff.phase is PhaseName.GREEN)
    assert green.usage == Usage(3, 3, cost_usd=1.5)
    assert [event.message for event in world.of(Diagnosed)] == ["off by one"]


def test_a_diagnosis_that_fails_stops_nothing() -> None:
    world = Table(taskfile(2), [None, REJECTED, None, None])
    gone = Report(failure=Finding(FindingType.AGENT_FAILURE, "it went away"))
    world.session_does = lambda brief: gone if brief.phase is PhaseName.DIAGNOSE else None
    assert world.run().status is RunStatus.COMPLETE
    assert [(event.message, event.failed) for event in world.of(Diagnosed)] == [("it went away", True)]


@pytest.mark.parametrize("kind", [FindingType.RATE_LIMITED, FindingType.NETWORK_ERROR])
@pytest.mark.parametrize("phase", [PhaseName.DIAGNOSE, PhaseName.GREEN])
def test_a_server_out_of_reach_stops_the_run_and_costs_no_try(kind: FindingType, phase: PhaseName) -> None:
    world = Table(taskfile(2), [None, REJECTED])
    gone = Report(usage=Usage(1, 1, cost_usd=0.5), failure=Finding(kind, "not now"))
    world.session_does = lambda brief: gone if brief.phase is phase and brief.attempt == 2 else None
    ended = world.run()
    assert (ended.status, ended.reason) == (RunStatus.STOPPED, "not now")
    assert ended.entry.handoff.attempts == 1
    assert due(ended.entry)["usage"]["costUsd"] == 0.5
    assert REJECTED.findings[0] in ended.entry.handoff.findings  # for the try that comes when it goes on

    world.session_does = lambda _brief: None
    assert world.resume().status is RunStatus.COMPLETE
    assert [brief.phase for brief in world.agent.briefs].count(PhaseName.GREEN) == 2 + (phase == "GREEN")
    assert [event.attempt for event in world.of(Diagnosed)] == [2]


def test_where_nothing_was_rejected_nothing_is_diagnosed() -> None:
    world = Table(taskfile(2))
    gone = Report(failure=Finding(FindingType.NETWORK_ERROR, "not now"))
    world.session_does = lambda brief: gone if brief.phase is PhaseName.GREEN else None
    assert world.run().status is RunStatus.STOPPED
    world.session_does = lambda _brief: None
    assert world.resume().status is RunStatus.COMPLETE
    assert PhaseName.DIAGNOSE not in [brief.phase for brief in world.agent.briefs]


def test_a_diagnosis_that_stands_in_the_note_is_not_asked_for_again() -> None:
    world = Table(taskfile(2), [None, REJECTED])

    def cut(brief: Brief) -> None:
        if brief.phase is PhaseName.GREEN and brief.attempt == 2:
            raise InterruptedRunError("cut")

    world.session_does = cut
    assert world.run().status is RunStatus.INTERRUPTED
    world.session_does = lambda _brief: None
    assert world.resume().status is RunStatus.COMPLETE
    assert [brief.phase for brief in world.agent.briefs].count(PhaseName.DIAGNOSE) == 1


def test_a_plain_table_is_one_turn() -> None:
    world = Table(PLAIN)
    assert world.run().status is RunStatus.COMPLETE
    assert world.path == [("CODE", 1, 1)]


# --- a phase that is a run of its own


def working_inside(world: Table) -> Callable[[Brief], Report | None]:
    """Return a session of CODE that makes two commits of its own."""

    def session(brief: Brief) -> Report | None:
        if brief.phase is not PhaseName.CODE:
            return None
        for number in (1, 2):
            world.workspace.files[f"inner-{number}.py"] = f"round {brief.cycle}\n"
            world.workspace.commit(f"test: inner {number}")
        return Report("done")

    return session


def test_the_commits_of_an_inner_run_stay_and_the_turns_own_is_empty() -> None:
    world = Table(review(3, tdd=True), [None, None])
    world.session_does = working_inside(world)
    ended = world.run()
    assert ended.status is RunStatus.COMPLETE
    line = [world.workspace.commits[commit] for commit in world.workspace.line()][::-1]
    assert [commit.subject for commit in line[1:3]] == ["test: inner 1", "test: inner 2"]
    assert line[3].tree == line[2].tree
    code = world.ledger.read(list(world.workspace.line())[1])
    assert code is not None
    assert (code.phase, code.next_phase) == (PhaseName.CODE, PhaseName.REVIEW)


def test_an_inner_run_that_fails_keeps_its_commits_and_is_not_tried_again() -> None:
    world = Table(review(3, tdd=True))
    inside = working_inside(world)

    def session(brief: Brief) -> Report:
        inside(brief)
        return Report(failure=Finding(FindingType.AGENT_FAILURE, "the inner run failed"))

    world.session_does = session
    ended = world.run()
    assert ended.status is RunStatus.FAILED
    assert ended.reason == "the inner run failed"
    assert world.workspace.commits[world.workspace.head()].subject == "test: inner 2"
    assert world.workspace.refs == {}
    assert len(world.agent.briefs) == 1


def test_an_interrupted_inner_run_keeps_its_commits() -> None:
    world = Table(review(3, tdd=True))
    inside = working_inside(world)

    def session(brief: Brief) -> Report:
        inside(brief)
        raise InterruptedRunError("SIGTERM")

    world.session_does = session
    ended = world.run()
    assert ended.status is RunStatus.INTERRUPTED
    assert world.workspace.commits[world.workspace.head()].subject == "test: inner 2"


# --- cycles that are opened without a session


class Ahead(World):
    """A planner that names the files of every case, and whose list is as a person writes it."""

    def good(self, brief: Brief) -> Verdict:
        verdict = super().good(brief)
        later = tuple(Case(text, "test_x.py", "x.py") for text in self.cases[brief.cycle :])
        return replace(verdict, upcoming=later) if brief.phase is PhaseName.PLAN else verdict

    def judge(self, judgement: Judgement) -> Verdict:
        if self.of(TurnStarted)[-1].agent == "fake":
            return super().judge(judgement)
        judgement.close()
        cycle: int = self.of(TurnStarted)[-1].cycle
        self.path.append(("rgr", cycle, 1))
        later = tuple(Case(text, "test_x.py", "x.py") for text in self.cases[cycle:])
        return rule(case=Case(self.cases[cycle - 1], "test_x.py", "x.py"), upcoming=later)


def phases(world: World) -> list[str]:
    return [phase for phase, _, _ in world.path]


def test_cases_that_were_planned_ahead_take_two_plan_sessions_in_all() -> None:
    world = Ahead(cases=("one", "two", "three"))
    assert world.run().status is RunStatus.COMPLETE
    assert [brief.phase for brief in world.agent.briefs].count(PhaseName.PLAN) == 2
    assert phases(world).count("rgr") == 2
    assert world.subjects().count("plan: update the list of cases") == 3
    second = next(
        entry.handoff
        for entry in world.ledger.history()
        if entry.handoff.cycle_number == 2 and entry.handoff.phase is PhaseName.PLAN
    )
    assert (second.agent, second.usage, second.pending_tests) == ("rgr", None, ("three",))
    assert [case.description for case in second.upcoming] == ["three"]


def test_ten_cases_that_were_planned_ahead_take_32_sessions() -> None:
    world = Ahead(cases=tuple(f"case {number}" for number in range(10)))
    assert world.run().status is RunStatus.COMPLETE
    assert len(world.agent.briefs) == 3 * 10 + 2


def test_always_means_a_session_for_every_case() -> None:
    world = Ahead()
    sessions = replace(world.sessions(world.events.append), plans_ahead=False)
    assert world.run(sessions=sessions).status is RunStatus.COMPLETE
    assert "rgr" not in phases(world)


def test_a_retry_or_a_word_of_a_session_brings_planning_back() -> None:
    world = Ahead([None, REJECTED], cases=("one", "two", "three"))

    def session(brief: Brief) -> Report | None:
        if brief.phase is not PhaseName.GREEN or brief.cycle != 2:
            return None
        world.workspace.files["x.py"] = "…"
        return Report('Done.\n{"replan": "three is two cases"}')

    world.session_does = session
    assert world.run().status is RunStatus.COMPLETE
    assert "rgr" not in phases(world)
    reasons = [entry.handoff.replan for entry in world.ledger.history()][::-1]
    assert reasons[2:6] == [*["RED needed a retry"] * 3, None]
    assert reasons[6:10] == [None, *["GREEN asks for it: three is two cases"] * 2, None]


def test_a_list_that_a_person_changed_meanwhile_is_planned_by_a_session() -> None:
    world = Ahead()
    world.run(limits=RunLimits(max_cycles=1))
    stopped_at = world.latest()
    world.workspace.files["test-list.md"] = "- [ ] zero\n- [ ] one\n- [ ] two"
    commit = world.workspace.commit("mine")
    world.ledger.write({commit: carried(stopped_at.handoff, stopped_at.commit, "t")})
    world.resume(limits=RunLimits(max_cycles=1))
    assert "rgr" not in phases(world)


def test_a_resumed_run_opens_the_cycle_that_was_planned_before() -> None:
    world = Ahead()
    world.run(limits=RunLimits(max_cycles=1))
    assert world.resume().status is RunStatus.COMPLETE
    assert phases(world).count("rgr") == 1


# --- a goal that is reached by other means


class Looking(Hooks):
    """Whoever looks whether the goal is reached, and how often."""

    def __init__(self, asked: list[bool], *, found: bool) -> None:
        self.asked, self.found = asked, found

    def reached(self) -> bool:
        self.asked.append(self.found)
        return self.found


@pytest.mark.parametrize("script", [[None, FEEDBACK], [None, REJECTED]])
def test_a_goal_that_is_reached_ends_the_run_whatever_the_reviewer_said(script: list[Verdict | None]) -> None:
    world = Table(review(3), script)
    asked: list[bool] = []
    ended = world.run(hooks=Looking(asked, found=True))
    assert ended.status is RunStatus.COMPLETE
    assert len(asked) == 1
    assert (ended.entry.handoff.next_phase, ended.entry.handoff.error) == (PhaseName.COMPLETE, None)
    assert world.ledger.read(ended.entry.commit) == ended.entry.handoff


def test_a_goal_that_is_not_reached_changes_nothing() -> None:
    world = Table(review(3), [None, FEEDBACK, None, None])
    asked: list[bool] = []
    ended = world.run(hooks=Looking(asked, found=False))
    assert ended.status is RunStatus.COMPLETE
    assert len(asked) == 1  # not after an approval, nor after a turn of the coder's


@pytest.mark.parametrize(("resumes", "continues"), [(True, ("s-1",)), (False, ())])
def test_a_retry_goes_on_with_the_rejected_session_where_that_is_wanted(
    resumes: bool, continues: tuple[str, ...]
) -> None:
    world = World([REJECTED], cases=["one"])

    def session(brief: Brief) -> Report | None:
        return Report("no", session="s-1") if (brief.phase, brief.attempt) == (PhaseName.PLAN, 1) else None

    world.session_does = session

    ended = world.run(sessions=replace(world.sessions(world.events.append), resumes=resumes))

    assert ended.status is RunStatus.COMPLETE
    first, again, red = world.agent.briefs[:3]
    assert (first.continues, again.continues, red.continues) == ((), continues, ())
