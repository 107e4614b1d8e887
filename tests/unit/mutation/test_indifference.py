"""A test that does not mind what the planned code gives is told from one that does."""

import ast
import inspect
from collections.abc import Callable
from dataclasses import replace
from json import loads
from typing import Any

import pytest

from gates_support import CASE, HEAD, Runner, drive, evidence, failing, result, suite
from redgreenrefactor.languages.assertions import claims
from redgreenrefactor.languages.python import span
from redgreenrefactor.model.evidence import UNANSWERED, Place, Reach, Status, SuiteRun, Trial
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation.indifference import Claims, indifference
from redgreenrefactor.mutation.unlike import Stand, declared_otherwise, fitted, spoiled, stand_in, talkative

TEST = "test_thing.py::test_it"
IMPORT = "import asyncio\n\nimport pytest\n\nimport thing\n\n\n"
CODE = """
LIMIT = 5


class Stack:
    pass


def double(x):
    return 2 * x


if __name__ == "__main__":
    print(double(2))
"""


def indifferent(body: str, code: str | None = CODE, description: str = "doubles") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    files = {"test_thing.py": f"{IMPORT}def test_it():\n{lines}\n", **({"thing.py": code} if code else {})}
    given = evidence(PhaseName.RED, files, files, case=replace(CASE, description=description))
    made = list(claims(ast.parse(files["test_thing.py"])))
    places = tuple(Place("test_thing.py", line) for item in made for line in span(item))
    about = all("thing" in ast.unparse(item) for item in made)
    said = Claims(("def halve(",), places, about)
    return drive(indifference(given, [TEST], said), Runner({HEAD: files}).answer)[0]


@pytest.mark.parametrize(
    ("text", "opened", "looks"),
    [
        (
            "import inspect\nimport thing\n\n\ndef test_it():\n    assert inspect.getsource(thing.halve)\n",
            {},
            True,
        ),
        (
            "def test_it():\n    assert open('thing.py').read()\n",
            {"thing.py": frozenset({"test_thing.py"})},
            True,
        ),
        ("import thing\n\n\ndef test_it():\n    assert thing.halve(2) == 1\n", {}, False),
    ],
)
def test_a_test_of_what_the_source_looks_like_minds_nothing_else(
    text: str, opened: dict[str, frozenset[str]], looks: bool
) -> None:
    files = {"test_thing.py": text, "thing.py": CODE}

    def answer(trial: Trial) -> SuiteRun:
        shown = any("def halve(*given" in (text or "") for _, text in trial.overlay)
        return suite(result(TEST) if shown else failing(TEST), reach=Reach(opened=opened))

    said = Claims(("halve",), (), about_results=False)
    found, asked = drive(indifference(evidence(PhaseName.RED, files, files), [TEST], said), answer)
    assert found == ("all it looks at is the source, whatever comes of that" if looks else "")
    assert len(asked) == 1 + looks


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("assert thing.double(2) == pytest.approx(4, abs=float('inf'))", "any number will do"),
        ("assert -1e99 < thing.double(2) < 1e99", "any number will do"),
        ("assert thing.double(2) == pytest.approx(4, rel=0.5)", ""),
        ("assert thing.double(2) >= 0", ""),
        ("assert min(max(int(float(thing.double(2))), 4), 4) == 4", "any number will do"),
        ("assert len(thing.double(2)) >= 0", "any text will do"),
        ("assert len(thing.double(2)) >= 2", ""),
        ("x = thing.double('a')\nassert sorted(x) == sorted(y for y in x)\nx.append(1)", "any list will do"),
        ("x = thing.double('a')\nassert sorted(x) == ['a']\nx.append(1)", ""),
    ],
)
def test_a_test_that_lets_every_number_through_minds_none(body: str, why: str) -> None:
    assert indifferent(body) == why


