"""What may be changed at all: history, the list, settings, links; files that belong into no commit."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import scope, tampering, worth_a_look
from redgreenrefactor.languages import python
from redgreenrefactor.languages.diff import added_lines, lines_of
from redgreenrefactor.languages.manifests import adds_for_tests
from redgreenrefactor.languages.paths import inside, is_test, reconfigures
from redgreenrefactor.model.evidence import Change, Evidence
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.verdict import Finding, FindingType, Severity
from redgreenrefactor.model.workflow import PhaseName

SUBMODULE, LINK = "160000", "120000"
HIDDEN = "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
LARGE = 1_000_000
LOCKS = re.compile(
    r"^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum)$"
)
MANIFESTS = re.compile(
    r"^(requirements.*\.txt|Pipfile|poetry\.lock|uv\.lock|package(-lock)?\.json|Cargo\.toml|go\.mod)$"
)
SWITCHES = re.compile(r"#\s*(type:\s*ignore|pragma:\s*no\s*cover|noqa|pylint:\s*disable)")
BINARIES = (".so", ".pyd", ".dll", ".dylib", ".class", ".jar", ".pth")


def history(evidence: Evidence) -> Iterator[Finding]:
    """Yield what was done to history and refs."""
    for what in evidence.rewritten:
        yield Finding(
            FindingType.HISTORY_REWRITTEN,
            f"history was rewritten: {what}; it has been put back",
            hint="Add commits on top only. Leave other branches, tags, notes and earlier commits alone.",
        )
    for what in evidence.pushed:
        yield Finding(
            FindingType.HISTORY_REWRITTEN,
            f"work that was not accepted yet has left the repository: {what}",
            hint="Push nothing, and leave the remote as it is now: what is accepted is published by others.",
        )


def off_limits(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to what no phase, or only PLAN, may touch."""
    for change in evidence.changes:
        local = inside(evidence, change.path)
        if local == "tdd.properties":
            yield scope(
                change, "nobody changes tdd.properties during a run", "Leave the configuration as it is."
            )
        elif local == LIST and evidence.phase is not PhaseName.CODE:  # where it is nobody's
            yield scope(
                change, f"only PLAN changes {LIST}", f"Leave {LIST} as it is: the next PLAN ticks the box."
            )
        elif SUBMODULE in _modes(change):
            yield scope(
                change, "the submodule's pointer was moved", "Leave submodules at the commits they have."
            )
        elif change.after and change.after.mode == LINK and _leaves(change.path, change.new_text or ""):
            yield scope(
                change, "the link leads out of the repository", "Link only to files of this repository."
            )
        elif veil := _veiled(change):
            yield tampering(
                change.path, 1, f"it is not run as it reads: its encoding is {veil}", "Write it in UTF-8."
            )


def _veiled(change: Change) -> str | None:
    """Return the encoding that a source has been given to hide what it does."""
    before, after = python.veil(change.old_text), python.veil(change.new_text)
    return after if change.path.endswith(".py") and after != before else None


def tests_touched(evidence: Evidence) -> Iterator[Finding]:
    """Yield changes to tests by a phase that has none to write."""
    for change in evidence.changes:
        if is_test(evidence, change.path) and not reconfigures(change, evidence.command):
            done = "added" if change.before is None else "deleted" if change.after is None else "edited"
            hooks = python.hooks(change.after.text) if change.after and change.path.endswith(".py") else {}
            yield Finding(
                FindingType.TEST_TAMPERING if change.before or hooks else FindingType.SCOPE_VIOLATION,
                f"{change.path} was {done} in {evidence.phase}: tests stay as RED wrote them",
                change.path,
                _first_difference(change),
                hint="Make the test pass by changing the implementation only; leave tests and their data alone.",
            )


def _modes(change: Change) -> set[str]:
    return {side.mode for side in (change.before, change.after) if side is not None}


def _leaves(path: str, target: str) -> bool:
    """Tell whether a link at this path points out of the repository."""
    if target.startswith("/"):
        return True
    depth = path.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        if depth < 0:
            return True
    return False


def _first_difference(change: Change) -> int | None:
    before, after = ((text or "").splitlines() for text in (change.old_text, change.new_text))
    for number, (old, new) in enumerate(zip(before, after, strict=False), 1):
        if old != new:
            return number
    return min(len(before), len(after)) + 1 if before and after else None


