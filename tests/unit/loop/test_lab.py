"""Questions are answered by running tests on clean checkouts, and no more often than needed."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.loop import lab as lab_module
from redgreenrefactor.loop.lab import Lab, brought_by_red
from redgreenrefactor.model.events import Event, SuiteEnded, SuiteStarted
from redgreenrefactor.model.evidence import (
    ALL,
    NO_COVERAGE,
    UNANSWERED,
    CollectError,
    Coverage,
    Guise,
    Judgement,
    Manner,
    Measure,
    Status,
    SuiteRun,
    TestResult,
    Trial,
)
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.verdict import Finding, FindingType, Ruling, Severity, Verdict, rule
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.suite_results import KeptResults
from redgreenrefactor.testing import FakeWorkspace

RESULTS = {
    "a": TestResult("a", Status.PASSED),
    "b": TestResult("b", Status.FAILED),
    "c": TestResult("c", Status.SKIPPED),
}


@dataclass
class Tests:
    """Tests that take ten seconds, spoil a file if told to, and tell what they were asked."""

    __test__ = False

    command: str = "tests"
    measure: Measure = Measure.PER_TEST
    seconds: float = 10.0
    spoil: str = ""
    time: float = 0.0
    asked: list[tuple[dict[str, str], Manner]] = field(default_factory=list[tuple[dict[str, str], Manner]])

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        texts = {place.name: place.read_text() for place in folder.rglob("*") if place.is_file()}
        self.asked.append((texts, manner))
        self.time += self.seconds
        if self.spoil:
            (folder / self.spoil).write_text("spoiled")
        return SuiteRun(
            RESULTS, (CollectError("d.py", "syntax"),), 1, seconds=self.seconds, measure=self.measure
        )


@dataclass
class Setup:
    workspace: FakeWorkspace
    suite: Tests
    lab: Lab
    events: list[Event]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    workspace = FakeWorkspace(tmp_path, {"a.py": "1\n"})
    suite, events = Tests(), list[Event]()
    return Setup(
        workspace, suite, Lab(workspace, suite, events.append, lambda: suite.time, probe_budget=25.0), events
    )


def test_a_trial_is_run_on_a_checkout_with_its_files_replaced(setup: Setup) -> None:
    trial = Trial(setup.workspace.head(), (("b.py", "2\n"),), ("a::t",), trace=True)
    run = setup.lab.answer(trial)
    assert setup.suite.asked == [
        ({"a.py": "1\n", "b.py": "2\n"}, Manner(("a::t",), trace=True, canaries=False))
    ]
    assert run.results == RESULTS


def test_only_of_files_that_were_replaced_nobody_asks_whether_the_runner_tells_the_truth(
    setup: Setup,
) -> None:
    wrong = Trial(setup.workspace.head(), (("b.py", "2\n"),), ("a::t",), probe=True)
    for trial in (wrong, replace(wrong, overlay=()), Trial(wrong.commit)):
        setup.lab.answer(trial)
    assert [manner.canaries for _, manner in setup.suite.asked] == [False, True, True]


def test_what_is_known_is_not_run_again(setup: Setup) -> None:
    first = setup.workspace.head()
    setup.workspace.files["test-list.md"] = "- [ ] one\n"
    listed = setup.workspace.commit("plan: list")
    assert setup.lab.answer(Trial(first)) is setup.lab.answer(Trial(listed))
    assert setup.lab.answer(Trial(first, probe=True)) is setup.lab.answer(Trial(first))
    assert setup.lab.answer(Trial(first, keeps=True)) is setup.lab.answer(Trial(first))
    assert len(setup.suite.asked) == 1


def test_what_is_forgotten_is_measured_anew_and_can_be_known_again(setup: Setup) -> None:
    head = setup.workspace.head()
    before = setup.lab.answer(Trial(head))
    known = setup.lab.measure_anew()
    assert setup.lab.answer(Trial(head)) is not before
    setup.lab.measure_anew(known)
    assert setup.lab.answer(Trial(head)) is before
    assert len(setup.suite.asked) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"overlay": (("a.py", None),)},
        {"tests": ("a",)},
        {"trace": True},
        {"repeat": 1},
    ],
)
def test_another_question_is_another_run(setup: Setup, change: dict[str, Any]) -> None:
    head = setup.workspace.head()
    setup.lab.answer(Trial(head))
    setup.lab.answer(Trial(head, **change))
    assert len(setup.suite.asked) == 2


def test_coverage_is_measured_by_the_meter(setup: Setup) -> None:
    folders: list[Path] = []
    known = Coverage("tool", {"a.py": (1, 1)})

    def meter(folder: Path) -> Coverage:
        folders.append(folder)
        return known

    lab = replace(setup.lab, meter=meter)
    assert lab.answer(Trial(setup.workspace.head(), coverage=True)).coverage is known
    assert lab.answer(Trial(setup.workspace.head())).coverage is NO_COVERAGE
    assert (len(folders), len(setup.suite.asked)) == (1, 1)


def test_without_a_meter_no_coverage_is_known(setup: Setup) -> None:
    assert setup.lab.answer(Trial(setup.workspace.head(), coverage=True)).coverage is NO_COVERAGE


def test_another_command_has_a_suite_of_its_own(setup: Setup) -> None:
    other = Tests(command="lint")
    lab = replace(setup.lab, suite_of={"lint": other}.__getitem__)
    lab.answer(Trial(setup.workspace.head(), command="lint"))
    assert (len(other.asked), len(setup.suite.asked)) == (1, 0)


def test_other_code_is_another_run(setup: Setup) -> None:
    setup.lab.answer(Trial(setup.workspace.head()))
    setup.workspace.files["a.py"] = "2\n"
    setup.lab.answer(Trial(setup.workspace.commit("feat: two")))
    assert [texts["a.py"] for texts, _ in setup.suite.asked] == ["1\n", "2\n"]


def test_runs_are_told_as_they_begin_and_end(setup: Setup) -> None:
    setup.lab.answer(Trial(setup.workspace.head()))
    assert setup.events == [
        SuiteStarted("suite"),
        SuiteEnded("suite", passed=1, failed=2, total=4, seconds=10.0, per_test=True, exit_code=1),
    ]


@pytest.mark.parametrize("change", [{"probe": True}, {"overlay": (("a.py", "2\n"),)}, {"tests": ("a",)}])
def test_all_but_the_plain_suite_is_a_probe(setup: Setup, change: dict[str, Any]) -> None:
    setup.suite.measure = Measure.EXIT_CODE
    setup.lab.answer(Trial(setup.workspace.head(), **change))
    assert isinstance(setup.events[0], SuiteStarted)
    assert setup.events[0].purpose == "probe"
    ended = setup.events[1]
    assert isinstance(ended, SuiteEnded)
    assert (ended.purpose, ended.per_test) == ("probe", False)


def test_a_suite_that_changes_its_own_checkout_is_told(setup: Setup) -> None:
    setup.suite.spoil = "a.py"
    assert setup.lab.answer(Trial(setup.workspace.head())).disturbed == ("a.py",)
    assert setup.lab.answer(Trial(setup.workspace.head(), tests=("a",))).disturbed == ()


def asking(head: str, probes: Sequence[bool], answers: list[SuiteRun]) -> Judgement:
    for number, probe in enumerate(probes):
        answers.append((yield Trial(head, probe=probe, repeat=number)))
    return rule(Finding(FindingType.TEST_FAILURE, "it fails"))


def test_a_gate_asks_until_it_knows_enough(setup: Setup) -> None:
    answers: list[SuiteRun] = []
    verdict = setup.lab.judge(asking(setup.workspace.head(), [False, True, False], answers))
    assert verdict.findings == (Finding(FindingType.TEST_FAILURE, "it fails"),)
    assert verdict.facts.judged_seconds == 30
    assert verdict.facts.suite_seconds == 20
    assert [run.answered for run in answers] == [True, True, True]


def test_a_gate_that_asks_nothing_is_content(setup: Setup) -> None:
    def content() -> Judgement:
        yield from ()
        return rule()

    assert setup.lab.judge(content()) == Verdict(rule().ruling)


def test_what_may_be_left_out_is_told_where_the_budget_of_a_turn_is_used_up(setup: Setup) -> None:
    def counting(answers: list[SuiteRun]) -> Judgement:
        for number, spare in enumerate(["", "a", "a", "", "b", "b", "c", "a", ""]):
            answers.append((yield Trial(setup.workspace.head(), spare=spare, probe=True, repeat=number)))
        return rule(facts=Facts(unmeasured=("order",)))

    answers: list[SuiteRun] = []
    verdict = setup.lab.judge(counting(answers))
    late = [run is UNANSWERED for run in answers]
    assert late == [False, False, False, False, False, True, True, True, False]
    assert verdict.ruling is Ruling.ACCEPTED
    left = [f"{name} (probe.budget was used up)" for name in "bca"]
    assert verdict.facts.unmeasured == ("order", *left)
    assert verdict.facts.owes
    assert [(f.severity, f.message) for f in verdict.findings] == [
        (Severity.WARNING, f"not measured: {name}") for name in left
    ]
    again: list[SuiteRun] = []
    assert not setup.lab.judge(counting(again)).facts.owes
    assert UNANSWERED not in again


def test_what_is_no_verdict_tells_nothing_of_what_was_left_out(setup: Setup) -> None:
    def counting() -> Generator[Trial, SuiteRun, int]:
        answered = 0
        for number in range(9):
            run = yield Trial(setup.workspace.head(), spare="a", repeat=number)
            answered += run.answered
        return answered

    assert setup.lab.judge(counting()) == 3


def test_what_an_earlier_process_has_measured_is_not_run_again(setup: Setup, tmp_path: Path) -> None:
    setup.lab.results = KeptResults(tmp_path / "results", "")
    head = setup.workspace.head()
    assert setup.lab.keep_result(head) is None  # nothing is known yet
    setup.lab.answer(Trial(head))
    receipt = setup.lab.keep_result(head)
    assert receipt is not None
    later = Lab(
        setup.workspace, setup.suite, setup.events.append, lambda: 0.0, 25.0, results=setup.lab.results
    )
    later.recall([receipt, "of something that is gone"])
    assert set(later.answer(Trial(head)).results) == set(RESULTS)
    assert len(setup.suite.asked) == 1
    later.answer(Trial(head, tests=("a",)))
    assert len(setup.suite.asked) == 2


def test_without_a_place_to_keep_them_results_are_measured_again(setup: Setup) -> None:
    setup.lab.recall(["a receipt"])
    setup.lab.answer(Trial(setup.workspace.head()))
    assert setup.lab.keep_result(setup.workspace.head()) is None


# --- probes that are forks


@dataclass
class Forking:
    """Tests that answer warm, or say why they do not."""

    __test__ = False

    results: dict[str, TestResult]
    forked: SuiteRun  # what every warm run says
    asked: list[Manner] = field(default_factory=list[Manner])
    command: str = "tests"
    measure: Measure = Measure.PER_TEST

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        self.asked.append(manner)
        return self.forked if manner.warm else SuiteRun(self.results)


PASSED = {"a": TestResult("a", Status.PASSED)}
WARM = SuiteRun(PASSED, warm=True)


def probing(commit: str, *, whole: bool = True) -> Judgement:
    if whole:
        yield Trial(commit)
    for text in ("1", "2"):
        yield Trial(commit, (("a.py", text),), ("a",), seed=1, probe=True)
    yield Trial(commit, tests=("a",), seed=1, probe=True)
    return Verdict(Ruling.ACCEPTED)


@pytest.mark.parametrize(
    ("forked", "whole", "kinds", "noted"),
    [
        (
            WARM,
            True,
            "cwww",
            "",
        ),  # compared, then one fork for each overlay; the last question is known by then
        (WARM, False, "ccc", ""),  # with what should it be compared?
        (replace(WARM, results={"a": TestResult("a", Status.FAILED)}), True, "cwccc", lab_module.DIFFERS),
        (replace(WARM, results={"b": TestResult("b", Status.PASSED)}), True, "cwccc", lab_module.DIFFERS),
        (replace(WARM, results={}), True, "cwccc", lab_module.DIFFERS),
        (replace(WARM, errors=(CollectError("d.py", "x"),)), True, "cwccc", lab_module.DIFFERS),
        (replace(WARM, tampering=("x",)), True, "cwccc", lab_module.DIFFERS),
        (replace(UNANSWERED, cold="threads"), True, "cwccc", "threads"),
        (UNANSWERED, True, "cwccc", ""),
    ],
)
def test_probes_are_warm_once_a_warm_run_has_said_what_the_cold_one_said(
    setup: Setup, forked: SuiteRun, whole: bool, kinds: str, noted: str
) -> None:
    suite = Forking(PASSED, forked)
    lab = replace(setup.lab, suite=suite, warm=True)

    verdict = lab.judge(probing(setup.workspace.head(), whole=whole))

    assert "".join("w" if manner.warm else "c" for manner in suite.asked) == kinds
    assert verdict.facts.cold_probes == noted
    assert lab.warm is (forked is not UNANSWERED)


def test_a_fork_that_fails_on_the_way_leaves_the_rest_of_the_turn_cold_and_the_next_turn_warm(
    setup: Setup,
) -> None:
    suite = Forking(PASSED, WARM)
    lab = replace(setup.lab, suite=suite, warm=True)
    commit = setup.workspace.head()

    def failing() -> Judgement:
        yield Trial(commit)
        yield Trial(commit, tests=("a",))
        suite.forked = replace(UNANSWERED, cold="it was ended")
        yield Trial(commit, (("a.py", "1"),), ("a",))
        suite.forked = WARM
        yield Trial(commit, (("a.py", "2"),), ("a",))
        return Verdict(Ruling.ACCEPTED)

    def next_one() -> Judgement:
        yield Trial(commit, (("a.py", "3"),), ("a",))
        return Verdict(Ruling.ACCEPTED)

    assert lab.judge(failing()).facts.cold_probes == "it was ended"
    assert [manner.warm for manner in suite.asked] == [False, True, True, False, False]
    assert lab.judge(next_one()).facts.cold_probes == ""
    assert [manner.warm for manner in suite.asked[5:]] == [True, True]


@pytest.mark.parametrize(
    "trial",
    [
        Trial("", tests=("a",), repeat=1),
        Trial("", tests=("a",), seed=3),
        Trial("", tests=("a",), keeps=True),
        Trial("", overlay=(("a.py", "1"),)),
    ],
)
def test_chance_and_whole_suites_are_started_cold(setup: Setup, trial: Trial) -> None:
    suite = Forking(PASSED, WARM)
    lab, commit = replace(setup.lab, suite=suite, warm=True), setup.workspace.head()
    lab.answer(Trial(commit))

    lab.answer(replace(trial, commit=commit))

    assert not any(manner.warm for manner in suite.asked)


@dataclass
class ByManner(Forking):
    """Tests whose forks say what the manner decides."""

    wrong: frozenset[tuple[str, int | None]] = (
        frozenset()
    )  # disguise and seed of forks that say something else

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        run = super().run(folder, manner)
        other = {"a": TestResult("a", Status.FAILED)}
        return replace(run, results=other) if (manner.disguise, manner.seed) in self.wrong else run


HIDDEN = (str(Guise.HIDDEN), 1)


@pytest.mark.parametrize(
    ("wrong", "kinds", "believed"),
    [
        (frozenset[Any](), "cw", Status.PASSED),  # the first question is the comparison
        (
            frozenset({HIDDEN}),
            "cww",
            Status.FAILED,
        ),  # the code minds being hidden: plain forks tell the truth
        (frozenset({HIDDEN, ("", 1)}), "cwwc", Status.FAILED),
    ],
)
def test_a_first_question_about_unchanged_tests_is_compared_itself(
    setup: Setup, wrong: frozenset[tuple[str, int | None]], kinds: str, believed: Status
) -> None:
    suite = ByManner(PASSED, WARM, wrong=wrong)
    lab, commit = replace(setup.lab, suite=suite, warm=True), setup.workspace.head()
    lab.answer(Trial(commit))

    run = lab.answer(Trial(commit, tests=("a",), disguise=Guise.HIDDEN, seed=1, probe=True))

    assert "".join("w" if manner.warm else "c" for manner in suite.asked) == kinds
    assert run.results["a"].status is believed


def test_each_seed_has_a_process_of_its_own_that_is_compared(setup: Setup) -> None:
    suite = ByManner(PASSED, WARM, wrong=frozenset({("", 2)}))
    lab, commit = replace(setup.lab, suite=suite, warm=True), setup.workspace.head()
    lab.answer(Trial(commit))

    for seed in (1, 2):
        lab.answer(Trial(commit, tests=("a",), seed=seed, probe=True))

    asked = [(manner.seed, manner.warm) for manner in suite.asked]
    assert asked == [(None, False), (1, True), (2, True), (2, False)]


# --- runs side by side


def varying(commit: str, texts: Sequence[str], seen: list[SuiteRun]) -> Judgement:
    """Ask what a test says of several variants, which are known beforehand."""
    seen.append((yield Trial(commit, tests=("a",), probe=True)))
    trials = [Trial(commit, (("a.py", text),), ("a",), probe=True, spare="variants") for text in texts]
    for number, trial in enumerate(trials):
        seen.append((yield replace(trial, along=tuple(trials[number + 1 :]))))
    return Verdict(Ruling.ACCEPTED)


@dataclass
class Lanes:
    """Does work as threads would, later things first, and counts what was done at a time."""

    together: list[int] = field(default_factory=list[int])

    def __call__(self, work: Sequence[Callable[[], SuiteRun]]) -> list[SuiteRun]:
        self.together.append(len(work))
        return [each() for each in reversed(work)][::-1]


@dataclass
class Variants(Tests):
    """Tests that say which text they have found."""

    def run(self, folder: Path, manner: Manner = ALL) -> SuiteRun:
        run = super().run(folder, manner)
        return replace(run, output=self.asked[-1][0]["a.py"])


def test_runs_that_do_not_depend_on_each_other_are_made_side_by_side_and_told_in_their_order(
    setup: Setup,
) -> None:
    lanes, suite, seen = Lanes(), Variants(), list[SuiteRun]()
    lab = replace(
        setup.lab,
        suite=suite,
        jobs=lambda: 2,
        side_by_side=lanes,
        clock=lambda: suite.time / 2,
        probe_budget=60,
    )

    assert lab.judge(varying(setup.workspace.head(), "234", seen)).ruling is Ruling.ACCEPTED

    assert [run.output for run in seen] == ["1\n", "2", "3", "4"]
    assert lanes.together == [2]  # of three, two at a time: the last one is alone
    assert [text["a.py"] for text, _ in suite.asked] == ["1\n", "3", "2", "4"]
    assert [type(event) for event in setup.events] == [SuiteStarted, SuiteEnded] * 4


@pytest.mark.parametrize(
    ("jobs", "seconds", "slower", "together"),
    [
        (1, 10.0, False, []),  # one at a time is wanted
        (4, 0.1, False, []),  # they are over before a second checkout is there
        (4, 10.0, True, [2, 2]),  # it was tried twice, and took longer: not again
        (4, 10.0, False, [2, 2, 2]),
    ],
)
def test_runs_are_side_by_side_only_where_that_saves_time(
    setup: Setup, jobs: int, seconds: float, slower: bool, together: list[int]
) -> None:
    lanes, suite, commit = Lanes(), Tests(seconds=seconds), setup.workspace.head()
    lab = replace(
        setup.lab,
        suite=suite,
        jobs=lambda: jobs,
        side_by_side=lanes,
        clock=lambda: suite.time * (2 if slower else 0.5),
        probe_budget=1000,
    )

    lab.judge(varying(commit, "23", []))
    lab.judge(varying(commit, "45", []))
    lab.judge(varying(commit, "67", []))

    assert lanes.together == together
    assert len(suite.asked) == 7


def test_whole_suites_run_side_by_side_each_in_a_checkout_that_is_looked_at_afterwards(setup: Setup) -> None:
    setup.workspace.files["b.py"] = "2\n"
    first, second = setup.workspace.head(), setup.workspace.commit("more")
    suite, lanes = Tests(spoil="b.py"), Lanes()
    lab = replace(setup.lab, suite=suite, jobs=lambda: 2, side_by_side=lanes)
    lab.answer(Trial(first, repeat=1))

    lab.answer_ahead([Trial(first), Trial(second), Trial(second, keeps=True), Trial(first)])
    lab.answer_ahead([Trial(first), Trial(second)])

    assert lanes.together == [2]
    assert lab.answer(Trial(first)).disturbed == ()  # there is no such file there
    assert lab.answer(Trial(second)).disturbed == ("b.py",)


def test_what_was_measured_ahead_is_told_although_the_budget_is_used_up(setup: Setup) -> None:
    seen, suite = list[SuiteRun](), setup.suite
    lab = replace(setup.lab, jobs=lambda: 3, clock=lambda: suite.time)

    verdict = lab.judge(varying(setup.workspace.head(), "234", seen))

    assert all(run.answered for run in seen)
    assert verdict.findings == ()


def test_a_fork_that_says_nothing_is_started_cold_and_the_others_stand(setup: Setup) -> None:
    suite, lanes = Forking(PASSED, replace(WARM, seconds=5.0)), Lanes()
    lab = replace(setup.lab, suite=suite, jobs=lambda: 3, side_by_side=lanes, warm=True)
    commit, texts, seen = setup.workspace.head(), "234", list[SuiteRun]()
    lab.answer(Trial(commit))

    def one_fails(work: Sequence[Callable[[], SuiteRun]]) -> list[SuiteRun]:
        runs = lanes(work)
        return [runs[0], replace(UNANSWERED, cold="it was ended"), *runs[2:]]

    lab.side_by_side = one_fails
    verdict = lab.judge(varying(commit, texts, seen))

    assert verdict.facts.cold_probes == "it was ended"
    assert [run.warm for run in seen] == [True, True, False, True]


def test_a_file_that_red_brought_beside_the_planned_code_is_known_again(tmp_path: Path) -> None:
    workspace = FakeWorkspace(tmp_path)
    workspace.files.update({"test_memory.py": "", "paper.py": "", "memory.py": ""})
    red = workspace.commit("test: keeps")
    workspace.files.update({"memory.py": "a = 1\n", "more.py": ""})
    green = workspace.commit("feat: keeps")
    case = Case("keeps", "test_memory.py", "memory.py")
    noted = {red: PhaseName.RED, green: PhaseName.GREEN}
    history = [Entry(at, Handoff(phase, phase, current_test=case)) for at, phase in noted.items()]
    known = [path for path in sorted(workspace.files) if brought_by_red(history, workspace, path)]
    assert known == ["paper.py", "test_memory.py"]
