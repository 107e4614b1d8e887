"""What commits change, as git prints it: many of them with one process."""

import re
from collections.abc import Iterable, Mapping

from redgreenrefactor.git.executable import Git, decoded
from redgreenrefactor.model.run_report import Patch

# No line of a patch begins with NUL: they begin with a blank, a plus, a minus, or words of git's own.
_HEAD = re.compile(rb"^\0([0-9a-f]{40,64}) (.*)\n", re.MULTILINE)
_SHOWN = ("-p", "--root", "--always", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")


def patches(git: Git, commits: Iterable[str]) -> Mapping[str, Patch]:
    """Return what each commit says, and how it differs from its first parent; of merges, nothing but the words."""
    wanted = "".join(f"{commit}\n" for commit in commits if commit).encode()
    if not wanted:
        return {}
    raw = git.raw("diff-tree", "--stdin", *_SHOWN, "--format=%x00%H %s", stdin=wanted)
    _, *parts = _HEAD.split(raw)
    return {
        commit.decode(): Patch(decoded(subject), decoded(text.strip(b"\n")))
        for commit, subject, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }
