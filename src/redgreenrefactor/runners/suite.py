"""Which runner a command means."""

from redgreenrefactor.ports import Suite
from redgreenrefactor.runners import opaque, pytest_suite, unittest_suite
from redgreenrefactor.runners.prepared import PreparedSuite
from redgreenrefactor.runners.suite_context import SuiteContext

RUNNERS = (pytest_suite.recognise, unittest_suite.recognise)


def suite_for(command: str, where: SuiteContext, setup: str | None = None) -> Suite:
    """Return the tests that a command runs, with as much to tell as its runner allows, and what prepares them."""
    where = where.using(command)
    known = (recognise(command, where) for recognise in RUNNERS)
    suite = next((suite for suite in known if suite is not None), None) or opaque.suite(command, where)
    return PreparedSuite(suite, setup, where) if setup else suite
