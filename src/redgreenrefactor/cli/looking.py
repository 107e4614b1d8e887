"""Where a workflow stands: reads git only, and loads nothing that is not needed to tell."""

import os
from typing import Any

from redgreenrefactor.cli.common import echo, print_json, project, width
from redgreenrefactor.lifecycle.status import standing
from redgreenrefactor.model.handoff import to_object
from redgreenrefactor.model.result import Entry
from redgreenrefactor.views.text import status_text


def show_status(named: str | None = None, *, as_json: bool) -> None:
    """Show where the workflow of a project stands."""
    entry, working = standing(project({"project": named}), os.environ)
    if as_json:
        print_json(entry_to_json(entry) if entry else None)
    else:
        echo(status_text(entry, width=width(), at_work=working))


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """Return a handoff as its note spells it, and the commit that carries it."""
    return {**to_object(entry.handoff), "commit": entry.commit or None}
