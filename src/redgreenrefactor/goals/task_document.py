"""What a task file may hold, as pydantic checks and publishes it; what is wrong is said in our words, by JSON path.

Imported only where a task is read: pydantic takes a while to load.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from redgreenrefactor.goals.task_paths import Problem
from redgreenrefactor.model.task import ITERATIONS, command_of

PHASES = ("red", "green", "refactor")
_PERCENTAGE = r"^\s*(>=?|≥|=)?\s*(100([.,]0+)?|\d{1,2}([.,]\d+)?)\s*%?\s*$"
_COMMAND = r"^\s*\$ \s*\S|`[^`]*[^`\s][^`]*`"
_ALIKE = 0.8  # of two names, one of which is taken for a slip of the other


def _said(what: str) -> PydanticCustomError:
    """Return a mistake in words of ours."""
    return PydanticCustomError("said", "{what}", {"what": what})


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def texts(value: str | list[str] | None) -> tuple[str, ...]:
    """Return what is one text, several or none as several, empty ones left out."""
    return tuple(filter(None, [value] if isinstance(value, str) else value or ()))


Trimmed = Annotated[str, StringConstraints(strip_whitespace=True)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = list[Text]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
Iterations = Annotated[int, Field(ge=1, le=100), BeforeValidator(_whole)]
Percentage = Annotated[float, Field(ge=0, le=100)] | Annotated[str, StringConstraints(pattern=_PERCENTAGE)]


# --- the file and its parts


class _Entry(BaseModel):
    """Fields that are not named are allowed and ignored."""

    model_config = ConfigDict(strict=True, use_attribute_docstrings=True)


class CycleEntry(_Entry):
    """Test cases that belong together."""

    test_count: Count = 0
    test_cases: Texts = []
    implementation_scope: Trimmed = ""
    expected_coverage: Percentage | None = None
    """Per cent, such as '>=85%', '85' or '> 80 %'."""


class WorkerEntry(_Entry):
    """Who works."""

    method: Literal["agent", "cli"] = "agent"
    cli_tool: Annotated[Text | None, Field(validate_default=True)] = None

    @field_validator("cli_tool", mode="after")
    @classmethod
    def _named(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("method") == "cli":
            raise _said("is missing: method 'cli' needs the program's name")
        return value


class MetaEntry(_Entry):
    """How the task is worked on."""

    tdd_workflow: bool = False
    """true: red, green, refactor. Otherwise one plain session."""
    max_iterations: Iterations = ITERATIONS
    tdd_cycles: list[CycleEntry] = []
    execution_config: WorkerEntry = WorkerEntry()
    shared_context: dict[str, Any] = {}
    """tech_stack, conventions and the like."""
    context_package_path: str | None = None


class ExecutionEntry(_Entry):
    """The id of the task's sessions, and those they go on from."""

    id: Name = ""
    strategy: Literal["new", "resume", "fork", "merge_fork"] = "new"
    resume_from: Annotated[Text | Texts | None, Field(validate_default=True)] = None

    @field_validator("resume_from", mode="after")
    @classmethod
    def _enough(cls, value: str | list[str] | None, info: ValidationInfo) -> str | list[str] | None:
        strategy, ids = info.data.get("strategy"), texts(value)
        if strategy in ("resume", "fork") and len(ids) != 1:
            raise _said(
                f"{'names several' if ids else 'is missing'}: strategy {strategy!r} goes on from one id"
            )
        if strategy == "merge_fork" and not ids:
            raise _said("is missing: strategy 'merge_fork' goes on from several ids")
        return value


class ConvergenceEntry(_Entry):
    """How it is known that the task is done."""

    criteria: Annotated[
        Texts, Field(min_length=1, json_schema_extra={"contains": {"type": "string", "pattern": _COMMAND}})
    ]
    """At least one is a command: it starts with '$ ' or stands in backticks."""

    @field_validator("criteria", mode="after")
    @classmethod
    def _measurable(cls, criteria: list[str]) -> list[str]:
        if not any(command_of(item) for item in criteria):
            raise _said(
                "none of them is a test command: let one start with '$ ' or stand in backticks, e.g. '$ pytest -q'"
            )
        return criteria


class LookEntry(_Entry):
    """What is read and run before anybody works."""

    step: str | int = ""
    action: Trimmed = ""
    command: Text = ""
    commands: Texts = []
    output_to: str = ""
    on_error: Trimmed = ""
    """fail, stop, halt or abort: a failure blocks the task; anything else is tolerated."""


class TestFixEntry(_Entry):
    """How often Green is tried."""

    __test__ = False
    max_iterations: Iterations | None = None


class StepEntry(_Entry):
    """What is done in a phase or, without one, told to all sessions."""

    step: str | int = ""
    title: Trimmed = ""
    description: Trimmed = ""
    tdd_phase: Literal["red", "green", "refactor"] | None = None
    actions: Trimmed | Texts = ""
    modification_points: str | list[str | dict[str, Any]] = ""
    logic_flow: Trimmed | Texts = ""
    test_fix_cycle: TestFixEntry | None = None


