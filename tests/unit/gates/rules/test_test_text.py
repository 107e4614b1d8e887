"""Tests that nothing reports on are read as text: what is gone or silenced is seen, honest work is let through."""

from collections.abc import Mapping

import pytest

from gates_support import evidence, src
from redgreenrefactor.gates.rules.test_text import new_tests, text_rules
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

JS = src("""
    import test from 'node:test';
    import assert from 'node:assert';
    import { add } from '../add.js';

    test('adds two', () => {
      assert.strictEqual(add(1, 2), 3);
    });

    test('adds more', () => {
      assert.strictEqual(add(10, 20), 30);
      assert.strictEqual(add(-1, 1), 0);
    });
""")
EACH = src("""
    import test from 'node:test';
    import assert from 'node:assert';
    import { add } from '../add.js';

    for (const [a, b, sum] of [[1, 2, 3], [10, 20, 30], [-1, 1, 0]]) {
      test(`adds ${a} and ${b}`, () => assert.strictEqual(add(a, b), sum));
    }
""")
HELPER = src("""
    import test from 'node:test';
    import assert from 'node:assert';
    import { add } from '../add.js';

    const check = (a, b, sum) => {
      assert.strictEqual(add(a, b), sum);
    };

    test('adds two', () => {
      check(1, 2, 3);
    });

    test('adds more', () => {
      check(10, 20, 30);
      check(-1, 1, 0);
    });
""")
GO = src("""
    package calc

    import "testing"

    func TestAdd(t *testing.T) {
        if Add(1, 2) != 3 {
            t.Error("no")
        }
    }

    func TestMore(t *testing.T) {
        if Add(10, 20) != 30 {
            t.Error("no")
        }
    }
""")
GO_TABLE = src("""
    package calc

    import "testing"

    func TestAdd(t *testing.T) {
        for _, c := range []struct{ a, b, sum int }{
            {1, 2, 3},
            {10, 20, 30},
        } {
            t.Run("", func(t *testing.T) {
                if Add(c.a, c.b) != c.sum {
                    t.Error("no")
                }
            })
        }
    }
""")
RUST = src("""
    use calc::add;

    #[test]
    fn adds_two() {
        assert_eq!(add(1, 2), 3);
    }

    #[test]
    fn adds_more() {
        assert_eq!(add(10, 20), 30);
    }
""")
RSTEST = src("""
    use calc::add;
    use rstest::rstest;

    #[rstest]
    #[case(1, 2, 3)]
    #[case(10, 20, 30)]
    fn adds(#[case] a: i32, #[case] b: i32, #[case] sum: i32) {
        assert_eq!(add(a, b), sum);
    }
""")
JAVA = src("""
    import org.junit.jupiter.api.Test;

    class CalcTest {
        @Test
        void addsTwo() {
            assertEquals(3, Calc.add(1, 2));
        }

        @Test
        void addsMore() {
            assertEquals(30, Calc.add(10, 20));
        }
    }
""")
CSV = src("""
    class CalcTest {
        @ParameterizedTest
        @CsvSource({"1,2,3", "10,20,30"})
        void adds(int a, int b, int sum) {
            assertEquals(sum, Calc.add(a, b));
        }
    }
""")
PYTHON = src("""
    from calc import add


    def test_adds_two():
        assert add(1, 2) == 3


    def test_adds_more():
        assert add(10, 20) == 30
""")
FILES = {
    "test/add.test.js": JS,
    "calc_test.go": GO,
    "tests/calc.rs": RUST,
    "src/test/java/CalcTest.java": JAVA,
    "tests/test_calc.py": PYTHON,
    "tests/greet.sh": '[ "$(./greet)" = hello ]\n[ "$(./greet you)" = "hello you" ]\n',
}
CASE = Case("adds", "elsewhere/x", "elsewhere/y")


def found(phase: PhaseName, before: Mapping[str, str], after: Mapping[str, str]) -> list[Severity]:
    given = evidence(phase, before, after, case=CASE)
    result = list(text_rules(given))
    assert {item.type for item in result} <= {FindingType.TEST_TAMPERING}
    return [item.severity for item in result]


def refactored(path: str, text: str | None, **more: str) -> list[Severity]:
    before = {path: FILES[path]}
    return found(PhaseName.REFACTOR, before, {**({path: text} if text is not None else {}), **more})


