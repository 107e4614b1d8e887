"""A look at the reason of an error counts wherever it is taken: in the test, or in what the test calls."""

import pytest

from redgreenrefactor.languages import python
from redgreenrefactor.languages.expected_errors import Looks, looks

CLOSELY = Looks(closely=1)
RAISES = "    with pytest.raises(ValueError, match={}):\n        act()\n"
HELPER = f"def refused(act, reason=None):\n{RAISES.format('reason')}"


def seen(files: dict[str, str], file: str = "tests/test_a.py") -> Looks:
    test = python.tests_in(files[file])[0]
    return looks(files.get, file, test.name, test.node)


@pytest.mark.parametrize(
    "files",
    [
        {"tests/test_a.py": f"def test_a():\n{RAISES.format(repr('no'))}"},
        {"tests/test_a.py": f"{HELPER}\ndef test_a():\n    refused(act, 'no')\n"},
        {"tests/test_a.py": f"{HELPER}\ndef test_a():\n    refused(act, reason='no')\n"},
        {
            "tests/test_a.py": f"{HELPER}\ndef all_refused(reason):\n    refused(act, reason)\n\ndef test_a():\n    all_refused('no')\n"
        },
        {
            "tests/test_a.py": "def refusal(reason):\n    return pytest.raises(ValueError, match=reason)\n\n"
            "def test_a():\n    with refusal('no'):\n        act()\n"
        },
        {
            "tests/test_a.py": "class TestA(TestCase):\n    def test_a(self):\n        self.refused('no')\n\n"
            "    def refused(self, reason):\n        with self.assertRaisesRegex(ValueError, reason):\n            act()\n"
        },
        {
            "tests/test_a.py": "class Base(TestCase):\n    def refused(self, reason):\n"
            "        self.assertRaisesRegex(ValueError, reason, act)\n\n\n"
            "class TestA(Base):\n    def test_a(self):\n        self.refused('no')\n"
        },
        {
            "tests/base.py": "class Base(TestCase):\n    def refused(self, reason):\n"
            "        self.assertRaisesRegex(ValueError, reason, act)\n",
            "tests/test_a.py": "from tests.base import Base\n\n"
            "class TestA(Base):\n    def test_a(self):\n        self.refused('no')\n",
        },
        {
            "tests/checks.py": HELPER,
            "tests/test_a.py": "from checks import refused\n\ndef test_a():\n    refused(act, 'no')\n",
        },
        {
            "tests/checks.py": HELPER,
            "tests/test_a.py": "from . import checks\n\ndef test_a():\n    checks.refused(act, 'no')\n",
        },
        {
            "tests/checks.py": HELPER,
            "tests/test_a.py": "from .checks import refused\n\ndef test_a():\n    refused(act, 'no')\n",
        },
        {
            "tests/conftest.py": f"@pytest.fixture\ndef refused():\n    def refused(act, reason):\n    {RAISES.format('reason').replace(chr(10), chr(10) + '    ')}\n    return refused\n",
            "tests/test_a.py": "def test_a(refused):\n    refused(act, 'no')\n",
        },
    ],
)
def test_a_look_through_what_the_test_calls_counts(files: dict[str, str]) -> None:
    assert seen(files) == CLOSELY


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    with pytest.raises(ValueError):\n        act()\n",
        f"def test_a():\n{RAISES.format('None')}",
        f"{HELPER}\ndef test_a():\n    refused(act)\n",
        f"{HELPER}\ndef test_a():\n    refused(act, None)\n",
        "def refused(act, reason):\n    with pytest.raises(ValueError):\n        act()\n\ndef test_a():\n    refused(act, 'no')\n",
    ],
)
def test_a_reason_that_nobody_looks_at_does_not(text: str) -> None:
    assert seen({"tests/test_a.py": text}) == Looks(barely=1)


def test_a_helper_that_nobody_calls_does_not() -> None:
    assert seen({"tests/test_a.py": f"{HELPER}\ndef test_a():\n    act()\n"}) == Looks()


def test_a_function_that_calls_itself_comes_to_an_end() -> None:
    text = "def deeper():\n    deeper_still()\n\ndef deeper_still():\n    deeper()\n\ndef test_a():\n    deeper()\n"
    assert seen({"tests/test_a.py": text}) == Looks()


def test_a_loop_looks_again_and_again() -> None:
    text = f"{HELPER}\ndef test_a():\n    for act in acts:\n        refused(act, 'no')\n"
    assert seen({"tests/test_a.py": text}) == Looks(closely=1, again=True)


@pytest.mark.parametrize(
    "files",
    [
        {
            "tests/test_a.py": "class Base(TestCase):\n    def refused(self, reason):\n"
            "        self.assertRaisesRegex(ValueError, reason, act)\n\n\n"
            "class TestA(Base):\n    def test_a(self):\n        super().refused('no')\n"
        },
        {
            "tests/base.py": "class Base(TestCase):\n    def refused(self, reason):\n"
            "        self.assertRaisesRegex(ValueError, reason, act)\n",
            "tests/test_a.py": "from base import Base\n\n"
            "class TestA(Base):\n    def test_a(self):\n        self.refused('no')\n",
        },
        {
            "tests/test_a.py": f"@pytest.fixture\ndef refusal():\n{RAISES.format(repr('no'))}\n"
            "def test_a(refusal):\n    assert True\n"
        },
        {"tests/test_a.py": f"{HELPER}\ndef test_a():\n    refused(*both)\n"},
    ],
)
def test_a_look_is_found_above_beside_and_behind_stars(files: dict[str, str]) -> None:
    assert seen(files) == CLOSELY


@pytest.mark.parametrize(
    "files",
    [
        {"test_a.py": "from . import refused\n\ndef test_a():\n    refused('no')\n"},
        {
            "test_a.py": "class A(B):\n    pass\n\nclass B(A):\n    pass\n\n"
            "class TestA(A):\n    def test_a(self):\n        self.refused('no')\n"
        },
    ],
)
def test_what_leads_nowhere_is_no_look(files: dict[str, str]) -> None:
    assert seen(files, "test_a.py") == Looks()
