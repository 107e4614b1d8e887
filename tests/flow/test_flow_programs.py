"""Whole workflows through the real programs that are agents, with a model on loopback."""

from collections.abc import Generator
from pathlib import Path

import pytest
from real_programs import KEYS, Theatre, theatre
from stage import PLAIN, calculator, subjects

from redgreenrefactor import RunStatus
from repos import MakeRepo

pytestmark = [pytest.mark.programs]


@pytest.fixture(params=sorted(KEYS))
def played(request: pytest.FixtureRequest, make_repo: MakeRepo, tmp_path: Path) -> Generator[Theatre]:
    with theatre(request.param, make_repo(files=PLAIN), tmp_path / "home", calculator(2)) as found:
        yield found


def test_a_run_comes_to_its_end(played: Theatre) -> None:
    result = played.run()

    assert result.status is RunStatus.COMPLETE, (result.error, played.said)
    assert played.repo.subjects()[2:] == subjects(2)