@pytest.mark.parametrize("path", FILES)
def test_a_deleted_test_is_seen(path: str) -> None:
    assert Severity.ERROR in refactored(path, None)


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.GREEN])
def test_a_phase_that_only_adds_deletes_no_test(phase: PhaseName) -> None:
    assert Severity.ERROR in found(phase, {"test/add.test.js": JS}, {})


def test_a_script_of_which_the_better_part_went_elsewhere_is_doubted() -> None:
    lines = [f'[ "$(./add {number} 1)" = {number + 1} ]' for number in range(4)]
    before = {"test/add.sh": "\n".join(lines) + "\n"}
    moved = {"test/more.sh": "\n".join(lines[:3]) + "\n"}
    assert found(PhaseName.REFACTOR, before, moved) == [Severity.WARNING]
    assert found(PhaseName.REFACTOR, before, {"test/more.sh": before["test/add.sh"]}) == []


WEAKER = [
    ("test/add.test.js", JS.replace("test('adds two'", "test.skip('adds two'")),
    ("test/add.test.js", JS.replace("test('adds two'", "test.only('adds two'")),
    ("test/add.test.js", JS.replace("test('adds two', ", "test('adds two', { skip: true }, ")),
    ("test/add.test.js", JS.replace("test('adds two'", "xit('adds two'")),
    ("test/add.test.js", JS.replace("  assert.strictEqual(add(-1, 1), 0);\n", "")),
    ("test/add.test.js", JS.replace("  assert.strictEqual(add(-1, 1), 0);\n", "  // assert(add(-1, 1));\n")),
    ("test/add.test.js", JS[: JS.index("test('adds more'")]),
    ("test/add.test.js", EACH.replace(", [10, 20, 30]", "")),
    ("calc_test.go", GO.replace("    if Add(1", '    t.Skip("later")\n    if Add(1')),
    ("test/add.test.js", JS.replace("assert.strictEqual(add(1", "(add(1")),
    ("calc_test.go", "//go:build never\n\n" + GO),
    ("calc_test.go", GO[: GO.index("func TestMore")]),
    ("calc_test.go", GO + "\nfunc TestMain(m *testing.M) {\n    os.Exit(0)\n}\n"),
    ("calc_test.go", GO_TABLE.replace("        {10, 20, 30},\n", "")),
    ("tests/calc.rs", RUST.replace("#[test]\nfn adds_two", "#[test]\n#[ignore]\nfn adds_two")),
    ("tests/calc.rs", RUST.replace("    assert_eq!(add(1, 2), 3);\n", "")),
    ("tests/calc.rs", RSTEST.replace("#[case(10, 20, 30)]\n", "")),
    (
        "src/test/java/CalcTest.java",
        JAVA.replace("@Test\n    void addsTwo", "@Disabled @Test\n    void addsTwo"),
    ),
    ("src/test/java/CalcTest.java", JAVA.replace("@Test\n    void addsTwo", "void addsTwo")),
    ("src/test/java/CalcTest.java", JAVA.replace("assertEquals(30, Calc.add(10, 20));", "Calc.add(10, 20);")),
    ("src/test/java/CalcTest.java", CSV.replace(', "10,20,30"', "")),
    (
        "tests/test_calc.py",
        PYTHON.replace("def test_adds_more", "def adds_more").replace("assert add(10", "add(10"),
    ),
    (
        "tests/test_calc.py",
        "import pytest\n" + PYTHON.replace("def test_adds_two", "@pytest.mark.skip\ndef test_adds_two"),
    ),
    ("tests/greet.sh", "true\n"),
]


@pytest.mark.parametrize(("path", "text"), WEAKER)
def test_a_weakened_test_is_seen(path: str, text: str) -> None:
    assert text != FILES[path]
    assert Severity.ERROR in refactored(path, text)


MOVED: list[tuple[str, str, list[Severity]]] = [
    ("test/add.test.js", "test/sum.test.js", []),
    ("test/add.test.js", "test/add.js", [Severity.ERROR]),
    ("test/add.test.js", "old/add.js.txt", [Severity.ERROR]),
    ("calc_test.go", "sum_test.go", []),
    ("calc_test.go", "calc_tests.go", [Severity.ERROR]),
    ("tests/calc.rs", "tests/sum.rs", []),
    ("src/test/java/CalcTest.java", "src/test/java/SumTest.java", []),
    ("src/test/java/CalcTest.java", "src/test/java/Sums.java", [Severity.ERROR]),
    ("tests/greet.sh", "tests/hello.sh", []),
]