def _phase(name: str) -> dict[str, Any]:
    step = {"type": "object", "required": ["tdd_phase"], "properties": {"tdd_phase": {"const": name}}}
    return {"contains": step, "minContains": 1, "maxContains": 1}


_TDD = {"required": ["tdd_workflow"], "properties": {"tdd_workflow": {"const": True}}}
_CONDITION: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "if": {"required": ["meta"], "properties": {"meta": _TDD}},
    "then": {
        "required": ["implementation"],
        "properties": {"implementation": {"allOf": [_phase(name) for name in PHASES]}},
    },
}


class TaskDocument(_Entry):
    """One piece of work for rgr task. Fields that are not named here are allowed and ignored."""

    model_config = ConfigDict(title="A task file of rgr task", json_schema_extra=_CONDITION)

    id: Name = ""
    """Names the summary; the file's stem where it is missing."""
    title: Trimmed = ""
    description: Text
    """Goal and requirements; a <files_to_read> block names files that every session is given."""
    meta: MetaEntry = MetaEntry()
    cli_execution: ExecutionEntry = ExecutionEntry()
    context_package_path: str | None = None
    focus_paths: Texts = []
    convergence: ConvergenceEntry
    pre_analysis: list[Text | LookEntry] = []
    implementation: list[Text | StepEntry] = []
    depends_on: Texts = []


# --- what is wrong


def problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield everything that is wrong with the fields of a task file, one by one."""
    try:
        TaskDocument.model_validate(document)
    except ValidationError as error:
        yield from _merged(document, error.errors(include_url=False))
    yield from _slips(TaskDocument, document, "$")


def _merged(document: Mapping[str, Any], details: Iterable[ErrorDetails]) -> Iterator[Problem]:
    """Yield a problem a place: of a choice, what is wrong with the alternative that was meant, or that it is none."""
    found: dict[str, list[ErrorDetails]] = {}
    for detail in details:
        found.setdefault(_path(document, detail), []).append(detail)
    for path, here in found.items():
        meant = [detail for detail in here if detail["type"] not in _KINDS]
        if meant:
            yield Problem(path, _words(meant[0]))
        elif not any(place.startswith((f"{path}.", f"{path}[")) for place in found):
            kinds = " or ".join(dict.fromkeys(_KINDS[detail["type"]] for detail in here))
            yield Problem(path, f"must be {kinds}, not {_short(here[0]['input'])}")


def _path(value: Any, detail: ErrorDetails) -> str:
    """Return where a mistake is; pydantic also names the alternatives of a choice on the way."""
    path = "$"
    for place in detail["loc"]:
        if isinstance(value, list) and isinstance(place, int):
            value, path = cast("list[Any]", value)[place], f"{path}[{place}]"
        elif isinstance(value, dict) and (place in value or detail["type"] in _ABSENT):
            value, path = cast("dict[Any, Any]", value).get(place), f"{path}.{place}"
    return path


_KINDS = {
    "none_required": "null",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}


_WORDS = {
    "missing": "is missing",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "string_too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "{given} is not usable here: it must match {pattern}",
    "greater_than_equal": "must be at least {ge:g}, not {given}",
    "less_than_equal": "must be at most {le:g}, not {given}",
    "literal_error": "must be one of {choices}, not {given}",
    "said": "{what}",
}
_ABSENT = ("missing", "said")  # what is wrong may be that it is not there


def _words(detail: ErrorDetails) -> str:
    """Return a mistake that pydantic found as we say it."""
    context: dict[str, Any] = detail.get("ctx", {})
    choices = str(context.get("expected", "")).replace(" or ", ", ").replace("'", "")
    words = _WORDS.get(detail["type"], "{said}")
    return words.format(given=_short(detail["input"]), choices=choices, said=detail["msg"], **context)


def _short(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            text = repr(value)
            return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004


# --- names that were meant to be others


def _slips(model: type[BaseModel], value: Any, path: str) -> Iterator[Problem]:
    """Yield the fields, in entries of this kind, that are not known and look like one that is."""
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _slips(model, item, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    known = model.model_fields
    for name, inner in cast("dict[str, Any]", value).items():
        place = f"{path}.{name}"
        if name in known:
            for entry in _entries(known[name].annotation):
                yield from _slips(entry, inner, place)
        elif meant := next((key for key in known if is_misspelt(name, key)), None):
            yield Problem(place, f"is not known here; did you mean {meant}?", forgivable=True)


def _entries(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the entries that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _entries(inner)


def is_misspelt(name: str, known: str) -> bool:
    """Tell whether a name is meant to be a known one: spelled in another style, or with a slip or two."""
    one, other = (re.sub(r"[\W_]", "", text).lower() for text in (name, known))
    words, wanted = (len(re.split(r"[\W_]+", text)) for text in (name, known))
    near = words == wanted and SequenceMatcher(None, one, other, autojunk=False).ratio() >= _ALIKE
    return one == other or near  # cli_execution_id is another field
