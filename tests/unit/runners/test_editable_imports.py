"""A project that is installed in place is still tested as it is in the checkout."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import SuiteRun
from redgreenrefactor.runners.suite import suite_for
from redgreenrefactor.runners.suite_context import SuiteContext

COMMANDS = (f"{sys.executable} -m pytest", f"{sys.executable} -m unittest")
Install = Callable[[str], None]
Go = Callable[[str], SuiteRun]
TESTS = """\
import unittest
import demo

class A(unittest.TestCase):
    def test_a(self):
        self.assertEqual(demo.WHERE, "checkout")
"""
FINDER = """\
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location

MAPPING = {{"demo": {path!r}}}
NAMESPACES = {{"other": [{path!r}]}}

class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name] + "/__init__.py")

sys.meta_path.append(_EditableFinder)
"""
REDIRECTING = """\
import sys
from importlib.util import spec_from_file_location

class RedirectingFinder:
    _redirections = {{"demo": {path!r} + "/__init__.py"}}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in cls._redirections:
            return spec_from_file_location(name, cls._redirections[name])

sys.meta_path.append(RedirectingFinder)
"""


@pytest.fixture
def checkout(project: Path, tmp_path: Path) -> Path:
    """Return a checkout whose package differs from the project's."""
    folder = tmp_path / "checkout"
    for place, name in ((project, "project"), (folder, "checkout")):
        (place / "src" / "demo").mkdir(parents=True)
        (place / "src" / "demo" / "__init__.py").write_text(f"WHERE = {name!r}\n")
    (folder / "test_a.py").write_text(TESTS)
    return folder


@pytest.fixture
def install(tmp_path: Path, environment: dict[str, str]) -> Install:
    """Return what has the interpreter execute a text at its start, as installed packages can."""

    def write(text: str) -> None:
        folder = tmp_path / "installed"
        folder.mkdir()
        (folder / "__editable___demo_finder.py").write_text(text)
        (folder / "sitecustomize.py").write_text("import __editable___demo_finder\n")
        environment["PYTHONPATH"] = str(folder)

    return write


@pytest.fixture
def go(project: Path, checkout: Path, environment: dict[str, str], cache: Path) -> Go:
    """Return what runs the tests of the checkout."""

    def run(command: str) -> SuiteRun:
        suite = suite_for(command, SuiteContext(project=project, env=environment, timeout=120, cache=cache))
        return suite.run(checkout)

    return run


@pytest.mark.parametrize("command", COMMANDS, ids=["pytest", "unittest"])
@pytest.mark.parametrize("way", ["path", "finder", "redirection"])
def test_an_editable_install_leads_to_the_checkout(
    project: Path, go: Go, install: Install, command: str, way: str
) -> None:
    path = str(project / "src" / "demo")
    install(
        {
            "path": f"import sys\nsys.path.append({str(project / 'src')!r})",
            "finder": FINDER.format(path=path),
            "redirection": REDIRECTING.format(path=path),
        }[way]
    )
    done = go(command)
    assert done.green
    assert done.results
    assert done.foreign == ()


@pytest.mark.parametrize("command", COMMANDS, ids=["pytest", "unittest"])
def test_files_that_come_from_the_project_all_the_same_are_named(
    project: Path, go: Go, install: Install, command: str
) -> None:
    (project / "generated").mkdir()
    (project / "generated" / "demo.py").write_text("WHERE = 'checkout'\n")
    install(f"import sys\nsys.path.append({str(project / 'generated')!r})")
    done = go(command)
    assert done.green
    assert done.foreign == ("generated/demo.py",)


def test_packages_installed_inside_the_project_are_nobodys_business(
    project: Path, go: Go, install: Install
) -> None:
    packages = project / ".env" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "demo.py").write_text("WHERE = 'checkout'\n")
    install(f"import sys\nsys.path.append({str(packages)!r})")
    done = go(COMMANDS[0])
    assert done.green
    assert done.foreign == ()


def test_a_checkout_inside_the_project_is_not_foreign(
    project: Path, checkout: Path, environment: dict[str, str], cache: Path
) -> None:
    inside = project / ".git" / "checkout"
    inside.parent.mkdir()
    checkout.rename(inside)
    environment["PYTHONPATH"] = str(project / "src")
    suite = suite_for(COMMANDS[0], SuiteContext(project=project, env=environment, timeout=120, cache=cache))
    done = suite.run(inside)
    assert done.green
    assert done.foreign == ()


def test_the_project_may_be_its_own_checkout(project: Path, environment: dict[str, str], cache: Path) -> None:
    (project / "test_a.py").write_text("def test_a(): pass")
    suite = suite_for(COMMANDS[0], SuiteContext(project=project, env=environment, timeout=120, cache=cache))
    done = suite.run(project)
    assert done.green
    assert done.foreign == ()


@pytest.mark.parametrize("command", COMMANDS, ids=["pytest", "unittest"])
def test_a_project_installed_from_the_main_checkout_is_tested_as_it_is_in_another(
    project: Path, checkout: Path, install: Install, environment: dict[str, str], cache: Path, command: str
) -> None:
    install(FINDER.format(path=str(project / "src" / "demo")))
    beside = project.parent / "beside"
    beside.mkdir()
    made = [
        suite_for(command, SuiteContext(project=beside, env=environment, timeout=120, cache=cache, main=main))
        for main in (project, None)
    ]
    known, unknown = (suite.run(checkout) for suite in made)
    assert known.green
    assert known.foreign == ()
    assert not unknown.green