@pytest.mark.parametrize(("path", "to", "told"), MOVED)
def test_a_moved_test_has_to_be_found_where_it_is_now(path: str, to: str, told: list[Severity]) -> None:
    assert refactored(path, None, **{to: FILES[path]}) == told


HONEST = [
    ("test/add.test.js", JS.replace("assert.strictEqual", "expect")),
    ("test/add.test.js", JS.replace("adds two", "the sum of two")),
    ("test/add.test.js", HELPER),
    ("test/add.test.js", JS.replace("strictEqual", "equal")),
    ("test/add.test.js", JS + "\ntest('adds none', () => {\n  assert.equal(add(0, 0), 0);\n});\n"),
    ("calc_test.go", GO.replace("TestMore", "TestAddsMore")),
    ("tests/calc.rs", f"#[cfg(test)]\nmod tests {{\n{RUST}}}\n"),
    ("src/test/java/CalcTest.java", JAVA.replace("addsMore", "addsEvenMore")),
    ("tests/test_calc.py", PYTHON.replace("test_adds_more", "test_adds_even_more")),
    ("tests/greet.sh", "greeted=hello\n" + FILES["tests/greet.sh"]),
]


@pytest.mark.parametrize(("path", "text"), HONEST)
def test_a_test_that_is_as_strong_is_nothing_to_tell_of(path: str, text: str) -> None:
    assert text != FILES[path]
    assert refactored(path, text) == []


DOUBTED = [
    ("test/add.test.js", JS.replace("assert.strictEqual", "same")),  # brought from elsewhere
    ("test/add.test.js", EACH),
    ("calc_test.go", GO_TABLE),
    ("tests/calc.rs", RSTEST),
    ("src/test/java/CalcTest.java", CSV),
    (
        "test/add.test.js",
        JS.replace("});\n\ntest('adds more', () => {\n", ""),  # merged, with every assertion
    ),
    (
        "tests/test_calc.py",
        PYTHON.replace("\n\n\ndef test_adds_more():\n", "\n"),
    ),
]


@pytest.mark.parametrize(("path", "text"), DOUBTED)
def test_merged_tests_that_keep_every_value_are_doubted_and_not_rejected(path: str, text: str) -> None:
    assert text != FILES[path]
    assert refactored(path, text) == [Severity.WARNING]


def test_an_expectation_that_is_gone_without_an_assertion_less_is_doubted() -> None:
    path = "test/add.test.js"
    assert refactored(path, JS.replace("strictEqual(add(10, 20), 30)", "ok(add(10, 20))")) == [
        Severity.WARNING
    ]


def test_data_of_tests_may_go() -> None:
    assert found(PhaseName.REFACTOR, {"tests/fixtures/a.json": "{}\n"}, {}) == []


# --- phases that touch no test that is there

ADDED = [
    ("test/add.test.js", JS + "\ntest('adds none', () => {\n  assert.equal(add(0, 0), 0);\n});\n"),
    (
        "test/add.test.js",
        JS.replace("{ add }", "{ add, sub }") + "\ntest('s', () => { assert.equal(sub(1), 1) })\n",
    ),
    ("calc_test.go", GO + "\nfunc TestNew(t *testing.T) {\n    t.Error(Add(0, 0))\n}\n"),
    (
        "calc_test.go",
        GO.replace(
            "func TestMore(t *testing.T) {\n",
            'func TestMore(t *testing.T) {\n    t.Run("new", func(t *testing.T) {\n        t.Error(Add(0, 0))\n    })\n',
        ),
    ),
    ("tests/calc.rs", RUST + "\n#[test]\nfn adds_none() {\n    assert_eq!(add(0, 0), 0);\n}\n"),
    (
        "src/test/java/CalcTest.java",
        JAVA[:-2] + "\n    @Test\n    void none() {\n        assertEquals(0, 0);\n    }\n}\n",
    ),
    ("tests/greet.sh", FILES["tests/greet.sh"] + "[ 1 = 1 ]\n"),
]


