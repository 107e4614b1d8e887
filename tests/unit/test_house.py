"""The house rules that a reader feels first: no name for two things, no room that does not fit into a head."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import redgreenrefactor

SOURCE = Path(redgreenrefactor.__file__).parent
FOREIGN = ("probes", "katas")  # loaded into other programs, or shown to sessions
MODULES = [file for file in SOURCE.rglob("*.py") if not set(FOREIGN) & set(file.relative_to(SOURCE).parts)]
LONGEST_MODULE, LONGEST_FUNCTION = 400, 40
# One phase is one thing, whoever speaks of it; so is what a command of the same name does.
SHARED = {"plan", "red", "green", "refactor", "code", "review", "task", "__init__", "__main__"}
COMMANDS = {file.stem for file in MODULES if file.parent.name == "cli"}


@cache
def _trees() -> list[tuple[Path, ast.Module]]:
    return [(file, ast.parse(file.read_bytes())) for file in MODULES]


def test_no_public_class_name_means_two_things() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for file, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(str(file.relative_to(SOURCE)))
    assert {name: sorted(found) for name, found in homes.items() if len(found) > 1} == {}


def test_no_module_name_means_two_things() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for file in MODULES:
        homes[file.stem].add(str(file.relative_to(SOURCE)))
        if file.name == "__init__.py":
            homes[file.parent.name].add(str(file.relative_to(SOURCE)))
    twice = {name: sorted(found) for name, found in homes.items() if len(found) > 1}
    for name in COMMANDS & twice.keys():
        twice[name] = [home for home in twice[name] if not home.startswith("cli/")]
    assert {name: found for name, found in twice.items() if name not in SHARED and len(found) > 1} == {}


def test_every_module_fits_into_a_head() -> None:
    lengths = {str(file.relative_to(SOURCE)): len(file.read_bytes().splitlines()) for file in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_every_function_fits_a_screen() -> None:
    longer = {
        f"{file.relative_to(SOURCE)}:{node.name}": node.end_lineno - node.lineno + 1
        for file, tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno
        and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    }
    assert longer == {}
