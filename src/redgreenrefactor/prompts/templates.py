"""The templates of the roles: bundled ones, and a user's own in their place."""

import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import LARGEST, head_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import RoleName

COMMON = "common.md"
FEATURE = "feature.md"  # what is worked at, the same for every session of a run
PLACEHOLDERS: tuple[str, ...] = (
    "feature",
    "description",
    "test_file",
    "impl_file",
    "completed",
    "pending",
    "next",
    "progress",
    "finished",
    "replan",
    "legacy",
    "failing",
    "remarks",
    "project",
    "test_command",
    "phase",
    "cycle",
    "attempt",
    "feedback",
    "earlier",
    "account",
    "results",
    "diff",
)
_ON_THEIR_OWN = (RoleName.CODER, RoleName.REVIEWER)  # not part of the cycle that the common text tells of
_TASK = re.compile(r"^## Task[ \t]*$", re.MULTILINE)


@frozen
class Prompts:
    """The templates of every role, read once and known to be fillable."""

    shared: str  # what every role of the cycle is told first: its rules, and the feature
    texts: Mapping[RoleName, str]  # who a session is: the same for every session of a role
    tasks: Mapping[RoleName, str]  # what it is to do this time


def load(prompts_dir: Path | None = None) -> Prompts:
    """Return the bundled templates, each overridden by a file of its name in the folder."""
    if prompts_dir is not None and not prompts_dir.is_dir():
        raise UsageError(
            f"prompts.dir: there is no folder {prompts_dir}",
            hint="Name a folder with templates in prompts.dir, or take the key out of tdd.properties.",
        )
    common, bundled = template(prompts_dir, COMMON).strip(), _bundled(COMMON).strip()
    told = "$feature" in common or "${feature}" in common
    shared = common if told else f"{common}\n\n{template(prompts_dir, FEATURE).strip()}"
    halves = {name: _halves(template(prompts_dir, f"{name}.md")) for name in RoleName}
    return Prompts(
        shared=shared,
        texts={
            name: f"{text}\n" if name in _ON_THEIR_OWN and common == bundled else f"{shared}\n\n{text}\n"
            for name, (text, _) in halves.items()
        },
        tasks={name: task or _halves(_bundled(f"{name}.md"))[1] for name, (_, task) in halves.items()},
    )


def fill(template: str, values: Mapping[str, object]) -> str:
    """Return the template with its placeholders filled; a line that held nothing but an empty one is gone."""
    text = template.strip() + "\n"
    for name in (name for name, value in values.items() if value == ""):
        text = re.sub(rf"^(?:\${name}|\${{{name}}})[ \t]*\n+", "", text, flags=re.MULTILINE)
    return Template(text).substitute(values).strip()


def template(prompts_dir: Path | None, name: str, known: Sequence[str] = PLACEHOLDERS) -> str:
    """Return the user's own template of this name, with no other placeholders than these, or the bundled one."""
    own = None if prompts_dir is None else prompts_dir / name
    if own is None or not own.exists():
        return _bundled(name)
    try:
        text = head_of(own, LARGEST).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{own}: the template cannot be read: {error}", hint="Save it as UTF-8 text, or remove it."
        ) from error
    _check(own, text, known)
    return text


def _bundled(name: str) -> str:
    return (files("redgreenrefactor.prompts") / name).read_text(encoding="utf-8")


def _check(file: Path, text: str, placeholders: Sequence[str]) -> None:
    """Raise a UsageError that names file, line and placeholder if the template cannot be filled."""
    for match in Template.pattern.finditer(text):
        name = match["named"] or match["braced"]
        if match["escaped"] is not None or name in placeholders:
            continue
        place = f"{file}, line {text.count(chr(10), 0, match.start()) + 1}"
        if name is None:
            raise UsageError(f"{place}: this '$' begins no placeholder", hint="Write '$$' for a dollar sign.")
        known = ", ".join(f"${known}" for known in placeholders)
        raise UsageError(
            f"{place}: there is no placeholder '${name}'",
            hint=f"Known are {known}; write '$$' for a dollar sign.",
        )


def _halves(text: str) -> tuple[str, str]:
    """Return what stands above the task's heading, and the task with its heading; without one, no task."""
    found = _TASK.search(text)
    end = len(text) if found is None else found.start()
    return text[:end].strip(), text[end:].strip()
