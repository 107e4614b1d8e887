"""What a test says once its names are resolved: the same where the same is done with the same things."""

import pytest

from gates_support import src
from redgreenrefactor.languages import python
from redgreenrefactor.languages.references import Project, Said, defined

TEST = """
import os.path
import thing
from thing import half


def test_it(tmp_path):
    from thing import double

    x = double(2)
    y = half(x)
    assert x == 4
    assert y == x.value
"""


def project(**files: str) -> Project:
    """Return a project of these files; two underscores stand for a folder."""
    texts = {
        f"{name.replace('__', '/').replace('INIT', '__init__')}.py": src(text) for name, text in files.items()
    }
    return Project(texts.get, lambda path: "test" in path)


def said(test: str, name: str = "", **files: str) -> Said:
    """Return what a test says, the last one or the named one."""
    everything = project(test_it=test, **{"thing": "def double(x): pass\ndef half(x): pass\n", **files})
    tests = python.tests_in(src(test))
    return everything.said("test_it.py", next((item for item in tests if item.name == name), tests[-1]))


@pytest.mark.parametrize(
    "other",
    [
        TEST.replace("test_it", "test_that"),
        TEST.replace("x =", "result =")
        .replace("(x)", "(result)")
        .replace("x ==", "result ==")
        .replace("x.v", "result.v"),
        TEST.replace("tmp_path):", "tmp_path: Path) -> None:"),
        TEST.replace("    from", '    """What it says."""\n    # why\n\n    from'),
        TEST.replace("def test_it(tmp_path)", "class TestIt:\n  def test_it(self, tmp_path)"),
        TEST.replace("    from thing import double\n\n", "").replace("import half", "import double, half"),
        TEST.replace("    from thing import double\n\n", "").replace("double(", "thing.double("),
        TEST.replace("thing import half", "thing import half as halved").replace("half(x)", "halved(x)"),
    ],
)
def test_other_names_places_hints_and_layout_say_the_same(other: str) -> None:
    assert said(other) == said(TEST)


@pytest.mark.parametrize(
    "other",
    [
        TEST.replace("== 4", "== 5"),
        TEST.replace("== 4", "> 4"),
        TEST.replace("    assert x == 4\n", ""),
        TEST.replace("half(x)", "half(y)"),
        TEST.replace("assert y == x.value", "assert y == y.value"),
        TEST.replace("double(2)", "len(2)"),
        TEST.replace("double(2)", "double(*2)"),
        TEST.replace("double(2)", "double(**2)"),
        TEST.replace("def test", "@pytest.mark.skip\ndef test"),
        TEST.replace("    x =", "    return\n    x ="),
        TEST.replace("x.value", "x.other"),
        TEST.replace("double(2)", "double(n=2)"),
        TEST.replace("tmp_path", "monkeypatch"),
        TEST.replace("def test", "async def test"),
        TEST.replace("import double", "import half as double"),
        TEST.replace("from thing import half", "from other import half"),
    ],
)
def test_anything_else_says_something_else(other: str) -> None:
    assert said(other) != said(TEST)


HELPED = """
import pytest
from checks_test import same
from .more_test import LIMIT


@pytest.fixture
def four():
    return 4


def check(x, four=four):
    try:
        assert x == four
    except KeyError as error:
        check(error)


@pytest.mark.parametrize("x", [1])
def test_it(x, four, other):
    check(x)
    same(x, LIMIT)
"""
CHECKS = {"checks_test": "def same(a, b):\n    assert a == b\n", "more_test": "LIMIT: int = 3\n"}


def test_helpers_fixtures_and_constants_say_what_they_do() -> None:
    here = said(HELPED, conftest="import pytest\n\n\n@pytest.fixture\ndef other():\n    return 5\n", **CHECKS)
    kinds = [
        item.kind for item in here.references if item.name in ("four", "other", "check", "same", "LIMIT")
    ]
    assert kinds == ["helper"] * 5
    renamed = HELPED.replace("check(", "look(").replace("four", "quattro")
    conftest = "import pytest\n\n\n@pytest.fixture\ndef other():\n    return 5\n"
    there = said(renamed, conftest=conftest, **CHECKS)
    assert [item.meaning for item in there.references] == [item.meaning for item in here.references]
    assert there.text == here.text
    for weaker in (
        {"test": HELPED.replace("assert x == four", "assert x")},
        {"test": HELPED.replace("return 4", "return 3")},
        {"test": HELPED, "conftest": conftest.replace("5", "6")},
        {"test": HELPED, **CHECKS, "checks_test": "def same(a, b):\n    pass\n"},
        {"test": HELPED, **CHECKS, "more_test": "LIMIT = 4\n"},
    ):
        files = {"conftest": conftest, **CHECKS, **weaker}
        assert [item.meaning for item in said(files.pop("test"), **files).references] != [
            item.meaning for item in here.references
        ], weaker


CLASS = """
import unittest


class TestIt(unittest.TestCase):
    limit = 3

    def setUp(self):
        self.x = 1

    @pytest.fixture
    def seven(self):
        return 7

    def check(self, x):
        assert x == self.x

    def test_it(self, seven):
        self.check(seven)
        self.assertEqual(self.limit, 3)
"""


def test_a_class_says_what_its_methods_do() -> None:
    here = said(CLASS)
    assert [item.name for item in here.references if item.kind == "helper"] == [
        "seven",
        "check",
        "seven",
        "limit",
    ]
    assert said(CLASS.replace("x == self.x", "x")).references != here.references
    assert said(CLASS.replace("limit = 3", "limit = 4")).references != here.references
    assert said(CLASS.replace("return 7", "return 8")).references != here.references


def test_a_text_that_names_something_of_the_project_refers_to_it() -> None:
    patching = TEST.replace("x = double(2)", "x = patch('thing.double.cache', 'no.such', 'word')")
    names = [item.name for item in said(patching).references]
    assert "thing:double.cache" in names
    assert not any("no" in name for name in names)


def test_where_a_thing_comes_from_is_followed_through_modules_that_hand_it_on() -> None:
    here = project(
        a__b="def f(): pass\nG = 1\n",
        a__INIT="from .b import f\nfrom a.b import G as H\nfrom os import path\n",
        front="from a import f\n",
        loop="from loop import f\n",
    )
    assert here.origin("front:f") == here.origin("a:f") == here.origin("a.b:f") == ("a/b.py", "f")
    assert here.origin("a:H") == ("a/b.py", "G")
    assert here.origin("a:path") == ("a/__init__.py", "path")
    assert here.origin("a.b:f.cache") == ("a/b.py", "f.cache")
    assert here.origin("a.b:gone") is here.origin("none:f") is here.origin("loop:f") is None


def test_every_name_that_code_gives_to_something_is_defined() -> None:
    code = "import a\nB = 1\nclass C:\n    def d(self, e):\n        self.f = g\n\n\nasync def h(): pass\n"
    tree = python.parsed(code)
    assert tree is not None
    assert defined(tree) == {"a", "B", "C", "d", "self", "e", "f", "h"}
