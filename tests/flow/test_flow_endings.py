"""What people are told at the end is what happened, whichever workflow it was."""

import json
from pathlib import Path

import pytest
from review_stage import ReviewStage, plain_repo
from task_stage import task

from repos import MakeRepo

pytestmark = pytest.mark.long


def test_an_agent_that_is_not_there_is_found_out_before_anything_begins(
    make_repo: MakeRepo, tmp_path: Path
) -> None:
    stage = ReviewStage(plain_repo(make_repo))
    stage.repo.commit("docs: what is wanted", {})
    file = tmp_path / "task.json"
    file.write_text(json.dumps(task()))
    for words in (["run", "x"], ["tdd", "SPEC.md", "--forge", "none"], ["task", str(file)]):
        done = stage.rgr(*words, "--agent", "command:./agent.sh --fast", "--json")
        assert done.code == 3, done
        assert "'./agent.sh' is not there" in done.json["error"]
        assert stage.repo.refs().keys() == {"refs/heads/main", "refs/remotes/origin/main"}
        assert stage.branches() == ["main"]
