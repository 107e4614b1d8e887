"""What a task has put into the project, for its summary: files with what was done to them, functions and classes."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import is_test_file
from redgreenrefactor.model.evidence import Change

LISTED = 50  # functions and classes that a summary names
_DEFINED = re.compile(  # in languages that we do not parse
    r"^[ \t]*(?:export |default |public |private |protected |static |async |abstract |final |pub(?:\(\w+\))? )*"
    r"(?P<kind>class|interface|trait|struct|enum|object|function\*?|func(?: \([^)]*\))?|fn|def)"
    r"[ \t]+(?P<name>[A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_TYPES = ("class", "interface", "trait", "struct", "enum", "object")


def described(change: Change, subjects: Sequence[str] = ()) -> str:
    """Return what happened to a file, in a line, with what those who changed it called their work."""
    called = f" ({'; '.join(subjects)})" if subjects else ""
    if change.before is None:
        return f"`{change.path}`: added{called}"
    if change.after is None:
        return f"`{change.path}`: deleted{called}"
    before, after = ((side.text or "").splitlines() for side in (change.before, change.after))
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    more = sum(code[4] - code[3] for code in codes if code[0] != "equal")
    less = sum(code[2] - code[1] for code in codes if code[0] != "equal")
    return f"`{change.path}`: edited, {more} lines in, {less} out{called}"


def added_content(changes: Sequence[Change]) -> list[str]:
    """Return the public functions and classes that are new in the code, each with what it says about itself."""
    found = [
        f"**{title}**: {purpose or 'says nothing about itself'} (`{change.path}`)"
        for change in changes
        if change.after and not is_test_file(change.path)
        for title, purpose in _new(change)
    ]
    more = [f"and {len(found) - LISTED} more"] if len(found) > LISTED else []
    return [*found[:LISTED], *more]


def _new(change: Change) -> Iterator[tuple[str, str]]:
    before, after = (side.text if side else None for side in (change.before, change.after))
    defined = _python if change.path.endswith(".py") else _text
    old, new = defined(before), defined(after)
    yield from (new[name] for name in new if name not in old)


def _python(text: str | None) -> Mapping[str, tuple[str, str]]:
    tree = python.parsed(text)
    return dict(_of(tree, "")) if tree else {}


def _of(body: ast.Module | ast.ClassDef, above: str) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in body.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        name = f"{above}{node.name}"
        purpose = (ast.get_docstring(node) or "").partition("\n")[0].strip()
        if isinstance(node, ast.ClassDef):
            yield name, (name, purpose)
            yield from _of(node, f"{name}.")
        else:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            yield name, (f"{name}({ast.unparse(node.args)}){returns}", purpose)


def _text(text: str | None) -> Mapping[str, tuple[str, str]]:
    found = ((match["kind"], match["name"]) for match in _DEFINED.finditer(text or ""))
    return {name: (name if kind in _TYPES else f"{name}()", "") for kind, name in found}
