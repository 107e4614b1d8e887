"""A transcript for people: who was told what, what it did, and what came of it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from redgreenrefactor.model.codec import json_list, json_object
from redgreenrefactor.prompts.quote import in_line, plain

SHOWN = 40  # lines of one text

_Step = Mapping[str, Any]
_NOTHING: _Step = {}


def transcript_text(objects: Iterable[_Step]) -> Iterator[str]:
    """Yield the lines of a transcript; progress is left out where every step is known."""
    told = list(objects)
    stepwise = any(one["type"] in ("call", "message") for one in told)
    for one in told:
        if one["type"] != "said" or not stepwise:
            yield from _lines(one)


def _lines(one: _Step) -> Iterator[str]:
    match one["type"]:
        case "session":
            yield _head(one)
            yield from _titled("brief", one.get("brief"))
        case "said":
            yield f"· {in_line(str(one.get('text', '')))}"
        case "message":
            yield from _titled("said", one.get("text"))
        case "call":
            yield from _call(one)
        case "result":
            yield from _indented(f"{'failed: ' if one.get('failed') else '→ '}{one.get('text', '')}")
        case "report":
            yield from _report(one)
        case "sealed":
            yield from _sealed(one)
        case "judged":
            yield f"── {in_line(str(one.get('ruling', '')))}"
            yield from _findings(one.get("findings"))
        case other:
            yield f"── {in_line(str(other))}: {in_line(str(one.get('text', '')))}"


def _head(one: _Step) -> str:
    name = f"{one.get('cycle')}-{one.get('phase')}-{one.get('attempt')}"
    about = (
        one.get("runId"),
        one.get("agent"),
        one.get("model"),
        f"from {str(one.get('base'))[:10]}",
        one.get("time"),
    )
    return in_line(f"{name} · {' · '.join(str(each) for each in about if each)}")


def _call(one: _Step) -> Iterator[str]:
    given: _Step = next(iter(_objects([one.get("arguments")])), _NOTHING)
    short = {name: value for name, value in given.items() if "\n" not in str(value)}
    yield in_line(f"── {one.get('tool')} {json.dumps(short, ensure_ascii=False) if short else ''}".rstrip())
    for name, value in given.items():
        if name not in short:
            yield f"   {in_line(name)}:"
            yield from _indented(value)


def _report(one: _Step) -> Iterator[str]:
    usage: Any = one.get("usage")
    used = f" · {json.dumps(usage)}" if usage else ""
    yield in_line(f"── ended after {one.get('seconds')} s{used}")
    if one.get("message"):
        yield from _indented(one["message"])
    if one.get("failure"):
        yield from _findings([one["failure"]])


def _sealed(one: _Step) -> Iterator[str]:
    yield in_line(f"── sealed {str(one.get('commit'))[:10]} {one.get('subject')}")
    for change in _objects(one.get("changes")):
        yield f"   {'-' if change.get('mode') is None else '+'} {in_line(str(change.get('path')))}"


def _findings(findings: Any) -> Iterator[str]:
    for finding in _objects(findings):
        yield from _indented(f"{finding.get('type')}: {finding.get('message')}")


def _objects(value: Any) -> list[_Step]:
    """Return the objects of a list, whatever else is in it."""
    return [json_object(one) for one in json_list(value) if isinstance(one, dict)]


def _titled(title: str, text: Any) -> Iterator[str]:
    yield f"── {title}"
    yield from _indented(text)


def _indented(text: Any) -> Iterator[str]:
    lines = plain(str(text or "")).strip("\n").split("\n")
    yield from (f"   {line}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"   [… {len(lines) - SHOWN} more lines; --json shows all …]"
