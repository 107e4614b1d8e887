"""Examples in docstrings and texts that the project runs as tests: they stand in code, and are tests all the same."""

import ast
from collections import Counter
from collections.abc import Iterator
from doctest import DocTestParser

from redgreenrefactor.gates.rules.findings import tampering
from redgreenrefactor.languages import python
from redgreenrefactor.languages.paths import inside, is_test
from redgreenrefactor.model.evidence import Evidence, SuiteRun
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import PhaseName

Example = tuple[str, str]  # what is called, and what comes of it


def altered_examples(evidence: Evidence, before: SuiteRun) -> Iterator[Finding]:
    """Yield files whose examples were run, and have another result now, or are gone; REFACTOR may rename and move."""
    exactly = evidence.phase is PhaseName.GREEN
    now = Counter(
        _key(item, exactly) for change in evidence.changes for item in _examples(change.path, change.new_text)
    )
    for change in evidence.changes:
        if inside(evidence, change.path) not in before.files or is_test(evidence, change.path):
            continue
        was = Counter(_key(item, exactly) for item in _examples(change.path, change.old_text))
        if lost := next(iter(was - now), None):
            yield tampering(
                change, None, f"the example {lost!r} was changed or taken away", "Keep examples as they were."
            )


def _key(example: Example, exactly: bool) -> str:  # noqa: FBT001
    return "\n".join(example) if exactly else example[1]


def _examples(path: str, text: str | None) -> Iterator[Example]:
    tree = python.parsed(text) if path.endswith(".py") else None
    strings = python.docstrings(tree) if tree else set[ast.AST]()
    found = [node.value for node in strings if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for each in found if tree else [text or ""]:
        try:
            examples = DocTestParser().get_examples(each)
        except ValueError:  # written as no doctest can be run
            continue
        yield from ((example.source.strip(), example.want.strip()) for example in examples)
