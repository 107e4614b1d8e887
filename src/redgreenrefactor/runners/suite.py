"""Which runner a command means."""

from collections.abc import Mapping
from pathlib import Path

from redgreenrefactor.ports import Suite
from redgreenrefactor.runners import opaque, pytest_suite, unittest_suite
from redgreenrefactor.runners.environment import Held, Surroundings, unheld, with_managers
from redgreenrefactor.runners.prepared import PreparedSuite
from redgreenrefactor.runners.virtual import activated
from redgreenrefactor.sandbox.process import Interrupt

_RUNNERS = (pytest_suite.recognise, unittest_suite.recognise)


def suite_for(
    command: str,
    *,
    project: Path,
    env: Mapping[str, str],
    timeout: float,
    cache: Path,
    interrupt: Interrupt | None = None,
    cage: Held = unheld,
    setup: str | None = None,
    main: Path | None = None,
) -> Suite:
    """Return the tests that a command runs, with as much to tell as its runner allows, and what prepares them."""
    env = with_managers(activated(env, project), command, project)
    where = Surroundings(project, env, timeout, cache, interrupt, cage, main)
    known = (recognise(command, where) for recognise in _RUNNERS)
    suite = next((suite for suite in known if suite is not None), None) or opaque.suite(command, where)
    return PreparedSuite(suite, setup, where) if setup else suite
