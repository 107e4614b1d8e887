"""Tests as text: where they begin and end, what is a string or a comment in them, and what they assert."""

import pytest

from redgreenrefactor.languages.sources import Block, Tally, bare, source_of, tally


def the_test(path: str, text: str) -> Block:
    (block,) = tally(path, text).blocks
    return block


def test_a_body_that_is_never_closed_goes_to_the_end() -> None:
    text = "func TestA(t *testing.T) {\n    t.Error()\n"
    assert the_test("a_test.go", text).end == len(text)


def test_a_test_without_a_name_of_its_own_is_called_what_stands_there() -> None:
    assert "names[0]" in the_test("a.test.js", "test(names[0], () => {\n  assert.ok(f());\n});\n").name


def test_nothing_is_known_of_other_languages() -> None:
    assert source_of("a.sh", "exit 0\n") is None
    assert tally("a.sh", "assert 1\n") == Tally()
    assert bare("a.sh", "a  # b\n") == "a # b"


TRICKY = [
    ("a.test.js", "test('a', () => { f(/[}]\\//); f(`}${{a: 1}.a}}`); assert(f('}')); /* } */ });\n"),
    ("a.test.ts", "test('a', (): void => { const b: string = '}'; assert(f(b)); // }\n});\n"),
    ("a_test.go", "func TestA(t *testing.T) { f(`}`, '}'); t.Error(f()) /* } */ }\n"),
    ("a.rs", "#[test]\nfn a<'b>() { f(r#\"}\"#, '}'); assert!(f()); /* } */ }\n"),
    ("ATest.java", 'class A { @Test void a() { f("""\n}""", \'}\'); assertTrue(f()); } }\n'),
    ("ATest.kt", 'class A { @Test fun `a b`() { f("""}""", "${a}}"); assertTrue(f()) } }\n'),
    ("ATests.cs", "[Fact]\npublic void A() { f(@\"}\", '}'); Assert.True(f()); }\n"),
    ("a_test.cpp", "TEST(A, B) { f(\"}\", '}'); EXPECT_TRUE(f()); }\n"),
    ("ATest.php", "<?php\nclass A { #[Test]\nfunction a() { f('}'); # }\n$this->assertTrue(f()); } }\n"),
    ("a_spec.rb", "it 'a' do\n  f(%q{end}, \"#{b}\") # end\n  expect(f).to be_nil\nend\n"),
    ("test_a.py", "def test_a():\n    f('''}''', f'{a}')  # def test_b():\n    assert f()\n"),
]


@pytest.mark.parametrize(("path", "text"), TRICKY, ids=[path for path, _ in TRICKY])
def test_strings_and_comments_are_told_from_code(path: str, text: str) -> None:
    block = the_test(path, text)
    assert block.asserts == 1
    assert not block.says_nothing
    assert text[block.end :].strip(" \n);}").removeprefix("end") == ""
    source = source_of(path, text)
    assert source is not None
    assert len(source.mask) == len(source.code) == len(text)


def test_a_test_that_tells_a_failure_itself_says_something() -> None:
    text = "func TestA(t *testing.T) {\n    if f() != 1 {\n        t.Fatal(f())\n    }\n}\n"
    assert not the_test("a_test.go", text).says_nothing


def test_a_test_that_asserts_no_longer_fell_silent() -> None:
    loud = the_test("a.test.js", "test('a', () => {\n  assert.equal(f(), 1);\n});\n")
    quiet = the_test("a.test.js", "test('a', () => {\n  f();\n});\n")
    calls = the_test("a.test.js", "test('a', () => {\n  check(f(), 1);\n});\n")
    assert quiet.fell_silent(loud)
    assert not calls.fell_silent(loud)
    assert not quiet.fell_silent(quiet)
