"""Code that gives nothing of what it promises: whoever looks at a result notices."""

import ast
import re
from collections.abc import Callable, Iterable
from enum import Enum
from keyword import iskeyword

from redgreenrefactor.languages.python import Function, parsed
from redgreenrefactor.mutation.mutants import bare_call, source_of_tree


class Stand(Enum):
    """What stands for the functions and classes of a module."""

    UNLIKE = "results that are equal to nothing but each other"
    ALIKE = "results that are equal to whatever they are compared with"
    NONE = "no results: None"
    RAISING = "functions that raise; classes can be made"
    NOTHING = "functions and classes that raise"
    UNTOUCHABLE = "results that can be compared with each other alone"
    ECHO = "functions that give back what they are given"
    DIFFERENT = "results that are equal to nothing, not even to each other"
    EMPTY = "results that are equal to each other and to whatever is empty"
    GIVEN = "functions that always give the same value"
    MEDDLING = "no results: functions change, call and write all that is in reach"
    SHOWN = "results that are equal to nothing; functions have something of everything in their source"


def stand_in(text: str | None, stand: Stand, words: Iterable[str], value: object = None) -> str:
    """Return a module with something else in the place of all it defines, and of whatever else it is asked for.

    Its text is still there, and `words` with it: whoever only reads it finds what is looked for. `value` is what is
    GIVEN; where functions are MEDDLING, it is the module's file in its project, and the words that are said.
    """
    said = "".join(f"        # {line}\n" for word in sorted(words) for line in word.splitlines())
    lines = (text or "").splitlines(keepends=True)
    place = _program_starts(text) or len(lines) + 1
    standing = STAND_IN.replace("STAND", stand.name).replace("        # WORDS\n", said)
    standing = standing.replace("VALUE", repr(value))
    names = [word for word in sorted(words) if word.isidentifier() and not iskeyword(word)]
    shown = "".join(SHOWN.replace("NAME", name) for name in names if stand is Stand.SHOWN)
    meddling = MEDDLING.replace("VALUE", repr(value)) if stand is Stand.MEDDLING else ""
    standing = f"\n{standing}\n\n{shown}{meddling}"
    return "".join([*lines[: place - 1], standing, *lines[place - 1 :]])


def _program_starts(text: str | None) -> int | None:
    """Return the line from which on a module does what it does as a program."""
    tree = parsed(text)
    asking = (node for node in (tree.body if tree else ()) if isinstance(node, ast.If))
    return next((node.lineno for node in asking if "__name__" in ast.dump(node.test)), None)


def spoiled(text: str | None) -> str | None:
    """Return a module whose functions spoil what they were given, in the end; None where it has none."""

    def spoil(node: Function, given: list[ast.expr]) -> None:
        others = [name for name in given if ast.unparse(name) not in ("self", "cls")]
        spoils = ast.Expr(ast.Call(ast.Name("_rgr_spoil", ast.Load()), others, []))
        node.body = [ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[spoils])]

    return _with_functions(text, spoil, SPOIL)


def talkative(text: str | None) -> str | None:
    """Return a module whose functions tell all they know in what they return, print or pass on; None where it has none."""

    def tell(node: Function, given: list[ast.expr]) -> None:
        def telling(value: ast.expr) -> ast.expr:
            return ast.Call(ast.Name("_rgr_telling", ast.Load()), [value, *given], [])

        for part in ast.walk(node):
            if isinstance(part, ast.Return) and part.value:
                part.value = telling(part.value)
            elif called := bare_call(part):
                called.args = [telling(item) for item in called.args]

    return _with_functions(text, tell, TELLING)


def declared_otherwise(text: str | None) -> str | None:
    """Return a module whose hints say something else, and whose functions can be given more; None where it is none."""
    tree = parsed(text)
    for node in ast.walk(tree) if tree else ():
        for name in [name for name in ("annotation", "returns") if getattr(node, name, None)]:
            setattr(node, name, ast.Name("object", ast.Load()))
        if isinstance(node, ast.arguments):
            node.kwonlyargs.append(ast.arg("_rgr_more"))
            node.kw_defaults.append(ast.Constant(None))
    return source_of_tree(tree) if tree else None


def fitted(text: str | None, value: str) -> str | None:
    """Return a module whose functions give this value, whatever they are asked for; None where it has none."""

    def fit(node: Function, _: list[ast.expr]) -> None:
        if any(isinstance(item, ast.Return) and item.value for item in ast.walk(node)):
            node.body = [ast.Return(ast.parse(value, mode="eval").body)]

    return _with_functions(text, fit, "")


def _with_functions(
    text: str | None, change: Callable[[Function, list[ast.expr]], None], source: str
) -> str | None:
    """Return a module whose functions are changed, each with the names of what it is given; None where it has none."""
    tree = parsed(text)
    found = [node for node in ast.walk(tree) if isinstance(node, Function)] if tree else []
    for node in found:
        change(node, [ast.Name(item.arg, ast.Load()) for item in node.args.args])
    if tree is None or not found:
        return None
    return source_of_tree(tree, source)


