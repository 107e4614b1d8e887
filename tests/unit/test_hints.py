"""Whoever is told that the surroundings are not ready is told what to type, too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import redgreenrefactor
from redgreenrefactor import errors
from redgreenrefactor.git.executable import advice

SOURCE = Path(redgreenrefactor.__file__).parent
NOT_READY = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.NotReadyError)
}
# A command or a value in quotes, a flag, a setting or variable with its value, or a program to install.
TYPED = re.compile(r"'[^']+'|\"[^\"]+\"|--[a-z]|[A-Za-z_.]+=|[Ii]nstall \w|\b(git|rgr|pip|python) [a-z-]+")
ACTED = re.compile(
    r"\b(Make|Free|Mend|Finish|Wait|Set|Name|Clone|Commit|Give|Use|Leave|Link|Move|Remove|remove|Write|Add|Put|Save|Choose|See)\b"
)


def sites() -> Iterator[Any]:
    """Yield every place in the program where such an error is made."""
    for file in sorted(
        set(SOURCE.rglob("*.py")) - {SOURCE / "testing.py"}
    ):  # the fakes' errors are for programs
        name = str(file.relative_to(SOURCE))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NOT_READY:
                yield pytest.param(node, id=f"{name}:{node.lineno}")


def words(node: ast.expr | None) -> str | None:
    """Return the text of a literal with an ellipsis for what is filled in; None where it comes from elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(words(part) or "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return f"{words(node.left) or '…'}{words(node.right) or '…'}"
    if isinstance(node, ast.IfExp):
        return " ".join(filter(None, (words(node.body), words(node.orelse)))) or None
    return None


SITES = list(sites())


@pytest.mark.parametrize("call", SITES)
def test_every_refusal_says_what_to_type(call: ast.Call) -> None:
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "hint"), None)
    if given is None:
        kind = NOT_READY[call.func.id]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        assert kind.hint, f"neither the error nor its kind has a hint: {ast.unparse(call)[:200]}"
        text: str | None = kind.hint
    else:
        text = words(given)
    if text is not None:
        assert TYPED.search(text) or ACTED.search(text), f"nothing to type: {text!r}"


def test_there_are_many_of_them() -> None:
    assert len(SITES) > 40


@pytest.mark.parametrize(
    "complaint",
    [
        "fatal: No space left on device",
        "Unable to create '/r/.git/index.lock': File exists.",
        "fatal: detected dubious ownership in repository at '/r'",
        "error: Permission denied",
        "error: unable to write: Read-only file system",
        "cannot lock ref 'refs/notes/a': 'refs/notes/a/b' exists; cannot create 'refs/notes/a'",
        "error: Entry 'my file' not uptodate. Cannot merge.",
        "fatal: something nobody has thought of",
    ],
)
def test_advice_on_what_git_complains_about_says_what_to_do(complaint: str) -> None:
    assert TYPED.search(advice(complaint)) or ACTED.search(advice(complaint))
