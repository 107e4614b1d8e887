"""Whatever a held session does to git, in every kind of checkout, the user's git folder and home are as before."""

from pathlib import Path

import pytest
from attempts import GIT, HONEST, tried
from laboratory import Lab

from cages import LEVELS, means


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ordinary", "linked"])
@pytest.mark.parametrize("level", LEVELS)
def test_no_attack_on_git_gets_anywhere_and_honest_work_goes_on(
    level: str, kind: str, tmp_path: Path
) -> None:
    means(level)
    lab = Lab(tmp_path / f"{level[:2]}-{kind[:2]}", level, kind)  # a socket has a name of 107 bytes at most
    try:
        wanted = [attack for attack in (*HONEST, *GIT) if level in attack.levels]
        assert len(wanted) > 20
        assert {attack.name: wrong for attack in wanted if (wrong := tried(lab, attack))} == {}
    finally:
        lab.close()
