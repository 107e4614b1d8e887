"""A brief is a role's text, then its task, filled from the handoff; what changes most comes last."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.model.decision import cycle_of, has_worked
from redgreenrefactor.model.goal import outline
from redgreenrefactor.model.handoff import Handoff, to_json
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, Outcome
from redgreenrefactor.model.workflow import Phase, PhaseName, RoleName
from redgreenrefactor.prompts.quote import in_line, plain, quoted
from redgreenrefactor.prompts.rejection import rejection
from redgreenrefactor.prompts.rounds import Round
from redgreenrefactor.prompts.templates import Prompts, fill, load

FAILURE = 700  # characters of how the new test fails
LONGEST_FEATURE = 60_000  # characters that every session is told
NEXT_FEW = 3
OLD_FAILURES = 5  # tests that a task names before it counts the rest
NO_ROUND = Round()
_LONG_LINE = 1000
_SHORT = 300  # characters that need no lines of their own
_DESCRIPTIONS = {
    RoleName.TEST_LIST: "keeps the list of cases and chooses the next one",
    RoleName.TEST: "writes one failing test",
    RoleName.IMPLEMENTING: "writes the least code that makes the test pass",
    RoleName.REFACTOR: "improves the code while every test stays green",
    RoleName.CODER: "turns a specification into tested code",
    RoleName.REVIEWER: "decides whether the code is what was asked for",
    RoleName.DIAGNOSIS: "finds out why a try was rejected",
}


@frozen
class Ask:
    """What one session's task is made of; feature, case and last error stand in the handoff."""

    phase: Phase
    handoff: Handoff
    attempt: int
    test_command: str
    findings: tuple[Finding, ...] = ()  # of the attempt that was rejected last
    prefix: str = ""  # the project's folder inside the repository, with a slash, or nothing
    guides: tuple[str, ...] = ()  # files that tell how this project is worked on, seen from its folder
    round: Round = NO_ROUND  # where coder and reviewer stand


def roles(prompts_dir: Path | None, models: Mapping[RoleName, str]) -> Mapping[RoleName, Role]:
    """Return every role with its text still to be filled, which `brief` does."""
    prompts = load(prompts_dir)
    return {name: role(prompts, name, models.get(name, "")) for name in RoleName}


def role(prompts: Prompts, name: RoleName, model: str = "") -> Role:
    """Return who a session is asked to be."""
    text = prompts.texts[name]
    shared = prompts.shared if text.startswith(prompts.shared) else ""
    return Role(name, _DESCRIPTIONS[name], text, model=model, preamble=shared)


def brief(prompts: Prompts, ask: Ask, model: str = "") -> Brief:
    """Return everything one session is told."""
    who, values = role(prompts, ask.phase.role, model), _values(ask)
    filled = replace(
        who, system_prompt=fill(who.system_prompt, values) + "\n", preamble=fill(who.preamble, values)
    )
    return Brief(
        role=filled,
        phase=ask.phase.name,
        cycle=cycle_of(ask.handoff),
        attempt=ask.attempt,
        run_id=ask.handoff.run_id,
        task=task(prompts, ask),
        handoff=to_json(ask.handoff),
        case=ask.handoff.current_test,
    )


def task(prompts: Prompts, ask: Ask) -> str:
    """Return the task: what is wanted, and last, for a retry, what was rejected and why."""
    wanted = fill(prompts.tasks[ask.phase.role], _values(ask))
    rejected = rejection(ask.phase.name, ask.handoff, ask.findings)
    return f"{wanted}\n\n{rejected}".rstrip() + "\n"


def _values(ask: Ask) -> dict[str, str]:
    handoff, case = ask.handoff, ask.handoff.current_test
    return {
        "feature": _feature(ask),
        "description": in_line(case.description, _LONG_LINE) if case else "",
        "test_file": _code(case.test_file) if case else "",
        "impl_file": _code(case.impl_file) if case else "",
        "completed": str(handoff.cases_done),
        "pending": str(handoff.cases_open),
        "next": _next(handoff),
        "progress": _progress(ask),
        "finished": _finished(handoff),
        "replan": _replan(ask),
        "legacy": legacy(handoff),
        "failing": _failing(ask),
        "remarks": remarks(ask.phase.name, handoff),
        "project": _project(ask),
        "test_command": _code(ask.test_command),
        "phase": ask.phase.name,
        "cycle": str(cycle_of(handoff)),
        "attempt": str(ask.attempt),
        **ask.round.values(),
    }


def _feature(ask: Ask) -> str:
    """Return the feature; one that would fill a model's memory in outline, the same for all, so that it is cached."""
    feature = plain(ask.handoff.feature)
    if len(feature) <= LONGEST_FEATURE or ask.phase.name in (PhaseName.CODE, PhaseName.REVIEW):
        return quoted(feature, None)
    blob = ask.handoff.feature_blob
    whole = f"git cat-file -p {blob}" if blob else "git notes --ref=tdd-handoffs show HEAD"
    return (
        f"{quoted(outline(feature, LONGEST_FEATURE), None)}\n\n"
        f"This is an outline of {len(feature)} characters; `{whole}` has all."
    )


