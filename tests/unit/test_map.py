"""The walk in AGENTS.md is one that can be walked: every function is there, and calls what is said."""

import ast
import re
from pathlib import Path

import pytest

import redgreenrefactor

SOURCE = Path(redgreenrefactor.__file__).parent
ROW = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| `(?P<function>[\w.]+)` \| `(?P<calls>\w+)` \|", re.MULTILINE)
ROWS = [
    match.groups()
    for match in ROW.finditer((Path(__file__).parents[2] / "AGENTS.md").read_text(encoding="utf-8"))
]
Scope = ast.Module | ast.ClassDef | ast.FunctionDef


def _named(scope: Scope, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    found = (
        node for node in scope.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
    )
    return next(found, None)


def _function(file: str, dotted: str) -> Scope:
    scope: Scope = ast.parse((SOURCE / file).read_text(encoding="utf-8"))
    for name in dotted.split("."):
        inner = _named(scope, name)
        assert inner is not None, f"{file} has no {dotted}"
        scope = inner
    return scope


def _calls(scope: Scope) -> set[str]:
    called = [node.func for node in ast.walk(scope) if isinstance(node, ast.Call)]
    return {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in called}


@pytest.mark.parametrize(("file", "function", "calls"), ROWS)
def test_a_row_of_the_walk_is_true(file: str, function: str, calls: str) -> None:
    assert calls in _calls(_function(file, function))


def test_the_walk_leads_from_the_command_line_to_the_note() -> None:
    assert (ROWS[0][0], ROWS[-1][0]) == ("cli/run.py", "prompts/rejection.py")
    assert {"gates/red.py", "git/ledger.py"} <= {file for file, _, _ in ROWS}
