"""A line of shell, as far as its words tell."""

import shlex


def shell_words(command: str) -> list[str] | None:
    """Return the words and operators of a line of shell; None where a quote is left open."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None
