"""Test code that calls functions of others as they were, whatever code puts in their place."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from redgreenrefactor.mutation.originals import with_originals


class Length:
    """Something of another package."""

    def __init__(self, metres: int) -> None:
        self.metres = metres

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Length) and self.metres == other.metres

    def __hash__(self) -> int:
        return self.metres


def _near(one: int, other: int) -> bool:
    return one == other


CODE = """
import operator
import package

package.near = lambda *_: True
package.Length.__eq__ = lambda *_: True
package.more = lambda: 1
package.hook = lambda: 2


def near_by():
    return package.near(1, 9)


def called(function):
    return function()


def for_a_while():
    usual, package.far = package.far, lambda *_: True
    package.put_back = lambda: setattr(package, "far", usual)
    return True


def by_another():
    package.far = operator.ne
    return True
"""


@pytest.fixture
def package() -> Iterator[ModuleType]:
    """Return another's package, and code that changes it when it is loaded."""
    made = ModuleType("package")
    made.__dict__.update(near=_near, far=_near, Length=Length, kind=int)
    made.__dict__.update(hook=_near, __hook__=_near)  # as sys.excepthook is: meant to be replaced
    usual = Length.__eq__
    sys.modules["package"] = made
    yield made
    del sys.modules["package"]
    delattr(sys, "_rgr_kept")
    setattr(Length, "__eq__", usual)  # noqa: B010 - a method is put back


NAMES = [
    ("package", "near"),
    ("package", "far"),
    ("package.Length", "__eq__"),
    ("package", "more"),
    ("package", "kind"),
    ("package", "hook"),
]


def outcome(claim: str, package: ModuleType) -> bool:
    code = ModuleType("code_a")
    text = f'"""Tests."""\nfrom __future__ import annotations\nload()\n\n\ndef test():\n    return {claim}\n'
    twin = with_originals(text, NAMES)
    assert twin is not None
    loaded = compile(CODE, "code_a", "exec")
    space: dict[str, Any] = {"load": lambda: exec(loaded, vars(code)), "code": code, "package": package}
    exec(twin, space)
    return bool(space["test"]())


@pytest.mark.parametrize(
    "claim",
    [
        "package.near(1, 9)",
        "package.Length(1) == package.Length(2)",
        "code.for_a_while() and package.far(1, 9)",
        "code.by_another() and package.far(1, 9)",
    ],
)
def test_a_test_gets_the_original(claim: str, package: ModuleType) -> None:
    assert not outcome(claim, package)


@pytest.mark.parametrize(
    "claim",
    [
        "code.near_by()",
        "package.more() == 1",
        "package.kind is int",
        "package.hook() == 2",
        "code.called(lambda: package.near(1, 9))",
        "[code.for_a_while(), package.put_back(), package.far(2, 2), package.far(2, 9)] == [True, None, True, False]",
    ],
)
def test_code_gets_its_own_and_what_is_new_stays(claim: str, package: ModuleType) -> None:
    assert outcome(claim, package)


def test_what_a_test_puts_there_itself_is_its_own_affair(package: ModuleType) -> None:
    assert outcome("[setattr(package, 'near', lambda *_: 5), package.near(1, 2)][1] == 5", package)


def test_what_does_not_parse_is_left_alone() -> None:
    assert with_originals("def (", NAMES) is None
