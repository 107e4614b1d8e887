"""Several tasks at once, in the order of their dependencies."""

import json
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_set import read_tasks
from task_samples import plain_task


def placed(folder: Path, **depends: tuple[str, ...]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, on in depends.items():
        (folder / f"{name}.json").write_text(json.dumps({**plain_task(), "depends_on": list(on)}))
    return [folder / f"{name}.json" for name in depends]


def order(*paths: Path) -> list[str]:
    return [item.task.id for item in read_tasks(paths)]


def test_tasks_come_after_those_they_depend_on(tmp_path: Path) -> None:
    assert order(*placed(tmp_path, A=("C",), B=(), C=("B",), D=())) == ["B", "C", "A", "D"]


def test_a_folder_holds_its_tasks(tmp_path: Path) -> None:
    placed(tmp_path / "flat", B=("A",), A=())
    assert order(tmp_path / "flat") == ["A", "B"]
    placed(tmp_path / "session" / ".task", B=(), A=("B",))
    (tmp_path / "session" / "other.json").write_text("{}")
    assert order(tmp_path / "session") == ["B", "A"]


def test_one_task_alone_is_not_asked_what_it_depends_on(tmp_path: Path) -> None:
    assert order(*placed(tmp_path, A=("elsewhere",))) == ["A"]


@pytest.mark.parametrize("listed", [{"task_ids": ["B", "A"]}, {"tasks": [{"id": "B"}, "A.json"]}])
def test_a_plan_names_its_tasks_and_what_they_share(tmp_path: Path, listed: dict[str, Any]) -> None:
    placed(tmp_path / ".task", A=(), B=(), C=())
    own = {**plain_task(), "meta": {"shared_context": {"tech_stack": "Go"}}}
    (tmp_path / ".task" / "A.json").write_text(json.dumps(own))
    shared = {"tech_stack": ["Python"], "conventions": ["short functions"]}
    for name in ("plan.json", "other-plan.json"):
        (tmp_path / name).write_text(json.dumps({"summary": "x", "shared_context": shared, **listed}))
        b, a = read_tasks([tmp_path / name])
        assert (b.task.id, a.task.id) == ("B", "A")
        assert b.task.shared_context == (("tech_stack", "Python"), ("conventions", "short functions"))
        assert a.task.shared_context == (("tech_stack", "Go"), ("conventions", "short functions"))
        assert a.document["meta"]["shared_context"]["conventions"] == "short functions"
    assert [item.task.id for item in read_tasks([tmp_path])] == ["A", "B", "C"]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"B\.json: \$\.depends_on\[1\]: there is no task Z"):
        order(*placed(tmp_path, A=(), B=("A", "Z")))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no task file in"):
        order(tmp_path / "empty")
    with pytest.raises(UsageError, match="There is no task file"):
        order(tmp_path / "none.json")


def test_a_circle_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wait for each other: B, C"):
        order(*placed(tmp_path, A=("B",), B=("C",), C=("B",)))


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="are both called A"):
        order(*placed(tmp_path / "one", A=()), *placed(tmp_path / "two", A=()))


def test_everything_that_is_wrong_with_all_files_is_told_at_once(tmp_path: Path) -> None:
    placed(tmp_path, A=())
    (tmp_path / "B.json").write_text(json.dumps({**plain_task(), "depends_on": 1, "title": 2}))
    (tmp_path / "C.json").write_text("{")
    with pytest.raises(UsageError) as refused:
        read_tasks([tmp_path])
    told = refused.value
    assert f"{tmp_path / 'B.json'} has 2 problems:" in told.message
    assert f"{tmp_path / 'C.json'}" in told.message
    assert [place.removeprefix(f"{tmp_path}/") for place, _ in told.problems] == [
        "B.json: $.title",
        "B.json: $.depends_on",
        "C.json: $",
    ]
