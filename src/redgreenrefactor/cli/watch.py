"""Runs in a browser."""

import os
import shutil
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from redgreenrefactor.cli.common import common, print_json, project
from redgreenrefactor.reports.server import remembered, watching
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import without_secrets


@click.command()
@click.option(
    "--port", metavar="N", type=click.IntRange(1, 65535), help="Listen there; else where it did before."
)
@common
def watch(port: int | None, **flags: Any) -> None:
    """Show runs in a browser while they go on; read-only, on this machine alone.

    Example: rgr watch --port 8080
    """
    served = remembered(project(flags), os.environ, port or 0)
    if flags["as_json"]:
        print_json({"address": served.address})
    else:
        click.echo(f"Open {served.address} in a browser.\nCtrl-C ends it; runs go on.")
    show(served.address)
    try:
        served.serve()
    except KeyboardInterrupt:
        served.stopping.set()
    finally:
        served.server.server_close()


@contextmanager
def watched(flags: dict[str, Any]) -> Generator[None]:
    """Have a page of what goes on while the block runs, and say where."""
    with watching(project(flags), os.environ) as served:
        click.echo(f"watch it at {served.address}", err=flags["as_json"])
        show(served.address)
        yield


def show(address: str) -> None:
    """Open a page where somebody sits at a terminal of a desktop; elsewhere its address has been said."""
    program = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if program and desktop and sys.stdout.isatty():
        env = without_secrets(os.environ)
        command = (program, address)
        started = threading.Thread(
            target=process.call, args=(command,), kwargs={"cwd": Path.home(), "env": env}, daemon=True
        )
        started.start()  # it may stay for as long as the browser does
