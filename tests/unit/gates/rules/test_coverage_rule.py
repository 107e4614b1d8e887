"""Enough of what was written is reached, where a coverage tool can tell."""

from gates_support import Played, play
from redgreenrefactor.model.evidence import Coverage, Rules, SuiteRun, Trial
from redgreenrefactor.model.verdict import FindingType, Ruling
from redgreenrefactor.model.workflow import PhaseName

BEFORE = {"test_thing.py": "def test_doubles():\n    from thing import double\n\n    assert double(2) == 4\n"}
CODE = "def double(x):\n    return 2 * x\n"


def judged(
    coverage: Coverage,
    wanted: float | None = 80.0,
    after: dict[str, str] | None = None,
    phase: PhaseName = PhaseName.GREEN,
) -> Played:
    def bend(trial: Trial, run: SuiteRun) -> SuiteRun:
        return SuiteRun(coverage=coverage) if trial.coverage else run

    return play(
        phase,
        BEFORE,
        {**BEFORE, **(after or {"thing.py": CODE})},
        rules=Rules(coverage_min=wanted),
        bend=bend,
    )


def test_enough_is_accepted_and_noted() -> None:
    played = judged(Coverage("coverage.py", {"thing.py": (8, 10), "old.py": (0, 100)}))
    assert played.verdict.ruling is Ruling.ACCEPTED, played.told
    assert played.facts["coverage"] == {"percent": 80.0, "wanted": 80.0, "tool": "coverage.py"}


def test_too_little_of_what_was_changed_is_rejected_whatever_the_rest_has() -> None:
    played = judged(Coverage("coverage.py", {"thing.py": (7, 10), "old.py": (100, 100)}))
    assert played.types == [FindingType.COVERAGE_TOO_LOW]
    assert "reach 70 % of thing.py; 80 % are wanted (coverage.py)" in played.told
    assert played.facts["coverage"]["percent"] == 70.0


def test_a_coder_s_work_is_measured_as_well() -> None:
    much, little = (
        judged(Coverage("coverage.py", {"thing.py": (reached, 10)}), phase=PhaseName.CODE)
        for reached in (8, 7)
    )
    assert much.verdict.ruling is Ruling.ACCEPTED, much.told
    assert much.facts["coverage"]["percent"] == 80.0
    assert little.types == [FindingType.COVERAGE_TOO_LOW]


def test_where_nothing_of_the_change_was_measured_everything_counts() -> None:
    played = judged(Coverage("c8", {"old.js": (1, 2)}))
    assert "reach 50 %; 80 % are wanted (c8)" in played.told


def test_without_a_tool_the_figure_is_not_compared_and_that_is_said() -> None:
    played = judged(Coverage(why="no tool"))
    assert played.verdict.ruling is Ruling.ACCEPTED
    assert any("cannot be compared: no tool" in item.message for item in played.warnings)
    assert played.facts["coverage"] == {"percent": None, "wanted": 80.0, "why": "no tool"}


def test_nothing_is_measured_that_nobody_asked_for() -> None:
    assert not any(trial.coverage for trial in judged(Coverage(), wanted=None).asked)


def test_nothing_is_measured_of_work_that_is_rejected_anyway() -> None:
    played = judged(Coverage(), after={"thing.py": "def double(x):\n    return x\n"})
    assert played.types == [FindingType.TEST_FAILURE]
    assert not any(trial.coverage for trial in played.asked)
