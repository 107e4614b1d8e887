"""A stub announces something and does nothing."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gates_support import src
from redgreenrefactor.languages.stubs import beyond_stubs, is_literal, is_stub

OLD = src('''
    """What is here."""

    import os
    from typing import Any

    __all__ = ["half"]
    LIMIT = 3


    def half(x):
        return x / 2


    class Thing:
        """A thing."""

        def __init__(self, x):
            self.x = x

        def size(self):
            return self.x * 2


    class Empty:
        pass


    class Open: ...
''')

STUBS = [
    "def f(): pass",
    "def f(): ...",
    'def f():\n    """Say what it will do."""',
    "def f(): return None",
    "def f(): return",
    "def f(): return [1, 2]",
    "def f(): return -1",
    "def f(): return dict()",
    "def f(): raise NotImplementedError",
    "def f(): raise NotImplementedError('later')",
    "async def f(): return {}",
    "@property\ndef f(self): return 0",
    "import json",
    "from json import loads",
    "NEW = 7",
    "NEW: int = 7",
    "NEW: int",
    "class New: pass",
    "class New(Exception):\n    'Why.'",
    "class New:\n    x: int\n    y: str = 'a'\n    def f(self): ...",
    "class New:\n    def __init__(self, a, b):\n        super().__init__()\n        self.a = a\n        self.b: int = b\n        self.c: int\n        self.d = []",
    "from dataclasses import dataclass, field\n@dataclass\nclass New:\n    x: list = field(default_factory=list)",
    "from enum import Enum, auto\nclass New(Enum):\n    A = auto()\n    B = 2",
    "from typing import TypeVar\nT = TypeVar('T')",
    "Number = int",
    "if TYPE_CHECKING:\n    from json import JSONDecoder",
    "def f(x): return x",
    "def f(times):\n    def decorate(function):\n        return function\n    return decorate",
    "def f(g):\n    @wraps(g)\n    def call(*a, **k):\n        return g(*a, **k)\n    return call",
    "def f(g):\n    async def call(x):\n        return await g(x)\n    return call",
    "@contextmanager\ndef f():\n    yield",
    "@lru_cache(maxsize=None)\ndef f(x, clock=time.time, *, y=(), z): return 0",
]
BEHAVIOUR = [
    "def f(g, x): return g(x)",
    "def f(g):\n    def call(x):\n        return g(x, 1)\n    return call",
    "def f(g):\n    def call(x):\n        return g(x) + 1\n    return call",
    "def f(g):\n    def call(x):\n        return open(x)\n    return call",
    "def f(): yield compute()",
    "@(lambda _: lambda a: a * 2)\ndef f(): ...",
    "def f(a, how=lambda a: a * 2): ...",
    "def f(*, how=[x for x in 'ab']): ...",
    "class New(made(lambda: 1)): ...",
    "def f(x):\n    y = x\n    return None",
    "def f(): print('hello')",
    "def f(): raise ValueError",
    "def f():\n    for x in []: pass",
    "def f(self):\n    self.x = 1",
    "def f(self):\n    self.x: int = 1",
    "def f(self):\n    super().f()",
    "class New:\n    def f(self, x): return x + 1",
    "class New:\n    def __init__(self, x):\n        self.x = x + 1",
    "class New:\n    x = len('abc')",
    "NEW = len('abc')",
    "print('hello')",
    "for x in []: pass",
    "if 1:\n    A = 2",
    "if TYPE_CHECKING:\n    pass\nelse:\n    def f(x): return x * 2",
    "def half(x): raise NotImplementedError",  # takes the place of what works
    "LIMIT = 4",
    "LIMIT: int = 4",
]


@pytest.mark.parametrize("stub", STUBS)
def test_a_new_stub_is_fine_in_an_old_and_in_a_new_file(stub: str) -> None:
    assert beyond_stubs(OLD, f"{OLD}\n\n{stub}\n") is None
    assert beyond_stubs(None, f"{stub}\n") is None


@pytest.mark.parametrize("code", BEHAVIOUR)
def test_behaviour_is_more_than_a_stub(code: str) -> None:
    found = beyond_stubs(OLD, f"{OLD}\n\n{code}\n")
    assert found is not None
    assert found[0] > OLD.count("\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    def size(self):", "    def count(self):\n        return 0\n\n    def size(self):"),
        ("class Empty:\n    pass", "class Empty:\n    def f(self): ..."),
        ("class Open: ...", "class Open:\n    x: int"),
        ('__all__ = ["half"]', '__all__ = ["half", "double"]'),
        ("from typing import Any", "from typing import Any, Protocol"),
        ("import os\nfrom typing import Any", "from typing import Any, Protocol\nimport os, sys"),
        ("LIMIT = 3", "LIMIT = 3  # at most\n\n"),
        ("\n\n\nclass Open: ...", "\n\n\nclass Open: ...\n\n\nclass Late: ..."),
    ],
)
def test_what_is_there_may_be_added_to(old: str, new: str) -> None:
    assert old in OLD
    assert beyond_stubs(OLD, OLD.replace(old, new)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return x / 2", "return x // 2"),
        ("def half(x):\n    return x / 2", ""),
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", ""),
        ("import os", ""),
        ("from typing import Any", "from typing import Protocol"),
        ('__all__ = ["half"]', '__all__ = ["double"]'),
        ('__all__ = ["half"]', "__all__ = sorted(globals())"),
        ("class Empty:", "class Empty(dict):"),
        ("return self.x * 2", "return self.x * 3"),
        ("    def size(self):", "    def grow(self):\n        self.x += 1\n\n    def size(self):"),
        ("    def size(self):", "    def size(self):\n        return 0\n\n    def size(self):"),
    ],
)
def test_what_is_there_may_not_be_changed(old: str, new: str) -> None:
    assert old in OLD
    assert beyond_stubs(OLD, OLD.replace(old, new)) is not None


def test_a_file_against_itself_is_fine() -> None:
    assert beyond_stubs(OLD, OLD) is None
    assert beyond_stubs("", "") is None


def test_a_file_that_does_not_parse_or_goes_is_more_than_a_stub() -> None:
    assert beyond_stubs(OLD, "def broken(:") == (1, "it does not parse")
    assert beyond_stubs("def broken(:", OLD) == (1, "it does not parse")
    assert beyond_stubs(OLD, None) is not None


def test_an_import_that_comes_again_is_fine() -> None:
    assert beyond_stubs(OLD, OLD + "\nimport os\n") is None


@pytest.mark.parametrize("text", ["1", "'a'", "(1, [2, {3: 4}])", "-1", "None", "list()", "frozenset()"])
def test_literals_are_known(text: str) -> None:
    assert is_literal(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("text", ["x", "f()", "list([1])", "1 + x", "[x]", "dict(a=1)"])
def test_computed_values_are_no_literals(text: str) -> None:
    assert not is_literal(ast.parse(text, mode="eval").body)


pieces = st.lists(st.integers(0, len(STUBS) - 1), unique=True, max_size=4)


def numbered(place: int) -> str:
    """Return a stub under a name of its own."""
    return (
        STUBS[place]
        .replace("def f", f"def f{place}")
        .replace("NEW", f"NEW{place}")
        .replace("New", f"New{place}")
    )


@given(pieces)
def test_any_stubs_may_be_added_to_any_file(places: list[int]) -> None:
    text = OLD
    for place in places:
        longer = f"{text}\n\n{numbered(place)}\n"
        assert beyond_stubs(text, longer) is None
        assert beyond_stubs(longer, longer) is None
        text = longer
    assert beyond_stubs(OLD, text) is None


@given(pieces, st.sampled_from(BEHAVIOUR[:23]))
def test_behaviour_among_stubs_is_found(places: list[int], code: str) -> None:
    text = "\n\n".join([OLD, *(numbered(place) for place in places), code.replace("New", "Other"), ""])
    assert beyond_stubs(OLD, text) is not None


def test_statements_are_stubs_one_by_one() -> None:
    assert is_stub(ast.parse("pass").body[0])
    assert not is_stub(ast.parse("del x").body[0])
