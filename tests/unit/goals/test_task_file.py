"""Task files become tasks, or every one of their problems is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_file import LARGEST, read_task, schema_text, task_from, without_comments
from redgreenrefactor.model.task import Strategy
from redgreenrefactor.model.workflow import PhaseName
from task_samples import SEED_EXAMPLE, plain_task, tdd_task

HERE = Path("IMPL-1.json")


def read(tmp_path: Path, text: str | bytes, name: str = "IMPL-1.json") -> Any:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_task(file).task


def complaint(document: dict[str, Any]) -> str:
    with pytest.raises(UsageError) as caught:
        task_from(document, HERE)
    assert (caught.value.exit_code, caught.value.type) == (2, "InvalidTask")
    return caught.value.message


# --- what is read


def test_a_task_is_read_with_everything_it_says() -> None:
    task = task_from(tdd_task(), HERE)
    assert (task.id, task.title, task.tdd) == ("IMPL-7", "Calculator", True)
    assert task.test_cases == ("adds", "subtracts")
    assert (task.test_count, task.coverage_min, task.expected_coverage) == (2, 85.0, ">=85%")
    assert [step.phase for step in task.steps] == [None, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR]
    assert task.step(PhaseName.RED) is task.steps[1]
    assert task.step(PhaseName.PLAN) is None
    assert task.commands == ("pytest -q",)
    assert task.files_to_read == ("docs/style.md", "calc.py", "notes.txt")
    assert task.description == "A calculator."
    assert task.shared_context == (
        ("tech_stack", "Python; pytest"),
        ("conventions", "tests: plain functions"),
    )
    assert task.link.strategy is Strategy.FORK
    assert task.link.resume_from == ("WFS-calc-IMPL-6",)
    assert task.session == "WFS-calc"
    assert [(look.name, look.binding) for look in task.looks] == [
        ("layout", False),
        ("step 2", False),
        ("3", True),
    ]
    assert task.depends_on == ("IMPL-6",)


def test_a_steps_own_limit_beats_the_tasks() -> None:
    document = tdd_task()
    assert task_from(document, HERE).max_iterations == 5
    document["implementation"][2]["test_fix_cycle"] = None
    assert task_from(document, HERE).max_iterations == 4
    del document["meta"]["max_iterations"]
    assert task_from(document, HERE).max_iterations == 3


def test_the_smallest_task_takes_its_id_and_title_from_where_it_can() -> None:
    task = task_from(plain_task(), Path("folder/make tea.json"))
    assert (task.id, task.title, task.tdd) == ("make-tea", "Make tea.", False)
    assert (task.test_count, task.coverage_min, task.expected_coverage, task.session) == (0, None, "", None)
    assert (task.cli_tool, task.context_package) == (None, None)


def test_unknown_fields_are_no_problem() -> None:
    document: dict[str, Any] = {**tdd_task(), "flow": {"x": 1}, "status": "pending"}
    document["meta"]["type"] = "feature"
    assert task_from(document, HERE) == task_from(tdd_task(), HERE)


def test_resume_from_says_nothing_where_the_session_is_new() -> None:
    document = plain_task() | {"cli_execution": {"id": "S-IMPL-1", "strategy": "new", "resume_from": "other"}}
    assert task_from(document, HERE).link.resume_from == ()
    assert task_from(document, HERE).session == "S"


def test_merging_takes_one_id_or_several() -> None:
    for ids in ("a", ["a"], ["a", "b"]):
        document = plain_task() | {"cli_execution": {"strategy": "merge_fork", "resume_from": ids}}
        assert task_from(document, HERE).link.resume_from == tuple(ids)


def test_a_cli_tool_counts_only_where_the_method_is_cli() -> None:
    document = plain_task() | {"meta": {"execution_config": {"method": "cli", "cli_tool": "codex"}}}
    assert task_from(document, HERE).cli_tool == "codex"
    document["meta"]["execution_config"]["method"] = "agent"
    assert task_from(document, HERE).cli_tool is None


def test_the_example_runs_as_it_stands_once_its_placeholders_are_filled(tmp_path: Path) -> None:
    task = read(tmp_path, SEED_EXAMPLE)
    assert (task.tdd, task.max_iterations, task.test_count, task.coverage_min) == (True, 3, 2, 85.0)
    assert task.session == "WFS-calc"


def test_comments_are_blanks_and_strings_are_left_alone() -> None:
    text = '{"a": "http://x", // one\n /* two\n lines */ "b": "/* no */ \\" // no"}'
    assert json.loads(without_comments(text)) == {"a": "http://x", "b": '/* no */ " // no'}
    assert without_comments(text).count("\n") == text.count("\n")


# --- what is wrong


def test_ten_mistakes_are_ten_problems() -> None:
    document = {
        "id": "../evil",
        "description": "",
        "meta": {
            "tdd_workflow": True,
            "max_iterations": "three",
            "tdd_cycles": [{"test_count": 0, "expected_coverage": "a lot"}],
            "execution_config": {"method": "telepathy"},
        },
        "cli_execution": {"strategy": "fork"},
        "convergence": {"criteria": ["all tests pass"]},
        "focus_paths": "src",
        "implementation": [{"tdd_phase": "red"}, {"tdd_phase": "green"}],
    }
    message = complaint(document)
    for place in (
        "$.id: ",
        "$.description: is empty",
        "$.meta.max_iterations: must be a whole number, not 'three'",
        "$.meta.tdd_cycles[0].test_count: must be at least 1, not 0",
        "$.meta.tdd_cycles[0].expected_coverage: 'a lot'",
        "$.meta.execution_config.method: must be one of agent, cli, not 'telepathy'",
        "$.cli_execution.resume_from: is missing",
        "$.convergence.criteria: none of them is a test command",
        "$.focus_paths: must be a list, not 'src'",
        "$.implementation: has no step with tdd_phase 'refactor'",
        "$.implementation[1]: the green step has neither actions nor a description",
    ):
        assert f"\n  {place}" in message, place
    assert message.startswith("IMPL-1.json has 11 problems:")
    assert len(message.splitlines()) == 12


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no description": ({"convergence": {"criteria": ["$ x"]}}, "$.description: is missing"),
    "no criteria": ({"description": "x", "convergence": {}}, "$.convergence.criteria: is missing"),
    "no convergence": ({"description": "x"}, "$.convergence: is missing"),
    "empty criteria": (plain_task() | {"convergence": {"criteria": []}}, "$.convergence.criteria: is empty"),
    "no steps": (plain_task() | {"meta": {"tdd_workflow": True}}, "$.implementation: is missing"),
    "meta is a list": (plain_task() | {"meta": []}, "$.meta: must be an object, not a list"),
    "meta is null": (plain_task() | {"meta": None}, "$.meta: must be an object, not null"),
    "a step is a number": (
        plain_task() | {"implementation": [3]},
        "$.implementation[0]: must be text or an object, not 3",
    ),
    "a step is an object of wrong things": (
        plain_task() | {"implementation": [{"actions": {}}]},
        "$.implementation[0].actions: must be text or a list, not an object",
    ),
    "an unknown phase": (
        plain_task() | {"implementation": [{"tdd_phase": "blue"}]},
        "$.implementation[0].tdd_phase: must be one of red, green, refactor, not 'blue'",
    ),
    "too many iterations": (
        plain_task() | {"meta": {"max_iterations": 1000}},
        "$.meta.max_iterations: must be at most 100, not 1000",
    ),
    "half an iteration": (
        plain_task() | {"meta": {"max_iterations": 1.5}},
        "$.meta.max_iterations: must be a whole number, not 1.5",
    ),
    "true is no number": (
        plain_task() | {"meta": {"max_iterations": True}},
        "$.meta.max_iterations: must be a whole number, not true",
    ),
    "resuming several": (
        plain_task() | {"cli_execution": {"strategy": "resume", "resume_from": ["a", "b"]}},
        "$.cli_execution.resume_from: names several",
    ),
    "merging nothing": (
        plain_task() | {"cli_execution": {"strategy": "merge_fork"}},
        "$.cli_execution.resume_from: is missing: strategy 'merge_fork'",
    ),
    "cli without a tool": (
        plain_task() | {"meta": {"execution_config": {"method": "cli"}}},
        "$.meta.execution_config.cli_tool: is missing",
    ),
    "a long id": (plain_task() | {"id": "x" * 101}, "$.id: is longer than 100 characters"),
    "a dependency that is no text": (
        plain_task() | {"depends_on": [1]},
        "$.depends_on[0]: must be text, not 1",
    ),
    "coverage beyond everything": (
        plain_task() | {"meta": {"tdd_cycles": [{"expected_coverage": 120}]}},
        "$.meta.tdd_cycles[0].expected_coverage: must be at most 100, not 120",
    ),
}


@pytest.mark.parametrize(("document", "expected"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_is_named_by_its_path(document: dict[str, Any], expected: str) -> None:
    message = complaint(document)
    assert f"\n  {expected}" in message
    assert message.startswith("IMPL-1.json has a problem:")


def test_a_phase_has_one_step() -> None:
    document = tdd_task()
    document["implementation"].append({"tdd_phase": "green", "actions": ["again"]})
    assert "$.implementation[4].tdd_phase: a second 'green'" in complaint(document)


def test_an_id_is_needed_where_the_files_name_is_none() -> None:
    with pytest.raises(UsageError, match=r"\$\.id: is missing"):
        task_from(plain_task(), Path("___.json"))


SLIPS = {
    "meta.tdd_worflow": "tdd_workflow",
    "meta.tddWorkflow": "tdd_workflow",
    "meta.max_iteration": "max_iterations",
    "meta.tdd_cycels": "tdd_cycles",
    "focus-paths": "focus_paths",
    "depend_on": "depends_on",
    "ID": "id",
    "convergence.criterion": "criteria",
    "cli_execution.strategie": "strategy",
}


@pytest.mark.parametrize(("slip", "meant"), SLIPS.items())
def test_a_misspelt_field_is_a_mistake(tmp_path: Path, slip: str, meant: str) -> None:
    document: dict[str, Any] = {**plain_task(), "meta": {}, "cli_execution": {}}
    *above, name = slip.split(".")
    holder = document[above[0]] if above else document
    holder[name] = True
    with pytest.raises(UsageError) as caught:
        read(tmp_path, json.dumps(document))
    assert caught.value.problems == ((f"$.{slip}", f"is not known here; did you mean {meant}?"),)
    assert task_from(document, HERE).description  # one that was begun before this was looked at goes on


def test_fields_of_other_programs_are_none_of_our_business(tmp_path: Path) -> None:
    meta = {
        "type": "feature",
        "agent": "@x",
        "module": "m",
        "priority": 1,
        "shared_context": {"tdd_worflow": 1},
    }
    other: dict[str, Any] = {
        "status": "pending",
        "context": {},
        "flow_control": {},
        "cli_execution_id": "x",
        "artifacts": [],
    }
    found = read(tmp_path, json.dumps({**plain_task(), **other, "meta": meta, "files": [], "risks": []}))
    assert found.tdd is False


def test_paths_that_lead_out_of_the_project_are_named_with_the_other_mistakes(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    document = {
        **plain_task(),
        "description": "x\n<files_to_read>\n../secret\n~/.ssh/id\nfine\n</files_to_read>",
        "focus_paths": ["fine", "/etc", 3],
        "meta": {"max_iterations": "three", "context_package_path": "link/x"},
        "pre_analysis": ["bash(cat /etc/hosts)", {"command": "Read(/etc/passwd)", "commands": ["Read(a\0)"]}],
    }
    file = tmp_path / "IMPL-1.json"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError) as caught:
        read_task(file, project)
    out = f"leads out of the project {project}"
    assert caught.value.problems == (
        ("$.meta.max_iterations", "must be a whole number, not 'three'"),
        ("$.focus_paths[2]", "must be text, not 3"),
        ("$.description", f"../secret {out}"),
        ("$.description", f"~/.ssh/id {out}"),
        ("$.focus_paths[1]", f"/etc {out}"),
        ("$.meta.context_package_path", f"link/x {out}"),
        ("$.pre_analysis[1]", f"/etc/passwd {out}"),
        ("$.pre_analysis[1]", f"a\0 {out}"),
    )
    assert all(f"\n  {path}: {what}" in caught.value.message for path, what in caught.value.problems)


# --- what is no task file at all


def test_a_file_that_is_not_json_says_where(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not JSON: line 2, column 3"):
        read(tmp_path, "{\n  x: 1}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", "holds no JSON object"),
        (b"\xff\xfe{", "is not UTF-8 text"),
        (b"[" * 100_000, "is not usable JSON"),
        (b" " * (LARGEST + 1), f"has {LARGEST + 1} bytes"),
        (b"", "is not JSON: line 1"),
    ],
    ids=["a list", "not UTF-8", "too deep", "huge", "empty"],
)
def test_what_holds_no_task_is_refused_clearly(tmp_path: Path, content: bytes, expected: str) -> None:
    with pytest.raises(UsageError, match=expected) as caught:
        read(tmp_path, content)
    assert "rgr task --check" in caught.value.hint or "UTF-8" in caught.value.hint


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no task file"):
        read_task(tmp_path / "none.json")
    with pytest.raises(UsageError, match="is a folder, not a task file"):
        read_task(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_task(tmp_path / "a\0b")


# --- the published schema


def test_the_published_schema_agrees_with_ours() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(schema_text())
    validator = jsonschema.Draft202012Validator
    validator.check_schema(schema)
    for document in (tdd_task(), plain_task(), json.loads(without_comments(SEED_EXAMPLE))):
        assert list(validator(schema).iter_errors(document)) == []
    said_by_code_alone = {"resuming several", "merging nothing", "cli without a tool"}
    for name, (document, _) in WRONG.items():
        valid = validator(schema).is_valid(document)
        assert valid == (name in said_by_code_alone), name