def test_a_test_that_is_skipped_where_something_else_comes_back_minds_nothing() -> None:
    files = {"test_thing.py": f"{IMPORT}def test_it():\n    assert thing.double(2) == 4\n", "thing.py": CODE}
    skipped = suite(result(TEST, status=Status.SKIPPED))
    found, _ = drive(indifference(evidence(PhaseName.RED, files, files), [TEST], Claims()), lambda _: skipped)
    assert found == "whatever else comes back, it is skipped or expected to fail"


NONE, RAISES = "any object may come back", "may just raise an error"
ANY, NEVER = "passes whatever that is", "none of its assertions"


@pytest.mark.parametrize("code", [CODE, None])
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("assert thing.double(2) is not None", NONE),
        ("x = thing.double(2)\nassert x == 4 or x is not None", NONE),
        ("assert hasattr(thing.Stack().pop(), 'name')", NONE),
        ("assert hasattr(thing, 'double')", RAISES),
        ("assert callable(thing.double)", RAISES),
        ("try:\n    assert thing.double(2) == 4\nexcept Exception:\n    pass", RAISES),
        ("assert 2 * 2 == 4", RAISES),
        ("assert thing.double(2) != 'a'", ANY),
        ("assert isinstance(thing.double(2), object)", ANY),
        ("assert str(thing.double(2))", ANY),
        ("a = b = thing.double(2)\nassert a == b, thing", ANY),
        ("assert callable(thing.double)\nif thing.double(2) == 4:\n    assert thing.double(2) == 4", ANY),
        ("if thing.double(2) == 4:\n    assert thing.double(2) == 4", NEVER),
        ("if thing.double(2) != 0:\n    return\nassert thing.double(2) == 4", NEVER),
    ],
)
def test_what_a_test_does_not_mind_is_told(body: str, why: str, code: str | None) -> None:
    assert why in indifferent(body, code)


@pytest.mark.parametrize("code", [CODE, None])
@pytest.mark.parametrize(
    "body",
    [
        "assert thing.double(2) == 4",
        "assert thing.double(2)",
        "assert not thing.double(0)",
        "assert thing.double(2) > 3",
        "assert 4 in thing.double(2)",
        "assert thing.double(2) + 1 == 5",
        "assert str(thing.double(2)) == '4'",
        "assert [n for n in thing.double(2)] == []",
        "assert isinstance(thing.double(2), int)",
        "assert thing.double(2) is None",
        "assert thing.LIMIT == 5",
        "assert thing.Stack().items == []",
        "assert thing.Stack() == thing.Stack()",
        "assert thing.Stack().top() == thing.Stack().low",
        "with thing.Stack() as stack:\n    assert stack.pop() == 3",
        "with pytest.raises(ValueError):\n    thing.double(2)",
        "assert issubclass(thing.Stack, object)",
        "assert thing.double() != thing.double()",
        "assert asyncio.run(thing.Stack().close()) == 1",
        "async def closed():\n    return await thing.double(2)\nassert asyncio.run(closed()) == 1",
        # what only an error makes fail
        "words = [1]\nthing.double(words)\nassert words == [1]",
        "assert thing.double(2) == thing.double(2)",
        "assert thing.double('a') != 'a'",
        "assert thing.double(2) != 0",
        "assert thing.double(2) != thing.double(3)",
        # what lets some values of a kind through
        "x = thing.double(2)\nassert x == x.lower().strip()",
        "assert 'def halve(' not in repr(thing.double(2))",
        "for x in ('-a', 'B'):\n    made = thing.double(x)\n    assert thing.double(made) == made\n    assert not made.startswith(('-', 'B'))",
        # what can be made
        "assert thing.Stack() is not None",
        "assert thing.Stack.of(3) is not None",
        "assert thing.Stack() != thing.Stack()",
    ],
)
def test_a_test_that_minds_is_left_alone(body: str, code: str | None) -> None:
    assert indifferent(body, code) == ""


