"""The command line: words in, exit code out."""

import sys
from typing import NoReturn

import click

from redgreenrefactor.cli import doctor, proof, recovery, review, task, trust, workflow
from redgreenrefactor.cli.common import fail, how_to_use, unheard
from redgreenrefactor.errors import InterruptedRunError, RgrError, UsageError

EPILOGUE = """Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 surroundings not ready,
4 stopped by a limit, 130 interrupted (after 4 and 130 'rgr resume' goes on)."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOGUE,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
)
@click.version_option(package_name="redgreenrefactor", prog_name="rgr")
@click.pass_context
def rgr(context: click.Context) -> None:
    """Drive AI coding sessions through strict test-driven development, with git as the only memory.

    Each case of the list is written as a failing test, made to pass with the least code, and refactored,
    by independent sessions. rgr runs the tests itself, rejects what breaks the rules, and can stop and go
    on at any moment. Try 'rgr demo' first: it needs no key and no network.

    Example: rgr run "Convert numbers to Roman numerals"
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(UsageError.exit_code)


for command in (
    workflow.run,
    workflow.resume,
    workflow.status,
    workflow.history,
    workflow.demo,
    proof.verify,
    doctor.doctor,
    trust.trust,
    recovery.rollback,
    recovery.repair_notes,
    recovery.push,
    recovery.fetch,
    recovery.init,
    review.tdd,
    task.task,
):
    rgr.add_command(command)


def main() -> None:
    """Run the program; whatever happens ends in one of the documented exit codes."""
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="replace")  # a letter that cannot be shown is no reason to fail
    try:
        if code := rgr(prog_name="rgr", standalone_mode=False):
            sys.exit(code)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        fail(UsageError(error.format_message(), hint=how_to_use(context)), as_json="--json" in sys.argv)
    except (KeyboardInterrupt, click.Abort):
        fail(InterruptedRunError("interrupted"), as_json="--json" in sys.argv)
    except BrokenPipeError:
        unheard()
    except Exception as error:  # noqa: BLE001
        _bug(error)


def _bug(error: Exception) -> NoReturn:
    """Put the traceback into a file and one line before the person."""
    import os  # noqa: PLC0415
    import tempfile  # noqa: PLC0415
    import traceback  # noqa: PLC0415

    from redgreenrefactor.sandbox.secrets import masking  # noqa: PLC0415

    with tempfile.NamedTemporaryFile(
        "w", prefix="rgr-bug-", suffix=".log", delete=False, errors="backslashreplace"
    ) as log:
        log.write(masking(os.environ)("".join(traceback.format_exception(error))))
    bug = RgrError(
        f"this is a bug in rgr: {type(error).__name__}: {error}",
        hint=f"The traceback is in {log.name}; 'rgr resume' goes on.",
    )
    fail(bug, as_json="--json" in sys.argv)
