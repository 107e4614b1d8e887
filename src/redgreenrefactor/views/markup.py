"""HTML and SVG as values: what is `Markup` stands as it is, every other text is escaped where it is put in."""

import re
from collections.abc import Iterable
from functools import lru_cache

# What would be markup; and what a browser would obey or hide, or no file in UTF-8 can hold: it is shown as its escape.
# Joiners stay inside words of scripts that are spelt with them, and inside pictures that are made of several.
_MARKS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ODD = re.compile(
    "[&<>\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_JOINERS = "\u200c\u200d"
_VOID = frozenset(("br", "circle", "hr", "line", "meta", "path", "polyline", "rect"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | None | Iterable["Child"]


@lru_cache(1024)  # the same few words stand at every turn of a long run
def text(words: str) -> Markup:
    """Return any text as markup that shows it, and does nothing else."""
    return Markup(_ODD.sub(_shown, words))


def _shown(odd: re.Match[str]) -> str:
    if odd[0] in _JOINERS and _joins(
        odd.string[odd.start() - 1 : odd.start()], odd.string[odd.end() : odd.end() + 1]
    ):
        return odd[0]
    return _MARKS.get(odd[0]) or odd[0].encode("unicode_escape").decode()


def _joins(before: str, after: str) -> bool:
    return not (before.isascii() or after.isascii() or _ODD.match(before) or _ODD.match(after))


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return an element; `class_` is spelt class, other underlines are hyphens, None and False leave one out."""
    told = "".join(map(_attribute, attributes, attributes.values()))
    if name in _VOID and not children:
        return Markup(f"<{name}{told}>" if name in ("br", "hr", "meta") else f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{joined(children)}</{name}>")


def joined(children: Iterable[Child]) -> Markup:
    """Return several pieces as one."""
    return Markup("".join(map(_piece, children)))


def _piece(child: Child) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return text(child)
    return "" if child is None else joined(child)


@lru_cache(1024, typed=True)
def _attribute(name: str, value: str | float | bool | None) -> str:  # noqa: FBT001 - which is what it spells
    if value is None or value is False:
        return ""
    spelt, quoted = name.rstrip("_").replace("_", "-"), text(str(value)).replace('"', "&quot;")
    return f" {spelt}" if value is True else f' {spelt}="{quoted}"'