DEED = "it passes whatever functions in it return, change, call or write"


def meddled(body: str) -> str:
    imports = [line for line in body.splitlines() if line.startswith(("import ", "from "))]
    lines = "\n".join(f"    {line}" for line in body.splitlines() if line not in imports)
    text = "\n".join([*imports, f"import os\nimport thing\n\n\ndef test_it():\n{lines}\n"])
    given = evidence(PhaseName.RED, {}, {"test_thing.py": text})
    words = tuple(item.value for item in ast.walk(ast.parse(text)) if isinstance(item, ast.Constant))
    return drive(indifference(given, [TEST], Claims(words)), Runner({HEAD: {"test_thing.py": text}}).answer)[
        0
    ]


@pytest.mark.parametrize(
    "body",
    [
        "thing.double(2)\nassert 2 * 2 == 4",
        "thing.double(2)\nassert os.sep",
        "words = ['a']\nthing.put(words)\nwords[:] = ['b']\nassert words == ['b']",
        "from unittest.mock import Mock\nmail = Mock()\nthing.tell(mail)\nmail.send(1)\nmail.send.assert_called_with(1)",
        "from datetime import datetime\nbegin = datetime.now()\nthing.double(2)\nassert begin <= datetime.now()",
        "thing.made(2).deeply()\nassert 2 * 2 == 4",
    ],
)
def test_a_test_that_looks_at_nothing_code_can_reach_minds_no_deed(body: str) -> None:
    assert meddled(body) in (DEED, "any object may come back, and all it notices is None")


@pytest.mark.parametrize(
    "body",
    [
        "words = ['a']\nthing.put(words)\nassert words == ['a']",
        "words = {}\nthing.put(into=words)\nassert words == {}",
        "rows = [[1], (2, {3: [4]})]\nrow = rows[1][1][3]\nthing.put(rows)\nassert row == [4]",
        "from unittest.mock import Mock\nmail = Mock()\nthing.tell(mail)\nmail.send.assert_not_called()",
        "told = []\nthing.tell(told.append)\nassert told == []",
        "def never():\n    raise AssertionError\nthing.tell(never)\nassert 2 * 2 == 4",
        "class Box:\n    full = False\nthing.put(Box)\nassert Box.full is False",
        "class Box:\n    __slots__ = ('n',)\nbox = Box()\nbox.n = 1\nthing.put(box)\nassert box.n == 1",
        "import random\nstate = random.getstate()\nthing.double(2)\nassert random.getstate() == state",
        "known = dict(os.environ)\nthing.double(2)\nassert os.environ == known",
        "here = os.getcwd()\nthing.double(2)\nassert os.getcwd() == here",
        "from time import perf_counter\nbegin = perf_counter()\nthing.double(2)\nassert perf_counter() < begin + 1",
        "from datetime import datetime\nnow = datetime.now()\nthing.double(2)\nassert (datetime.now() - now).days == 0",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n    thing.double(2)\nassert 1",
        "from logging import getLogger\ncount = len(getLogger('x').handlers)\nthing.double(2)\nassert len(getLogger('x').handlers) == count",
        "import io\nout = io.StringIO()\nthing.write(out)\nassert out.getvalue() == ''",
        "import threading\nlock = threading.Lock()\nthing.double(lock)\nassert not lock.locked()",
        "heard = []\nbus = thing.Bus()\nnote = bus.on('saved')(heard.append)\nassert heard == []",
        "import tempfile\nwith tempfile.TemporaryDirectory() as place:\n    thing.build(place)\n    assert not os.listdir(place)",
        "import tempfile\nwith tempfile.NamedTemporaryFile() as file:\n    thing.tidy(file.name)\n    kept = os.stat(file.name)\n    assert kept",
        "import tempfile\nwith tempfile.TemporaryDirectory() as place:\n    thing.build(f'{place}/new')\n    assert not os.listdir(place)",
        "class Order:\n    def __init__(self, items):\n        self.items = items\nitems = []\nthing.send(Order(items))\nassert items == []",
        "class Node:\n    def __init__(self):\n        self.next, self.names = self, ['a']\nnode = Node()\nnames = node.names\nthing.walk(node)\nassert names == ['a']",
        "class Box:\n    __slots__ = ('n',)\nbox = Box()\nbox.n = kept = []\nthing.put(box)\nassert kept == []",
        "import gc\nknown = gc.isenabled()\nthing.double(2)\nassert gc.isenabled() is known",
        "import logging\nknown = logging.getLogger().level\nthing.double(2)\nassert logging.getLogger().level == known",
        "import logging\nknown = logging.getLogger('x').level\nthing.double(2)\nassert logging.getLogger('x').level == known",
        "import logging\ncount = len(logging.getLogger().handlers)\nthing.double(2)\nassert len(logging.getLogger().handlers) == count",
        "import warnings\nknown = warnings.filters[:]\nthing.double(2)\nassert warnings.filters == known",
        "import sys\nknown = sys.argv[:]\nthing.double(2)\nassert sys.argv == known",
        "import sys\nknown = sys.getrecursionlimit()\nthing.double(2)\nassert sys.getrecursionlimit() == known",
        "import sys\nknown = sys.excepthook\nthing.double(2)\nassert sys.excepthook is known",
        # what nobody meddles with may be what it is about
        "import signal\nknown = signal.getsignal(signal.SIGTERM)\nthing.run()\nassert signal.getsignal(signal.SIGTERM) is known",
        "from unittest.mock import patch\nwith patch('os.remove') as remove:\n    thing.tidy()\nassert not remove.called",
    ],
)
def test_a_test_of_what_code_must_leave_alone_minds(body: str) -> None:
    assert meddled(body) == ""


