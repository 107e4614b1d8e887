"""What a turn has put in the place of something else: of the runner, of code, of what is installed."""

from collections.abc import Iterator

from redgreenrefactor.languages.paths import inside, is_test
from redgreenrefactor.model.evidence import Evidence, Reach, Replacement
from redgreenrefactor.model.verdict import Finding, FindingType


def replaced(evidence: Evidence, reach: Reach, *before: Reach) -> Iterator[Finding]:
    """Yield what is not what it was when the tests are over, and was before the turn."""
    known = frozenset[Replacement]().union(*(one.replaced for one in before))
    for item in sorted(reach.replaced - known, key=lambda item: (item.owner, item.name)):
        if why := _harm(evidence, item):
            where = f"{item.file}:{item.line}: " if item.file else ""
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{where}{item.owner} has another {item.name} after the tests: {why}",
                item.file or None,
                item.line or None,
                hint="Put it back, or patch it for the one test that needs it (monkeypatch, mock.patch).",
            )


def _harm(evidence: Evidence, item: Replacement) -> str | None:
    """Return what comes of it that one thing stands where another did; nothing where it is the project's own affair."""
    if not item.owner.endswith(".py"):
        return "it decides what tests report"
    by_test = not item.file or is_test(evidence, f"{evidence.prefix}{item.file}")
    if is_test(evidence, f"{evidence.prefix}{item.owner}"):
        return "it is a test of others" if item.name.startswith("test") and not by_test else None
    return "every test that comes later tests that instead of the code" if by_test else None


def hidden(evidence: Evidence, reach: Reach, *before: Reach) -> Iterator[Finding]:
    """Yield files of this turn that are imported instead of what is installed; not planned ones, nor tests' own."""
    known = {name for one in before for name in one.hiding}
    new = {inside(evidence, change.path) for change in evidence.changes if change.before is None}
    for name, file in sorted(reach.hiding.items()):
        planned = evidence.case is not None and evidence.case.impl_file.startswith(
            file.removesuffix("__init__.py")
        )
        users = [
            user for user in reach.imported.get(file, ()) if not is_test(evidence, f"{evidence.prefix}{user}")
        ]
        own = is_test(evidence, f"{evidence.prefix}{file}") and not users
        if name not in known and file in new and not planned and not own:
            yield Finding(
                FindingType.TEST_TAMPERING,
                f"{file}: it takes the place of the installed module {name!r} whenever tests run",
                file,
                hint="Choose another name.",
            )
