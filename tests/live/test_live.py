"""A small workflow with a real model: it costs money, so it is run by `make live` alone."""

import os

import pytest

from redgreenrefactor import RunStatus, library
from repos import MakeRepo

FEATURE = (
    "slug(text) in slug.py: lower case, words joined by single dashes, nothing else. Two cases are enough."
)
FILES = {
    "README.md": "slug\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}


@pytest.mark.skipif(not os.environ.get("RGR_LIVE"), reason="costs money: make live")
def test_a_real_model_takes_a_small_feature_to_its_end(make_repo: MakeRepo) -> None:
    repo = make_repo(files=FILES)
    keys = {name: value for name, value in os.environ.items() if name.endswith(("_API_KEY", "_BASE_URL"))}
    result = library.run(
        FEATURE,
        project=repo.path,
        agent="api",
        model=os.environ.get("LIVE_MODEL"),
        max_cycles=2,
        budget_usd=0.5,
        environ={**repo.env, **keys, "PATH": os.environ["PATH"], "TDD_SANDBOX": "auto"},
        on_event=print,
    )

    assert result.status in (RunStatus.COMPLETE, RunStatus.STOPPED), result.error
    assert [cycle.outcome for cycle in result.cycles][:1] == ["done"]
    assert result.usage
    print(result.usage, result.cost_per_test)
