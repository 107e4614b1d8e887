"""The probes work in the interpreters that projects use, which need not be ours."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Kind, Missing, SuiteRun

Run = Callable[..., SuiteRun]
FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n\ndef short(): return 1\n",
    "test_calc.py": """\
import unittest
import calc

class A(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(1, 2), 3)
        self.assertEqual(calc.short(), 1)

    def test_subtract(self):
        calc.subtract(2, 1)

    def test_parts(self):
        with self.subTest():
            self.fail()
""",
    "test_broken.py": "import calculus",
}


@pytest.fixture(params=["3.8", "3.9", "3.10", "3.12", "3.13", "3.14"])
def python(request: pytest.FixtureRequest) -> str:
    """Return another interpreter, if this machine has it."""
    version: str = request.param
    places = [
        shutil.which(f"python{version}"),
        *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")),
    ]
    for place in filter(None, places):
        found = subprocess.run([place, "-c", "import unittest"], capture_output=True, check=False)
        if found.returncode == 0:
            return str(place)
    pytest.skip(f"there is no Python {version} here")


@pytest.mark.sampled(2)
def test_unittest_tells_the_same_everywhere(run: Run, python: str) -> None:
    done = run(FILES, f"{python} -m unittest", trace=True)
    assert done.passed == {"test_calc.A.test_add"}
    missing = done.results["test_calc.A.test_subtract"]
    assert (missing.kind, missing.missing) == (Kind.MISSING, Missing("subtract", "calc"))
    assert done.results["test_calc.A.test_parts"].kind is Kind.ASSERTION
    assert [(error.file, error.missing) for error in done.errors] == [("test_broken.py", Missing("calculus"))]
    assert done.executed["calc.py"] == {2, 4}
    assert done.executed["test_calc.py"] == {6, 7, 10, 13, 14}
    assert done.finished
    assert done.tampering == ()
