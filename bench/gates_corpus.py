"""The corpus as values: projects, the cycles they have behind them, and single turns with the verdict they deserve."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from typing import Any, cast

from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

CORPUS = Path(__file__).parents[1] / "corpus"
PROJECTS = "projects*.toml"
ACCEPTED = "accepted"

Files = Mapping[str, str]


class CorpusError(Exception):
    """An entry of the corpus does not make sense; the message names it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one turn does to files."""

    write: Files = field(default_factory=dict[str, str])
    append: Files = field(default_factory=dict[str, str])
    replace: Mapping[str, Sequence[tuple[str, str]]] = field(
        default_factory=dict[str, Sequence[tuple[str, str]]]
    )
    delete: tuple[str, ...] = ()

    def applied(self, files: Files) -> dict[str, str]:
        """Return the files as they are after the step; replacing what is not there is a mistake of the corpus."""
        after = {**files, **self.write}
        for path, text in self.append.items():
            after[path] = after.get(path, "") + text
        for path, pairs in self.replace.items():
            for old, new in pairs:
                if old not in after.get(path, ""):
                    raise CorpusError(f"{path} does not hold {old!r}")
                after[path] = after[path].replace(old, new)
        for path in self.delete:
            if after.pop(path, None) is None:
                raise CorpusError(f"{path} is deleted but was never there")
        return after


NO_STEP = Step()


@dataclass(frozen=True, slots=True)
class Cycle:
    """One case of the list with the three steps that do it."""

    case: Case
    red: Step
    green: Step
    refactor: Step = NO_STEP


@dataclass(frozen=True, slots=True)
class Project:
    """Where a turn takes place: what was there before the run, the cycles done, and the one that is due."""

    name: str
    files: Files
    next: Cycle
    cycles: tuple[Cycle, ...] = ()
    later: tuple[str, ...] = ()
    needs: str = ""  # a program, without which it is left out


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn, and what the gate should say about it."""

    name: str
    theme: str
    phase: PhaseName
    project: Project
    rows: tuple[str, ...] = ()
    expect: tuple[FindingType, ...] = ()  # none: it is honest; several: any of them will do
    outcome: str | None = None  # e.g. covered
    warns: FindingType | None = None  # a warning of this type has to be there
    also: tuple[FindingType, ...] = ()  # for a turn that is rejected: what else has to be named
    settings: Files = field(default_factory=dict[str, str])  # lines of tdd.properties
    at_start: bool = False  # the run has just begun, nothing is planned yet
    plan: str | None = None  # test-list.md before the turn; None: made from the cycles
    previous: tuple[str, ...] = ()  # what an earlier run had completed on the opening commit
    again: FindingType | None = None  # the rejection this attempt follows
    warned: bool = False  # RED's test passed at once, and red.on.pass let it through
    turn: Step = NO_STEP
    before: tuple[str, ...] = ()  # shell commands that prepare the repository, before the session
    run: tuple[str, ...] = ()  # shell commands of the session, after its files are written
    commit: str | None = None  # None: a message as the phase wants it; empty: nothing is committed
    say: str = ""

    @property
    def honest(self) -> bool:
        """Whether the turn deserves to be accepted."""
        return not self.expect


def load(folder: Path = CORPUS) -> list[Entry]:
    """Return every entry of the corpus, theme by theme; a mistake in it is a CorpusError."""
    places = sorted(folder.glob(PROJECTS))
    projects = {name: project for file in places for name, project in _projects(_table(file)).items()}
    entries = [
        _entry(file.stem, raw, projects)
        for file in sorted(folder.glob("*.toml"))
        if file not in places
        for raw in _table(file).get("case", [])
    ]
    names = [entry.name for entry in entries]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CorpusError(f"two entries are called {twice[0]!r}")
    return [entry for entry in entries if not entry.project.needs or which(entry.project.needs)]


def _table(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"{file.name}: {error}") from error


def _projects(table: Mapping[str, Any]) -> dict[str, Project]:
    projects: dict[str, Project] = {}
    for name, raw in table.items():
        left = dict(raw)
        base = projects.get(left.pop("like", ""))
        files = {**(base.files if base else {}), **left.pop("files", {})}
        cycles = tuple(_cycle(item) for item in left.pop("cycles", []))
        due = _cycle(left.pop("next")) if "next" in left else base.next if base else None
        later = tuple(left.pop("later", base.later if base else ()))
        needs = str(left.pop("needs", base.needs if base else ""))
        _nothing_left(f"project {name!r}", left)
        if due is None:
            raise CorpusError(f"project {name!r} has no next cycle")
        projects[name] = Project(name, files, due, cycles or (base.cycles if base else ()), later, needs)
    return projects


