"""What a line of shell runs in the end."""

import pytest

from redgreenrefactor.runners.command_line import Invocation, last_invocation

PYTEST = Invocation("pytest", as_module=False)
MODULE = Invocation("pytest", as_module=True)
UNITTEST = Invocation("unittest", as_module=True)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q tests/unit",
        "py.test",
        "/x/bin/pytest",
        ".venv/bin/pytest -x",
        "'/with space/bin/pytest' -q",
        "cd sub && pytest -q",
        "make lint && pytest",
        "make lint; pytest",
        "make lint; pytest;",
        "cat words | pytest",
        "false || pytest",
        "(cd sub && pytest)",
        "pytest -q > log 2>&1",
        "FOO=1 BAR='x y' pytest",
        "env FOO=1 pytest",
        "env -u FOO pytest",
        "exec pytest",
        "time pytest",
        "timeout 60 pytest",
        "timeout -k 5 1.5m pytest",
        "nice -n 10 pytest",
        "uv run pytest -q",
        "uv run --with pytest-cov --no-sync pytest",
        "poetry run pytest",
        "pipenv run pytest",
        "conda run -n env pytest",
        "FOO=1 timeout 5 uv run pytest",
        "pytest -k 'a && b'",
    ],
)
def test_a_command_that_ends_in_pytest_is_recognised(command: str) -> None:
    assert last_invocation(command) == PYTEST


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest",
        "python3.11 -m pytest -q",
        "/x/bin/python -mpytest",
        "python -W error -X dev -u -m pytest",
        "uv run python -m pytest",
        "coverage run -m pytest",
        "coverage run --source src -p -m pytest -q",
        "python -m coverage run -m pytest",
        "pypy3 -m pytest",
    ],
)
def test_pytest_run_as_a_module_is_recognised_as_such(command: str) -> None:
    assert last_invocation(command) == MODULE


@pytest.mark.parametrize(
    "command",
    ["python -m unittest", "python3 -m unittest discover -s tests", "cd x && python -munittest -v"],
)
def test_unittest_is_recognised(command: str) -> None:
    assert last_invocation(command) == UNITTEST


@pytest.mark.parametrize(
    "command",
    [
        "",
        "  ",
        "make test",
        "make pytest",
        "uv run make pytest",
        "tox -e pytest",
        "npm test",
        "echo pytest",
        "pip install pytest",
        "pytest | tee log",
        "pytest; echo done",
        "pytest || true",
        "pytest &",
        "if true; then pytest; fi",
        "! pytest",
        "pytest\nmake more",
        "pytest 'unbalanced",
        "python tests.py",
        "python tests.py -m pytest",
        "python -c 'import pytest'",
        "python -m pytest_cov",
        "python -m unittest.mock",
        "python",
        "python -u",
        "python -m",
        "coverage report -m",
        "coverage run tests.py",
        "uv pip install pytest",
        "env FOO=1",
        "timeout 5",
        "FOO=1",
        "sh -c pytest",
    ],
)
def test_a_command_that_ends_in_something_else_is_not(command: str) -> None:
    assert last_invocation(command) is None
