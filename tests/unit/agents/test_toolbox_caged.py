"""Bash and Grep are held by the cage, the file tools hold themselves."""

import os
from pathlib import Path

from cages import means, needs_bubblewrap
from redgreenrefactor.agents.toolbox import Toolbox, shell_in
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.policy import Policy, writable

ENV = {"PATH": os.environ["PATH"]}


@needs_bubblewrap
def test_in_a_cage_the_tools_work_inside_and_reach_nothing_outside(tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    root.mkdir()
    secret.write_text("SECRET")
    (root / "link").symlink_to(secret)
    cage = Cage(means("bubblewrap"), Policy(places=writable(root)))
    toolbox = Toolbox(root, shell=shell_in(root, env=ENV, cage=cage), env=ENV, bash_timeout=60)

    assert not toolbox.call("Write", {"file_path": "a.txt", "content": "hello\n"}).failed
    assert toolbox.call("Bash", {"command": "cat a.txt; echo more > b.txt"}).text == "hello"
    assert toolbox.call("Read", {"file_path": "b.txt"}).text == "     1\tmore"
    assert toolbox.call("Grep", {"pattern": "hello"}).text == "a.txt"
    for command in ("cat link", f"cat {secret}", f"echo x > {tmp_path}/new"):
        result = toolbox.call("Bash", {"command": command})
        assert result.failed
        assert "SECRET" not in result.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root", "secret"]
