"""What coder and reviewer are told about the rounds so far: feedback, the coder's account, results, the diff."""

import difflib
from collections.abc import Iterator, Sequence

from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.facts import NO_COUNTS, Counts
from redgreenrefactor.model.values import frozen
from redgreenrefactor.prompts.quote import bounded, in_line, quoted

DIFF_LIMIT = 60_000  # characters of the whole diff
FILE_LIMIT = 200_000  # characters of a file beyond which it is named, not shown
WORDS_LIMIT = 20_000  # characters of an account or of one round's feedback


@frozen
class Round:
    """Where coder and reviewer stand."""

    feedback: tuple[str, ...] = ()  # of every round so far, the oldest first
    account: str = ""  # the coder's last message
    tests: Counts = NO_COUNTS  # as the note of CODE counts them
    warnings: tuple[str, ...] = ()  # what the orchestrator noticed and did not reject
    changes: tuple[Change, ...] = ()
    opening: str = ""

    def values(self) -> dict[str, str]:
        """Return what the templates' placeholders stand for."""
        return {
            "feedback": _feedback(self.feedback),
            "earlier": _earlier(self.feedback),
            "account": quoted(self.account, WORDS_LIMIT) if self.account else "It left none.",
            "results": _results(self.tests, self.warnings),
            "diff": _diff(self.changes, self.opening),
        }


def _feedback(rounds: Sequence[str]) -> str:
    """Return what a revision has to heed; nothing for a first run."""
    if not rounds:
        return ""
    why = (
        "The code you find is what you and the sessions before you wrote for this specification. A reviewer has"
        " looked at it and asks for changes; the last round counts most. Make them, keep what was right, and say in"
        " your account what you did about each point."
    )
    return "\n\n".join(["## This is a revision", why, *_told(rounds)])


def _earlier(rounds: Sequence[str]) -> str:
    """Return what the coder was asked for before, and answers to; nothing in a first round."""
    return "\n\n".join(["What reviewers have asked for so far:", *_told(rounds)]) if rounds else ""


def _told(rounds: Sequence[str]) -> list[str]:
    return [f"Round {number}:\n\n{quoted(text, WORDS_LIMIT)}" for number, text in enumerate(rounds, 1)]


def _results(tests: Counts, warnings: Sequence[str]) -> str:
    lines = [f"- {_counts(tests)}", *(f"- noticed: {in_line(warning, 500)}" for warning in warnings)]
    return "\n".join(lines)


def _counts(tests: Counts) -> str:
    if tests.exit_code is not None:
        return f"the suite ended with exit code {tests.exit_code}"
    if tests.total is None:
        return "no counts were kept; the suite was accepted as green"
    counts = f"{tests.passed or 0} passed, {tests.failed or 0} failed, {tests.skipped or 0} skipped"
    return f"{tests.total} tests: {counts}, in {tests.seconds or 0} s"


def _diff(changes: Sequence[Change], opening: str) -> str:
    """Return what was changed since the task began, as far as it fits."""
    text = "\n".join(line for change in changes for line in _file_diff(change))
    if not text:
        return ""
    more = (
        f"\n\nThis is a part of {len(text)} characters; `git diff {opening[:12]} HEAD` shows all of it."
        if len(text) > DIFF_LIMIT
        else ""
    )
    return quoted(bounded(text, DIFF_LIMIT), None) + more


def _file_diff(change: Change) -> Iterator[str]:
    sides = [side.text if side else "" for side in (change.before, change.after)]
    old, new = sides
    if old is None or new is None or max(len(old), len(new)) > FILE_LIMIT:
        what = "new" if change.before is None else "deleted" if change.after is None else "changed"
        yield f"{what}: {change.path} (not shown: binary or large)"
        return
    was = f"a/{change.path}" if change.before else "/dev/null"
    now = f"b/{change.path}" if change.after else "/dev/null"
    yield from difflib.unified_diff(old.splitlines(), new.splitlines(), was, now, lineterm="")
