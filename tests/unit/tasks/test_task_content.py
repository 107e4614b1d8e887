"""What a summary says of the files a task changed, and of what is new in them."""

import pytest

from redgreenrefactor.model.evidence import Change, File
from redgreenrefactor.tasks.diary import LISTED, added_content, described


def changed(path: str, before: str | None, after: str | None) -> Change:
    sides = (None if text is None else File("100644", str(hash(text)), text) for text in (before, after))
    return Change(path, *sides)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, "a\n", "`x.py`: added (feat: x; refactor: y)"),
        ("a\n", None, "`x.py`: deleted (feat: x; refactor: y)"),
        ("a\nb\n", "a\nc\nd\n", "`x.py`: edited, 2 lines in, 1 out (feat: x; refactor: y)"),
    ],
)
def test_a_file_is_described_by_what_was_done_and_what_that_was_called(
    before: str | None, after: str | None, told: str
) -> None:
    change = changed("x.py", before, after)
    assert described(change, ["feat: x", "refactor: y"]) == told
    assert described(change) == told.partition(" (")[0]


CODE = '''
def old(): ...

def add(a: int, b: int = 1) -> int:
    """Return the sum.

    More of it.
    """

def _private(): ...

class Stack:
    """A pile of things."""

    def push(self, thing): ...
'''


def test_new_functions_and_classes_are_listed_with_what_they_say() -> None:
    change = changed("calc.py", "def old(): ...\n", CODE)
    assert added_content([change, changed("test_calc.py", None, CODE), changed("gone.py", CODE, None)]) == [
        "**add(a: int, b: int=1) -> int**: Return the sum. (`calc.py`)",
        "**Stack**: A pile of things. (`calc.py`)",
        "**Stack.push(self, thing)**: says nothing about itself (`calc.py`)",
    ]
    assert added_content([changed("broken.py", None, "def (")]) == []


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a.ts", "export async function load(x) {", "load()"),
        ("a.go", "func (s *Stack) Push(x int) {", "Push()"),
        ("a.rs", "pub(crate) fn push(&mut self) {", "push()"),
        ("A.java", "public final class Stack {", "Stack"),
    ],
)
def test_other_languages_are_read_by_their_words(path: str, text: str, title: str) -> None:
    assert added_content([changed(path, "", text)]) == [f"**{title}**: says nothing about itself (`{path}`)"]


def test_a_long_list_is_counted() -> None:
    text = "".join(f"def f{number}(): ...\n" for number in range(LISTED + 3))
    assert added_content([changed("a.py", None, text)])[-1] == "and 3 more"
