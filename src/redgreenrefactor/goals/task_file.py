"""Task files: JSON in, a task out, or every problem with its path."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from redgreenrefactor.errors import UsageError
from redgreenrefactor.goals.task_paths import READS, Problem, files_to_read, is_command, leading_out, lines_of
from redgreenrefactor.goals.text_file import TextFile
from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.model.task import (
    Criterion,
    Cycle,
    Lineage,
    Look,
    Step,
    Strategy,
    Task,
    command_of,
    percentage,
)
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName

if TYPE_CHECKING:
    from redgreenrefactor.goals.task_document import CycleEntry, LookEntry, StepEntry

LARGEST = 1_000_000  # bytes of a task file
HINT = "Mend the file, then type 'rgr task --check FILE'; 'rgr task --schema' prints what it may hold."
_PHASES = {"red": PhaseName.RED, "green": PhaseName.GREEN, "refactor": PhaseName.REFACTOR}
_BINDING = ("fail", "stop", "halt", "abort", "error")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

Document = Mapping[str, Any]


@frozen
class TaskFile:
    """A task, where it was read from, and the JSON it was read as."""

    task: Task
    path: Path
    document: Document


def schema_text() -> str:
    """Return the published JSON Schema of task files."""
    from redgreenrefactor.goals.task_document import TaskDocument  # noqa: PLC0415

    return json.dumps(TaskDocument.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def read_task(path: Path, project: Path | None = None) -> TaskFile:
    """Return the task a file holds; everything that is wrong with it is one UsageError that names all of it.

    With a project, that includes the paths that lead out of it.
    """
    document = read_object(path, "task file")
    outside = leading_out(document, project) if project else ()
    _refuse([*_wrong(document, path), *outside], path)
    return TaskFile(_task(document, path), path, document)


def task_from(document: Document, path: Path) -> Task:
    """Return the task that was recorded when it was begun."""
    _refuse([problem for problem in _wrong(document, path) if not problem.forgivable], path)
    return _task(document, path)


def _refuse(wrong: Sequence[Problem], path: Path) -> None:
    if wrong:
        count = f"{len(wrong)} problems" if len(wrong) > 1 else "a problem"
        lines = "".join(f"\n  {problem}" for problem in wrong)
        found = tuple((problem.path, problem.what) for problem in wrong)
        raise UsageError(f"{path} has {count}:{lines}", hint=HINT, type="InvalidTask", problems=found)


def read_object(path: Path, kind: str) -> Document:
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
    return cast("Document", document)


_PIECES = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text: str) -> str:
    """Return the text with blanks in place of // and /* */ comments, so that lines and columns stay."""
    return _PIECES.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text
    )


# --- what may be wrong


def _wrong(document: Document, path: Path) -> Iterator[Problem]:
    """Yield every problem: those of single fields, then what fields say together."""
    from redgreenrefactor.goals.task_document import problems  # noqa: PLC0415

    found = list(problems(document))
    yield from found
    known = {problem.path for problem in found}
    for problem in (*_names(document, path), *_steps(document)):
        if not any(place == problem.path or problem.path.startswith(f"{place}.") for place in known):
            yield problem


def _names(document: Document, path: Path) -> Iterator[Problem]:
    if "id" not in document and not _UNSAFE.sub("", path.stem).strip(".-_"):
        yield Problem("$.id", "is missing, and the file's name cannot stand for it")


def _steps(document: Document) -> Iterator[Problem]:
    """Yield why the steps are not one red, one green and one refactor."""
    if json_object(document.get("meta")).get("tdd_workflow") is not True:
        return
    if "implementation" not in document:
        yield Problem("$.implementation", "is missing: meta.tdd_workflow asks for red, green and refactor")
        return
    places: dict[str, list[int]] = {name: [] for name in _PHASES}
    for index, item in enumerate(json_list(document["implementation"])):
        phase = json_object(item).get("tdd_phase")
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
        step = json_object(json_list(document["implementation"])[index])
        if not lines_of(step.get("actions")) and not str(step.get("description") or "").strip():
            yield Problem(
                f"$.implementation[{index}]", "the green step has neither actions nor a description"
            )


# --- what it says


def _task(document: Document, path: Path) -> Task:
    from redgreenrefactor.goals.task_document import TaskDocument, texts  # noqa: PLC0415

    found = TaskDocument.model_validate(document)
    meta, config = found.meta, found.meta.execution_config
    name = found.id or _UNSAFE.sub("-", path.stem).strip(".-_")
    steps = tuple(_step(item) for item in found.implementation)
    green = next((step for step in steps if step.phase is PhaseName.GREEN), None)
    execution = found.cli_execution
    strategy = Strategy(execution.strategy)
    return Task(
        id=name,
        title=found.title or _first_line(found.description),
        description=READS.sub("", found.description).strip(),  # sessions are given the files themselves
        tdd=meta.tdd_workflow,
        criteria=tuple(Criterion(text, command_of(text)) for text in found.convergence.criteria),
        cycles=tuple(_cycle(item) for item in meta.tdd_cycles),
        steps=steps,
        max_iterations=(green.max_iterations if green else None) or meta.max_iterations,
        files_to_read=tuple(files_to_read(found.description)),
        focus_paths=tuple(found.focus_paths),
        context_package=found.context_package_path or meta.context_package_path or None,
        shared_context=shared_context(meta.shared_context),
        looks=tuple(_look(item, f"step {index}") for index, item in enumerate(found.pre_analysis, 1)),
        cli_tool=config.cli_tool if config.method == "cli" else None,
        link=Lineage(
            execution.id, strategy, texts(execution.resume_from) if strategy is not Strategy.NEW else ()
        ),
        depends_on=tuple(found.depends_on),
        session=execution.id.removesuffix(f"-{name}") or None if execution.id else None,
    )


def _step(item: "str | StepEntry") -> Step:
    from redgreenrefactor.goals.task_document import texts  # noqa: PLC0415

    if isinstance(item, str):
        return Step(item)
    points = item.modification_points
    return Step(
        description=item.description or item.title,
        phase=_PHASES.get(item.tdd_phase or ""),
        actions=texts(item.actions),
        modification_points=tuple(
            _written(point) for point in ([points] if isinstance(points, str) else points) if point
        ),
        logic_flow=texts(item.logic_flow),
        max_iterations=item.test_fix_cycle.max_iterations if item.test_fix_cycle else None,
    )


def _cycle(item: "CycleEntry") -> Cycle:
    wanted = item.expected_coverage
    return Cycle(
        test_count=item.test_count or len(item.test_cases),
        test_cases=tuple(item.test_cases),
        scope=item.implementation_scope,
        expected_coverage=""
        if wanted is None
        else wanted.strip()
        if isinstance(wanted, str)
        else f"{wanted:g}",
        coverage_min=percentage(wanted),
    )


def _look(item: "str | LookEntry", name: str) -> Look:
    if isinstance(item, str):
        return Look(name, commands=(item,)) if is_command(item) else Look(name, item)
    return Look(
        name=str(item.output_to or item.step or name),
        action=item.action,
        commands=(*filter(None, (item.command,)), *item.commands),
        binding=item.on_error.lower().startswith(_BINDING),
    )


def shared_context(value: Any) -> tuple[tuple[str, str], ...]:
    """Return what tasks share, by name: tech stack, conventions and the like."""
    return tuple((name, _written(item)) for name, item in json_object(value).items() if item)


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
