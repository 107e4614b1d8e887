"""Going back, mending, and carrying a run from one repository to another."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import click

from redgreenrefactor import recovery
from redgreenrefactor.cli.common import common, tell
from redgreenrefactor.cli.work import surroundings
from redgreenrefactor.errors import RgrError, some_of
from redgreenrefactor.git.transfer import Carried
from redgreenrefactor.model.events import Event, Judged, Warned
from redgreenrefactor.model.handoff import to_object
from redgreenrefactor.runners.detect import detect
from redgreenrefactor.starter import KINDS, write_starter
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.messages import carried_text, repair_lines, rollback_text


@click.command()
@click.argument("commit")
@common
def rollback(commit: str, **flags: Any) -> None:
    """Go back to the state of the handoff on COMMIT; what is left behind stays at refs/tdd/kept/.

    Example: rgr rollback HEAD~2
    """
    with surroundings(flags) as around:
        done = recovery.rollback(around, commit)
    told = {**to_object(done.entry.handoff), "commit": done.entry.commit, "kept": done.kept}
    tell(flags, told, rollback_text(done.entry, done.kept))


@click.command(name="repair-notes")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@common
def repair_notes(dry_run: bool, **flags: Any) -> None:  # noqa: FBT001
    """Make unreadable notes readable again, merge diverged ones and find lost ones; nothing is thrown away.

    Example: rgr repair-notes --dry-run
    """
    with surroundings(flags) as around:
        done = recovery.repair_notes(around, dry=dry_run).to_json()
    tell(flags, done, "\n".join(repair_lines(done)))


@click.command()
@click.argument("remote", required=False)
@common
def push(remote: str | None, **flags: Any) -> None:
    """Bring the branch, its notes and refs/tdd/ to REMOTE; notes are merged, newer commits never overwritten.

    Example: rgr push origin
    """
    with surroundings(flags) as around:
        _tell_carried(recovery.push(around, remote), "pushed to", flags)


@click.command()
@click.argument("remote", required=False)
@common
def fetch(remote: str | None, **flags: Any) -> None:
    """Bring the branch, its notes and refs/tdd/ from REMOTE; the branch only moves forwards.

    Example: rgr fetch origin
    """
    with surroundings(flags) as around:
        _tell_carried(recovery.fetch(around, remote), "fetched from", flags)


def _tell_carried(carried: Carried, what: str, flags: dict[str, Any]) -> None:
    words = carried_text(
        what, carried.remote, carried.branch, carried.notes, carried.refs, moved=carried.moved
    )
    tell(flags, asdict(carried), "" if flags["quiet"] else words)


NO_TESTS = (
    "no tests are found here. A small project to begin with: "
    f"'rgr init --starter {KINDS[0]}', or {some_of(KINDS[1:], len(KINDS))}"
)


@click.command()
@click.option(
    "--properties", is_flag=True, help="Write tdd.properties to be committed, instead of for you alone."
)
@click.option("--starter", type=click.Choice(KINDS), help="Write a small project with one passing test.")
@common
def init(properties: bool, starter: str | None, **flags: Any) -> None:  # noqa: FBT001
    """Set up this repository: its notes follow their commits, and tdd.properties shows what can be set.

    Example: rgr init

    Example: rgr init --starter pytest
    """
    with surroundings(flags) as around:
        settings = recovery.init(around)
        begun = write_starter(starter, around.project) if starter else None
        write = recovery.write_properties if properties else recovery.write_own_properties
        written = write(around)
        tested = detect(around.project) is not None
    lines = [f"{'set' if one.new else 'already set'}: {one.name} = {one.value}" for one in settings]
    lines += [f"written: {file}" for file in (begun.files if begun else ())]
    lines += [_about_properties(shared=properties)] if written else []
    lines += [] if tested else [NO_TESTS]
    lines += [f"type next: {command}" for command in (begun.commands if begun else ())]
    told = {"settings": [asdict(one) for one in settings], "properties": written}
    tell(flags, told | {"starter": asdict(begun) if begun else None}, "\n".join(lines))


def _about_properties(*, shared: bool) -> str:
    """Return what is told of a tdd.properties that was written."""
    whose = "to be committed" if shared else "yours alone, for git ignores it here"
    return f"written: tdd.properties: every setting, commented out; {whose} ('git add -f tdd.properties' shares it)"


@contextmanager
def pushing(
    around: Surroundings, flags: dict[str, Any]
) -> Generator[tuple[Surroundings, Callable[[], RgrError | None]]]:
    """Push a run after every case and, when the block has ended, once more, if that is asked for.

    Yields what the run is to be given, and what tells afterwards why the last push came to nothing.
    """
    if not flags["push"]:
        yield around, lambda: None
        return
    branch = f"tdd/{flags['worktree']}" if flags["worktree"] else None
    trouble: RgrError | None = None

    def emit(event: Event) -> None:
        around.emit(event)
        if isinstance(event, Judged) and event.ends_case:
            error = _push_trouble(around, branch, alone=True)
            if error:
                around.emit(Warned(f"not pushed: {error.message}"))

    yield replace(around, emit=emit), lambda: trouble
    trouble = _push_trouble(around, branch, alone=False)


def _push_trouble(around: Surroundings, branch: str | None, *, alone: bool) -> RgrError | None:
    """Push; return what hindered it, for a run is not lost by that."""
    try:
        recovery.push(around, branch=branch, alone=alone)
    except RgrError as error:
        return error
    return None
