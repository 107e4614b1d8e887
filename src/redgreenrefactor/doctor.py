"""What a run needs, looked at before one is started: nothing is changed, no suite is run, models are asked for a word."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from redgreenrefactor.agents.foreign_program import ForeignProgram, installed
from redgreenrefactor.agents.table import AGENTS, kind_of, program_of
from redgreenrefactor.config import Settings, load
from redgreenrefactor.confinement import Confinement
from redgreenrefactor.errors import NotReadyError, RgrError, some_of
from redgreenrefactor.forge.address import address_of
from redgreenrefactor.forge.github import GitHub, token_of
from redgreenrefactor.git import lock, mark
from redgreenrefactor.git.ledger import GitLedger
from redgreenrefactor.git.refs import NOTES
from redgreenrefactor.git.remote import remote_url
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.worktrees import goes_on_in
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.codec import written
from redgreenrefactor.model.goal import cited
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.review_task import resuming
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.ports import Greeting
from redgreenrefactor.runners.command_line import last_invocation
from redgreenrefactor.runners.virtual import run_with
from redgreenrefactor.sandbox.availability import means_for
from redgreenrefactor.sandbox.cage import NO_MEANS, Means
from redgreenrefactor.sandbox.policy import Level
from redgreenrefactor.surroundings import Surroundings, properties, trusted

LITTLE, SCARCE = 500_000_000, 20_000_000  # bytes free on the disk: worth a word, too few
NAMED = 5


class RemarkLevel(StrEnum):
    """How much a remark matters."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@frozen
class Remark:
    """One thing that was looked at, and what to type where it is not as it should be."""

    message: str
    level: RemarkLevel = RemarkLevel.OK
    hint: str = ""

    @property
    def text(self) -> str:
        """The remark as one text."""
        return f"{self.message}. {self.hint}" if self.hint else self.message


def _warning(message: str, hint: str) -> Remark:
    return Remark(message, RemarkLevel.WARNING, hint)


def _error(message: str, hint: str) -> Remark:
    return Remark(message, RemarkLevel.ERROR, hint)


@frozen
class Health:
    """Everything that was looked at."""

    remarks: tuple[tuple[str, Remark], ...]  # each with the name of its check

    @property
    def ok(self) -> bool:
        """Whether nothing that is needed is missing."""
        return not self.of(RemarkLevel.ERROR)

    def of(self, level: RemarkLevel) -> list[Remark]:
        """Return the remarks of this weight."""
        return [remark for _, remark in self.remarks if remark.level is level]

    def to_json(self) -> dict[str, Any]:
        """Return the value `rgr doctor --json` prints."""
        return {
            "success": self.ok,
            "errors": [remark.text for remark in self.of(RemarkLevel.ERROR)],
            "warnings": [remark.text for remark in self.of(RemarkLevel.WARNING)],
            "checks": [{"name": name, **written(found)} for name, found in self.remarks],
        }


@frozen
class Patient:
    """A repository that can be opened, and how a run in it would be set up."""

    around: Surroundings
    repository: Repository
    settings: Settings

    @cached_property
    def ledger(self) -> GitLedger:
        """Its handoffs."""
        return GitLedger(self.repository)

    @property
    def factory(self) -> Factory:
        """Makes what a run in it would have."""
        cache = self.repository.cache
        held_by_nothing = Confinement(self.repository, cache, self.settings, NO_MEANS, None)
        return Factory(self.repository, self.settings, self.around, cache, held_by_nothing)


Check = Callable[[Patient], Iterator[Remark]]


def examine(around: Surroundings) -> Health:
    """Look at everything a run needs; what cannot be looked at is a remark, too."""
    found: list[tuple[str, Remark]] = []
    try:
        with closing(open_repository(around.project, around.environ)) as repository:
            settings = load(properties(repository, "HEAD"), around.environ, around.flags)
            patient = Patient(around, repository, settings)
            for name, check in CHECKS.items():
                found += [(name, remark) for remark in _careful(check, patient)]
    except NotReadyError as error:
        found.append(("repository", _refused(error)))
    return Health(tuple(found))


def _careful(check: Check, patient: Patient) -> Iterator[Remark]:
    """Yield a check's remarks; a refusal in the middle is one."""
    try:
        yield from check(patient)
    except RgrError as error:
        yield _refused(error)


def _refused(error: RgrError) -> Remark:
    return _error(error.message.rstrip("."), error.hint)


# --- one function a check: to add one, write it and name it in CHECKS


