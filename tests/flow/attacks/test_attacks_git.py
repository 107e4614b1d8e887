"""Whatever a held session does to git, in every kind of checkout, the user's git folder and home are as before."""

import sys
from pathlib import Path

import pytest

from cages import LEVELS, means

sys.path.append(str(Path(__file__).parents[1]))

from attacks import HONEST, OF_SESSIONS, Lab, tried

GIT = (
    "git",
    "works",
    "objects",
    "settings",
    "hook",
    "mark",
    "lock",
    "HEAD",
    "branches",
    "notes",
    "modul",
    "alternates",
)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ordinary", "linked"])
@pytest.mark.parametrize("level", LEVELS)
def test_no_attack_on_git_gets_anywhere_and_honest_work_goes_on(
    level: str, kind: str, tmp_path: Path
) -> None:
    means(level)
    lab = Lab(tmp_path / f"{level}-{kind}", level, kind)
    try:
        wanted = [
            attack
            for attack in (*HONEST, *OF_SESSIONS)
            if attack.fits(level, kind) and any(word in attack.name for word in GIT)
        ]
        assert len(wanted) > 20
        assert {attack.name: wrong for attack in wanted if (wrong := tried(lab, attack))} == {}
    finally:
        lab.close()
