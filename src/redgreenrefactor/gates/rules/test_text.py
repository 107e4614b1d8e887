"""What happened to tests that nothing reports on: read off the text alone, and doubted where a text cannot tell."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from redgreenrefactor.gates.rules.findings import tampering
from redgreenrefactor.languages.dialects import dialect_of
from redgreenrefactor.languages.diff import added_lines
from redgreenrefactor.languages.paths import DATA, TEST_FOLDERS, is_test, is_test_file
from redgreenrefactor.languages.sources import NOTHING, Block, Tally, tally
from redgreenrefactor.model.evidence import Change, Evidence
from redgreenrefactor.model.verdict import Finding, Severity
from redgreenrefactor.model.workflow import PhaseName

BY_NAME = (".go", ".java", ".kt", ".scala", ".groovy")  # a runner finds these by the file's name alone
KEPT = 0.5  # of a deleted script's lines that are found elsewhere: it was moved or merged


def text_rules(evidence: Evidence) -> Iterator[Finding]:
    """Yield what the text shows of tests that were taken away, silenced or weakened; whoever owns them is warned."""
    if evidence.phase in (PhaseName.RED, PhaseName.GREEN):
        yield from _focused(evidence)
        yield from _touched(evidence)
        return
    found = [*_focused(evidence), *_weakened(evidence), *_scripts_gone(evidence)]
    binding = evidence.phase is PhaseName.REFACTOR
    yield from (item if binding else replace(item, severity=Severity.WARNING) for item in found)


def _touched(evidence: Evidence) -> Iterator[Finding]:
    for change in evidence.changes:
        read_already = evidence.phase is PhaseName.RED and change.path.endswith(".py")
        if not read_already and change.before is not None:
            yield from _kept(change)


def new_tests(evidence: Evidence) -> list[tuple[Change, Block]]:
    """Return the tests that a turn has added, as far as the text shows them."""
    found: list[tuple[Change, Block]] = []
    for change in evidence.changes:
        before, after = _sides(change)
        known = [block.name for block in before.blocks]
        for block in after.blocks:
            if block.name in known:
                known.remove(block.name)
            else:
                found.append((change, block))
    return found


def _sides(change: Change) -> tuple[Tally, Tally]:
    return tally(change.path, change.old_text), tally(change.path, change.new_text)


def _kept(change: Change) -> Iterator[Finding]:
    """Yield existing tests that were edited or taken away by a phase that only adds, or touches none."""
    before, after = _sides(change)
    if before.blocks and change.after is None:
        yield tampering(change.path, None, "the file was deleted", "Bring it back.")
        return
    for block in before.blocks:
        twins = [twin for twin in after.blocks if twin.name == block.name]
        if not twins:
            yield tampering(change.path, block.line, f"{block.name!r} was taken away", "Bring it back.")
        elif not any(twin.only_grew(block) for twin in twins):
            yield tampering(
                change.path, twins[0].line, f"{block.name!r} was edited", "Leave existing tests as they are."
            )


def _focused(evidence: Evidence) -> Iterator[Finding]:
    """Yield what lets other tests not run: one that runs alone, a main function that runs none."""
    for change in evidence.changes:
        before, after = _sides(change)
        if after.focused > before.focused:
            yield tampering(change.path, None, "only some tests are run (only, fit)", "Let every test run.")
        texts = [change.old_text or "", change.new_text or ""]
        idle = ["func TestMain(" in text and ".Run()" not in text for text in texts]
        if change.path.endswith("_test.go") and idle[1] and not idle[0]:
            yield tampering(change.path, None, "TestMain runs no tests", "Let it call m.Run().")


# --- REFACTOR


def _weakened(evidence: Evidence) -> Iterator[Finding]:
    """Yield that fewer tests or assertions are there than before, or more that are skipped."""
    held = [change for change in evidence.changes if any(side.blocks for side in _sides(change))]
    named = all(is_test_file(change.path) for change in held if _sides(change)[0].blocks)
    sides = [_running(evidence, change, named=named) for change in held]
    before, after = (_total([pair[side] for pair in sides]) for side in (0, 1))
    if after.silenced > before.silenced:
        change = next(c for c, (old, new) in zip(held, sides, strict=True) if new.silenced > old.silenced)
        yield tampering(change.path, None, "a test is skipped that was not", "Let every test run.")
        return
    for change, (old, new) in zip(held, sides, strict=True):
        if silent := _silent(old, new):
            yield tampering(
                change.path, silent.line, f"{silent.name!r} asserts nothing any more", "Bring it back."
            )
            return
    fewer, weaker = len(before.blocks) - len(after.blocks), before.asserts - after.asserts
    lost = sorted(before.values - after.words)
    if fewer <= 0 and weaker <= 0:
        if lost:
            what = f"the tests compare with other values; gone: {', '.join(lost[:5])}"
            yield tampering(held[0].path, None, what, severity=Severity.WARNING)
        return
    change = max(zip(held, sides, strict=True), key=lambda item: _drop(*item[1]))[0]
    yield _fewer(
        change,
        before,
        after,
        certain=_only_taken(evidence, held, before, after) or _is_certain(before, after),
    )


def _only_taken(evidence: Evidence, held: Sequence[Change], before: Tally, after: Tally) -> bool:
    """Tell whether a test is gone with its body, and nothing was written that could stand in its place."""
    tests = [change for change in evidence.changes if change in held or is_test(evidence, change.path)]
    if any(added_lines(change) for change in tests):
        return False
    names = {block.name for block in after.blocks}
    lines = {line.strip() for c in tests for line in (c.new_text or "").splitlines()}
    gone = (block for block in before.blocks if block.name not in names)
    written = (line.strip() for b in gone for line in b.code[b.body - b.start :].splitlines())
    return any(re.search(r"\w", line) and line not in lines for line in written)


def _silent(before: Tally, after: Tally) -> Block | None:
    """Return a test that asserted something and does not any more."""
    twins = {block.name: block for block in after.blocks}
    for block in before.blocks:
        twin = twins.get(block.name)
        if twin is not None and twin.fell_silent(block):
            return twin
    return None


def _running(evidence: Evidence, change: Change, *, named: bool) -> tuple[Tally, Tally]:
    """Return both sides of a change; a file that the runner would not find any more counts for nothing."""
    before, after = _sides(change)
    pure = PurePosixPath(change.path)
    by_name = is_test_file(change.path) or (bool(before.blocks) and not named)
    in_folder = not named and bool(TEST_FOLDERS & set(pure.parts[:-1]))
    as_ever = change.before is not None
    found = (
        by_name
        or as_ever
        or (pure.suffix not in BY_NAME and (in_folder or not is_test(evidence, change.path)))
    )
    if named and not by_name and not as_ever and pure.suffix != ".rs":
        found = False
    return before, after if found else NOTHING


def _total(tallies: Sequence[Tally]) -> Tally:
    return sum(tallies, NOTHING)


def _drop(before: Tally, after: Tally) -> int:
    return len(before.blocks) - len(after.blocks) + before.asserts - after.asserts


def _is_certain(before: Tally, after: Tally) -> bool:
    """Tell whether tests are gone for sure: nothing stands in their place, or what they compared with is lost."""
    fewer, weaker = len(before.blocks) > len(after.blocks), before.asserts > after.asserts
    names = {block.name for block in after.blocks}
    others = any(not block.asserts for block in before.blocks if block.name not in names)  # by means unknown
    if not after.blocks or before.values - after.words:
        return weaker or not after.blocks or (fewer and others)
    return fewer and weaker and after.several <= before.several


def _fewer(change: Change, before: Tally, after: Tally, *, certain: bool) -> Finding:
    counts = " before, ".join(
        f"{len(side.blocks)} tests with {side.asserts} assertions" for side in (before, after)
    )
    what = "tests are gone" if certain else "the text has fewer tests or assertions"
    hint = (
        "A test may be renamed, moved, split or merged into one for many values; none is dropped or weakened."
    )
    severity = Severity.ERROR if certain else Severity.WARNING
    return tampering(change.path, None, f"{what}: {counts} now", hint, severity)


def _scripts_gone(evidence: Evidence) -> Iterator[Finding]:
    """Yield tests in languages that are not known whose text is gone."""
    scripts = [change for change in evidence.changes if is_script(evidence, change.path)]
    there = {line.strip() for c in scripts for line in (c.new_text or "").splitlines()}
    for change in scripts:
        old = [line.strip() for line in (change.old_text or "").splitlines()]
        lines = [line for line in old if line and not line.startswith("#")]
        kept = sum(line in there for line in lines)
        if lines and kept < KEPT * len(lines) and (change.after is None or _halved(change)):
            yield tampering(change.path, None, "most of this test is gone", "Bring it back.")
        elif lines and kept < len(lines) and (change.after is None or _halved(change)):
            yield tampering(change.path, None, "part of this test is gone", severity=Severity.WARNING)


def is_script(evidence: Evidence, path: str) -> bool:
    """Tell whether a file of the tests is one in a language that is not known."""
    return is_test(evidence, path) and dialect_of(path) is None and not DATA.search(path)


def _halved(change: Change) -> bool:
    before, after = (len((text or "").split()) for text in (change.old_text, change.new_text))
    return after < KEPT * before
