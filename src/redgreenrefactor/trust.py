"""What a repository's settings execute or loosen counts only once the user has approved it, word for word."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import put
from redgreenrefactor.model.values import frozen

ONCE = "TDD_TRUST"  # set to 1: everything is approved, for this invocation


@frozen
class Approval:
    """Lines of one project's settings that its user has approved."""

    project: str
    lines: tuple[str, ...]


@frozen
class Approvals:
    """Everything the user has approved, one file each, in a folder outside every repository."""

    folder: Path

    def has(self, approval: Approval) -> bool:
        """Tell whether these very lines were approved together; flags may have taken others of them out of play."""
        known = (set(each.lines) for each in self._known() if each.project == approval.project)
        return any(lines.issuperset(approval.lines) for lines in known)

    def add(self, approval: Approval) -> None:
        """Remember an approval; a folder that cannot be written is a NotReadyError."""
        body = {"project": approval.project, "lines": approval.lines}
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            put(self._file(approval), json.dumps(body, indent=2).encode())
        except OSError as error:
            raise NotReadyError(
                f"the approval cannot be remembered in {self.folder}: {error.strerror}",
                hint=f"Make the folder writable, or set {ONCE}=1 for one invocation.",
            ) from error

    def all(self) -> list[Approval]:
        """Return what has been approved, by project."""
        return sorted(self._known(), key=lambda approval: (approval.project, approval.lines))

    def revoke(self, project: str) -> list[Approval]:
        """Forget what was approved for a project; return that."""
        gone = [approval for approval in self.all() if approval.project == project]
        for approval in gone:
            self._file(approval).unlink(missing_ok=True)
        return gone

    def _known(self) -> Iterator[Approval]:
        for file in self.folder.glob("*.json"):
            if approval := _read(file):
                yield approval

    def _file(self, approval: Approval) -> Path:
        said = "\0".join((approval.project, *approval.lines))
        return self.folder / f"{hashlib.sha256(said.encode('utf-8', 'surrogateescape')).hexdigest()}.json"


def approvals_of(environ: Mapping[str, str]) -> Approvals:
    """Return what this user has approved."""
    base = Path(environ.get("XDG_DATA_HOME", ""))
    if not base.is_absolute():  # as the standard has it
        base = Path(environ.get("HOME") or Path.home()) / ".local/share"
    return Approvals(base / "redgreenrefactor/trusted")


def once(environ: Mapping[str, str]) -> bool:
    """Tell whether the user approves everything for this invocation."""
    return environ.get(ONCE, "") == "1"


def not_trusted(lines: Sequence[str], typed: str) -> NotReadyError:
    """Return the refusal to do what unapproved lines say."""
    return NotReadyError(
        f"the repository wants what you have not approved: {'; '.join(lines)}",
        hint=f"Read the lines; if you want that, type '{typed}' (or set {ONCE}=1 for this once).",
        type="NotTrusted",
    )


def _read(file: Path) -> Approval | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        body = cast("dict[str, Any]", json.loads(file.read_text("utf-8")))
        return Approval(str(body["project"]), tuple(str(line) for line in body["lines"]))
    return None
