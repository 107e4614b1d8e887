"""What a task file brings along is held: its commands, its programs, its setup."""

import pytest
from stage import PLAIN, PLAIN_SETTINGS
from task_stage import CODE, TEST, TESTS, last_section, staged, task

from cages import LEVELS, means
from repos import MakeRepo

RUNS = "python -I -S -B run_all.py"
GOOD = {
    "files": {
        TEST: TESTS,
        CODE: "def add(a, b):\n    return a + b\n\n\ndef subtract(a, b):\n    return a - b\n",
    }
}
LOOKS = [
    "bash(rm README.md; echo removed)",
    "bash(cat README.md)",
    "bash(echo x > left.txt; ls)",
    {"command": "bash(git commit -q --allow-empty -m evil; git log --oneline)", "output_to": "past"},
    "bash(echo x > {outside}; ls {outside})",
    "Read(README.md)",
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.long
def test_commands_of_the_analysis_touch_nothing_of_the_users(level: str, make_repo: MakeRepo) -> None:
    means(level)
    settings = f"{PLAIN_SETTINGS}setup.command=touch prepared\n"
    files = {**PLAIN, "tdd.properties": settings}
    stage = staged(make_repo, {"CODE": {**GOOD, "commit": "feat: all of it", "say": "done"}}, files)
    outside = stage.repo.path / "outside.txt"  # of the checkout they run in
    looks = [look.format(outside=outside) if isinstance(look, str) else look for look in LOOKS]
    before = stage.repo.subjects()
    document = {
        "id": "IMPL-1",
        "description": "Write it.",
        "convergence": {"criteria": [f"$ test -e prepared && {RUNS}", "$ python -m compileall -q ."]},
        "pre_analysis": looks,
    }
    done = stage.rgr_task(document=document, TDD_SANDBOX=level)
    assert done.code == 0, done
    brief = stage.session("CODE-1-1")["brief"]
    for words in ("removed", "hello", "left.txt", f"cannot create {outside}"):
        assert words in brief, words
    assert " evil" not in brief.split("#### past", 1)[1].split("####")[0].replace("-m evil", "")
    assert (stage.repo.path / "README.md").read_text() == "hello\n"
    assert stage.repo.subjects() == [*before, "feat: all of it"]
    assert not outside.exists()
    assert not (stage.repo.path / "left.txt").exists()
    assert stage.is_clean()
    again = stage.rgr("verify", env={"TDD_SANDBOX": level})  # its checkouts have to be prepared as well
    assert again.code == 0, again


@pytest.mark.long
def test_a_criterions_program_is_looked_for_before_anybody_works(make_repo: MakeRepo) -> None:
    stage = staged(make_repo, files=PLAIN)
    criteria = [f"$ {RUNS}", "$ ls && no-such-linter .", "$ ./lint.sh"]
    done = stage.rgr_task(document=task(convergence={"criteria": criteria}))
    assert done.code == 3, done
    section = last_section(done.out)
    assert section[2] == (
        "**Blocker:** criteria cannot be run, for want of a program: `ls && no-such-linter .` needs no-such-linter"
    )
    assert section[3].startswith("**Need:** Install no-such-linter where the tests run")
    assert stage.sessions == []