def git(patient: Patient) -> Iterator[Remark]:
    """Git is new enough (it could not be opened otherwise), and nothing is half done."""
    yield Remark(patient.repository.git.text("version"))
    if what := patient.repository.in_progress():
        yield _error(
            f"{what} is in progress here",
            f"Type 'git {what.split()[-1]} --abort' or finish it, then try again.",
        )
    if patient.repository.objects.resolve("HEAD") is None:
        yield Remark("there is no commit yet; a run makes an empty first one")
    dirty = patient.repository.status().dirty
    if dirty:
        cut_off = mark.read(patient.repository.mark, mark.Mark)
        at_work = lock.is_held(patient.repository.git_dir / lock.NAME)
        names = some_of(dirty, NAMED)
        if cut_off and not at_work:
            yield _warning(
                f"a session was cut off here, and left {names}",
                f"Type '{resuming(cut_off.run_id)}': it puts that away, where it is kept, and goes on.",
            )
        elif not at_work:
            yield _warning(
                f"the working tree has uncommitted changes: {names}",
                patient.repository.put_away,
            )


def identity(patient: Patient) -> Iterator[Remark]:
    """Commits are made in somebody's name."""
    if patient.repository.identity:
        yield _warning(
            "git knows no user.name and user.email here: commits would be made as RedGreenRefactor",
            "Type 'git config --global user.name \"NAME\"' and 'git config --global user.email ADDRESS'.",
        )


def trust(patient: Patient) -> Iterator[Remark]:
    """What the repository executes or loosens is approved."""
    try:
        trusted(patient.settings, patient.repository, replace(patient.around, ask=None))
    except NotReadyError as error:
        yield _refused(error)


def tests(patient: Patient) -> Iterator[Remark]:
    """There is a test command, and its program is there; nothing of the repository is run to see whether it works."""
    suite, environ = patient.factory.suite(), patient.factory.environ
    program = _program(suite.command)
    own = last_invocation(suite.command)
    path = environ.get("PATH", os.defpath)
    known = bool(shutil.which(program, path=path)) or os.access(patient.repository.project / program, os.X_OK)
    if not known and not (own and not own.as_module):  # a bare pytest is found by other ways, too
        yield _error(
            f"the test command is {suite.command!r}, but there is no program {program!r}",
            f"Install {program}, or set test.command in tdd.properties (or TDD_TEST_COMMAND=…).",
        )
        return
    yield Remark(f"the test command is {suite.command!r}")
    if own:
        where = patient.repository
        program = shutil.which("pytest" if own.runner == "pytest" else "python", path=path)
        message, hint = run_with(environ, where.project, where.root, program or sys.executable)
        yield Remark(message, RemarkLevel.WARNING if hint else RemarkLevel.OK, hint)


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return next((word for word in words if "=" not in word.partition("/")[0]), command)


def agents(patient: Patient) -> Iterator[Remark]:
    """The agents that are configured can work here; which programs are found."""
    roles: dict[tuple[str, str], list[str]] = {}
    for phase in TDD.phases:
        spec = patient.settings.agent_for(phase.key)
        model = patient.factory.model(phase.key)
        roles.setdefault((spec, model), []).append(phase.key)
    for (spec, model), names in roles.items():
        yield from _agent(patient, spec, model, ", ".join(names))
    for name in AGENTS:
        if program := program_of(name):
            yield from _found(patient, name, program)


def _found(patient: Patient, name: str, program: ForeignProgram) -> Iterator[Remark]:
    """Yield what is found of a program, if it is there."""
    env, root, interrupt = patient.around.environ, patient.repository.root, patient.around.interrupt
    try:
        here = installed(program, wanted=None, project=root, env=env, interrupt=interrupt)
    except NotReadyError as error:
        if error.type == "AgentOutdated":
            yield Remark(f"{name}: {error.message}", RemarkLevel.WARNING, error.hint)
        return
    yield Remark(f"{name}: {here.version or here.path}")


def _agent(patient: Patient, spec: str, model: str, names: str) -> Iterator[Remark]:
    """Yield whether an agent can be had; a model is asked for a word, as a run would: a key may be refused."""
    kind = spec.partition(":")[0]
    approved = not list(trust(patient))  # nobody is sent a key, or started, whom only the repository names
    if kind_of(spec).program is not None and not approved:
        return
    try:
        agent = patient.factory.agent(spec, model)
        if approved and isinstance(agent, Greeting):
            agent.greet()
    except RgrError as error:
        yield _error(f"agent {kind} ({names}): {error.message.rstrip('.')}", error.hint)
        return
    answers = f", {model} answers" if kind_of(spec).our_tools and model and approved else ""
    yield Remark(f"agent {spec[:80]} ({names}){answers}")


def sandbox(patient: Patient) -> Iterator[Remark]:
    """What suites and Bash commands would be held by."""
    means = means_for(patient.settings.sandbox, patient.around.environ)
    if means.level is Level.LANDLOCK and patient.settings.sandbox == "auto":
        yield _warning(
            f"sandbox: {means.level}, the reduced form ({means.why})",
            "Install bubblewrap (e.g. 'apt install bubblewrap') for the full one.",
        )
    elif means.level is Level.OFF:
        yield _warning(
            "sandbox: off, suites and Bash commands are not held",
            "Take sandbox=off out of tdd.properties to have them held.",
        )
    else:
        yield Remark(f"sandbox: {_held(patient, means)}")


