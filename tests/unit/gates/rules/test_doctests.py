"""Examples that are run as tests stay what they were."""

import pytest

from gates_support import evidence, result, suite
from redgreenrefactor.gates.rules.tampering import altered_examples
from redgreenrefactor.model.workflow import PhaseName

WORDS = '''def first(text):
    """Return the first word.

    >>> first("two words")
    'two'
    """
    return text.split()[0]
'''
TEXT = ">>> first('two words')\n'two'\n"
RUN = suite(result("words.py::words.first"), result("words.txt::words.txt"))
GREEN, REFACTOR = PhaseName.GREEN, PhaseName.REFACTOR


def altered(phase: PhaseName, before: dict[str, str], after: dict[str, str]) -> bool:
    return bool(list(altered_examples(evidence(phase, before, after), RUN)))


@pytest.mark.parametrize(
    ("phase", "before", "after"),
    [
        (GREEN, {"words.py": WORDS}, {"words.py": WORDS.replace("'two'", "'TWO'")}),
        (GREEN, {"words.py": WORDS}, {"words.py": WORDS.replace('first("two words")', "'two'")}),
        (GREEN, {"words.txt": TEXT}, {"words.txt": TEXT.replace("')", "') # doctest: +SKIP")}),
        (GREEN, {"words.txt": TEXT}, {"words.txt": ">>>broken"}),
        (REFACTOR, {"words.py": WORDS}, {"words.py": WORDS.replace("'two'", "'TWO'")}),
        (REFACTOR, {"words.py": WORDS, "a.py": ""}, {"a.py": ""}),
    ],
)
def test_an_example_that_is_changed_or_goes_is_noticed(
    phase: PhaseName, before: dict[str, str], after: dict[str, str]
) -> None:
    assert altered(phase, before, after)


@pytest.mark.parametrize(
    ("phase", "before", "after"),
    [
        (GREEN, {"words.py": WORDS}, {"words.py": WORDS.replace("split()[0]", "split(maxsplit=1)[0]")}),
        (GREEN, {"words.txt": TEXT}, {"words.txt": f"{TEXT}\n>>> 1\n1\n"}),
        (GREEN, {"other.py": WORDS}, {"other.py": "nobody runs these"}),
        (REFACTOR, {"words.py": WORDS}, {"words.py": WORDS.replace("first(", "first_word(")}),
        (REFACTOR, {"words.py": WORDS}, {"texts.py": WORDS}),
    ],
)
def test_examples_that_are_kept_moved_or_never_run_are_nobodys_loss(
    phase: PhaseName, before: dict[str, str], after: dict[str, str]
) -> None:
    assert not altered(phase, before, after)
