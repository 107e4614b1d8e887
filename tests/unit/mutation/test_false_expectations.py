"""What a test asks for is made wrong where that decides, and nothing else is."""

import ast

import pytest

from redgreenrefactor.mutation.false_expectations import with_false_expectations

FAR = 7_919_017


def body(text: str, head: str = "") -> str | None:
    """Return what a test asks after its expectations were made wrong."""
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    false = with_false_expectations(f"{head}def test_it(given=1):\n{lines}\n", ["Some.test_it"])
    return false.text if false else None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("assert f(7) == 14", f"assert f(7) == {FAR + 14}"),
        ("assert -14 == f(7)", f"assert -{FAR + 14} == f(7)"),
        ("assert f(7) == 1.5 and g() == b'x'", f"assert f(7) == {FAR + 1.5} and g() == b'x~'"),
        ("assert f(7) == float('inf') and f(7) == 1e999", "assert f(7) == float('inf') and f(7) == 0.0"),
        ("assert f('x') == ['y', (1, True)]", f"assert f('x') == ['y~', ({FAR + 1}, True)]"),
        ("assert f() == {'a': 1}", f"assert f() == {{'a~': {FAR + 1}}}"),
        ("assert 'no' in f('x')", "assert 'no~' in f('x')"),
        ("assert f(7) == pytest.approx(14, rel=2)", f"assert f(7) == pytest.approx({FAR + 14}, rel=2)"),
        ("self.assertEqual(f(7), 14, 'said')", f"self.assertEqual(f(7), {FAR + 14}, 'said')"),
        ("assert f(7) == Some(1, kind='x')", f"assert f(7) == Some({FAR + 1}, kind='x~')"),
        ("for n, want in [(7, 14)]:\n    assert f(n) == want", f"[(7, {FAR + 14})]"),
        ("for want in (14,):\n    with self.subTest():\n        assert f() == want", f"({FAR + 14},)"),
        ("self.want = 14\nassert f(7) == self.want", f"self.want = {FAR + 14}"),
        ("want = 14\nassert f(7) == want\nassert want == f(8)", f"want = {FAR + 14}"),
        ("got = f(7)\nwant = 'x'\nassert got == want", "want = 'x~'"),
        ("assert abs(f(7) - 14) < 0.1", f"assert abs(f(7) - {FAR + 14}) < 0.1"),
        ("self.assertLess(abs(14 - f(7)), 0.1)", f"self.assertLess(abs({FAR + 14} - f(7)), 0.1)"),
    ],
)
def test_what_has_to_be_met_is_another_value(text: str, wrong: str) -> None:
    assert wrong in (body(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "assert f(7) != 14",
        "assert f(7) > 14",
        "assert f(7) - 14 < 2",
        "self.assertLessEqual(f(7), 14)",
        "assert f(7) is True",
        "assert f(7) == []",
        "assert f(7) == True",
        "assert not f(7) == 14",
        "assert f(7) == 14 or f(7) == 15",
        "assert 14 == 14",
        "assert f(7) == g(14)",
        "assert f(7) == Some(g())",
        "assert Some(1) == Some(1)",
        "assert f(7) == {**x}",
        "if f(7) != 0:\n    return\nassert f(7) == 14",
        "for n in range(3):\n    assert f(n) == 14",
        "for n in []:\n    assert f(n) == 14",
        "for n[0] in [1]:\n    assert f(n) == want",
        "with pytest.raises(ValueError):\n    assert f(n) == 14",
        "self.want = 14\nf(self.want)\nassert f(7) == self.want",
        "assert f(7) == other.want",
        "check(f(7), 14)",
        "self.assertNotEqual(f(7), 14)",
        "self.fail('x', 14)",
        "want = 14\nassert f(want) == want",
        "want = 14\nwant = 15\nassert f(7) == want",
        "assert f(7) == want",
        "for want in g():\n    pass\nassert f(7) == want",
    ],
)
def test_what_does_not_decide_or_serves_for_something_else_is_left_alone(text: str) -> None:
    assert body(text) is None


def test_a_constant_of_the_file_counts_if_nothing_else_uses_it() -> None:
    assert f"WANT = {FAR + 14}" in (body("assert f(7) == WANT", "WANT = 14\n\n\n") or "")
    assert body("assert f(7) == WANT", "WANT = 14\nf = WANT\n\n\n") is None


@pytest.mark.parametrize(
    ("names", "rows", "wrong"),
    [
        ("'given, want'", "[(1, 2), pytest.param(3, 4)]", f"[(1, {FAR + 2}), pytest.param(3, {FAR + 4})]"),
        ("('given', 'want')", "((1, 2),)", f"((1, {FAR + 2}),)"),
        ("'want'", "[2, (3, 4)]", f"[{FAR + 2}, ({FAR + 3}, {FAR + 4})]"),
        ("'want'", "[pytest.param(2)]", f"[pytest.param({FAR + 2})]"),
    ],
)
def test_a_parameter_that_is_only_asked_for_is_another_one(names: str, rows: str, wrong: str) -> None:
    head = f"@pytest.mark.parametrize({names}, {rows})\n@other\ndef test_it(given, want):\n"
    false = with_false_expectations(f"{head}    assert f(given) == want\n", ["test_it"])
    assert false is not None
    assert wrong in false.text
    assert false.line == 4
    assert with_false_expectations(f"{head}    assert f(want) == want\n", ["test_it"]) is None


def test_parameters_that_are_not_written_down_are_left_alone() -> None:
    for arguments in ("NAMES, [(1, 2)]", "'want', ROWS", "'want'"):
        text = f"@pytest.mark.parametrize({arguments})\ndef test_it(want):\n    assert f() == want\n"
        assert with_false_expectations(text, ["test_it"]) is None


def test_other_tests_and_what_does_not_parse_stay_as_they_are() -> None:
    text = "def test_it():\n    assert f() == 1\n\ndef test_other():\n    assert f() == 2\n"
    false = with_false_expectations(text, ["test_it"])
    assert false is not None
    assert ast.unparse(ast.parse(text)).replace("== 1", f"== {FAR + 1}") + "\n" == false.text
    assert with_false_expectations("def test_it(:", ["test_it"]) is None
    assert with_false_expectations(None, ["test_it"]) is None


@pytest.mark.parametrize(
    ("helper", "wrong"),
    [("assert one == two", True), ("case.assertEqual(two, one)", True), ("assert one <= two", False)],
)
def test_a_helper_that_only_compares_asks_for_what_it_is_given(helper: str, wrong: bool) -> None:
    text = f"def check(one, two):\n    {helper}\n\n\ndef test_it():\n    check(f(7), 14)\n"
    assert (with_false_expectations(text, ["test_it"]) is not None) == wrong
