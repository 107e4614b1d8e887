"""Task files: JSON in, a task out, or every problem with its path."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.json_schema import Problem, lines_of, list_of, object_of, problems
from redgreenrefactor.goals.task_paths import READS, files_to_read, is_command, leading_out
from redgreenrefactor.goals.text_file import TextFile
from redgreenrefactor.model.task import (
    ITERATIONS,
    Criterion,
    Cycle,
    Link,
    Look,
    Step,
    Strategy,
    Task,
    command_of,
    percentage,
)
from redgreenrefactor.model.workflow import PhaseName

SCHEMA = "task.schema.json"
LARGEST = 1_000_000  # bytes of a task file
HINT = "Mend the file, then type 'rgr task --check FILE'; 'rgr task --schema' prints what it may hold."
_PHASES = {"red": PhaseName.RED, "green": PhaseName.GREEN, "refactor": PhaseName.REFACTOR}
_BINDING = ("fail", "stop", "halt", "abort", "error")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task, where it was read from, and the JSON it was read as."""

    task: Task
    path: Path
    document: Json


def schema_text() -> str:
    """Return the published JSON Schema of task files."""
    return (files("redgreenrefactor.goals") / SCHEMA).read_text(encoding="utf-8")


@cache
def _schema() -> Json:
    return cast("Json", json.loads(schema_text()))


def read_task(path: Path, project: Path | None = None) -> TaskFile:
    """Return the task a file holds; everything that is wrong with it is one UsageError that names all of it.

    With a project, that includes the paths that lead out of it.
    """
    document = read_object(path, "task file")
    outside = leading_out(document, project) if project else ()
    _refuse([*_wrong(document, path), *outside], path)
    return TaskFile(_task(document, path), path, document)


def task_from(document: Json, path: Path) -> Task:
    """Return the task that was recorded when it was begun."""
    _refuse([problem for problem in _wrong(document, path) if not problem.forgivable], path)
    return _task(document, path)


def _refuse(wrong: Sequence[Problem], path: Path) -> None:
    if wrong:
        count = f"{len(wrong)} problems" if len(wrong) > 1 else "a problem"
        lines = "".join(f"\n  {problem}" for problem in wrong)
        found = tuple((problem.path, problem.what) for problem in wrong)
        raise UsageError(f"{path} has {count}:{lines}", hint=HINT, type="InvalidTask", problems=found)


def read_object(path: Path, kind: str) -> Json:
    """Return the JSON object a file holds; comments are allowed, anything else is a UsageError."""
    file = TextFile(path, kind, HINT, type="InvalidTask", largest=LARGEST)
    text = file.read()
    try:
        document: Any = json.loads(without_comments(text))
    except json.JSONDecodeError as error:
        raise file.unusable(
            f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}", HINT
        ) from error
    except (ValueError, RecursionError) as error:
        raise file.unusable(f"is not usable JSON: {error}") from error
    if not isinstance(document, dict):
        raise file.unusable("holds no JSON object: $ must be an object")
    return cast("Json", document)


_PIECES = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text: str) -> str:
    """Return the text with blanks in place of // and /* */ comments, so that lines and columns stay."""
    return _PIECES.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text
    )


# --- what may be wrong


def _wrong(document: Json, path: Path) -> Iterator[Problem]:
    """Yield every problem: those of single fields, then what fields say together."""
    found = list(problems(_schema(), document))
    yield from found
    known = {problem.path for problem in found}
    for problem in (*_names(document, path), *_criteria(document), *_steps(document), *_links(document)):
        if not any(place == problem.path or problem.path.startswith(f"{place}.") for place in known):
            yield problem


def _names(document: Json, path: Path) -> Iterator[Problem]:
    if "id" not in document and not _UNSAFE.sub("", path.stem).strip(".-_"):
        yield Problem("$.id", "is missing, and the file's name cannot stand for it")


def _criteria(document: Json) -> Iterator[Problem]:
    found = [
        item
        for item in list_of(object_of(document.get("convergence")).get("criteria"))
        if isinstance(item, str)
    ]
    if found and not any(command_of(item) for item in found):
        yield Problem(
            "$.convergence.criteria",
            "none of them is a test command: let one start with '$ ' or stand in backticks, e.g. '$ pytest -q'",
        )


def _steps(document: Json) -> Iterator[Problem]:
    """Yield why the steps are not one red, one green and one refactor."""
    if object_of(document.get("meta")).get("tdd_workflow") is not True:
        return
    if "implementation" not in document:
        yield Problem("$.implementation", "is missing: meta.tdd_workflow asks for red, green and refactor")
        return
    places: dict[str, list[int]] = {name: [] for name in _PHASES}
    for index, item in enumerate(list_of(document["implementation"])):
        phase = object_of(item).get("tdd_phase")
        if isinstance(phase, str) and phase in places:
            places[phase].append(index)
    for name, found in places.items():
        if not found:
            yield Problem("$.implementation", f"has no step with tdd_phase {name!r}")
        for index in found[1:]:
            yield Problem(
                f"$.implementation[{index}].tdd_phase", f"a second {name!r}: each phase has one step"
            )
    for index in places["green"][:1]:
        step = object_of(list_of(document["implementation"])[index])
        if not lines_of(step.get("actions")) and not str(step.get("description") or "").strip():
            yield Problem(
                f"$.implementation[{index}]", "the green step has neither actions nor a description"
            )


