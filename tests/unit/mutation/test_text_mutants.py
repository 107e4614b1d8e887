"""Mutants of tests and of code in any language: where they are put, and what is made of them."""

import pytest

from redgreenrefactor.languages.sources import Block, tally
from redgreenrefactor.mutation.text_mutants import (
    code_mutants,
    failing_at_once,
    sharp_expectations,
    wrong_expectations,
)


def the_test(path: str, text: str) -> Block:
    (block,) = tally(path, text).blocks
    return block


def test_a_failure_is_put_at_the_beginning_of_a_test() -> None:
    python = "def test_a():\n    assert f() == 1\n"
    failing = 'def test_a():\n    raise AssertionError("planted")\n    assert f() == 1\n'
    assert failing_at_once(python, the_test("test_a.py", python)) == failing
    arrow = "test('a', () => assert.equal(f(), 1));\n"
    broken = failing_at_once(arrow, the_test("a.test.js", arrow)) or ""
    assert broken.index('throw new Error("planted");') < broken.index("assert.equal")
    go = "func TestA(t *testing.T) {\n    t.Error()\n}\n"
    assert 'panic("planted");' in (failing_at_once(go, the_test("a_test.go", go)) or "")


def test_where_no_failure_can_be_written_none_is() -> None:
    ruby = "it 'adds' do\n  expect(add(1)).to eq(2)\nend\n"
    assert failing_at_once(ruby, the_test("a_spec.rb", ruby)) is None
    unclosed = "test('a', run);\n"
    assert failing_at_once(unclosed, the_test("a.test.js", unclosed)) is None


def test_expectations_are_made_wrong_the_last_first() -> None:
    text = "test('a', () => {\n  assert.equal(f('x'), 1);\n  assert.equal(g(), true)\n});\n"
    found = list(wrong_expectations("a.test.js", text, the_test("a.test.js", text)))
    assert [each.replace(text, "") for each in found] != []
    assert "g(), false" in found[0]
    assert "f('x'), 2" in found[1]
    assert "f('x~'), 1" in found[2]
    assert list(wrong_expectations("a.sh", text, the_test("a.test.js", text))) == []


def test_an_expectation_that_is_never_closed_ends_with_its_test() -> None:
    text = "def test_a():\n    assert f(1"
    assert [each[-1] for each in wrong_expectations("test_a.py", text, the_test("test_a.py", text))] == ["2"]


def test_mutants_are_made_of_the_functions_that_a_test_names() -> None:
    code = "fn add(a: i32) -> i32 {\n    a + 1\n}\n\nfn other() -> bool {\n    true // + 1\n}\n"
    made = list(code_mutants("a.rs", code, {"add"}))
    assert [text.splitlines()[1].strip() for text in made] == ["a - 1", "a + 2"]
    assert len(list(code_mutants("a.rs", code, {"none"}))) == 3
    assert len(list(code_mutants("A.java", "int add(int a) { return a + 1; }\n", {"add"}))) == 2
    assert list(code_mutants("a.unknown", code, {"add"})) == []


TESTS = {
    "a.test.js": ("test('a', async () => {", "}", ";"),
    "a_test.go": ("func TestA(t *testing.T) {", "}", ""),
    "a.rs": ("#[test]\nfn a() {", "}", ";"),
    "ATest.java": ("@Test\npublic void a() {", "}", ";"),
    "test_a.py": ("def test_a():", "", ""),
}


def bent(path: str, line: str) -> list[tuple[str, str]]:
    """Return the line of a test with wrong values, and what stands before it where reaching it is a failure."""
    head, tail, end = TESTS[path]
    text = f"{head}\n    {line}{end}\n{tail}\n"
    found = list(sharp_expectations(path, text, the_test(path, text)))
    place = text[: text.index(line)].count("\n")
    return [
        (wrong.splitlines()[place].strip(), planted.splitlines()[place].strip()) for wrong, planted in found
    ]


@pytest.mark.parametrize(
    ("path", "line", "wrong"),
    [
        ("a.test.js", "assert.equal(f('x'), 1, 'message')", "assert.equal(f('x'), 2, 'message')"),
        ("a.test.js", "await expect(f(1)).resolves.toEqual([1, {a: 'x'}])", "toEqual([2, {a: 'x'}])"),
        ("a.test.js", "assert.ok(f(2) === 3)", "assert.ok(f(2) === 4)"),
        ("a_test.go", 'if got := F(1); got != 3 { t.Error("x") }', "got != 4 {"),
        ("a.rs", "assert_eq!(f(1), -3)", "assert_eq!(f(1), -4)"),
        ("ATest.java", 'Assertions.assertEquals("message", 3, f(1))', 'assertEquals("message", 4, f(1))'),
        ("ATest.java", "assertThat(f(1)).isEqualTo(3)", "isEqualTo(4)"),
        ("test_a.py", "assert f(1) == -2, 'message'", "assert f(1) == -3, 'message'"),
    ],
)
def test_a_value_that_something_has_to_be_equal_to_is_made_wrong(path: str, line: str, wrong: str) -> None:
    ((text, planted),) = bent(path, line)
    assert wrong in text
    assert "planted" in planted


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.test.js", "assert.notEqual(f('a'), 'b')"),
        ("a.test.js", "assert.ok(done, 'message')"),
        ("a.test.js", "assert.ok(f(1) < 3)"),
        ("a.test.js", "assert.ok(f(1) === 3 || f(2) === 4)"),
        ("a.test.js", "assert.equal(f(1), g(1))"),
        ("a.test.js", "assert.equal(1, 1)"),
        ("a.test.js", "if (ready) assert.equal(f(1), 3)"),
        ("a.test.js", "assert.equal(f(1), 3"),
        ("test_a.py", "self.assertEqual(f(1), 3"),
        ("a_test.go", 'if got == "" { t.Error("x") }'),
        ("a_test.go", 'if F(1) != 3 && F(2) != 4 { t.Error("x") }'),
        ("a.rs", 'assert_eq!(f(g(x)), x, "round {}", 1)'),
        ("ATest.java", 'assertEquals("message", wanted, f(1))'),
    ],
)
def test_what_may_be_another_value_is_left_alone(path: str, line: str) -> None:
    assert bent(path, line) == []


def test_nothing_is_sharp_where_no_failure_can_be_written() -> None:
    ruby = "it 'adds' do\n  expect(add(1)).to eq(2)\nend\n"
    assert list(sharp_expectations("a_spec.rb", ruby, the_test("a_spec.rb", ruby))) == []