def _cycle(raw: Mapping[str, Any], default: Cycle | None = None) -> Cycle:
    """Return a cycle; what it does not say is as the default has it."""
    left = dict(raw)
    given = {key: left.pop(key) for key in ("description", "testFile", "implFile") if key in left}
    if default is not None:
        case = default.case
        given = {
            "description": case.description,
            "testFile": case.test_file,
            "implFile": case.impl_file,
        } | given
    steps = {key: _step(left.pop(key)) for key in ("red", "green", "refactor") if key in left}
    _nothing_left("a cycle", left)
    return Cycle(
        Case(given["description"], given["testFile"], given["implFile"]),
        steps.get("red", default.red if default else NO_STEP),
        steps.get("green", default.green if default else NO_STEP),
        steps.get("refactor", default.refactor if default else NO_STEP),
    )


def _step(raw: Mapping[str, Any]) -> Step:
    left = dict(raw)
    replaced = cast("dict[str, list[list[str]]]", left.pop("replace", {}))
    step = Step(
        write=left.pop("write", {}),
        append=left.pop("append", {}),
        replace={path: [(old, new) for old, new in pairs] for path, pairs in replaced.items()},
        delete=tuple(left.pop("delete", ())),
    )
    _nothing_left("a step", left)
    return step


def _entry(theme: str, raw: Mapping[str, Any], projects: Mapping[str, Project]) -> Entry:
    left = dict(raw)
    name = str(left.pop("name", "without a name"))
    try:
        phase = PhaseName(left.pop("phase"))
        project = _project(left, projects)
        entry = Entry(
            name=name,
            theme=theme,
            phase=phase,
            project=project,
            rows=tuple(left.pop("rows", ())),
            expect=_expected(left.pop("expect")),
            outcome=left.pop("outcome", None),
            warns=FindingType(left.pop("warns")) if "warns" in left else None,
            also=tuple(FindingType(item) for item in left.pop("also", ())),
            settings=left.pop("settings", {}),
            at_start=left.pop("at_start", False),
            plan=left.pop("plan", None),
            previous=tuple(left.pop("previous", ())),
            again=FindingType(left.pop("again")) if "again" in left else None,
            warned=left.pop("warned", False),
            turn=_turn(left, project.next, phase),
            before=tuple(left.pop("before", ())),
            run=tuple(left.pop("run", ())),
            commit=left.pop("commit", None),
            say=left.pop("say", ""),
        )
    except (KeyError, ValueError, TypeError, CorpusError) as error:
        raise CorpusError(f"{theme}: {name!r}: {error!r}") from error
    _nothing_left(f"{theme}: {name!r}", left)
    return entry


def _turn(left: dict[str, Any], due: Cycle, phase: PhaseName) -> Step:
    """Return what the session does: its own step, or the one its project has for the phase."""
    if left.pop("as_planned", False):
        return {PhaseName.RED: due.red, PhaseName.GREEN: due.green, PhaseName.REFACTOR: due.refactor}[phase]
    return _step({key: left.pop(key) for key in ("write", "append", "replace", "delete") if key in left})


def _project(left: dict[str, Any], projects: Mapping[str, Project]) -> Project:
    """Return the project an entry names, changed as the entry says."""
    base = projects[left.pop("project")]
    changed = {key: left.pop(key) for key in ("red", "green") if key in left}
    return Project(
        base.name,
        {**base.files, **left.pop("given", {})},
        _cycle({**left.pop("test", {}), **changed}, base.next),
        (*base.cycles, *(_cycle(item) for item in left.pop("cycles", []))),
        tuple(left.pop("later", base.later)),
        base.needs,
    )


def _expected(raw: Any) -> tuple[FindingType, ...]:
    if raw == ACCEPTED:
        return ()
    return tuple(FindingType(item) for item in ([raw] if isinstance(raw, str) else cast("list[str]", raw)))


def _nothing_left(where: str, left: Mapping[str, Any]) -> None:
    if left:
        raise CorpusError(f"{where}: unknown key {next(iter(left))!r}")