@pytest.mark.parametrize(("path", "text"), ADDED)
def test_red_may_add(path: str, text: str) -> None:
    assert found(PhaseName.RED, {path: FILES[path]}, {path: text}) == []
    assert (
        path.endswith(".sh")
        or "Run(" in text
        or len(new_tests(evidence(PhaseName.RED, {path: FILES[path]}, {path: text}))) == 1
    )


def test_a_test_with_tests_inside_that_are_named_by_a_variable_is_as_it_was() -> None:
    text = GO_TABLE.replace('t.Run("",', "t.Run(\n                c.name,")
    assert found(PhaseName.RED, {"calc_test.go": text}, {"calc_test.go": f"{text}\n// more\n"}) == []


def test_a_test_that_asserts_by_means_unknown_is_missed_by_its_values() -> None:
    assert found(
        PhaseName.REFACTOR,
        {"tests/calc.rs": f"{RUST}\n#[test]\nfn a() {{\n    b!(1);\n}}\n"},
        {"tests/calc.rs": RUST},
    ) == [Severity.ERROR]
    strange = "\n#[test]\nfn strange() {\n    snapshot!(add(70, 7));\n}\n"
    before, after = {"tests/calc.rs": RUST + strange}, {"tests/calc.rs": RUST}
    assert found(PhaseName.REFACTOR, before, after) == [Severity.ERROR]
    merged = RUST.replace("add(1, 2), 3);\n", "add(1, 2), 3);\n    snapshot!(add(70, 7));\n")
    assert found(PhaseName.REFACTOR, before, {"tests/calc.rs": merged}) == [Severity.WARNING]


def test_red_may_add_a_row_to_a_table() -> None:
    for row in ("        {4, 5, 9},\n", "        {\n            a: 4,\n            b: 5,\n        },\n"):
        after = GO_TABLE.replace("        {10, 20, 30},\n", "        {10, 20, 30},\n" + row)
        assert found(PhaseName.RED, {"calc_test.go": GO_TABLE}, {"calc_test.go": after}) == []


EDITED = [
    ("test/add.test.js", JS.replace("30);", "31);")),
    ("test/add.test.js", JS.replace("  assert.strictEqual(add(1", "  return;\n  assert.strictEqual(add(1")),
    ("test/add.test.js", JS.replace("test('adds two'", "test.skip('adds two'")),
    ("calc_test.go", GO.replace("!= 30", "== 30")),
    ("calc_test.go", GO_TABLE),
    ("tests/calc.rs", RUST.replace("#[test]\nfn adds_more", "fn adds_more")),
    ("src/test/java/CalcTest.java", JAVA.replace("assertEquals(3,", "assertEquals(4,")),
]


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.GREEN])
@pytest.mark.parametrize(("path", "text"), EDITED)
def test_red_and_green_leave_existing_tests_alone(phase: PhaseName, path: str, text: str) -> None:
    assert text != FILES[path]
    assert Severity.ERROR in found(phase, {path: FILES[path]}, {path: text})


def test_tests_beside_the_code_are_told_from_it() -> None:
    """Rust has tests in the file they are about."""
    code = (
        "pub fn add(a: i32, b: i32) -> i32 {{\n    {}\n}}\n\n#[cfg(test)]\nmod tests {{\n"
        + RUST.replace("{", "{{").replace("}", "}}")
        + "}}\n"
    )
    before, after = code.format("0"), code.format("a + b")
    assert found(PhaseName.GREEN, {"src/lib.rs": before}, {"src/lib.rs": after}) == []
    assert found(PhaseName.GREEN, {"src/lib.rs": before}, {"src/lib.rs": after.replace("30", "31")})


def test_a_coder_who_owns_the_tests_is_only_warned() -> None:
    assert found(PhaseName.CODE, {"test/add.test.js": JS}, {}) == [Severity.WARNING]
    assert found(PhaseName.CODE, {"test/add.test.js": JS}, {"test/add.test.js": HELPER}) == []


def test_code_that_only_sounds_like_tests_is_none() -> None:
    code = "export const valid = (s) => /^a/.test(s);\nconst it = items[0];\nmodel.test(1);\n"
    assert found(PhaseName.GREEN, {"src/a.js": code}, {"src/a.js": code.replace("^a", "^b")}) == []
    assert found(PhaseName.REFACTOR, {"src/a.js": code}, {}) == []
