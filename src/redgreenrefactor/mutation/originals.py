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
    if callable(vars(holder).get(name)) and not isinstance(vars(holder)[name], type):
        kept.setdefault((owner, name), (holder, vars(holder)[name]))
    return kept


for _rgr_name in NAMES:
    _rgr_all = _rgr_kept(*_rgr_name)


def _rgr_keep():
    for (_, name), (holder, original) in _rgr_all.items():
        now = vars(holder).get(name)
        space = getattr(now, "__globals__", None)
        if now is not original and space is not None and "_rgr_keep" not in space:
            setattr(holder, name, _rgr_both(original, now))


def _rgr_both(original, other):
    import sys

    def both(*given, **named):
        by_test = "_rgr_keep" in sys._getframe(1).f_globals
        return (original if by_test else other)(*given, **named)

    return both
"""
