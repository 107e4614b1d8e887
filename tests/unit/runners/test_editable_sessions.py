"""What a session in a checkout beside the main one imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redgreenrefactor.runners.suite_context import imported_from

FINDER = """\
import sys
from importlib.util import spec_from_file_location
MAPPING = {{"demo": {path!r}}}

class _Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return spec_from_file_location(name, MAPPING[name] + "/__init__.py") if name in MAPPING else None

sys.meta_path.append(_Finder)
"""


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """Return the main checkout, with a virtual environment, and another one with other code."""
    main, beside = tmp_path / "main", tmp_path / "beside"
    for place in (main, beside):
        (place / "src/demo").mkdir(parents=True)
        (place / "src/demo/__init__.py").write_text(f"WHERE = {place.name!r}\n")
    (main / ".venv").mkdir()
    (main / ".venv/pyvenv.cfg").touch()
    site(main).mkdir(parents=True)
    return main, beside


def site(main: Path) -> Path:
    return main / ".venv/lib/python3/site-packages"


def imported(main: Path, beside: Path, env: dict[str, str]) -> str:
    """Return which checkout a program gets the package from that a session starts."""
    code = f"import site; site.addsitedir({str(site(main))!r}); import demo; print(demo.WHERE)"
    found = imported_from(beside, main, env)
    return subprocess.run(
        [sys.executable, "-c", code], env=dict(found), capture_output=True, text=True, check=True
    ).stdout.strip()


ENV = {"PATH": os.environ["PATH"]}


@pytest.mark.parametrize("way", ["path", "finder"])
def test_a_package_installed_in_place_is_imported_from_the_sessions_own_checkout(
    places: tuple[Path, Path], way: str
) -> None:
    main, beside = places
    if way == "path":
        (site(main) / "demo.pth").write_text(f"import sys\n{main}/src\n")
    else:
        (site(main) / "__editable___demo_1_finder.py").write_text(FINDER.format(path=f"{main}/src/demo"))
        (site(main) / "demo.pth").write_text("import __editable___demo_1_finder\n")

    assert imported_from(beside, main, ENV)["PYTHONPATH"] == f"{beside}/src"
    assert imported(main, beside, ENV) == "beside"
    assert imported(main, main, ENV) == "main"


def test_modules_named_by_their_files_count_too(places: tuple[Path, Path]) -> None:
    main, beside = places
    (site(main) / "_editable_impl_demo.py").write_text(f"F.map('demo', '{main}/src/demo/__init__.py')\n")
    assert imported_from(beside, main, ENV)["PYTHONPATH"] == f"{beside}/src"


def test_a_path_that_leads_to_the_main_checkout_is_led_here(places: tuple[Path, Path]) -> None:
    main, beside = places
    env = {**ENV, "PYTHONPATH": f"{main}/src{os.pathsep}/elsewhere"}
    assert imported_from(beside, main, env)["PYTHONPATH"] == f"{beside}/src{os.pathsep}/elsewhere"


def test_elsewhere_nothing_is_changed(places: tuple[Path, Path]) -> None:
    main, beside = places
    (site(main) / "other.pth").write_text(f"/elsewhere/src\n{main}/.venv/extra\n")
    assert imported_from(beside, main, ENV) is ENV  # nothing of the project is installed in place
    (site(main) / "demo.pth").write_text(f"{main}/src\n")
    assert imported_from(main, main, ENV) is ENV
    assert imported_from(beside, None, ENV) is ENV
