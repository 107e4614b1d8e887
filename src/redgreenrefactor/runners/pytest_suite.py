"""Tests that pytest runs."""

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners.command_line import last_invocation, stands_alone
from redgreenrefactor.runners.probed import PROBES, ProbedSuite, ProbeInsertion
from redgreenrefactor.runners.suite_context import SuiteContext

_BARE = re.compile(r"\s*(pytest|py\.test)(?=\s|$)")


def recognise(command: str, where: SuiteContext) -> ProbedSuite | None:
    """Return the suite of a command that ends in pytest."""
    invocation = last_invocation(command)
    if invocation is None or invocation.runner != "pytest":
        return None
    line, as_module = _resolved(command, where)
    probing = pytest_probing(line, as_module=invocation.as_module or as_module)
    return ProbedSuite(command, where, replace(probing, alone=stands_alone(command)))


def pytest_probing(line: str, *, as_module: bool) -> ProbeInsertion:
    """Return how the probe gets into every pytest that a command starts: by the environment alone."""
    return ProbeInsertion(line, _Variables(safe_path=as_module), current_folder_first=as_module)


@frozen
class _Variables:
    safe_path: bool  # `python -m` would look for pytest itself in the project first

    def __call__(self, env: Mapping[str, str]) -> Mapping[str, str]:
        added = {
            "PYTHONPATH": os.pathsep.join([str(PROBES), *filter(None, [env.get("PYTHONPATH")])]),
            "PYTEST_ADDOPTS": f"{env.get('PYTEST_ADDOPTS', '')} -p rgr_pytest_probe".strip(),
        }
        return {**added, "PYTHONSAFEPATH": "1"} if self.safe_path else added


def _resolved(command: str, where: SuiteContext) -> tuple[str, bool]:
    """Return the command with a bare `pytest` replaced by the one to use, and whether that is a module."""
    bare = _BARE.match(command)
    if bare is None:
        return where.anchored(command), False
    rest = command[bare.end() :]
    program = shutil.which(bare.group(1), path=where.env.get("PATH", os.defpath))
    if program is not None:
        return shlex.quote(program) + rest, False
    if importlib.util.find_spec("pytest") is not None:
        return f"{shlex.quote(sys.executable)} -m pytest{rest}", True
    raise NotReadyError(
        f"The tests are run with '{command}', but there is no pytest.",
        hint="Install it into the project's .venv (python -m pip install pytest), or set test.command.",
    )
