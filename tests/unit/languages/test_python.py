"""What can be read off Python source without running it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates_support import src
from redgreenrefactor.languages import dataflow, python
from redgreenrefactor.languages.python import Function

FILE = src("""
    import pytest

    LIMIT = 3


    @pytest.fixture
    def test_client():
        return 1


    def helper():
        return 2


    def test_one():
        pass


    class TestA:
        size = 3

        def setup_method(self):
            self.x = 1

        def test_two(self):
            pass

        class TestInner:
            async def test_three(self):
                pass


    class Fake:
        def close(self):
            pass


    if LIMIT:
        def test_four():
            pass
""")


def function(text: str) -> Function:
    node = ast.parse(src(text)).body[-1]
    assert isinstance(node, Function)
    return node


def test_tests_are_found_wherever_a_runner_finds_them() -> None:
    names = [test.name for test in python.tests_in(FILE)]
    assert names == ["test_one", "TestA.test_two", "TestA.TestInner.test_three", "test_four"]
    assert next(test.line for test in python.tests_in(FILE)) == FILE.splitlines().index("def test_one():") + 1


def test_what_does_not_parse_holds_no_tests() -> None:
    assert python.tests_in(None) == []
    assert python.tests_in("def test_x(:") == []
    assert python.parsed("a\0b") is None


def test_a_tree_nested_beyond_reason_is_not_read() -> None:
    assert python.parsed("x = " + "not " * 60 + "y") is not None
    assert python.parsed("x = " + "+".join(["1"] * 400)) is None


@given(st.text(max_size=80))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    python.tests_in(text)
    python.hooks(text)
    python.helpers(text)
    python.duplicates(text)


def test_helpers_are_what_stands_beside_the_tests() -> None:
    names = set(python.helpers(FILE))
    assert names >= {"LIMIT", "helper", "test_client", "Fake", "setup_method", "size"}
    assert not names & {"test_one", "test_two", "TestA"}


def test_a_second_definition_shadows_the_first() -> None:
    twice = "def test_a():\n    pass\n\n\ndef test_a():\n    pass\n"
    assert [test.line for test in python.duplicates(twice)] == [1]
    assert (
        python.duplicates("class A:\n    def test_a(self): ...\nclass B:\n    def test_a(self): ...\n") == []
    )


def test_hooks_and_settings_of_the_runner_are_found() -> None:
    text = "def pytest_configure():\n    pass\ncollect_ignore = []\npytest_plugins: list = []\ncollect_ignore += ['a']\n"
    assert set(python.hooks(text)) == {"pytest_configure", "collect_ignore", "pytest_plugins"}
    assert (
        python.hooks("def pytest_generate_tests(metafunc):\n    pass\nplain = 1\nx.collect_ignore = 2\n")
        == {}
    )


def test_parameter_sets_are_read_one_by_one() -> None:
    head = "import pytest\n@pytest.mark.parametrize({})\n@pytest.mark.slow\ndef test_a(x): ...\n"
    assert len(python.rows(function(head.format("'x', [1, 2]")))) == 2
    assert len(python.rows(function(head.format("'x', argvalues=(1, 2, 3)")))) == 3
    assert len(python.rows(function(head.format("'x', CASES")))) == 1
    assert python.rows(function("def test_a(x): ...")) == []


def test_a_test_without_its_parameter_sets_keeps_its_shape() -> None:
    text = "@pytest.mark.parametrize('x', {})\n@pytest.mark.slow\ndef test_a(x):\n    assert x\n"
    assert python.body_shape(function(text.format("[1]"))) == python.body_shape(
        function(text.format("[1, 2]"))
    )
    assert python.body_shape(function(text.format("[1]"))) != python.body_shape(
        function(text.format("[1]").replace("slow", "skip"))
    )


# --- planned


@pytest.mark.parametrize(
    ("name", "owner", "planned"),
    [
        ("bank.account", None, True),
        ("src.bank.account", None, True),
        ("account", None, True),
        ("bank", None, True),
        ("Account", "bank.account", True),
        ("Account", "bank", True),
        ("numpy", None, False),
        ("Account", "shop", False),
        ("bank.account.deep", None, False),
        (None, None, False),
    ],
)
def test_the_planned_module_is_known_by_all_its_names(
    name: str | None, owner: str | None, planned: bool
) -> None:
    assert python.is_planned(name, owner, "src/bank/account.py") is planned


def test_a_planned_package_is_known_by_its_folder() -> None:
    assert python.is_planned("bank", None, "bank/__init__.py")
    assert python.planned_modules("src/thing.rs") == frozenset()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from bank.account import Account", {"Account"}),
        ("from bank.account import Account as A, open_account", {"A", "open_account"}),
        ("from bank import account", {"account"}),
        ("import bank.account", {"bank"}),
        ("import bank.account as ba", {"ba"}),
        ("from .account import Account", {"Account"}),
        ("from . import account", {"account"}),
        (
            "from bank.account import opened\n@opened(1)\ndef mine(): ...\ndef other(): ...",
            {"opened", "mine"},
        ),
        ("import os", set[str]()),
        ("from os import path", set[str]()),
        ("x = 1", set[str]()),
    ],
)
def test_names_of_the_planned_code_are_known(line: str, names: set[str]) -> None:
    assert dataflow.imported_from(ast.parse(line), "src/bank/account.py") == names


def test_every_import_is_listed() -> None:
    tree = ast.parse("import a.b\nfrom c import d\nfrom . import e\n")
    assert list(python.imports(tree)) == ["a.b", "c", "c.d"]


def test_what_imported_names_stand_for_is_known() -> None:
    tree = ast.parse("import a.b\nimport c.d as e\nfrom f import g as h\nfrom .i import j\nfrom . import k\n")
    found = [(item.name, item.module, item.member) for item in python.imported(tree)]
    assert found == [("a", "a.b", ""), ("e", "c.d", ""), ("h", "f", "g"), ("j", ".i", "j"), ("k", ".", "k")]


# --- where values come from


@pytest.mark.parametrize(
    "text",
    [
        "y = seed(1)",
        "x = seed()\ny = x.z",
        "y: int = seed",
        "y = 0\ny += seed",
        "for y in seed(): pass",
        "with seed() as y: pass",
        "if (y := seed()): pass",
        "z = [y for y in seed()]",
        "@seed\ndef y(): pass",
        "y = []\nseed(y)",
        "y = []\nseed(y.append)",
        "y = {}\nseed(lambda v: y.update(v))",
        "y = []\ndef note(v):\n    y.append(v)\nseed(note)",
        "y = 0\ndef note():\n    nonlocal y\n    y += 1\nseed(note)",
    ],
)
def test_a_value_that_comes_from_the_code_is_derived(text: str) -> None:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    assert "y" in dataflow.derived(function(f"def test_it():\n{lines}\n"), frozenset({"seed"}))


@pytest.mark.parametrize("text", ["y = 5", "y = []\ny.append(1)", "y = len([1])\nseed()", "y = 1\nprint(y)"])
def test_a_value_that_does_not_come_from_the_code_is_not_derived(text: str) -> None:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    assert "y" not in dataflow.derived(function(f"def test_it():\n{lines}\n"), frozenset({"seed"}))


def test_fixtures_give_values_but_those_of_the_runner_do_not() -> None:
    node = function("def test_it(account, tmp_path, *, rate):\n    pass\n")
    assert dataflow.derived(node, frozenset()) == {"account", "rate"}


def test_the_innermost_statement_of_a_line_is_found() -> None:
    tree = ast.parse("def f():\n    if a:\n        b = 1\n    return 2\n")
    found = python.statement_at(tree, 3)
    assert isinstance(found, ast.Assign)
    assert python.statement_at(tree, 1) is None
    assert python.statement_at(tree, 9) is None
    inner = python.function_at(tree, 3)
    assert inner is not None
    assert inner.name == "f"
    assert python.function_at(ast.parse("a = 1\n"), 1) is None


def test_texts_that_are_values_are_told_from_docstrings() -> None:
    tree = ast.parse("'''Doc.'''\nA = 'a'\ndef f(x):\n    'Doc.'\n    return f'b{x}', 1\n")
    assert [node.value for node in python.strings(tree)] == ["a", "b"]


def test_names_from_outside_a_test_are_known_unless_a_star_hides_them() -> None:
    text = "import os.path\ntry:\n    from a import b\nexcept ImportError:\n    b = None\nC = D = 1\ndef helper(): ...\n\n\ndef test_it():\n    import e\n    own = 1\n"
    tree = ast.parse(text)
    node = tree.body[-1]
    assert isinstance(node, Function)
    names = dataflow.outside_names(tree, node)
    assert names is not None
    assert names >= {"os", "b", "C", "D", "helper", "e", "self"}
    assert "own" not in names
    assert dataflow.outside_names(ast.parse("from a import *\n"), node) is None
    assert dataflow.outside_names(None, node) == {"self", "cls", "open"}


def test_values_flow_by_binding() -> None:
    text = src("""
        def test_it():
            one: int = made()
            two = 0
            two += one
            (three := two)
            for four in three:
                five = [six for six in four]
            with made() as seven:
                pass
            with made():
                pass
            eight = 8
            nine: int
    """)
    (test,) = python.tests_in(text)
    assert dataflow.flowing(test.node, frozenset({"made"})) == {
        "made",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
    }


@pytest.mark.parametrize(
    "line",
    [
        "# -*- coding: utf-7 -*-",
        "#!x\n# vim: fileencoding=unicode_escape",
        "# coding=raw_unicode_escape",
        "# coding: hz",
    ],
)
def test_a_source_that_is_not_run_as_it_reads_is_known_by_its_encoding(line: str) -> None:
    assert python.veil(f"{line}\r\nx = 1\n") is not None


@pytest.mark.parametrize(
    "text",
    [
        None,
        "x = 1\n",
        "# -*- coding: utf-8 -*-\n",
        "# coding: latin-1\n",
        "# coding: cp1252\n",
        "a\nb\n# coding: utf-7\n",
    ],
)
def test_a_source_that_runs_as_it_reads_has_no_veil(text: str | None) -> None:
    assert python.veil(text) is None


def test_an_encoding_that_nobody_knows_is_one() -> None:
    assert python.veil("# coding: nonsense\n") == "nonsense"
