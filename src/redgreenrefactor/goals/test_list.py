"""`test-list.md` as a plan."""

import re
from functools import lru_cache

from redgreenrefactor.model.goal import LIST, Item, Plan
from redgreenrefactor.ports import Snapshots

BOX = re.compile(r"\[([ \txX])\](?=[ \t\n\v\f\r]|$)")
UNDERLINED = ("=", "-")  # a text with such a line below it is a heading, its box is a box all the same

# Every level of a list counts twice. What is nested deeper is given up by the parser together with all that
# follows, so its own limit of 20 is too low; some thousand would exhaust the stack.
DEEPEST = 200


def plan_at(past: Snapshots, commit: str) -> Plan:
    """Return the list of cases at a commit; where there is none, an empty one."""
    found = past.read(commit, LIST)
    return Plan() if found is None else parse(found[1], found[0])


@lru_cache(16)  # what reads it asks again and again
def parse(text: str, blob: str | None = None) -> Plan:
    """Return the boxes of a Markdown text in their order, empty ones left out; any text can be read."""
    from markdown_it import MarkdownIt  # noqa: PLC0415

    # The content of a paragraph is what was written; looking for markup in it would only double the time.
    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST}).disable("inline")
    tokens = markdown.parse(text.removeprefix("\ufeff"))
    items = (
        _item(content.content, content.map)
        for opening, block, content in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if opening.type == "list_item_open" and _is_text(block.type, block.markup)
    )
    return Plan(tuple(item for item in items if item is not None), blob)


def _is_text(block: str, markup: str) -> bool:
    return block == "paragraph_open" or (block == "heading_open" and markup in UNDERLINED)


def _item(content: str, lines: list[int] | None) -> Item | None:
    """Return the box a list item begins with, if it does and says something."""
    box = BOX.match(content)
    words = " ".join(line.strip() for line in content[box.end() :].split("\n")).strip() if box else ""
    if box is None or lines is None or not words:
        return None
    return Item(words, done=box[1] in "xX", line=lines[0] + 1)
