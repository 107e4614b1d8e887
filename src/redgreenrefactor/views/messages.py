"""What single commands tell a person: health, going back, mending, carrying over, the end of a task."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from redgreenrefactor.model.decision import cycle_of
from redgreenrefactor.model.goal import cited
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import TaskResult
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.lines import Ink, block, count

HealthRow = tuple[str, str, str, str]  # level, check, message, what to type


def health_text(rows: Sequence[HealthRow], *, width: int, quiet: bool = False, ink: Ink | None = None) -> str:
    """Return what was found, what is wrong with what to type under it, and how it stands altogether."""
    pen = ink or Ink()
    marks = {"ok": pen.ok, "warning": "!", "error": pen.bad}
    lines: list[str] = []
    for level, _, message, hint in rows:
        if quiet and level == "ok":
            continue
        lines += block(message, width, pen, indent=2, lead=f"{marks[level]} ")
        if hint:
            lines += block(hint, width, pen, indent=4, lead=f"{pen.arrow} ")
    errors, warnings = (sum(row[0] == level for row in rows) for level in ("error", "warning"))
    told = "something that is needed is missing" if errors else "a run can start"
    return "\n".join([*lines, f"{told}: {count(errors, 'error')}, {count(warnings, 'warning')}"])


def rollback_text(entry: Entry, kept: str | None) -> str:
    """Return where the run stands now, where the rest is, and what to type next."""
    handoff = entry.handoff
    lines = [f"back at {entry.commit[:10]}: {cited(handoff.feature)}"]
    if kept:
        lines.append(f"what came after it is kept at {kept}")
    if handoff.next_phase is PhaseName.COMPLETE:
        lines.append("the run is complete; nothing is due")
    else:
        lines.append(f"{handoff.next_phase} of cycle {cycle_of(handoff)} is due: type 'rgr resume' to go on")
    return "\n".join(lines)


def repair_lines(body: dict[str, Any]) -> Iterator[str]:
    """Yield a line for everything that was done to the notes, and one for what came of it."""
    for action in body["actions"]:
        where = f" {action['commit'][:10]}" if action["commit"] else ""
        kept = f" (kept at {action['kept']})" if action["kept"] else ""
        yield f"{action['action']}{where}: {action['message']}{kept}"
    found = count(body["notes"], "note")
    if body["dryRun"]:
        yield f"nothing was changed; {found} would be readable afterwards"
    else:
        yield f"{found}, all readable"


def carried_text(what: str, remote: str, branch: str | None, notes: str, refs: int, *, moved: bool) -> str:
    """Return in one line what was carried to a remote or from it."""
    line = f"{branch or 'no branch, HEAD is detached'}{'' if moved or not branch else ' (as it was)'}"
    kept = f", {count(refs, 'ref')} of attempts and what is kept" if refs else ""
    return f"{what} {remote}: {line}; notes {notes}{kept}"


def worktree_lines(branch: str, folder: str, *, complete: bool) -> Iterator[str]:
    """Yield where a branch was worked at, and what to type to have its commits once it is done."""
    yield f"\nThe work is on branch {branch}, in {folder}."
    if complete:
        merge, remove = f"git merge {branch}", f"git worktree remove {shlex.quote(folder)}"
        wide = max(len(merge), len(remove))
        yield f"  → {merge:<{wide}}  brings it into your branch"
        yield f"  → {remove:<{wide}}  takes the folder away"


def result_lines(result: TaskResult) -> Iterator[str]:
    """Yield what a person reads at the end."""
    rounds = count(result.iterations, "round")
    if result.success and not result.approved:
        yield f"the reviewer opened the pull request itself after {rounds}: {result.pr_url}"
    elif result.success:
        yield f"approved after {rounds}: {result.pr_url or f'branch {result.branch}'}"
    else:
        yield f"task {result.task_id}: {result.error}"
    yield from result.notices
    if result.hint:
        yield result.hint
