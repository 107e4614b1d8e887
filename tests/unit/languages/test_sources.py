"""Tests as text: where they begin and end, and what becomes of them when something in them is changed."""

from redgreenrefactor.languages.sources import Block, bent, broken_at_once, fell_silent, says_nothing, tally

NOWHERE = Block("a", 0, 0, 0, "", 1, 0)


def the_test(path: str, text: str) -> Block:
    (block,) = tally(path, text).blocks
    return block


def test_a_failure_is_planted_at_the_beginning_of_a_test() -> None:
    python = "def test_a():\n    assert f() == 1\n"
    planted = 'def test_a():\n    raise AssertionError("planted")\n    assert f() == 1\n'
    assert broken_at_once("test_a.py", python, the_test("test_a.py", python)) == planted
    arrow = "test('a', () => assert.equal(f(), 1));\n"
    broken = broken_at_once("a.test.js", arrow, the_test("a.test.js", arrow)) or ""
    assert broken.index('throw new Error("planted");') < broken.index("assert.equal")
    go = "func TestA(t *testing.T) {\n    t.Error()\n}\n"
    assert 'panic("planted");' in (broken_at_once("a_test.go", go, the_test("a_test.go", go)) or "")


def test_where_no_failure_can_be_planted_none_is() -> None:
    assert broken_at_once("a.sh", "exit 0\n", NOWHERE) is None
    unclosed = "test('a', run);\n"
    assert broken_at_once("a.test.js", unclosed, the_test("a.test.js", unclosed)) is None


def test_expectations_are_bent_the_last_first() -> None:
    text = "test('a', () => {\n  assert.equal(f('x'), 1);\n  assert.equal(g(), true)\n});\n"
    found = list(bent("a.test.js", text, the_test("a.test.js", text)))
    assert [each.replace(text, "") for each in found] != []
    assert "g(), false" in found[0]
    assert "f('x'), 2" in found[1]
    assert "f('x~'), 1" in found[2]
    assert list(bent("a.sh", text, NOWHERE)) == []


def test_an_expectation_that_is_never_closed_ends_with_its_test() -> None:
    text = "def test_a():\n    assert f(1"
    assert [each[-1] for each in bent("test_a.py", text, the_test("test_a.py", text))] == ["2"]


def test_a_body_that_is_never_closed_goes_to_the_end() -> None:
    text = "func TestA(t *testing.T) {\n    t.Error()\n"
    assert the_test("a_test.go", text).end == len(text)


def test_a_test_without_a_name_of_its_own_is_called_what_stands_there() -> None:
    assert "names[0]" in the_test("a.test.js", "test(names[0], () => {\n  assert.ok(f());\n});\n").name


def test_nothing_is_said_about_languages_that_are_not_known() -> None:
    assert not fell_silent("a.sh", NOWHERE, NOWHERE)
    assert not says_nothing("a.sh", NOWHERE)


def test_a_test_that_tells_a_failure_itself_says_something() -> None:
    text = "func TestA(t *testing.T) {\n    if f() != 1 {\n        t.Fatal(f())\n    }\n}\n"
    assert not says_nothing("a_test.go", the_test("a_test.go", text))


def test_a_test_that_asserts_no_longer_fell_silent() -> None:
    loud = the_test("a.test.js", "test('a', () => {\n  assert.equal(f(), 1);\n});\n")
    quiet = the_test("a.test.js", "test('a', () => {\n  f();\n});\n")
    calls = the_test("a.test.js", "test('a', () => {\n  check(f(), 1);\n});\n")
    assert fell_silent("a.test.js", loud, quiet)
    assert not fell_silent("a.test.js", loud, calls)
    assert not fell_silent("a.test.js", quiet, quiet)
