"""What was asked for, and the list of cases it is broken into."""

import re

from redgreenrefactor.model.values import frozen

LONG = 2000  # characters of a feature from which on its outline does for whoever does not plan
_HEADING = re.compile(r"^#{1,6}[ \t]+\S.*$", re.MULTILINE)
_CUT = "\n[…]\n"
_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")  # as the reader of the list counts lines
_OPEN_BOX = re.compile(r"\[[ \t]\]")
LIST = "test-list.md"  # where a plan is written
# What a person may do to it before it is worked through.
EDITING = "add, reword, reorder or drop open cases, leave ticked ones, and do not commit it"


@frozen
class Case:
    """One line of the list, with the files it will live in; `currentTest` in JSON."""

    description: str
    test_file: str
    impl_file: str


@frozen
class Item:
    """One box of `test-list.md`."""

    text: str
    done: bool
    line: int

    @property
    def key(self) -> str:
        """The text as it is compared: without emphasis, letter case, spacing and a closing full stop."""
        return comparable(self.text)


@frozen
class Plan:
    """`test-list.md` as a value; an absent file is an empty plan."""

    items: tuple[Item, ...] = ()
    blob: str | None = None

    @property
    def done(self) -> tuple[Item, ...]:
        """The ticked items, in list order."""
        return tuple(item for item in self.items if item.done)

    @property
    def open(self) -> tuple[Item, ...]:
        """The items still to do, in list order."""
        return tuple(item for item in self.items if not item.done)


def comparable(text: str) -> str:
    """Return what two wordings of the same case have in common."""
    plain = "".join(character for character in text if character not in "`*_")
    return " ".join(plain.split()).rstrip(".").casefold()


def ticked(text: str, item: Item) -> str:
    """Return the list's text with the box of one of its open items ticked."""
    lines = _LINE_ENDS.split(text)
    lines[item.line - 1] = _OPEN_BOX.sub("[x]", lines[item.line - 1], count=1)
    return "".join(lines)


def title_of(text: str) -> str:
    """Return what a text is about, in a line: its first one that says something, without marks of a heading."""
    lines = (" ".join(line.strip("# \t").split()) for line in text.splitlines())
    return next(filter(None, lines), "")


def cited(text: str, most: int = 60) -> str:
    """Return what a text is about in quotation marks, marked where it is cut off."""
    title = title_of(text)
    return f"'{title}'" if len(title) <= most else f"'{title[: most - 1].rstrip()}…'"


def outline(text: str, most: int) -> str:
    """Return how a text begins, and the headings of the rest, in at most so many characters; a short one whole."""
    if len(text) <= most:
        return text
    later = [found[0] for found in _HEADING.finditer(text, most // 2)]
    head = text[: most // 2 if later else most - len(_CUT)]
    if later:
        head = head[: head.rfind("\n", len(head) // 2)] if "\n" in head[len(head) // 2 :] else head
    room = most - len(head) - len(_CUT)
    return (head + _CUT + "\n".join(later)[:room]).rstrip("\n")