def test_what_a_test_has_put_into_the_module_is_called() -> None:
    body = "sent = []\nthing.send = sent.append\nthing.notify()\nassert sent == []"
    assert meddled(body) == ""


def test_other_code_of_the_project_may_be_what_a_test_is_about() -> None:
    text = "import other\nimport thing\n\n\ndef test_it():\n    thing.load(2)\n    assert other.NAMES == []\n"
    files = {"test_thing.py": text, "other.py": "NAMES = []\n"}
    given = evidence(PhaseName.RED, {}, files)
    reach = Reach(files=frozenset(["other.py", "test_thing.py"]))
    runner = Runner({HEAD: files})

    def reaching(trial: Trial) -> SuiteRun:
        return replace(runner.answer(trial), reach=reach)

    assert drive(indifference(given, [TEST], Claims()), reaching)[0] == ""
    assert drive(indifference(given, [TEST], Claims()), runner.answer)[0] == DEED


def test_that_something_can_be_made_by_a_function_is_worth_a_test_where_the_case_says_so() -> None:
    body = "assert thing.board(3) is not None"
    assert indifferent(body, description="creates a board") == ""
    assert NONE in indifferent(body, description="a board has nine fields")


def test_only_a_planned_python_file_can_be_stood_in_for() -> None:
    for case in (None, replace(CASE, impl_file="page.html")):
        given = evidence(PhaseName.RED, {}, {}, case=case)
        assert drive(indifference(given, [TEST], Claims()), lambda _trial: UNANSWERED) == ("", [])


def test_what_passes_without_the_planned_file_is_about_what_lies_elsewhere() -> None:
    files = {"test_thing.py": "def test_it():\n    assert True\n"}
    asking = indifference(evidence(PhaseName.RED, files, files), [TEST], Claims(), passing=True)
    assert drive(asking, lambda _trial: UNANSWERED) == ("", [])


