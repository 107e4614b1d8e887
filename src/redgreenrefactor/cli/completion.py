"""Completion of commands and flags, for the shells people use."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete rgr's commands and flags.

    What it prints goes to ~/.bashrc, ~/.zshrc, or ~/.config/fish/completions/rgr.fish.

    Example: rgr completion bash
    """
    found = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    click.echo(found(root, {}, "rgr", "_RGR_COMPLETE").source() if found else "")
