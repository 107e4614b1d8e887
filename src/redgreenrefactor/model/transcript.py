"""What a session was told and did, one JSON object a step: how it is spelt, and what it was."""

from collections.abc import Iterable, Mapping
from typing import Any

from redgreenrefactor.model.codec import Json, reader, written
from redgreenrefactor.model.events import (
    Event,
    Judged,
    SessionBegan,
    SessionNoted,
    SessionReported,
    SessionSaid,
    WorkSealed,
)
from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.session import Brief, Called, Report, Step, Usage, Uttered
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding
from redgreenrefactor.model.workflow import PhaseName

SCHEMA = 1


def turn_name(brief: Brief) -> str:
    """Return what a turn's transcript and its kept attempt are called."""
    return f"{brief.cycle}-{brief.phase}-{brief.attempt}"


def object_of(event: Event) -> Json | None:
    """Return what a transcript says about an event, None if nothing."""
    match event:
        case SessionBegan():
            return _session(event)
        case SessionSaid():
            return {"type": "said", "text": event.text}
        case SessionNoted():
            return _step(event.step)
        case SessionReported():
            return _report(event.report, event.seconds)
        case WorkSealed():
            changes = [_change(change) for change in event.changes]
            return {
                "type": "sealed",
                "commit": event.commit,
                "subject": event.subject,
                "prefix": event.prefix,
                "changes": changes,
            }
        case Judged():
            verdict = event.verdict
            return {"type": "judged", "ruling": str(verdict.ruling), "findings": written(verdict.findings)}
        case _:
            return None


def _session(event: SessionBegan) -> Json:
    brief = event.brief
    return {
        "type": "session",
        "schemaVersion": SCHEMA,
        "runId": brief.run_id,
        "cycle": brief.cycle,
        "phase": str(brief.phase),
        "attempt": brief.attempt,
        "role": str(brief.role.name),
        "agent": event.agent,
        "model": brief.role.model,
        "folder": event.folder,
        "base": event.base,
        "handoff": brief.handoff,
        "brief": brief.text,
    }


def _step(step: Step) -> Json:
    if isinstance(step, Uttered):
        return {"type": "message", "text": step.text}
    if isinstance(step, Called):
        return {"type": "call", "id": step.id, "tool": step.tool, "arguments": dict(step.arguments)}
    return {"type": "result", "id": step.id, "text": step.text, "failed": step.failed}


def _report(report: Report, seconds: float) -> Json:
    return {
        "type": "report",
        "message": report.message,
        "usage": written(report.usage),
        "failure": written(report.failure),
        "seconds": round(seconds, 3),
    }


def _change(change: Change) -> Json:
    after = change.after
    return {"path": change.path, "mode": after.mode if after else None, "text": after.text if after else None}


@frozen
class Left:
    """A file as a session left it."""

    path: str
    mode: str | None  # None: it is gone
    text: str | None  # None: gone, or its content was not recorded


@frozen
class Recorded:
    """A session that came to its end, as its transcript tells it."""

    phase: PhaseName
    cycle: int
    attempt: int
    run_id: str
    folder: str
    handoff: str
    report: Report
    calls: tuple[tuple[Called, bool], ...] = ()  # each with whether it failed
    base: str = ""
    commit: str = ""
    subject: str = ""
    prefix: str = ""
    left: tuple[Left, ...] = ()


def recorded(objects: Iterable[Mapping[str, Any]]) -> Recorded | None:
    """Return the last session of a transcript that came to its end; one that was cut off begins again in the same file.

    What is no transcript is a KeyError, TypeError or ValueError.
    """
    sessions: list[list[Mapping[str, Any]]] = []
    for one in objects:
        if one["type"] == "session":
            sessions.append([])
        sessions[-1].append(one)
    ended = [session for session in sessions if any(one["type"] == "report" for one in session)]
    return _recorded(ended[-1]) if ended else None


def _recorded(session: list[Mapping[str, Any]]) -> Recorded:
    by_type = {one["type"]: one for one in session}
    head, report, sealed = session[0], by_type["report"], by_type.get("sealed", {})
    failed = {one["id"]: bool(one["failed"]) for one in session if one["type"] == "result"}
    used, failed_for = reader(Usage | None)(report["usage"]), reader(Finding | None)(report.get("failure"))
    return Recorded(
        phase=PhaseName(head["phase"]),
        cycle=int(head["cycle"]),
        attempt=int(head["attempt"]),
        run_id=str(head["runId"]),
        folder=str(head["folder"]),
        handoff=str(head.get("handoff", "")),
        report=Report(report["message"], used, failed_for),
        calls=tuple(
            (Called(one["id"], one["tool"], dict(one["arguments"])), failed.get(one["id"], True))
            for one in session
            if one["type"] == "call"
        ),
        base=str(head.get("base", "")),
        commit=str(sealed.get("commit", "")),
        subject=str(sealed.get("subject", "")),
        prefix=str(sealed.get("prefix", "")),
        left=tuple(Left(one["path"], one["mode"], one["text"]) for one in sealed.get("changes", ())),
    )
