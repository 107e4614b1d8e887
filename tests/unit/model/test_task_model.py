"""What the fields of a task mean."""

import pytest

from redgreenrefactor.model.task import (
    Criterion,
    Cycle,
    Task,
    command_of,
    first_program,
    percentage,
    programs_of,
    runs_all_of,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">=85%", 85.0),
        ("85", 85.0),
        (85, 85.0),
        ("> 80 %", 80.0),
        ("≥ 92.5%", 92.5),
        ("92,5 %", 92.5),
        ("=100%", 100.0),
        (None, None),
        ("", None),
        ("most of it", None),
        ("<= 10%", None),
    ],
)
def test_an_expected_coverage_is_read_as_people_write_it(
    text: str | int | None, expected: float | None
) -> None:
    assert percentage(text) == expected


@pytest.mark.parametrize(
    ("criterion", "command"),
    [
        ("$ pytest -q", "pytest -q"),
        ("  $  npm test  ", "npm test"),
        ("`pytest -q`", "pytest -q"),
        ("`$ ./check.sh --all`", "./check.sh --all"),
        ("All tests pass: `pytest tests/`", "pytest tests/"),
        ("See that `./run` works", "./run"),
        ("`add` and `pytest -q`", "pytest -q"),
    ],
)
def test_a_criterion_is_a_command_after_a_dollar_or_in_backticks(criterion: str, command: str) -> None:
    assert command_of(criterion) == command


@pytest.mark.parametrize(
    "criterion", ["all tests pass", "`add(2, 3)` gives 5", "$", "$ ", "costs $ 5", "`` ``"]
)
def test_other_criteria_are_only_words(criterion: str) -> None:
    assert command_of(criterion) is None


def test_several_cycles_add_up_and_the_highest_coverage_counts() -> None:
    cycles = (
        Cycle(2, ("a", "b"), coverage_min=80, expected_coverage="80"),
        Cycle(3, ("c",), coverage_min=90, expected_coverage="> 90"),
    )
    task = Task("T", "t", "d", tdd=True, criteria=(Criterion("$ x", "x"), Criterion("y")), cycles=cycles)
    assert (task.test_count, task.test_cases) == (5, ("a", "b", "c"))
    assert (task.coverage_min, task.expected_coverage) == (90, "> 90")
    assert task.commands == ("x",)


@pytest.mark.parametrize(
    ("project", "command", "expected"),
    [
        ("pytest", "pytest", True),
        ("pytest", "pytest -q tests/test_calc.py", True),
        ("pytest", "python3 -m pytest  -q", True),
        ("python -m pytest", "pytest tests", True),
        ("npm test", "npm test", True),
        ("npm test", "npm run check", False),
        ("pytest", "test -f calc.py", False),
        ("pytest", "pytest || true", False),
        ("pytest", "pytester", False),
        ("python run_all.py", "python other.py", False),
    ],
)
def test_a_command_with_more_words_still_is_the_project_s_own(
    project: str, command: str, expected: bool
) -> None:
    assert runs_all_of(project, command) is expected


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("ruff check .", ("ruff",)),
        ("A=1 ruff check . && mypy src | tail -1; wc", ("ruff", "mypy", "tail", "wc")),
        ("cd sub && /opt/bin/lint", ("/opt/bin/lint",)),
        ("./lint.sh", ()),
        ("scripts/lint", ()),
        ("test -e x", ()),
        ("ruff . || true", ()),
        ("(ruff .)", ()),
        ("echo 'unclosed", ()),
        ("ruff .\nmypy .", ()),
        ('"$LINTER" .', ()),
    ],
)
def test_the_programs_that_a_criterion_cannot_do_without(command: str, programs: tuple[str, ...]) -> None:
    assert programs_of(command) == programs


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("agent --fast", "agent"),
        ("A=1 ./agent.sh | tee log", "./agent.sh"),
        ("'/opt/my agents/agent' -p", "/opt/my agents/agent"),
        ("cd sub && ./agent.sh", None),
        ("exit 3", None),
        ('"$AGENT"', None),
        ("agent || other", None),
        ("", None),
    ],
)
def test_the_program_that_a_line_of_shell_starts_first(command: str, program: str | None) -> None:
    assert first_program(command) == program