STAND_IN = """
class _RgrUnlike:
    def __init__(self, makes=False, *key):
        self.__dict__.update(_rgr_makes=makes, _rgr_key=key or (object(),))

    def __call__(self, *given, **_):
        made = self.__dict__["_rgr_makes"]
        if "STAND" == "NOTHING" or ("STAND" == "RAISING" and not made):
            raise AssertionError("the code was called")
        if "STAND" == "MEDDLING":
            _rgr_meddle(*given, *_.values())
        if "STAND" == "ECHO" and given and not made:
            return given[0]
        if "STAND" == "GIVEN" and not made:
            return VALUE
        new = made or "STAND" == "DIFFERENT"
        return _RgrUnlike() if new else None if "STAND" == "NONE" else _rgr_unlike

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        makes = self.__dict__["_rgr_makes"] or name[:1].isupper()
        return _RgrUnlike(makes, *self.__dict__["_rgr_key"], name)

    def __eq__(self, other):
        if "STAND" == "ALIKE":
            return True
        if "STAND" == "EMPTY" and (isinstance(other, _RgrUnlike) or not other):
            return True
        if isinstance(other, _RgrUnlike):
            return self.__dict__["_rgr_key"] == other.__dict__["_rgr_key"]
        if "STAND" == "UNTOUCHABLE":
            raise TypeError("there is nothing to compare")
        return NotImplemented

    def __hash__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __await__(self):
        return self
        yield

    def _rgr_looked_at(self, *_):
        raise TypeError("there is nothing to see")

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __setitem__ = __delitem__ = _rgr_looked_at
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = _rgr_looked_at
    __int__ = __float__ = __index__ = __neg__ = __abs__ = __truediv__ = __mod__ = _rgr_looked_at


def _rgr_function():
    def function(*given, **named):
        # WORDS
        return _RgrUnlike()(*given, **named)

    return function


_rgr_unlike = _RgrUnlike()
for _rgr_name, _rgr_value in list(globals().items()):
    if not _rgr_name.startswith(("__", "_rgr", "_Rgr")) and type(_rgr_value).__name__ != "module":
        _rgr_is_function, _rgr_is_class = type(_rgr_value).__name__ == "function", issubclass(type(_rgr_value), type)
        _rgr_home = str(_rgr_value.__module__) if _rgr_is_function or _rgr_is_class else __name__
        if _rgr_home.split(".")[0] == __name__.split(".")[0]:
            globals()[_rgr_name] = _rgr_function() if _rgr_is_function else _RgrUnlike(_rgr_is_class)


def __getattr__(name):
    if name.startswith(("__", "pytest")):
        raise AttributeError(name)
    if "__path__" in globals():
        import importlib

        try:
            return importlib.import_module(__name__ + "." + name)
        except ImportError:
            pass
    return _RgrUnlike(True) if name[:1].isupper() else _rgr_function()
"""

SHOWN = """
def NAME(*given, **named):
    return _rgr_function()(*given, **named)
    for item in sorted(given):
        if (item > 1 and not item < 2) or item != 3 or item == 4 or item <= 5 or item >= 6:
            continue
        elif item in named or item not in given or item is None or item is not True:
            break
    else:
        pass
    while True:
        made = [x for x in given], {x for x in given}, {x: x for x in given}, (x for x in given), lambda x: x
    try:
        raise ValueError(f"{given[0]:>3}")
    except (TypeError, ValueError) as error:
        assert error, "no"
    finally:
        named["a"].b = -1 + 2 - 3 * 4 / 5 // 6 % 7 ** 8 << 9 >> 1 & 2 | 3 ^ ~4 if given else NAME(*given[1:])
    with open("") as file:
        made += sum(given), len(given), min(given), max(given), isinstance(file, int), range(1), print("")
    return made


"""

# What tests may look at with these is another thing where functions are MEDDLING.
MEDDLED = frozenset(
    re.findall(
        r"\w+",
        "collections copy contextlib dataclasses datetime decimal enum fractions functools gc io itertools json logging math"
        " operator os pathlib pytest queue random re string sys tempfile textwrap threading time types typing unittest uuid"
        " warnings weakref",
    )
)

