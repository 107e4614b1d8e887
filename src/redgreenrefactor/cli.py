"""The command line: words in, exit code out; everything else is imported when a command needs it."""

import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from redgreenrefactor.errors import InterruptedRunError, RgrError, UsageError

if TYPE_CHECKING:
    from redgreenrefactor.model.events import Emit, Event
    from redgreenrefactor.model.result import Entry, WorkflowResult
    from redgreenrefactor.views.console import View
    from redgreenrefactor.wiring import Surroundings

EPILOGUE = """Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 surroundings not ready,
4 stopped by a limit, 130 interrupted (after 4 and 130 'rgr resume' goes on)."""

Command = Callable[..., Any]


def common(command: Command) -> Command:
    """Give a command the flags every command has."""
    for option in (
        click.option("--no-color", is_flag=True, help="No colours."),
        click.option("--quiet", is_flag=True, help="Only errors and the end."),
        click.option("--json", "as_json", is_flag=True, help="One JSON value on stdout, words on stderr."),
        click.option(
            "--project", metavar="DIR", help="The project's folder (TDD_PROJECT_ROOT, or where you are)."
        ),
    ):
        command = option(command)
    return command


def working(command: Command) -> Command:
    """Give a command the flags of those that let agents work."""
    for option in (
        click.option("--events", metavar="FILE", help="Append what happens to FILE, one JSON object a line."),
        click.option(
            "--approve", is_flag=True, help="Let a person see the first list before it is worked through."
        ),
        click.option(
            "--worktree", metavar="NAME", help="Work on branch tdd/NAME in a folder beside this one."
        ),
        click.option("--budget", metavar="USD", type=float, help="Stop when sessions have cost this much."),
        click.option("--max-cycles", metavar="N", type=click.IntRange(1), help="Stop after N cases."),
        click.option("--model", metavar="MODEL", help="The model for every role."),
        click.option(
            "--agent",
            metavar="AGENT",
            help="Who works: api, claude-code, codex, gemini, opencode, command:…, replay:…",
        ),
    ):
        command = option(command)
    return common(command)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOGUE,
)
@click.version_option(package_name="redgreenrefactor", prog_name="rgr")
def rgr() -> None:
    """Drive AI coding sessions through strict test-driven development, with git as the only memory.

    Each case of the list is written as a failing test, made to pass with the least code, and refactored,
    by independent sessions. rgr runs the tests itself, rejects what breaks the rules, and can stop and go
    on at any moment. Try 'rgr demo' first: it needs no key and no network.
    """


@rgr.command()
@click.argument("feature", required=False)
@click.option("--file", metavar="F", help="Read the feature from a file.")
@click.option("--new", is_flag=True, help="Start even though an unfinished run is here.")
@working
def run(feature: str | None, file: str | None, **flags: Any) -> None:
    """Run the whole workflow for FEATURE ('-' reads it from standard input)."""
    with _reporting(flags) as answer:
        from redgreenrefactor import runs  # noqa: PLC0415
        from redgreenrefactor.goals.feature import read_feature  # noqa: PLC0415

        asked = read_feature(feature, Path(file) if file else None, sys.stdin.read)
        with _surroundings(flags) as around:
            answer(runs.start(asked, around, _wishes(flags)))


@rgr.command()
@working
def resume(**flags: Any) -> None:
    """Go on from the last handoff: the phase that was due, with the error context it had."""
    with _reporting(flags) as answer:
        from redgreenrefactor import runs  # noqa: PLC0415

        with _surroundings(flags) as around:
            answer(runs.resume(around, _wishes(flags)))


@rgr.command()
@common
def status(**flags: Any) -> None:
    """Show where the workflow stands; reads git only."""
    with _reporting(flags):
        from redgreenrefactor import runs  # noqa: PLC0415

        entry = runs.status(_project(flags), os.environ)
        if flags["as_json"]:
            _print_json(_entry_to_json(entry) if entry else None)
        else:
            from redgreenrefactor.views.text import status_text  # noqa: PLC0415

            click.echo(status_text(entry, width=_width()))


@rgr.command()
@click.option("--limit", metavar="N", type=click.IntRange(1), help="Only the newest N.")
@click.option("--attempts", is_flag=True, help="Rejected attempts, too.")
@common
def history(limit: int | None, attempts: bool, **flags: Any) -> None:  # noqa: FBT001
    """Show the handoffs of the latest run, newest first."""
    with _reporting(flags):
        from itertools import islice  # noqa: PLC0415

        from redgreenrefactor import runs  # noqa: PLC0415

        told = runs.history_with_attempts if attempts else runs.history
        shown = islice(told(_project(flags), os.environ), limit)
        if flags["as_json"]:
            _print_json([_entry_to_json(entry) for entry in shown])
        else:
            from redgreenrefactor.views.text import history_text  # noqa: PLC0415

            for line in history_text(shown, width=_width()):
                click.echo(line)


@rgr.command()
@click.argument("range", required=False)
@common
def verify(**flags: Any) -> None:
    """Judge a workflow again from its commits: every test fails at RED and passes afterwards (RANGE as for git log)."""
    held = True
    with _reporting(flags):
        from redgreenrefactor import verification  # noqa: PLC0415

        with _surroundings(flags) as around:
            cycles = verification.verify(around, flags["range"])
        held = all(cycle.ok for cycle in cycles)
        if flags["as_json"]:
            _print_json({"ok": held, "cycles": [cycle.to_json() for cycle in cycles]})
        else:
            click.echo(verification.verified_text(cycles, _project(flags)))
    if not held:
        sys.exit(1)


