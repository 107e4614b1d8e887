"""Results of whole suites, kept for the next process; a receipt in a handoff says which of them to believe.

Sessions work as the same user and can write wherever we can. So a result is believed for one reason only: its
digest stands in a note, and the notes are guarded while sessions work.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from redgreenrefactor.filesystem import replace_file
from redgreenrefactor.model.evidence import (
    CollectError,
    Hook,
    Kind,
    Measure,
    Reach,
    Replacement,
    Status,
    SuiteRun,
    TestResult,
)
from redgreenrefactor.model.values import frozen

FOLDER = "results"
KEPT = 50  # results
LARGEST = 20_000_000  # bytes of one
MESSAGE = 300  # characters of a test's message

_RESULT = ("id", "status", "file", "function", "line", "defined_in", "kind", "exception", "seconds", "given")


@frozen
class KeptResults:
    """Results in a folder of ours, each named by its digest."""

    folder: Path
    surroundings: str  # what tests depend on beside their tree: command, interpreter, packages, variables

    def keep(self, fingerprint: str, run: SuiteRun) -> str | None:
        """Keep a result of the whole suite; return its receipt, None where it is not worth keeping."""
        if not run.finished:
            return None
        body = {"tree": fingerprint, "surroundings": self.surroundings, "run": _to_json(run)}
        content = json.dumps(body, sort_keys=True).encode()
        if len(content) > LARGEST:
            return None
        receipt = hashlib.sha256(content).hexdigest()
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / receipt).exists():
                replace_file(self.folder / receipt, content)
                self._thin_out()
        return receipt

    def recall(self, receipt: str) -> tuple[str, SuiteRun] | None:
        """Return the fingerprint and the result a receipt stands for; None where anything about it has changed."""
        try:
            content = (self.folder / Path(receipt).name).read_bytes()
            if hashlib.sha256(content).hexdigest() != receipt:
                return None
            body = cast("dict[str, Any]", json.loads(content))
            if body["surroundings"] != self.surroundings:
                return None
            return str(body["tree"]), _from_json(body["run"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _thin_out(self) -> None:
        """Remove the oldest results beyond what is kept."""
        found = sorted(self.folder.iterdir(), key=lambda place: place.stat().st_mtime_ns, reverse=True)
        for place in found[KEPT:]:
            place.unlink(missing_ok=True)


def _to_json(run: SuiteRun) -> Mapping[str, Any]:
    """Return what a later turn may want to know of the tree it starts from."""
    around = list(dict.fromkeys(hook for result in run.results.values() for hook in result.around))
    numbers = {hook: number for number, hook in enumerate(around)}
    return {
        "around": [_row(hook) for hook in around],
        "results": [
            [
                *(getattr(result, name) for name in _RESULT),
                result.message[:MESSAGE],
                sorted(numbers[hook] for hook in result.around),
            ]
            for result in run.results.values()
        ],
        "errors": [[error.file, error.message[:MESSAGE], error.exception] for error in run.errors],
        "exitCode": run.exit_code,
        "measure": run.measure,
        "seconds": run.seconds,
        "tampering": list(run.tampering),
        "disturbed": list(run.disturbed),
        "deselected": sorted(run.deselected),
        "hooks": [_row(hook) for hook in run.hooks],
        "files": sorted(run.reach.files),
        "opened": {file: sorted(users) for file, users in run.reach.opened.items()},
        "imported": {file: sorted(users) for file, users in run.reach.imported.items()},
        "hiding": dict(run.reach.hiding),
        "replaced": [[item.owner, item.name, item.file, item.line] for item in run.reach.replaced],
    }


def _row(hook: Hook) -> list[Any]:
    return [hook.name, hook.code, hook.file, hook.line]


def _from_json(body: Mapping[str, Any]) -> SuiteRun:
    results: dict[str, TestResult] = {}
    around: list[Hook] = [Hook(*row) for row in body["around"]]
    for *values, message, numbers in body["results"]:
        known: dict[str, Any] = dict(zip(_RESULT, values, strict=True))
        kind = None if known["kind"] is None else Kind(known["kind"])
        known.update(status=Status(known["status"]), kind=kind, message=message)
        known["around"] = frozenset(around[number] for number in cast("list[int]", numbers))
        results[known["id"]] = TestResult(**known)
    return SuiteRun(
        results=results,
        errors=tuple(CollectError(*row) for row in body["errors"]),
        exit_code=body["exitCode"],
        measure=Measure(body["measure"]),
        seconds=body["seconds"],
        tampering=tuple(body["tampering"]),
        disturbed=tuple(body["disturbed"]),
        deselected=frozenset(body["deselected"]),
        hooks=frozenset(Hook(*row) for row in body["hooks"]),
        reach=Reach(
            files=frozenset(body["files"]),
            opened={file: frozenset(users) for file, users in body["opened"].items()},
            imported={file: frozenset(users) for file, users in body["imported"].items()},
            hiding=body["hiding"],
            replaced=frozenset(Replacement(*row) for row in body["replaced"]),
        ),
    )
