"""What can be said against a page that is open in a browser."""

import os
from pathlib import Path
from typing import Any

AXE = os.environ.get("RGR_AXE", "")  # axe-core's file
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Any) -> list[str]:
    """Return what axe-core has against a page, with the elements it is about."""
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate("tags => axe.run(document, {runOnly: tags})", TAGS)
    return [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in found["violations"]
    ]


def overflow(page: Any) -> list[str]:
    """Return what reaches beyond the right edge of the window."""
    return page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter(one => one.checkVisibility() && !one.closest(".unseen, .skip"))
          .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
          .map(one => one.outerHTML.slice(0, 120))"""
    )