def test_what_a_package_takes_from_its_modules_is_stood_in_for_as_well() -> None:
    space: dict[str, Any] = {
        "__name__": "pkg",
        "double": type("Double", (), {"__module__": "pkg.core"})(),
        "loads": loads,
    }
    exec(stand_in(None, Stand.UNLIKE, ()), space)
    assert type(space["double"]).__name__ == "_RgrUnlike"
    assert space["loads"] is loads


def test_whoever_only_reads_the_source_finds_what_is_looked_for() -> None:
    text = stand_in(CODE, Stand.NOTHING, ["def halve(", "a\nb"])
    assert text.startswith(CODE.partition("if __name__")[0])
    function = text[text.index("    def function(") : text.index("    return function")]
    assert all(f"# {line}\n" in function for line in ("def halve(", "a", "b"))  # also of a function alone
    assert text.index("_rgr_unlike = ") < text.index(
        "if __name__"
    )  # a program does nothing of what it did either


def test_a_package_still_has_its_modules() -> None:
    space: dict[str, Any] = {"__name__": "json", "__path__": []}
    exec(stand_in(None, Stand.UNLIKE, ()), space)
    look_up: Callable[[str], Any] = space["__getattr__"]
    assert look_up("decoder").__name__ == "json.decoder"
    assert [type(look_up(name)).__name__ for name in ("gone", "Gone")] == ["function", "_RgrUnlike"]
    for name in ("__all__", "pytest_plugins"):
        with pytest.raises(AttributeError):
            look_up(name)


def test_everything_that_can_be_changed_is_spoiled_in_the_end() -> None:
    class Part:
        def __init__(self) -> None:
            self.size = 1

    text = spoiled("def f(a, b, c, d):\n    a.append(1)\n    return len(a)\n")
    assert text is not None
    space: dict[str, Any] = {}
    exec(text, space)
    function: Callable[..., int] = space["f"]
    items, table, part = [0], {"a": 1}, Part()
    assert function(items, table, part, "text") == 2
    assert (items, table) == ([], {})
    assert part.size != 1
    assert spoiled("A = 1\n") is None
    assert spoiled(None) is None


def test_functions_that_give_something_give_what_is_wanted() -> None:
    text = fitted("def f(a):\n    if a:\n        return a\n\n\ndef g(a):\n    a.append(1)\n", "'b'")
    assert text is not None
    space: dict[str, Any] = {}
    exec(text, space)
    items: list[int] = []
    assert (space["f"](0), space["g"](items), items) == ("b", None, [1])


def test_what_is_known_is_told_in_all_that_is_returned_or_said() -> None:
    class Account:
        def __init__(self) -> None:
            self.token = "s3%cret"

    text = talkative("def f(a, out):\n    out('login of %s' % a.__class__)\n    return a.kept[:1]\n")
    assert text is not None
    space: dict[str, Any] = {}
    exec(text, space)
    account, said = Account(), list[str]()
    for kept, told in (("ab", "a s3cret ab"), (["a"], ["a", "s3%cret", "a"])):
        account.kept = kept  # type: ignore[attr-defined]
        assert space["f"](account, said.append) == told
    assert said[0].endswith("Account'> s3cret ab")
    telling: Callable[..., object] = space["_rgr_telling"]
    assert telling({"a": 1}, ({"b": "c"},)) == {"a": 1, "c": None}
    assert telling(7, "c") == 7
    assert talkative("A = 1\n") is None


def test_what_is_declared_says_something_else_and_does_the_same() -> None:
    text = declared_otherwise(
        "class A:\n    b: int = 1\n\n    def f(self, a: int, *more) -> str:\n        return str(a)\n"
    )
    assert text is not None
    space: dict[str, Any] = {}
    exec(text, space)
    made = space["A"]
    assert made.__annotations__ == {"b": object}
    assert made.f.__annotations__ == {"a": object, "return": object}
    assert list(inspect.signature(made.f).parameters) == ["self", "a", "more", "_rgr_more"]
    assert (made.b, made().f(2)) == (1, "2")
    assert declared_otherwise("def (") is None
