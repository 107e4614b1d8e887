"""Measures what `pip install redgreenrefactor` puts on a disk, without extras: at most 60 MB.

    python bench/size.py [--top N] [--json]

The project is installed into a fresh virtual environment, with the pinned versions. Counted are whole blocks of
4 KiB, as disks do. Byte code is not, because Python writes it when something is used; nor is what an empty
environment holds already.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

BAR = 60.0  # MB, of 1,000,000 bytes
BLOCK = 4096
PROJECT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the largest packages and the sum; return 1 if it is above the bar."""
    wanted = argparse.ArgumentParser(description="Measure what an installation takes on disk.")
    wanted.add_argument("--top", type=int, default=12, help="how many packages to name")
    wanted.add_argument("--json", action="store_true", help="print one JSON object")
    given = wanted.parse_args()
    with tempfile.TemporaryDirectory(prefix="rgr-size-") as folder:
        sizes = measured(Path(folder))
    total = sum(sizes.values())
    if given.json:
        print(json.dumps({"bar": BAR, "total": total, "packages": sizes}))
    else:
        print("\n".join(table(sizes, given.top)))
    return int(total > BAR)


def measured(folder: Path) -> dict[str, float]:
    """Return the megabytes of every package that an installation adds, the largest first."""
    venv.create(folder, with_pip=True)
    packages = next(folder.glob("lib*/python*/site-packages"), folder / "Lib" / "site-packages")
    before = {found.name for found in distributions(path=[str(packages)])}
    install(folder)
    found = {each.name: megabytes(each) for each in distributions(path=[str(packages)])}
    added = {name: size for name, size in found.items() if name not in before}
    return dict(sorted(added.items(), key=lambda item: -item[1]))


def install(folder: Path) -> None:
    """Install the project as a user does, but without byte code."""
    python = next(folder.glob("bin/python"), folder / "Scripts" / "python.exe")
    options = ("--quiet", "--disable-pip-version-check", "--no-compile", "-c", "constraints.txt", ".")
    subprocess.run([str(python), "-m", "pip", "install", *options], cwd=PROJECT, check=True)


def megabytes(package: Distribution) -> float:
    """Return what the files of a package take, byte code apart."""
    files = [Path(str(file.locate())) for file in package.files or () if file.suffix != ".pyc"]
    return sum(-(-file.stat().st_size // BLOCK) * BLOCK for file in files if file.is_file()) / 1e6


def table(sizes: Mapping[str, float], top: int) -> list[str]:
    """Return the largest packages, the rest as one, and the sum against the bar."""
    rows = [f"{name:<28}{size:8.1f} MB" for name, size in list(sizes.items())[:top]]
    rest = list(sizes.values())[top:]
    if rest:
        rows.append(f"{f'{len(rest)} more':<28}{sum(rest):8.1f} MB")
    total = sum(sizes.values())
    return [*rows, f"{f'{len(sizes)} packages':<28}{total:8.1f} MB, at most {BAR:.0f}"]


if __name__ == "__main__":
    sys.exit(main())
