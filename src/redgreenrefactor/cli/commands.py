"""The commands of `rgr`, of which only the one that is called is loaded: help comes at once."""

import sys
from importlib import import_module

import click

from redgreenrefactor.errors import UsageError

EPILOGUE = """Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 surroundings not ready,
4 stopped by a limit, 130 interrupted (after 4 and 130 'rgr resume' goes on)."""

COMMANDS = {  # each with the module it is in, which is imported when it is called, and what it does
    "completion": ("completion", "Have bash, zsh or fish complete commands and flags."),
    "demo": ("run", "Play a whole workflow on a kata: no key, no network."),
    "diff": ("turns", "Show what one step of a run changed."),
    "doctor": ("doctor", "Look at what a run needs; changes nothing."),
    "fetch": ("recovery", "Bring branch and notes from a remote."),
    "history": ("status", "Show the accepted steps of the latest run."),
    "init": ("recovery", "Set up this repository, or begin a new project."),
    "push": ("recovery", "Bring branch and notes to a remote."),
    "repair-notes": ("recovery", "Make unreadable notes readable again."),
    "report": ("report", "Tell the story of a run in one file."),
    "resume": ("run", "Continue the run that was left here."),
    "rollback": ("recovery", "Go back to an earlier handoff; nothing is lost."),
    "run": ("run", "Build a feature test by test."),
    "show": ("turns", "Show one step of a run, with its verdict."),
    "status": ("status", "Show where the workflow stands."),
    "task": ("task", "Do the work of TDD task files."),
    "tdd": ("review", "From a specification to a reviewed pull request."),
    "trust": ("trust", "Approve what tdd.properties executes or loosens."),
    "verify": ("verify", "Prove that a run was made test by test."),
    "watch": ("watch", "Show runs in a browser while they go on."),
}
SLOW = {"run", "resume", "demo"}  # everything is loaded for them
UNTOLD = {"-h", "--help", "--quiet"}


class Commands(click.Group):
    """The commands, of which only the one that is called is loaded."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; where loading it takes a moment, a word comes before."""
        if args[0] in SLOW and UNTOLD.isdisjoint(args) and not ctx.resilient_parsing:  # which only looks
            click.echo(f"rgr {args[0]}: one moment", err="--json" in args)
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UsageError(f"there is no command {args[0]!r:.60}", hint=_meant(args[0]))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        place, words = COMMANDS[cmd_name]
        module = import_module(f"redgreenrefactor.cli.{place}")
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        found.short_help = words.removesuffix(".")  # shells show it beside the name
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each of them does."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


def _meant(word: str) -> str:
    """Return what somebody may have meant who typed a command that is none."""
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(word.lower(), COMMANDS, n=2, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(f"'rgr {name}'" for name in close) + "?"
    return "Type 'rgr --help' for all commands; a feature comes after run, in quotes: rgr run \"FEATURE\"."


@click.group(
    cls=Commands,
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


def called() -> int | None:
    """Do what the command line says, and return the exit code; what is wrong with it is a UsageError."""
    try:
        return rgr(prog_name="rgr", standalone_mode=False)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        early = (
            context
            and not context.parent
            and isinstance(error, click.NoSuchOption)
            and not error.possibilities
        )
        hint = "Flags come after the command: 'rgr status --json'." if early else how_to_use(context)
        raise UsageError(error.format_message(), hint=hint) from error
    except click.Abort:
        raise KeyboardInterrupt from None


def how_to_use(context: click.Context | None = None) -> str:
    """Return what to type to learn the flags of a command, or of the one at hand."""
    context = context or click.get_current_context(silent=True)
    path = context.command_path if context and context.parent else None
    if context is None and COMMANDS.keys() & set(sys.argv[1:2]):
        path = f"rgr {sys.argv[1]}"  # a flag without its value is found before there is a context
    return f"Type '{path} --help' for its flags and an example." if path else UsageError.hint