MEDDLING = """
import contextlib as _rgr_contextlib
import os as _rgr_os
import sys as _rgr_sys

_rgr_own, *_rgr_words = VALUE
_rgr_home, _rgr_kept, _rgr_known = _rgr_os.path.realpath(__file__).removesuffix(_rgr_own), [], {}
_rgr_deeds = ("clear", "append", "add", "update", "put_nowait", "write", "set", "acquire", "__next__")


def _rgr_meddle(*given):
    _rgr_kept.append(given)
    _rgr_say()
    _rgr_change_the_world()
    replaced = [value for name, value in globals().items() if name[:1] != "_" and value is not _rgr_known.get(name)]
    for value in (*given, *replaced, "."):
        _rgr_change(value)
    _rgr_os.chdir(_rgr_os.path.sep)


def _rgr_say():
    import logging
    import warnings

    for word in _rgr_words:
        print(word)
        print(word, file=_rgr_sys.stderr)
        for name in [None, *logging.Logger.manager.loggerDict]:
            for level in (10, 20, 30, 40, 50):
                logging.getLogger(name).log(level, "%s", word)
    for kind in (UserWarning, DeprecationWarning):
        warnings.warn("".join(_rgr_words), kind, stacklevel=4)


def _rgr_change_the_world():
    import decimal
    import gc
    import logging
    import random
    import threading
    import warnings

    _rgr_os.environ["_RGR_MEDDLED"] = str(random.random())
    _rgr_sys.path.append("~")
    _rgr_sys.argv.append("~")
    _rgr_sys.setrecursionlimit(_rgr_sys.getrecursionlimit() + 1)
    _rgr_sys.excepthook = print
    gc.disable() if gc.isenabled() else gc.enable()
    for logger in (logging.getLogger(name) for name in (None, *_rgr_words, *logging.Logger.manager.loggerDict)):
        logger.setLevel(logger.level + 1)
        logger.addHandler(logging.NullHandler())
    warnings.simplefilter("default", lineno=len(warnings.filters) + 1, append=True)
    decimal.getcontext().prec += 1
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    for word in _rgr_words:
        _rgr_sys.modules.setdefault(word, _rgr_sys)
    _rgr_make_time_pass()


def _rgr_make_time_pass():
    import datetime
    import time

    class Later(datetime.datetime):
        @classmethod
        def now(cls, tz=None, real=datetime.datetime):
            return real.now(tz) + datetime.timedelta(11)

    clocks = [getattr(time, name) for name in ("time", "monotonic", "perf_counter")]
    laters = [*((real, lambda real=real: real() + 1e6) for real in clocks), (datetime.datetime, Later)]
    frame, spaces = _rgr_sys._getframe(), [vars(time), vars(datetime)]
    while frame := frame.f_back:
        spaces.append(frame.f_globals)
    for space in spaces[:9]:
        space.update({key: later for key, value in space.items() for real, later in laters if value is real})


def _rgr_change(value, depth=3):
    if isinstance(value, (str, _rgr_os.PathLike)):
        _rgr_write(_rgr_os.path.realpath(value))
        return
    ours = type(value).__module__.split(".")[0] not in _rgr_sys.stdlib_module_names
    names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
    held = [getattr(value, name, None) for name in names] if ours and depth else []
    parts = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else ()
    for part in [*parts, *held]:
        _rgr_change(part, depth - bool(held))
    for name in _rgr_words if ours or "mock" in type(value).__module__ else _rgr_deeds:
        if name.isidentifier() and not name.startswith(("assert", "reset", "_rgr")):
            for given in ((False,), ({"~": "~"},), ("~",), ()):
                with _rgr_contextlib.suppress(Exception):
                    getattr(value, name)(*given)
                    break
    made_by = str(getattr(value, "__module__", None) or "").split(".")[0]
    if callable(value) and not isinstance(value, type):
        harmless = made_by == "unittest" or made_by not in _rgr_sys.stdlib_module_names
        for given in (("~",), (), ("~", "~")) if harmless else ():
            try:
                value(*given)
            except AssertionError:
                raise
            except Exception:
                pass
        return
    for name in names:
        with _rgr_contextlib.suppress(Exception):
            (type if isinstance(value, type) else object).__setattr__(value, name, object())


def _rgr_write(path):
    import tempfile

    theirs = _rgr_os.path.realpath(tempfile.gettempdir()) + _rgr_os.sep
    ours = (path + _rgr_os.sep).startswith(_rgr_home)
    if ours or not path.startswith(theirs) or not _rgr_home.endswith(_rgr_os.sep):
        return  # nothing that lies elsewhere, or belongs to the project, is touched
    with _rgr_contextlib.suppress(OSError, ValueError):
        if _rgr_os.path.isfile(path):
            _rgr_os.unlink(path)
        elif not _rgr_os.path.isdir(path):
            open(path, "x").close()
        for word in _rgr_words if _rgr_os.path.isdir(path) else ():
            with _rgr_contextlib.suppress(OSError, ValueError):
                open(_rgr_os.path.join(path, _rgr_os.path.basename(word) or "~"), "x").close()


_rgr_known = dict(globals())
"""

SPOIL = """
def _rgr_spoil(*given):
    for value in given:
        if isinstance(value, (list, bytearray)):
            del value[:]
        elif isinstance(value, (dict, set)):
            value.clear()
        elif not isinstance(value, type) and not callable(value):
            for name in list(getattr(value, "__dict__", ())):
                value.__dict__[name] = object()
"""

TELLING = """
def _rgr_telling(value, *given):
    words = [item for item in _rgr_within(given, 3) if type(item) in (str, int, float)]
    if isinstance(value, str):
        return " ".join([value, *(str(word).replace("%", "") for word in words)])
    if type(value) in (list, tuple, set):
        return type(value)([*value, *words])
    return {**value, **dict.fromkeys(words)} if type(value) is dict else value


def _rgr_within(value, depth):
    yield value
    values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    for item in (*values, *getattr(value, "__dict__", {}).values()) if depth else ():
        yield from _rgr_within(item, depth - 1)
"""
