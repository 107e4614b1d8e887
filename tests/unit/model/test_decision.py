"""What follows from a handoff, driven through every path."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.decision import (
    Finish,
    Go,
    Halt,
    Turn,
    accepted,
    accepted_with,
    attempted,
    cycle_of,
    decide,
    error_of,
    opening,
    refreshed,
    rejected,
    rejections_of,
    relisted,
    still_failing,
    stopped,
    unmeasured,
)
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case, Item, Plan
from redgreenrefactor.model.handoff import (
    ErrorDetails,
    Handoff,
    LegacyTests,
    Rejection,
    State,
    from_json,
    to_json,
)
from redgreenrefactor.model.verdict import (
    Finding,
    FindingType,
    Outcome,
    Ruling,
    Severity,
    TestOutcome,
    Verdict,
    rule,
)
from redgreenrefactor.model.workflow import PhaseName

REFUSED = rule(Finding(FindingType.TEST_FAILURE, "it fails"))
UNSEEN = rule(Finding(FindingType.UNDECIDED, "no report"))
CASES = ("one", "two", "three")


def plan_of(done: int) -> Plan:
    return Plan(tuple(Item(text, index < done, index + 1) for index, text in enumerate(CASES)), "blob")


def case(index: int) -> Case:
    return Case(CASES[index], "test_x.py", "x.py")


def start() -> Handoff:
    return opening("r", "count", "t0", Plan(), None)


class World:
    """A run without git: only handoffs, and how many boxes are ticked."""

    def __init__(self, handoff: Handoff, *, retries: int = 3) -> None:
        self.handoff = handoff
        self.retries = retries
        self.path: list[str] = []
        self.done = 0

    def turn(self, ruling: Ruling, *, covered: bool = False) -> None:
        decision = decide(TDD, self.handoff)
        assert isinstance(decision, Go)
        phase = decision.phase
        attempt = self.handoff.attempts_due + 1
        cycle = cycle_of(self.handoff)
        if phase.name is PhaseName.PLAN and ruling is Ruling.ACCEPTED:
            finished = self.handoff.phase is PhaseName.REFACTOR or self.handoff.outcome is Outcome.COVERED
            self.done += finished
        turn = Turn(phase, cycle, attempt, plan_of(self.done), "t")
        self.path.append(f"{phase.name}-{cycle}-{attempt}-{ruling}")
        if ruling is Ruling.ACCEPTED:
            self.handoff = accepted(self.handoff, turn, self.verdict(phase.name, covered=covered))
        elif ruling is Ruling.REJECTED:
            self.handoff = rejected(self.handoff, turn, REFUSED, retries=self.retries)
        else:
            self.handoff = unmeasured(self.handoff, turn, UNSEEN)

    def verdict(self, phase: PhaseName, *, covered: bool) -> Verdict:
        if phase is PhaseName.PLAN:
            return rule(case=case(self.done) if self.done < len(CASES) else None)
        if phase is PhaseName.RED and covered:
            return rule(test_result=TestOutcome.PASS, outcome=Outcome.COVERED)
        return rule(test_result=TestOutcome.FAIL if phase is PhaseName.RED else TestOutcome.PASS)


def test_three_cases_make_thirteen_turns() -> None:
    world = World(start())
    while isinstance(decide(TDD, world.handoff), Go):
        world.turn(Ruling.ACCEPTED)
    assert [step.split("-")[0] for step in world.path] == ["PLAN", "RED", "GREEN", "REFACTOR"] * 3 + ["PLAN"]
    assert decide(TDD, world.handoff) == Finish()
    assert world.handoff.state is State.COMPLETE
    assert world.handoff.completed_tests == CASES
    assert world.handoff.current_test is None
    assert world.handoff.cycle_number == 4


def test_a_covered_case_goes_straight_to_the_next_plan() -> None:
    world = World(start())
    world.turn(Ruling.ACCEPTED)
    world.turn(Ruling.ACCEPTED, covered=True)
    assert world.handoff.next_phase is PhaseName.PLAN
    assert world.handoff.completed_tests == ("one",)
    assert world.handoff.pending_tests == ("two", "three")


def test_the_current_case_is_neither_done_nor_pending_until_refactor() -> None:
    world = World(start())
    for _ in range(3):
        world.turn(Ruling.ACCEPTED)
        assert world.handoff.completed_tests == ()
        assert world.handoff.pending_tests == ("two", "three")
    world.turn(Ruling.ACCEPTED)
    assert (world.handoff.completed_tests, world.handoff.pending_tests) == (("one",), ("two", "three"))


def test_retries_are_counted_and_the_last_one_aborts() -> None:
    world = World(start(), retries=2)
    counts: list[tuple[int, State]] = []
    for _ in range(3):
        world.turn(Ruling.REJECTED)
        counts.append((world.handoff.retry_count, world.handoff.state))
    assert counts == [(1, State.RUNNING), (2, State.RUNNING), (2, State.ABORTED)]
    assert world.handoff.attempts == 3
    assert decide(TDD, world.handoff) == Halt()


def test_the_rejections_of_a_set_of_retries_are_remembered_in_short() -> None:
    world = World(start())
    long = rule(Finding(FindingType.TEST_FAILURE, "it  fails\n" + "x" * 500))
    world.turn(Ruling.REJECTED)
    turn = Turn(TDD.phase(PhaseName.PLAN), 1, 2, Plan(), "t")
    world.handoff = rejected(world.handoff, turn, long, retries=3, kept="1-PLAN-2")

    first, second = rejections_of(from_json(to_json(world.handoff)))
    assert first == Rejection(1, str(REFUSED.findings[0].type), REFUSED.findings[0].message)
    assert (second.attempt, second.type, second.kept) == (2, "TestFailure", "1-PLAN-2")
    assert second.message.startswith("it fails xxx")
    assert len(second.message) == 300

    world.handoff = refreshed(world.handoff)
    assert len(rejections_of(world.handoff)) == 2  # until the next one
    world.turn(Ruling.REJECTED)
    assert [each.attempt for each in rejections_of(world.handoff)] == [3]
    world.turn(Ruling.ACCEPTED)
    assert world.handoff.rejections == ()


def test_warnings_of_an_accepted_phase_outlive_rejections_of_the_next() -> None:
    world = World(start())
    warned = Finding(FindingType.NOT_MINIMAL, "more than the test needs", severity=Severity.WARNING)
    world.handoff = replace(world.handoff, findings=(warned,))
    for _ in range(2):
        world.turn(Ruling.REJECTED)
        assert accepted_with(from_json(to_json(world.handoff))) == (warned,)
        assert world.handoff.findings == REFUSED.findings
    world.turn(Ruling.ACCEPTED)
    assert accepted_with(world.handoff) == world.handoff.findings == ()


def test_an_accepted_turn_says_what_it_took_and_has_no_error() -> None:
    world = World(start())
    world.turn(Ruling.REJECTED)
    world.turn(Ruling.REJECTED)
    world.turn(Ruling.ACCEPTED)
    handoff = world.handoff
    assert (handoff.retry_count, handoff.attempts, handoff.error) == (2, 3, None)


def test_a_rejected_attempts_own_note_names_its_phase_and_error() -> None:
    world = World(start())
    turn = Turn(TDD.phase(PhaseName.PLAN), 1, 1, Plan(), "t")
    note = attempted(replace(world.handoff, agent="a"), turn, REFUSED)
    assert (note.phase, note.next_phase, note.cycle_number) == (PhaseName.PLAN, PhaseName.PLAN, 1)
    assert note.error_details is not None
    assert note.error_details.type == "TestFailure"
    assert note.agent is None  # that was another session's


def test_what_a_gate_learned_stands_in_the_note() -> None:
    turn = Turn(TDD.phase(PhaseName.PLAN), 1, 1, Plan(), "t")
    learned = rule(Finding(FindingType.TEST_FAILURE, "it fails"), facts=Facts(written=3))
    assert attempted(start(), turn, learned).facts == accepted(start(), turn, learned).facts == learned.facts


def test_a_verdict_without_errors_leads_to_none() -> None:
    assert error_of(rule()) == {"error": None, "error_details": None}
    assert error_of(REFUSED) == {
        "error": "it fails",
        "error_details": ErrorDetails("TestFailure", "it fails"),
    }


def test_what_could_not_be_measured_is_not_counted() -> None:
    world = World(start())
    world.turn(Ruling.REJECTED)
    world.turn(Ruling.UNDECIDED)
    assert (world.handoff.state, world.handoff.attempts, world.handoff.retry_count) == (State.STOPPED, 1, 1)
    assert decide(TDD, world.handoff) == Halt()
    assert isinstance(decide(TDD, refreshed(world.handoff)), Go)


def test_resuming_gives_fresh_retries_and_keeps_the_error_and_the_attempts() -> None:
    world = World(start(), retries=0)
    world.turn(Ruling.REJECTED)
    again = refreshed(world.handoff)
    assert (again.state, again.retry_count, again.error, again.attempts_due) == (
        State.RUNNING,
        0,
        "it fails",
        1,
    )


def test_a_relisted_plan_goes_on_or_is_asked_again() -> None:
    world = World(start())
    world.turn(Ruling.ACCEPTED)
    waiting = stopped(world.handoff, "t1", awaiting="approval")
    same = relisted(waiting, "c1", Plan((Item("one", False, 1), Item("new", False, 2))), "t2")
    assert (same.next_phase, same.pending_tests, same.carried_from) == (PhaseName.RED, ("new",), "c1")
    assert same.awaiting is None
    other = relisted(waiting, "c1", Plan((Item("new", False, 1), Item("one", False, 2))), "t2")
    assert (other.next_phase, other.current_test, cycle_of(other)) == (PhaseName.PLAN, None, 1)


def test_an_earlier_run_on_the_same_commit_is_kept_in_the_opening() -> None:
    world = World(start())
    after = opening("r2", "more", "t9", plan_of(1), world.handoff)
    assert after.previous == world.handoff
    assert after.completed_tests == ("one",)
    assert after.pending_tests == ("two", "three")


rulings = st.lists(
    st.tuples(
        st.sampled_from([Ruling.ACCEPTED, Ruling.ACCEPTED, Ruling.REJECTED, Ruling.UNDECIDED]), st.booleans()
    ),
    max_size=60,
)


def play(world: World, steps: list[tuple[Ruling, bool]], *, interrupted: bool) -> None:
    for ruling, covered in steps:
        decision = decide(TDD, world.handoff)
        if isinstance(decision, Finish):
            return
        if isinstance(decision, Halt):
            world.handoff = refreshed(world.handoff)
        if interrupted:
            world.handoff = (
                refreshed(from_json(to_json(world.handoff)))
                if world.handoff.error is None
                else from_json(to_json(world.handoff))
            )
        before = world.handoff
        world.turn(ruling, covered=covered)
        if ruling is Ruling.REJECTED:
            assert world.handoff.next_phase is before.next_phase
            assert world.handoff.phase is before.phase
        assert world.handoff.retry_count <= world.retries
        assert world.handoff.attempts_due >= before.attempts_due or ruling is Ruling.ACCEPTED


@given(rulings)
def test_a_rejection_never_advances_and_counts_stay_in_bounds(steps: list[tuple[Ruling, bool]]) -> None:
    play(World(start()), steps, interrupted=False)


@given(rulings)
def test_stopping_after_any_turn_and_picking_up_from_the_note_gives_the_same_path(
    steps: list[tuple[Ruling, bool]],
) -> None:
    whole, broken = World(start()), World(start())
    play(whole, steps, interrupted=False)
    play(broken, steps, interrupted=True)
    assert whole.path == broken.path
    assert replace(whole.handoff) == broken.handoff


def test_what_fails_since_before_the_run_is_handed_on() -> None:
    turn = Turn(TDD.phase(PhaseName.PLAN), 1, 1, Plan(), "now")
    noted = replace(start(), legacy=LegacyTests(("test_old.py::test_old",)))
    assert accepted(noted, turn, rule()).legacy == noted.legacy


def test_tests_that_were_mended_are_handed_on_no_longer() -> None:
    names = tuple(f"test_old.py::test_{number}" for number in range(3))
    known = LegacyTests(names, ("test_old.py::test_now_and_then",), failing_count=25)

    assert still_failing(known, names[:1]) == replace(known, failing=names[1:], failing_count=24)
    assert still_failing(known, names) == LegacyTests(flaky=known.flaky)
    assert still_failing(LegacyTests(names), names[:2]) == LegacyTests(names[2:])
    assert still_failing(LegacyTests(names), names) is None
    assert still_failing(known, ()) == known
    assert still_failing(None, names) is None
