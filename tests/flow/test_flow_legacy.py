"""Projects with tests that fail, or fail by chance, before a run begins."""

import pytest
from stage import GREENFIELD, Stage, calculator

from repos import MakeRepo

OLD = """\
from pathlib import Path

COUNTER = Path({counter!r})
FIRST = COUNTER.with_name("first")


def test_never_held() -> None:
    assert 1 == 2


def test_slips_on_its_second_run() -> None:
    runs = len(COUNTER.read_text()) if COUNTER.exists() else 0
    COUNTER.write_text("x" * (runs + 1))
    assert runs != 1


def test_slips_before_the_run() -> None:
    before = FIRST.exists()
    FIRST.touch()
    assert before
"""


@pytest.mark.long
def test_old_tests_that_fail_or_flake_are_told_and_stop_nobody(make_repo: MakeRepo) -> None:
    repo = make_repo(files=GREENFIELD)
    counter = repo.path.parent / "counter"
    repo.commit("test: old", {"tests/test_old.py": OLD.format(counter=str(counter))})
    start = repo.git("rev-parse", "HEAD")
    stage = Stage(repo, calculator(1))
    done = stage.run()
    assert done.code == 0, done
    opening = stage.note(start)
    assert opening["legacy"] == {
        "failing": ["tests/test_old.py::test_never_held"],
        "flaky": ["tests/test_old.py::test_slips_before_the_run"],
    }
    assert "failing before the run" in done.err + done.out
    red = stage.note(stage.commits(start)[1])
    assert [(found["type"], found["severity"]) for found in red["findings"]] == [("FlakyTest", "warning")]