def _code(text: str) -> str:
    line = in_line(text, _LONG_LINE)
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def _next(handoff: Handoff) -> str:
    return "; ".join(in_line(text) for text in handoff.pending_tests[:NEXT_FEW])


def _progress(ask: Ask) -> str:
    """Return how far the list is; whoever writes code is not told what comes next, lest it be written now."""
    handoff, phase = ask.handoff, ask.phase.name
    completed, pending = handoff.cases_done, handoff.cases_open
    if phase is PhaseName.PLAN and not has_worked(handoff) and not pending:
        return _unplanned(handoff)
    coming = _next(handoff) if phase in (PhaseName.PLAN, PhaseName.RED) else ""
    more = " …" if pending > NEXT_FEW else ""
    after = "" if phase is PhaseName.PLAN else " after this one"
    told = f"Cases done: {completed}. Still to come{after}: {pending}" + (
        f" ({coming}{more})." if coming else "."
    )
    if phase is PhaseName.PLAN and handoff.cycle_number == 0:
        return f"{told} All of these were on the list before this run: add the cases of the feature that are missing."
    if phase is PhaseName.GREEN and handoff.outcome is Outcome.WARNED:
        return f"{told} The new test passes already: if no code is missing, change nothing."
    return told


def _unplanned(handoff: Handoff) -> str:
    """Return what there is to plan where no box is open and the run has worked no case."""
    if handoff.cycle_number:
        return (
            "A person has looked at the list and left no open box: answer null, unless something is missing."
        )
    if not handoff.cases_done:
        return "If `test-list.md` does not exist yet, write it now; otherwise go on with it."
    return (
        f"The {handoff.cases_done} ticked cases are of earlier work. This is a new feature, whose cases are not on"
        " the list yet: add them. If the feature is there already, add the case that shows it. Null is no answer now."
    )


def _finished(handoff: Handoff) -> str:
    """Return whose box is to be ticked; a PLAN that follows a PLAN, being asked again, ticks none."""
    case = handoff.current_test
    if case is None or handoff.phase is PhaseName.PLAN or handoff.next_phase is not PhaseName.PLAN:
        return ""
    return f"Just finished, so tick its box: {in_line(case.description, _LONG_LINE)}"


def _replan(ask: Ask) -> str:
    """Return why PLAN is asked, where the cycle before gave a reason for it."""
    why = ask.handoff.replan if ask.phase.name is PhaseName.PLAN else None
    return f"Look at the open cases again: {in_line(why, _LONG_LINE)}" if why else ""


def legacy(handoff: Handoff) -> str:
    """Return which tests have failed since before the run, lest somebody mends or mourns them unasked."""
    if handoff.legacy is None or not handoff.legacy.failing:
        return ""
    names = handoff.legacy.failing
    more = (handoff.legacy.failing_count or len(names)) - OLD_FAILURES
    rest = f" and {more} more" if more > 0 else ""
    told = ", ".join(_code(name) for name in names[:OLD_FAILURES])
    return f"Failing since before this run: {told}{rest}. Let them fail, unless the feature or the case asks to mend them."


_WHAT_FOR = {
    PhaseName.PLAN: "see whether it calls for another case",
    PhaseName.REFACTOR: "mend what is yours to mend; code that no test needs may go",
}


def remarks(phase: PhaseName, handoff: Handoff) -> str:
    """Return what was noticed in the cycle and rejected nothing, for those who may do something about it."""
    if not handoff.remarks or phase not in _WHAT_FOR:
        return ""
    lines = "\n".join(f"- {in_line(text, _LONG_LINE)}" for text in handoff.remarks)
    return f"Noticed in this cycle ({_WHAT_FOR[phase]}):\n\n{lines}"


def _failing(ask: Ask) -> str:
    """Return which test GREEN has to make pass, and how it fails, as far as RED's note tells."""
    if ask.phase.name is not PhaseName.GREEN:
        return ""
    names = ask.handoff.facts.new_tests
    lines = [f"- test: {_code(names[0])}"] if names else []
    if len(names) > 1:
        lines = [f"- test: {_code(names[0].partition('[')[0])} (with {len(names)} sets of values)"]
    failure = (ask.handoff.facts.failure or "").strip()
    if failure and "\n" not in failure and len(failure) <= _SHORT:
        lines.append(f"- it fails: {_code(failure)}")
    elif failure:
        lines += ["- it fails:", "", quoted(failure, FAILURE)]
    return "\n".join(lines)


def _project(ask: Ask) -> str:
    told = (
        f"The project is the folder {_code(ask.prefix)} of its repository. Change nothing outside of it."
        if ask.prefix
        else ""
    )
    return "\n\n".join(filter(None, (told, guided(ask.guides))))


def guided(guides: Sequence[str]) -> str:
    """Return where it stands how this project is worked on; nothing where no such file is there."""
    listed = " and ".join(_code(name) for name in guides)
    return (
        f"How this project is worked on stands in {listed}: heed it as far as this brief allows."
        if guides
        else ""
    )