def _links(document: Json) -> Iterator[Problem]:
    """Yield why sessions could not go on from the ids that are named."""
    execution = object_of(document.get("cli_execution"))
    strategy, ids = execution.get("strategy", "new"), lines_of(execution.get("resume_from"))
    if strategy in ("resume", "fork") and len(ids) != 1:
        many = "names several" if ids else "is missing"
        yield Problem("$.cli_execution.resume_from", f"{many}: strategy {strategy!r} goes on from one id")
    if strategy == "merge_fork" and not ids:
        yield Problem(
            "$.cli_execution.resume_from", "is missing: strategy 'merge_fork' goes on from several ids"
        )
    config = object_of(object_of(document.get("meta")).get("execution_config"))
    if config.get("method") == "cli" and "cli_tool" not in config:
        yield Problem("$.meta.execution_config.cli_tool", "is missing: method 'cli' needs the program's name")


# --- what it says


def _task(document: Json, path: Path) -> Task:
    meta, execution = object_of(document.get("meta")), object_of(document.get("cli_execution"))
    name = str(document.get("id") or _UNSAFE.sub("-", path.stem).strip(".-_"))
    steps = tuple(_step(item) for item in list_of(document.get("implementation")))
    green = next((step for step in steps if step.phase is PhaseName.GREEN), None)
    config = object_of(meta.get("execution_config"))
    description = str(document["description"]).strip()
    return Task(
        id=name,
        title=str(document.get("title") or "").strip() or _first_line(description),
        description=description,
        tdd=meta.get("tdd_workflow") is True,
        criteria=tuple(Criterion(text, command_of(text)) for text in document["convergence"]["criteria"]),
        cycles=tuple(_cycle(item) for item in list_of(meta.get("tdd_cycles"))),
        steps=steps,
        max_iterations=(green.max_iterations if green else None)
        or int(meta.get("max_iterations", ITERATIONS)),
        files_to_read=tuple(files_to_read(description)),
        focus_paths=lines_of(document.get("focus_paths")),
        context_package=document.get("context_package_path") or meta.get("context_package_path") or None,
        shared_context=shared_context(meta.get("shared_context")),
        looks=tuple(
            _look(item, index) for index, item in enumerate(list_of(document.get("pre_analysis")), 1)
        ),
        cli_tool=str(config["cli_tool"]).strip() if config.get("method") == "cli" else None,
        link=_link(execution),
        depends_on=lines_of(document.get("depends_on")),
        session=_session(str(execution.get("id") or ""), name),
    )


def _session(link: str, name: str) -> str | None:
    """Return the session that an id of the form SESSION-TASK names."""
    return link.removesuffix(f"-{name}") or None if link else None


def _link(execution: Json) -> Link:
    strategy = Strategy(execution.get("strategy", Strategy.NEW))
    ids = lines_of(execution.get("resume_from")) if strategy is not Strategy.NEW else ()
    return Link(str(execution.get("id") or ""), strategy, ids)


def _step(item: Any) -> Step:
    if isinstance(item, str):
        return Step(item.strip())
    body = object_of(item)
    cycle = object_of(body.get("test_fix_cycle"))
    return Step(
        description=str(body.get("description") or body.get("title") or "").strip(),
        phase=_PHASES.get(str(body.get("tdd_phase") or "")),
        actions=lines_of(body.get("actions")),
        modification_points=_points(body.get("modification_points")),
        logic_flow=lines_of(body.get("logic_flow")),
        max_iterations=int(cycle["max_iterations"]) if "max_iterations" in cycle else None,
    )


def _cycle(item: Any) -> Cycle:
    body = object_of(item)
    cases, wanted = lines_of(body.get("test_cases")), body.get("expected_coverage")
    return Cycle(
        test_count=int(body.get("test_count") or len(cases)),
        test_cases=cases,
        scope=str(body.get("implementation_scope") or "").strip(),
        expected_coverage="" if wanted is None else str(wanted).strip(),
        coverage_min=percentage(wanted),
    )


def _look(item: Any, number: int) -> Look:
    if isinstance(item, str):
        told = item.strip()
        return Look(f"step {number}", commands=(told,)) if is_command(told) else Look(f"step {number}", told)
    body = object_of(item)
    name = body.get("output_to") or body.get("step") or f"step {number}"
    return Look(
        name=str(name),
        action=str(body.get("action") or "").strip(),
        commands=(*lines_of(body.get("command")), *lines_of(body.get("commands"))),
        binding=str(body.get("on_error") or "").strip().lower().startswith(_BINDING),
    )


def shared_context(value: Any) -> tuple[tuple[str, str], ...]:
    """Return what tasks share, by name: tech stack, conventions and the like."""
    return tuple((name, _written(item)) for name, item in object_of(value).items() if item)


def _points(value: Any) -> tuple[str, ...]:
    items: Sequence[Any] = [value] if isinstance(value, str) else list_of(value)
    return tuple(_written(item) for item in items if item)


def _written(value: Any) -> str:
    """Return any JSON value as a person would write it down."""
    match value:
        case str():
            return value.strip()
        case list():
            return "; ".join(_written(item) for item in cast("list[Any]", value))
        case dict():
            return ", ".join(
                f"{name}: {_written(item)}" for name, item in cast("dict[str, Any]", value).items()
            )
        case _:
            return json.dumps(value)


def _first_line(text: str) -> str:
    plain = READS.sub("", text).strip()
    return plain.splitlines()[0].strip()[:120] if plain else "task"
