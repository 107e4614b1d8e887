"""A bent test expects something else, and nothing around it has changed."""

import ast
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates_support import src
from redgreenrefactor.mutation.expectations import with_wrong_expectations
from redgreenrefactor.mutation.mutants import OTHER

IMPL = "thing.py"


def bent(body: str, head: str = "") -> str | None:
    text = f"{head}def test_it():\n" + "\n".join(f"    {line}" for line in body.splitlines()) + "\n"
    return with_wrong_expectations(text, "test_it", IMPL)


def outcome(text: str, **names: Any) -> type[BaseException] | None:
    """Return what the bent test raises, None if it passes."""
    space: dict[str, Any] = dict(names)
    exec(text, space)
    try:
        space["test_it"]()
    except Exception as error:  # noqa: BLE001
        return type(error)
    return None


@pytest.mark.parametrize(
    "value",
    [True, False, 0, 7, -1, 2.5, "x", "", b"x", None, [1], (1, 2), {"a": 1}, {1}, object(), float("inf")],
)
def test_whatever_is_expected_something_else_is_expected_afterwards(value: object) -> None:
    text = bent("assert f() == expected")
    assert text is not None
    assert outcome(text, f=lambda: value, expected=value) is AssertionError


def test_an_object_that_equals_everything_still_passes() -> None:
    class Anything:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

    text = bent("assert f() == 5")
    assert text is not None
    assert outcome(text, f=Anything) is None


@pytest.mark.parametrize(
    "body",
    [
        "assert double(2) == 4",
        "assert 4 == double(2)",
        "x = double(2)\nassert x == 4 and x",
        "x = double(2)\nassert 4 == x",
        "for x in [double(2)]:\n    assert x == 4",
        "def inner():\n    assert double(2) == 4\ninner()",
    ],
)
def test_an_honest_result_fails_a_bent_test(body: str) -> None:
    text = bent(body)
    assert text is not None
    assert outcome(text, double=lambda x: 2 * x) is AssertionError  # type: ignore[misc]


@pytest.mark.parametrize("name", ["assertEqual", "assertListEqual", "assertDictEqual", "assertTupleEqual"])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_equalities_of_a_testcase_are_bent_on_the_expected_side(name: str, swapped: bool) -> None:
    sides = ["4", "double(2)"] if swapped else ["double(2)", "4"]
    text = src(f"""
        from thing import double


        class TestIt:
            def test_it(self):
                self.{name}({", ".join(sides)})
    """)
    twin = with_wrong_expectations(text, "TestIt.test_it", IMPL)
    assert twin is not None
    assert "_rgr_other(4)" in twin
    assert "_rgr_other(double" not in twin


@pytest.mark.parametrize(
    "body",
    [
        "assert f()",
        "assert f() != 4",
        "assert f() > 4",
        "assert 1 < f() < 4",
        "f()",
        "self.assertTrue(f())",
        "self.assertEqual(f())",
    ],
)
def test_what_asserts_no_equality_cannot_be_bent(body: str) -> None:
    assert bent(body) is None


def test_a_file_that_does_not_parse_or_lacks_the_test_cannot_be_bent() -> None:
    assert with_wrong_expectations(None, "test_it", IMPL) is None
    assert with_wrong_expectations("def test_it(:", "test_it", IMPL) is None
    assert with_wrong_expectations("def test_other():\n    assert 1 == 1\n", "test_it", IMPL) is None


def test_what_has_to_come_first_in_a_file_still_does() -> None:
    head = '"""About."""\nfrom __future__ import annotations\n\n'
    text = bent("assert f() == 4", head)
    assert text is not None
    assert text.startswith('"""About."""\nfrom __future__ import annotations\n')
    assert outcome(text, f=lambda: 4) is AssertionError


def test_a_file_of_nothing_but_the_test_gets_the_bend_in_front() -> None:
    text = bent("assert f() == 4")
    assert text is not None
    assert text.startswith("def _rgr_other(")


def functions(text: str) -> dict[str, str]:
    return {node.name: ast.dump(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


bodies: st.SearchStrategy[str] = st.sampled_from(
    [
        "assert f(1) == 2",
        "x = f(1)\n    assert x == 2",
        "assert f(1)",
        "assert 2 == f(1)",
        "assert f(1) == g(2)",
    ]
)


@given(st.lists(bodies, min_size=1, max_size=4), st.integers(0, 3))
def test_only_the_named_test_differs(given_bodies: list[str], chosen: int) -> None:
    text = "from thing import f\n\n\n" + "\n\n\n".join(
        f"def test_{number}():\n    {body}" for number, body in enumerate(given_bodies)
    )
    name = f"test_{chosen % len(given_bodies)}"
    twin = with_wrong_expectations(text + "\n", name, IMPL)
    if twin is None:
        assert "==" not in given_bodies[chosen % len(given_bodies)]
        return
    before, after = functions(text), functions(twin)
    assert {key for key in before if before[key] != after[key]} == {name}
    assert set(after) - set(before) == {"_rgr_other"}


def test_the_other_value_of_anything_is_never_equal_to_it() -> None:
    space: dict[str, Any] = {}
    exec(OTHER, space)
    other: Callable[[object], object] = space["_rgr_other"]
    values: list[object] = [0, 1, True, False, 1.5, 1e300, float("inf"), "", "a", b"", None, [], {}]
    assert [value for value in values if other(value) == value] == []
