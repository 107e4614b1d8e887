"""What a task leaves in its folder: a log of every try at Green, and a summary."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import is_test_file
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.task import Task
from redgreenrefactor.model.task_result import TaskFileResult, TaskFileStatus
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.task_brief import Tried
from redgreenrefactor.records.task_folder import Iteration, TaskFolder, failure_text
from redgreenrefactor.views.task_text import summary


@frozen
class Diary:
    """The folder of one task, kept from the notes."""

    project: OpenProject
    task: Task
    folder: TaskFolder

    def log(self) -> None:
        """Write the log of every try at Green; all of them, for one may have been cut off before its log."""
        for iteration in self._iterations():
            self.folder.log(self.task, iteration)

    def _iterations(self) -> Iterator[Iteration]:
        ledger = self.project.ledger
        history = list(ledger.history())
        run_id = history[0].handoff.run_id
        tried = {e.handoff.attempts: e for e in ledger.attempts(run_id) if e.handoff.phase is PhaseName.GREEN}
        green = next(
            (e for e in history if e.handoff.phase is PhaseName.GREEN and e.handoff.cycle_number), None
        )
        red = next((e for e in history if e.handoff.phase is PhaseName.RED and e.handoff.cycle_number), None)
        if red is None:
            return
        tries = {**tried, green.handoff.attempts: green} if green else tried
        count = max([*tries, red.handoff.attempts_due if not green else 0], default=0)
        ground = red.commit
        for number in range(1, count + 1):
            entry = tries.get(number)
            before = tries.get(number - 1)
            changed = self._changed(ground, entry.commit) if entry else ()
            ref = f"refs/tdd/attempts/{run_id}/1-GREEN-{number}" if entry and entry is not green else None
            earlier = (entry.handoff.earlier_attempts or 0) if entry else 0
            most = max(number, self.task.max_iterations + earlier)
            yield Iteration(number, most, entry, before.handoff if before else None, changed, ref)
            ground = entry.commit if entry else ground

    def tried(self, handoff: Handoff) -> Tried | None:
        """Return the try at Green that was rejected last, if it made a commit."""
        tries = [
            entry
            for entry in self.project.ledger.attempts(handoff.run_id)
            if entry.handoff.phase is handoff.next_phase and entry.handoff.attempts == handoff.attempts
        ]
        if not tries:
            return None
        ref = f"refs/tdd/attempts/{handoff.run_id}/1-{handoff.next_phase}-{handoff.attempts}"
        output = tries[-1].handoff.facts.output or ""
        return Tried(ref, self._changed(self.project.workspace.head(), tries[-1].commit), output)

    def _changed(self, base: str, head: str) -> tuple[str, ...]:
        return tuple(described(change) for change in self.project.workspace.changes(base, head))

    def record(self, result: TaskFileResult) -> None:
        """Write down what came of the task, and why Green was given up if it was."""
        history = list(self.project.ledger.history())
        latest = history[0]
        failed = result.status is TaskFileStatus.FAILED and result.phase is PhaseName.GREEN
        self.folder.clear(self.task, result.iterations, failed=failed)
        if failed:
            kept = [item.ref for item in self._iterations() if item.ref]
            self.folder.fail(failure_text(result, latest.handoff, kept))
        changes = self.project.workspace.changes(history[-1].commit, latest.commit)
        subjects = self._subjects(history)
        files = [described(change, subjects.get(change.path, ())) for change in changes]
        self.folder.summarise(result, summary(result, files, added_content(changes)))

    def _subjects(self, history: Sequence[Entry]) -> dict[str, list[str]]:
        """Return what the commits of the task are called, by the files they changed, oldest first."""
        found: dict[str, list[str]] = {}
        commits = [entry.commit for entry in reversed(history)]
        for base, head in pairwise(commits):
            commit = self.project.repository.objects.commit(head)
            for change in self.project.workspace.changes(base, head):
                found.setdefault(change.path, []).append(commit.subject if commit else head)
        return found


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
    before, after = ((text or "").splitlines() for text in (change.old_text, change.new_text))
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
    defined = _python if change.path.endswith(".py") else _text
    old, new = defined(change.old_text), defined(change.new_text)
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
