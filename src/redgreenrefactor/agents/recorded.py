"""Transcripts as scripts: a run that was recorded, played again through the tools."""

import json
import shlex
from pathlib import Path
from typing import Any

from redgreenrefactor.agents.script import Scene, Script, Use, bash, write
from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import head_of
from redgreenrefactor.model.codec import json_lines, json_object
from redgreenrefactor.model.transcript import Left, Recorded, recorded
from redgreenrefactor.model.verdict import Finding, FindingType

LARGEST = 64 << 20  # bytes of a transcript, or of a script
_EXECUTABLE, _LINK = "100755", "120000"
_EXACT = ("Write", "Edit")  # what worked then has to work now; others may come out differently
_HINT = "Name a run's folder or one of its files in .git/tdd/sessions, e.g. replay:.git/tdd/sessions/RUN."


def is_recorded(path: Path) -> bool:
    """Tell whether a path is a transcript, or a folder of them, and no script."""
    return path.suffix == ".jsonl" or path.is_dir()


def load_recorded(path: Path, source: str) -> Script:
    """Return the sessions that a transcript, or a folder of them, tells of; what is none is a UsageError."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    sessions = [session for file in files if (session := _session(file)) is not None]
    if not sessions:
        raise UsageError(f"{path} holds no session that came to its end", hint=_HINT)
    if len({session.run_id for session in sessions}) > 1:
        raise UsageError(f"{path} holds sessions of more than one run", hint=_HINT)
    scenes = tuple(scene_of(session) for session in sessions)
    return Script(sessions[0].run_id, _feature(sessions[0]), scenes=scenes, source=source)


def _session(file: Path) -> Recorded | None:
    try:
        return recorded(json_lines(head_of(file, LARGEST)))
    except OSError as error:
        raise UsageError(f"the transcript {file} cannot be read: {error.strerror}", hint=_HINT) from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise UsageError(f"{file} is not a transcript: {error!r:.200}", hint=_HINT) from error


def _feature(session: Recorded) -> str:
    try:
        handoff: Any = json.loads(session.handoff)
    except ValueError:
        return ""
    return str(json_object(handoff).get("feature", ""))


def scene_of(session: Recorded) -> Scene:
    """Return what the session did as a scene: its calls or, where it made none that we know of, what it left behind."""
    calls = _calls(session) if session.calls else _restored(session)
    unknown = None if session.calls else _unknown(session)
    return Scene(
        phase=session.phase,
        cycle=session.cycle,
        attempt=session.attempt,
        calls=() if unknown else calls,
        message=session.report.message,
        usage=session.report.usage,
        failure=unknown or session.report.failure,
        folder=session.folder,
    )


def _calls(session: Recorded) -> tuple[Use, ...]:
    return tuple(
        Use(call.tool, call.arguments, may_fail=failed or call.tool not in _EXACT)
        for call, failed in session.calls
    )


def _unknown(session: Recorded) -> Finding | None:
    """Return why what a session left behind cannot be made again, None if it can."""
    for file in session.left:
        outside = not file.path.startswith(session.prefix)
        if outside or (file.mode is not None and file.text is None):
            why = (
                "lies outside the project"
                if outside
                else "is binary or very large, its content was not recorded"
            )
            return Finding(
                FindingType.AGENT_FAILURE,
                f"this session cannot be played back: its calls are not known, and {file.path}, which it left, {why}",
            )
    return None


def _restored(session: Recorded) -> tuple[Use, ...]:
    """Return calls that leave the same files and commit."""
    calls = [call for file in session.left for call in _again(file, file.path.removeprefix(session.prefix))]
    if session.commit and session.commit != session.base:
        message = shlex.quote(session.subject)
        calls.append(
            bash(f"git add -A && git commit -q --allow-empty --no-verify -m {message}", may_fail=True)
        )
    return tuple(calls)


def _again(file: Left, path: str) -> list[Use]:
    quoted = shlex.quote(f"./{path}")
    if file.mode is None:
        return [bash(f"rm -rf {quoted}")]
    if file.mode == _LINK:
        return [bash(f'mkdir -p "$(dirname {quoted})" && ln -sfn {shlex.quote(file.text or "")} {quoted}')]
    made = [write(path, file.text or "")]
    return [*made, bash(f"chmod {'+x' if file.mode == _EXECUTABLE else '-x'} {quoted}")]
