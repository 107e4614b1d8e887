"""How a keeper knows what is below it."""

import os
import sys
from pathlib import Path

from redgreenrefactor.sandbox import keeper, process

ENV = {"PATH": os.environ["PATH"]}


def test_the_kernel_lists_the_children_of_a_process(tmp_path: Path) -> None:
    with (
        process.start(["cat"], cwd=tmp_path, env=ENV) as one,
        process.start(["cat"], cwd=tmp_path, env=ENV) as two,
    ):
        assert {one.pid, two.pid} <= set(keeper.children_of("self")) & set(keeper.children_of(os.getpid()))
        assert keeper.children_of(one.pid) == []


def test_a_signal_to_nobody_is_not_sent(tmp_path: Path) -> None:
    with process.start(["true"], cwd=tmp_path, env=ENV) as ended:
        ended.wait()
    assert not keeper.send(ended.pid, 0)
    assert keeper.send(os.getpid(), 0)


def test_a_keeper_imports_hardly_anything(tmp_path: Path) -> None:
    script = "import sys; sys.path[0:0] = [sys.argv[1]]; import keeper; print(*sys.modules)"
    folder = str(Path(keeper.__file__).parent)
    finished = process.call([sys.executable, "-I", "-S", "-c", script, folder], cwd=tmp_path, env=ENV)
    modules = set(finished.stdout.decode().split())
    assert "keeper" in modules
    assert modules.isdisjoint(
        {"os", "signal", "subprocess", "threading", "select", "ctypes", "collections", "re"}
    )
