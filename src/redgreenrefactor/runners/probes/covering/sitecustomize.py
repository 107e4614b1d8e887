"""Starts coverage.py, where it is installed, in every interpreter that a test command starts.

Whatever module of this name it takes the place of is run afterwards.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as little as possible is imported here


def _start(place: str) -> None:
    try:
        import coverage  # noqa: PLC0415
    except ImportError:
        return
    with open(os.path.join(place, "interpreter"), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123
        file.write(sys.executable)
    coverage.process_startup()


def _hand_over() -> None:
    rest = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("RGR_COVERAGE"):
    _start(os.environ["RGR_COVERAGE"])
_hand_over()
