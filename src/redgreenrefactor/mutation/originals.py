"""Test code that calls functions of others as they were before the code was loaded."""

import ast
from collections.abc import Sequence
from typing import cast

from redgreenrefactor.languages import python
from redgreenrefactor.mutation.mutants import must_come_first, source_of_tree


def with_originals(text: str | None, names: Sequence[tuple[str, str]]) -> str | None:
    """Return a file of tests for which these functions, owner and name, stay what they are; None where it does not parse.

    Whatever is put in their place serves everybody but the callers in this file and others that were made so.
    """
    tree = python.parsed(text)
    if tree is None:
        return None
    for node in list(ast.walk(tree)):
        for part in ("body", "orelse", "finalbody"):
            if isinstance(found := getattr(node, part, None), list):
                statements = cast("list[ast.stmt]", found)
                setattr(node, part, [item for each in statements for item in _watched(each)])
    return source_of_tree(tree, KEEP.replace("NAMES", repr(list(names))))


def _watched(statement: ast.stmt) -> list[ast.stmt]:
    """Return a statement, and before it a look at what is there by now."""
    return [statement] if must_come_first(statement) else [*ast.parse("_rgr_keep()").body, statement]


KEEP = """
def _rgr_kept(owner, name):
    import importlib
    import sys

    kept = vars(sys).setdefault("_rgr_kept", {})
    place, parts = owner, []
    while place not in sys.modules:
        try:
            importlib.import_module(place)
        except ImportError:
            place, _, part = place.rpartition(".")
            parts.insert(0, part)
    holder = sys.modules[place]
    for part in parts:
        holder = vars(holder)[part]
    meant_to_be = f"__{name}__" in vars(holder)  # as sys.excepthook is: what was there first is kept beside it
    if not meant_to_be and callable(vars(holder).get(name)) and not isinstance(vars(holder)[name], type):
        kept.setdefault((owner, name), (holder, vars(holder)[name]))
    return kept


for _rgr_name in NAMES:
    _rgr_all = _rgr_kept(*_rgr_name)


def _rgr_keep():
    for (_, name), (holder, original) in _rgr_all.items():
        _rgr_put(holder, name, original, vars(holder).get(name))


def _rgr_put(holder, name, original, now):
    space = getattr(now, "__globals__", {"_rgr_keep": 0} if type(now).__module__ == "unittest.mock" else {})
    if now is not original and callable(now) and "_rgr_keep" not in space:
        now = _rgr_both(original, now)
        setattr(holder, name, now)
    return now


def _rgr_both(original, other):
    import sys

    code = getattr(other, "__code__", None)

    def both(*given, **named):
        frame = sys._getframe(1)
        by_test = "_rgr_keep" in frame.f_globals
        while by_test and frame is not None:  # what a test gives to the code is called by the code
            by_test = code is None or frame.f_code.co_filename != code.co_filename
            frame = frame.f_back
        return (original if by_test else other)(*given, **named)

    return both


def _rgr_watch():
    import types

    class module(types.ModuleType):
        def __setattr__(self, name, value):
            for (_, known), (holder, original) in _rgr_all.items():
                if holder is self and known == name and not _rgr_by_test():
                    value = _rgr_put(types.SimpleNamespace(), name, original, value)
            super().__setattr__(name, value)

    for holder, _ in _rgr_all.values():
        if type(holder) is types.ModuleType:
            holder.__class__ = module


def _rgr_by_test():
    import os, sys

    frame, library = sys._getframe(2), os.path.dirname(os.__file__)
    while frame is not None and frame.f_code.co_filename.startswith((library, "<frozen")):
        frame = frame.f_back
    return frame is not None and "_rgr_keep" in frame.f_globals


_rgr_watch()
"""
