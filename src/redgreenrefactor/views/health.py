"""What a run needs and what is there, as plain text."""

from collections.abc import Sequence

from redgreenrefactor.views.lines import Ink, block, count

Row = tuple[str, str, str, str]  # level, check, message, what to type


def health_text(rows: Sequence[Row], *, width: int, quiet: bool = False, ink: Ink | None = None) -> str:
    """Return what was found, what is wrong with what to type under it, and how it stands altogether."""
    pen = ink or Ink()
    marks = {"ok": pen.ok, "warning": "!", "error": pen.bad}
    lines: list[str] = []
    for level, _, message, hint in rows:
        if quiet and level == "ok":
            continue
        lines += block(message, width, pen, indent=2, lead=f"{marks[level]} ")
        if hint:
            lines += block(hint, width, pen, indent=4, lead=f"{pen.arrow} ")
    errors, warnings = (sum(row[0] == level for row in rows) for level in ("error", "warning"))
    told = "something that is needed is missing" if errors else "a run can start"
    return "\n".join([*lines, f"{told}: {count(errors, 'error')}, {count(warnings, 'warning')}"])
