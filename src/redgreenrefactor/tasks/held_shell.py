"""Commands that a task file brings along: held as suites are, and run where nothing of the user's can be harmed."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.goals.task_context import CommandEnd
from redgreenrefactor.model.task import Task, programs_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.prompts.quote import bounded
from redgreenrefactor.runners.suite_context import SuiteContext

OUTPUT = 20_000  # characters of a command's output


@frozen
class HeldShell:
    """A shell whose every line finds a clean checkout; what it prints is all that is left of it."""

    where: SuiteContext
    checkout: Callable[[], Path]
    setup: str | None = None  # what makes a checkout runnable

    def __call__(self, command: str) -> CommandEnd:
        """Return what a line of shell prints and ends with."""
        return self._run(command, self.checkout())

    def require_programs(self, task: Task) -> None:
        """Raise a NotReadyError that names the criteria whose programs are not there; scripts of the project may come."""
        wanted = {command: programs_of(command) for command in task.commands}
        absent = self._absent(sorted({name for names in wanted.values() for name in names}))
        lacking = {command: [name for name in names if name in absent] for command, names in wanted.items()}
        told = [f"`{command}` needs {', '.join(names)}" for command, names in lacking.items() if names]
        if told:
            names = ", ".join(absent)
            raise NotReadyError(
                f"criteria cannot be run, for want of a program: {'; '.join(told)}",
                hint=f"Install {names} where the tests run, or mend the criteria, then type 'rgr task' again.",
                type="ProgramMissing",
            )

    def _absent(self, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        folder = self.checkout()
        if self.setup:
            self._run(self.setup, folder)  # it may install them
        words = shlex.join(names)
        asked = f'for name in {words}; do command -v "$name" >/dev/null 2>&1 || echo "absent: $name"; done'
        told = self._run(asked, folder).output.splitlines()
        return [name for name in names if f"absent: {name}" in told]

    def _run(self, command: str, folder: Path) -> CommandEnd:
        ended = self.where.run(self.where.anchored(command), folder)
        text = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        return CommandEnd(-1 if ended.timed_out else ended.exit_code, bounded(text, OUTPUT))
