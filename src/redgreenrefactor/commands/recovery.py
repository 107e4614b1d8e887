"""Going back, mending, and carrying a run from one repository to another."""

from typing import Any

import click

from redgreenrefactor.commands.common import common, print_json, reporting, surroundings


@click.command()
@click.argument("commit")
@common
def rollback(commit: str, **flags: Any) -> None:
    """Go back to the state of the handoff on COMMIT; what is left behind stays at refs/tdd/kept/."""
    with reporting(flags):
        from redgreenrefactor import recovery  # noqa: PLC0415

        with surroundings(flags) as around:
            done = recovery.rollback(around, commit)
        if flags["as_json"]:
            from redgreenrefactor.model.handoff import to_object  # noqa: PLC0415

            entry = done.entry
            print_json({**to_object(entry.handoff), "commit": entry.commit, "kept": done.kept})
        else:
            from redgreenrefactor.views.recovery import rollback_text  # noqa: PLC0415

            click.echo(rollback_text(done.entry, done.kept))


@click.command(name="repair-notes")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@common
def repair_notes(dry_run: bool, **flags: Any) -> None:  # noqa: FBT001
    """Make unreadable notes readable again, merge diverged ones and find lost ones; nothing is thrown away."""
    with reporting(flags):
        from redgreenrefactor import recovery  # noqa: PLC0415

        with surroundings(flags) as around:
            done = recovery.repair_notes(around, dry=dry_run)
        if flags["as_json"]:
            print_json(done.to_json())
        else:
            from redgreenrefactor.views.recovery import repair_lines  # noqa: PLC0415

            for line in repair_lines(done.to_json()):
                click.echo(line)
