"""Where a workflow stands: reads git only, and loads nothing that is not needed to tell."""

import os
from typing import Any

from redgreenrefactor.cli.common import echo, pen, print_json, project, width
from redgreenrefactor.lifecycle.status import standing
from redgreenrefactor.model.handoff import to_object
from redgreenrefactor.model.result import Entry
from redgreenrefactor.views.text import status_text


def show_status(flags: dict[str, Any]) -> None:
    """Show where the workflow of a project stands."""
    entry, working = standing(project(flags), os.environ)
    if flags["as_json"]:
        print_json(entry_to_json(entry) if entry else None)
    else:
        echo(status_text(entry, width=width(), ink=pen(flags), at_work=working))


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """Return a handoff as its note spells it, and the commit that carries it."""
    return {**to_object(entry.handoff), "commit": entry.commit or None}
