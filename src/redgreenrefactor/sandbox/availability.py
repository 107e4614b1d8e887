"""What this machine can hold programs with, found out by doing it."""

import functools
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.sandbox import keeper, process
from redgreenrefactor.sandbox.bubblewrap import Bubblewrap
from redgreenrefactor.sandbox.cage import NO_MEANS, Cage, Means
from redgreenrefactor.sandbox.cgroups import find_group
from redgreenrefactor.sandbox.policy import Level, Mount, MountMode, Policy

_SECONDS = 20.0
_SHOWN = Path("/usr")  # that is mounted to see whether that works
_VERSION = 1  # asks Landlock for its version instead of rules
_OFF = "Install bubblewrap (e.g. 'apt install bubblewrap'), or set TDD_SANDBOX=off (or sandbox=off, approved) to go without."


def means_for(wanted: str, env: Mapping[str, str]) -> Means:
    """Return what enforces policies here as the setting wants it; what does not work is a NotReadyError."""
    if wanted == "off":
        return NO_MEANS
    if sys.platform != "linux":
        raise NotReadyError(
            "there is a sandbox on Linux only",
            hint="Work in a container, in WSL or on a virtual machine; TDD_SANDBOX=off goes without.",
            type="SandboxMissing",
        )
    path = env.get("PATH", os.defpath)
    tries = {"bubblewrap": lambda: _bubblewrap(path), "landlock": lambda: _landlock(path)}
    found = [tries[name]() for name in ([wanted] if wanted != "auto" else tries)]
    best = next((means for means in found if means.level is not Level.OFF), None)
    reasons = "; ".join(means.why for means in found if means.why)
    if best is None:
        raise NotReadyError(f"no sandbox works here: {reasons}", hint=_OFF, type="SandboxMissing")
    return replace(best, why=reasons)


@functools.cache
def _bubblewrap(path: str) -> Means:
    """Return bubblewrap if it holds a program here, which is known after one has run."""
    program = shutil.which("bwrap", path=path)
    if program is None:
        return Means(Level.OFF, why="bubblewrap: it is not installed")
    said = process.call([program, "--version"], cwd=Path("/"), env={})
    tool = Bubblewrap.of_version(program, said.stdout.decode("utf-8", "replace"), as_root=os.getuid() == 0)
    means = Means(Level.BUBBLEWRAP, bubblewrap=tool, landlock=_landlock_version(), group=find_group())
    return _tried(means, path)


@functools.cache
def _landlock(path: str) -> Means:
    """Return Landlock if the kernel has it and the keeper can use it."""
    version = _landlock_version()
    if version < 1:
        return Means(Level.OFF, why="landlock: the kernel does not have it")
    means = Means(Level.LANDLOCK, landlock=version, group=find_group())
    best = _tried(replace(means, mounts=True), path, Policy((Mount(_SHOWN, MountMode.READ, _SHOWN),)))
    return best if best.level is Level.LANDLOCK else _tried(means, path)


def _landlock_version() -> int:
    """Return the version the kernel has, less than 1 if it has none."""
    return keeper.library("syscall", keeper.LANDLOCK, None, 0, _VERSION)


def _tried(means: Means, path: str, policy: Policy | None = None) -> Means:
    """Return the means if a program runs with them, else why not."""
    done = process.run(
        ["/bin/sh", "-c", "exit 0"],
        cwd=Path("/"),
        env={"PATH": path},
        timeout=_SECONDS,
        cage=Cage(means, policy or Policy()),
    )
    if done.exit_code == 0:
        return means
    words = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    why = words[-1][:200] if words else f"it ended with exit code {done.exit_code}"
    return Means(Level.OFF, why=f"{means.level}: {why}")
