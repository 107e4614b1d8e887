"""Tests that `python -m unittest` runs."""

import re
import shlex
from collections.abc import Mapping

from redgreenrefactor.runners.command_line import last_invocation, stands_alone
from redgreenrefactor.runners.probed import PROBES, ProbedSuite, ProbeInsertion
from redgreenrefactor.runners.suite_context import SuiteContext

_MODULE = re.compile(r"-m\s*unittest(?![\w.])")


def recognise(command: str, where: SuiteContext) -> ProbedSuite | None:
    """Return the suite of a command that ends in `python -m unittest`."""
    invocation = last_invocation(command)
    line = where.anchored(command)
    places = list(_MODULE.finditer(line))
    if invocation is None or invocation.runner != "unittest" or not places:
        return None
    script = shlex.quote(str(PROBES / "rgr_unittest_probe.py"))
    line = line[: places[-1].start()] + script + line[places[-1].end() :]
    probing = ProbeInsertion(line, _nothing, current_folder_first=True, alone=stands_alone(command))
    return ProbedSuite(command, where, probing)


def _nothing(_: Mapping[str, str]) -> Mapping[str, str]:
    return {}