def _held(patient: Patient, means: Means) -> str:
    """Return who would be held by what."""
    where, settings = patient.repository, patient.settings
    agents = list(dict.fromkeys(settings.agent_for(phase.key) for phase in TDD.phases))
    return Confinement(where, where.cache, settings, means, None).told(agents)


def folders(patient: Patient) -> Iterator[Remark]:
    """What has to be written can be."""
    repository = patient.repository
    worktrees = (repository.root / patient.settings.worktree_dir).resolve()
    for place in (
        repository.git_dir,
        repository.common_dir / "objects",
        repository.project / ".codex",
        repository.project / ".workflow",
        worktrees,
        repository.cache,
    ):
        there = next(path for path in (place, *place.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            yield Remark(
                f"{place} cannot be written",
                RemarkLevel.WARNING if place == worktrees else RemarkLevel.ERROR,
                f"Make it writable: 'chmod u+w {shlex.quote(str(there))}', or see who owns it.",
            )


def disk(patient: Patient) -> Iterator[Remark]:
    """There is room for commits and checkouts."""
    for place in dict.fromkeys((patient.repository.common_dir, patient.repository.cache)):
        there = next(path for path in (place, *place.parents) if path.exists())
        free = shutil.disk_usage(there).free
        if free < LITTLE:
            yield Remark(
                f"{free // 1_000_000} MB are free at {place}",
                RemarkLevel.ERROR if free < SCARCE else RemarkLevel.WARNING,
                f"Free some disk space: see 'df -h {shlex.quote(str(place))}'.",
            )


def notes(patient: Patient) -> Iterator[Remark]:
    """Handoffs can be read, and follow a rebase; an unfinished run is told."""
    latest = patient.ledger.latest_of_runs()
    kept = patient.repository.git.attempt("config", "--get-all", "notes.rewriteRef").stdout.decode()
    if not {NOTES, "refs/notes/*"} & set(kept.split()):
        yield _warning(
            "handoffs do not follow 'git rebase' and 'git commit --amend' here",
            f"Type 'rgr init', which sets notes.rewriteRef to {NOTES}.",
        )
    if latest and _waits(patient, latest):
        yield _warning(
            f"an unfinished run is here: {cited(latest.handoff.feature)} ({latest.handoff.left_as})",
            "Type 'rgr resume' to go on with it, or 'rgr run --new …' to start another one.",
        )


def _waits(patient: Patient, latest: Entry) -> bool:
    """Tell whether a run waits here to be resumed: nobody works at it, here or on another branch."""
    handoff = latest.handoff
    if handoff.next_phase is PhaseName.COMPLETE or lock.is_held(patient.repository.git_dir / lock.NAME):
        return False
    began = handoff.cycle_number == 0 and handoff.carried_from is None
    elsewhere = patient.ledger.goes_on_elsewhere(latest) if began else False
    return not (elsewhere or goes_on_in(patient.repository, patient.ledger, latest))


def locked(patient: Patient) -> Iterator[Remark]:
    """Nobody else is at work here."""
    if found := lock.holder(patient.repository.git_dir / lock.NAME):
        yield _warning(
            f"another orchestrator is at work here (process {found.process})",
            f"Wait for it, 'rgr status' tells how far it is; 'kill -INT {found.process}' stops it.",
        )


def github(patient: Patient) -> Iterator[Remark]:
    """Pull requests can be opened; only `rgr tdd` needs that, and only where a token is there is GitHub asked."""
    around, origin = patient.around, remote_url(patient.repository)
    if origin is None:
        return
    try:
        address = address_of(origin, around.environ, patient.settings.github_host)
        forge = GitHub(address, token_of(around.environ), around.interrupt.pause, waits=(), timeout=5.0)
        may_push = forge.may_push()
    except RgrError as error:
        yield _warning(f"'rgr tdd' can open no pull request: {error.message}", error.hint)
        return
    if may_push:
        yield Remark(f"pull requests go to {forge.name}")
    else:
        yield _warning(
            f"GITHUB_TOKEN may not write to {address.slug}",
            "Give it the right to write contents and pull requests, or use 'rgr tdd --forge none'.",
        )


CHECKS: dict[str, Check] = {
    "git": git,
    "identity": identity,
    "trust": trust,
    "tests": tests,
    "agents": agents,
    "sandbox": sandbox,
    "folders": folders,
    "disk": disk,
    "notes": notes,
    "lock": locked,
    "github": github,
}
