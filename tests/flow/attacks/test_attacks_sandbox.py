"""Everything that held commands try is held, as root and as an ordinary user, in every kind of checkout, by sessions and suites."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from attempts import OF_SESSIONS, OF_SUITES

import redgreenrefactor
from cages import LEVELS, means

ATTACK = Path(__file__).with_name("attempts.py")
SOURCE = Path(redgreenrefactor.__file__).parents[1]
NOBODY = 65534
BARE = "bare"  # Landlock where the kernel grants no namespaces
pytestmark = pytest.mark.slow


def tried(command: list[str], level: str, folder: Path, path: list[str]) -> dict[str, str]:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": os.pathsep.join(path)}
    done = subprocess.run(
        [*command, "-B", str(ATTACK), level, str(folder / "lab")],
        cwd="/",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(found["tried"])
    assert min(found["tried"].values()) > 40
    return found["wrong"]


@pytest.fixture
def everybodys() -> Generator[Path]:
    """A folder that everybody can pass through: pytest's own are closed again by whoever else runs it."""
    with tempfile.TemporaryDirectory(prefix="rgr-attacks-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("level", [*LEVELS, BARE])
def test_all_attacks_are_held(level: str, tmp_path: Path) -> None:
    means("landlock" if level == BARE else level)
    assert tried([sys.executable], level, tmp_path, [str(SOURCE)]) == {}


@pytest.mark.parametrize("level", [*LEVELS, BARE])
def test_all_attacks_of_an_ordinary_user_are_held(level: str, everybodys: Path) -> None:
    means("landlock" if level == BARE else level)
    program = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if os.getuid() != 0 or program is None or shutil.which("setpriv") is None:
        pytest.skip("only root can become somebody else, with an interpreter that is everybody's")
    packages = [path for path in sys.path if path.endswith("site-packages")]
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program]
    known = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    if subprocess.run([program, "-c", known], check=False).returncode:
        pytest.skip("the interpreter that is everybody's is of another version")
    home = everybodys / "user"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    reach = subprocess.run(
        [*become, "-c", "import redgreenrefactor.confinement"],
        env={"PYTHONPATH": os.pathsep.join([str(SOURCE), *packages])},
        check=False,
    )
    if reach.returncode:
        pytest.skip("an ordinary user cannot read this checkout")
    assert tried(become, level, home, [str(SOURCE), *packages]) == {}


def test_there_are_as_many_attacks_as_promised() -> None:
    for attacks, promised in ((OF_SESSIONS, 110), (OF_SUITES, 70)):
        names = [attack.name for attack in attacks]
        assert len(set(names)) == len(names) >= promised