@rgr.command()
@common
def demo(**flags: Any) -> None:
    """Play a complete workflow on a bundled kata, with the scripted agent: no key, no network."""
    with _reporting(flags) as answer:
        from redgreenrefactor import demo as demonstration  # noqa: PLC0415

        with _surroundings({**flags, "agent": "replay:roman"}) as around:
            folder, result = demonstration.play(around)
            answer(result)
            if not flags["as_json"]:
                click.echo(demonstration.what_to_look_at(folder))


# --- around a command


@contextmanager
def _reporting(flags: dict[str, Any]) -> Generator[Callable[["WorkflowResult"], None]]:
    """Turn what a command comes to into output and an exit code."""
    code = 0

    def answer(result: "WorkflowResult") -> None:
        nonlocal code
        from redgreenrefactor import runs  # noqa: PLC0415

        code = runs.exit_code(result)
        if flags["as_json"]:
            _print_json(result.to_json())
        elif not flags["quiet"]:
            from redgreenrefactor.views.text import result_text  # noqa: PLC0415

            click.echo(result_text(result, width=_width()))

    try:
        yield answer
    except RgrError as error:
        _fail(error, as_json=flags["as_json"])
    except BrokenPipeError:
        _unheard()
    if code:
        sys.exit(code)


@contextmanager
def _surroundings(flags: dict[str, Any]) -> Generator["Surroundings"]:
    """Make a view, an event file and a listener for signals, and take them down again."""
    from dataclasses import replace  # noqa: PLC0415

    from redgreenrefactor.config import Flags  # noqa: PLC0415
    from redgreenrefactor.sandbox.process import Interrupt  # noqa: PLC0415
    from redgreenrefactor.wiring import Surroundings  # noqa: PLC0415

    with ExitStack() as stack:
        view: View = stack.enter_context(_view(flags))
        emits: list[Emit] = [view]
        if flags.get("events"):
            from datetime import UTC, datetime  # noqa: PLC0415

            from redgreenrefactor.records.events import EventFile  # noqa: PLC0415

            path = Path(flags["events"])
            emits.append(stack.enter_context(EventFile(path, clock=lambda: datetime.now(UTC), warn=view)))

        def emit(event: "Event") -> None:
            for each in emits:
                each(event)

        interrupt = Interrupt()
        stack.callback(interrupt.close)
        stack.enter_context(interrupt.listen())
        wanted = Flags(agent=flags.get("agent"), model=flags.get("model"), budget=flags.get("budget"))
        person = sys.stdin.isatty() and sys.stdout.isatty() and not flags["as_json"]

        def edit(path: Path) -> None:
            view.close()  # the editor has the terminal to itself
            click.edit(filename=str(path))

        around = Surroundings(_project(flags), os.environ, wanted, emit, interrupt)
        yield replace(around, edit=edit) if person else around


def _view(flags: dict[str, Any]) -> "View":
    from redgreenrefactor.views.console import view_for  # noqa: PLC0415

    stream = sys.stderr if flags["as_json"] else sys.stdout
    return view_for(stream, os.environ, quiet=flags["quiet"], no_color=flags["no_color"])


def _wishes(flags: dict[str, Any]) -> Any:
    from redgreenrefactor import runs  # noqa: PLC0415

    return runs.Wishes(
        limits=runs.Limits(max_cycles=flags["max_cycles"]),
        approve=flags["approve"],
        worktree=flags["worktree"],
        new=flags.get("new", False),
    )


def _project(flags: dict[str, Any]) -> Path:
    named = flags.get("project") or os.environ.get("TDD_PROJECT_ROOT") or "."
    project = Path(named).expanduser()
    if not project.is_dir():
        raise UsageError(f"there is no folder {named}", hint="Name an existing one: --project DIR.")
    return project.resolve()


def _entry_to_json(entry: "Entry") -> dict[str, Any]:
    from redgreenrefactor.model.handoff import to_object  # noqa: PLC0415

    return {**to_object(entry.handoff), "commit": entry.commit}


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _width() -> int:
    from shutil import get_terminal_size  # noqa: PLC0415

    return get_terminal_size((100, 24)).columns


def _fail(error: RgrError, *, as_json: bool) -> NoReturn:
    if as_json:
        details = {"type": error.type, "message": error.message}
        _print_json({"error": error.message, "errorDetails": details, "hint": error.hint})
    click.echo(f"rgr: {error.message}", err=True)
    if error.hint:
        click.echo(f"  → {error.hint}" if _speaks_unicode() else f"  {error.hint}", err=True)
    sys.exit(error.exit_code)


def _speaks_unicode() -> bool:
    return (getattr(sys.stderr, "encoding", None) or "").lower().startswith("utf")


def main() -> None:
    """Run the program; whatever happens ends in one of the documented exit codes."""
    try:
        rgr(prog_name="rgr", standalone_mode=False)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        _fail(UsageError(error.format_message()), as_json="--json" in sys.argv)
    except (KeyboardInterrupt, click.Abort):
        _fail(InterruptedRunError("interrupted"), as_json="--json" in sys.argv)
    except BrokenPipeError:
        _unheard()
    except Exception as error:  # noqa: BLE001
        _bug(error)


def _unheard() -> None:
    """Speak to nobody: whoever read our output has gone, and the interpreter must not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _bug(error: Exception) -> NoReturn:
    """Put the traceback into a file and one line before the person."""
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    with tempfile.NamedTemporaryFile("w", prefix="rgr-bug-", suffix=".log", delete=False) as log:
        traceback.print_exception(error, file=log)
    bug = RgrError(
        f"this is a bug in rgr: {type(error).__name__}: {error}",
        hint=f"The traceback is in {log.name}; 'rgr resume' goes on.",
    )
    _fail(bug, as_json="--json" in sys.argv)