def misplaced(evidence: Evidence) -> Iterator[Finding]:
    """Yield files that belong into no commit, and names that only look different."""
    folded: dict[str, str] = {}
    for change in evidence.changes:
        if change.after and change.path.endswith(".py") and python.is_too_deep(change.after.text):
            yield scope(change, "it is nested beyond reason", "Write it so that a person can read it.")
        if change.after is None or change.before is not None:
            continue
        if change.path.endswith(BINARIES) or re.search(r"(?i)\.(egg|dist)-info/", change.path):
            yield scope(change, "compiled files are not committed", "Commit sources; take the file away.")
        twin = folded.setdefault(change.path.casefold(), change.path)
        if twin != change.path or _collides(evidence, change.path):
            yield scope(
                change, "its name differs from another file's only in letter case", "Choose another name."
            )
        if any(ord(letter) < 32 or letter in HIDDEN for letter in change.path):  # noqa: PLR2004
            yield scope(change, "its name holds characters that cannot be seen", "Choose a plain name.")


def _collides(evidence: Evidence, path: str) -> bool:
    """Tell whether a file of another letter case stood there before and still does."""
    name = PurePosixPath(path).name
    for variant in {name.lower(), name.upper(), name.capitalize(), name.swapcase()} - {name}:
        twin = str(PurePosixPath(path).with_name(variant))
        if evidence.read(evidence.head, twin) is not None:
            return True
    return False


def doubts(evidence: Evidence) -> Iterator[Finding]:
    """Yield what a person may want to look at; none of it rejects."""
    for change in evidence.changes:
        name = PurePosixPath(change.path).name
        if MANIFESTS.match(name) or (name == "pyproject.toml" and change.before):
            yield worth_a_look(change, None, "dependencies or project settings were changed")
        if name == ".gitignore":
            yield worth_a_look(change, None, "what git ignores was changed")
        if len(change.new_text or "") > LARGE:
            yield worth_a_look(change, None, "a large file was committed")
    for change, text in python_code(evidence):
        yield from _sloppy(change, text)


def tools_brought(evidence: Evidence) -> Iterator[Finding]:
    """Yield that RED brings something for the tests to work with, for a person to look at."""
    for change in evidence.changes:
        if brings_tools(change):
            yield worth_a_look(change, None, "what the tests depend on was changed")


def brings_tools(change: Change) -> bool:
    """Tell whether a change does nothing but bring dependencies for tests, or is the record of their versions."""
    name = PurePosixPath(change.path).name
    if LOCKS.match(name):
        return True
    return (
        change.before is not None
        and change.after is not None
        and adds_for_tests(name, change.old_text or "", change.new_text or "")
    )


def _sloppy(change: Change, text: str) -> Iterator[Finding]:
    added = added_lines(change)
    lines = lines_of(text)
    for number in sorted(added):
        if number <= len(lines) and (found := SWITCHES.search(lines[number - 1])):
            yield worth_a_look(change, number, f"{found[1]!r} switches a check off")
    tree = python.parsed(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ExceptHandler) and node.lineno in added and _swallows(node):
            yield worth_a_look(change, node.lineno, "every error is swallowed here")


def _swallows(node: ast.ExceptHandler) -> bool:
    broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
    return broad and all(isinstance(item, ast.Pass | ast.Return | ast.Continue) for item in node.body)


def python_code(evidence: Evidence) -> Iterator[tuple[Change, str]]:
    """Yield the Python files outside the tests that were added or edited."""
    for change in evidence.changes:
        if (
            (text := change.new_text) is not None
            and change.path.endswith(".py")
            and not is_test(evidence, change.path)
        ):
            yield change, text


def lost_names(evidence: Evidence) -> Iterator[Finding]:
    """Yield a warning for names that the feature or the case quotes as code, were defined before, and are no longer."""
    case = evidence.case.description if evidence.case else ""
    quotes = re.findall(r"`([^`]+)`", f"{evidence.handoff.feature}\n{case}")
    asked = {word for quote in quotes for word in re.findall(r"[A-Za-z_]\w+", quote)}
    code = [change for change in evidence.changes if not is_test(evidence, change.path)]
    before, after = (
        {name for text in texts for name in python.defined_names(text)}
        for texts in ([change.old_text for change in code], [change.new_text for change in code])
    )
    for name in sorted(asked & before - after):
        yield Finding(
            FindingType.SCOPE_VIOLATION,
            f"`{name}`, which the feature's text names, is no longer there: whoever reads it will look for it",
            severity=Severity.WARNING,
        )
