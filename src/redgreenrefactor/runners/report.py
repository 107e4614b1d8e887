"""What a probe wrote down, read with the suspicion that text from somebody else's process deserves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, Any, TypeVar

from redgreenrefactor.model.codec import json_in, json_list, json_object
from redgreenrefactor.model.evidence import (
    NO_REACH,
    CollectError,
    Hook,
    Kind,
    Lookup,
    Missing,
    Place,
    Reach,
    Replacement,
    Status,
    TestId,
    TestResult,
)
from redgreenrefactor.model.values import frozen

_Json = Mapping[str, Any]
_M = TypeVar("_M", Status, Kind)
_SEVERITY = (Status.FAILED, Status.ERROR, Status.XFAILED, Status.SKIPPED, Status.XPASSED, Status.PASSED)
_LONGEST, _MOST = 8 << 20, 1 << 30  # bytes of a record, of all of them: a sparse file has no end
_ENDED = (0, 1, 5)  # passed, failed, nothing to run: everything else is an end before the end


@frozen
class Ending:
    """How a runner said it ended."""

    exit_code: int
    planned: int
    started: int

    @property
    def regular(self) -> bool:
        """Whether everything that was planned has been run."""
        return self.exit_code in _ENDED and self.planned == self.started


@dataclass(slots=True)
class Heard:
    """Everything the records of one run say."""

    sessions: int = 0
    endings: list[Ending] = field(default_factory=list[Ending])
    results: dict[TestId, TestResult] = field(default_factory=dict[TestId, TestResult])
    errors: list[CollectError] = field(default_factory=list[CollectError])
    deselected: set[TestId] = field(default_factory=set[TestId])
    canaries: set[TestId] = field(default_factory=set[TestId])
    flipped: dict[TestId, str] = field(default_factory=dict[TestId, str])
    executed: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    foreign: set[str] = field(default_factory=set[str])
    hooks: set[Hook] = field(default_factory=set[Hook])
    reach: Reach = NO_REACH
    modules: tuple[str, ...] = ()  # imported from installed packages, in their order
    running: TestId | None = None
    _tests: dict[TestId, TestResult] = field(default_factory=dict[TestId, TestResult])
    _around: dict[Any, Hook] = field(default_factory=dict[Any, Hook])  # by number

    @property
    def finished(self) -> bool:
        """Whether every session that began came to its regular end."""
        return 0 < self.sessions == len(self.endings) and all(ending.regular for ending in self.endings)

    def hear(self, record: _Json) -> None:
        """Take in one record; what does not make sense is as good as not said."""
        understand = _EVENTS.get(_text(record.get("event")))
        if understand is not None:
            understand(self, record)

    def begin(self, _: _Json) -> None:
        """A runner has loaded the probe."""
        self.sessions += 1

    def finish(self, record: _Json) -> None:
        """A runner has come to an end."""
        self.endings.append(
            Ending(
                _number(record.get("exit"), -1),
                _number(record.get("planned"), -1),
                _number(record.get("started"), -2),
            )
        )

    def announce(self, record: _Json) -> None:
        """There are tests that must fail."""
        self.canaries |= set(_texts(record.get("ids")))

    def deselect(self, record: _Json) -> None:
        """Tests were collected that will not be run."""
        self.deselected |= set(_texts(record.get("ids")))

    def start(self, record: _Json) -> None:
        """A test starts."""
        name = _text(record.get("id"))
        if name:
            self.running = name
            self._tests[name] = TestResult(
                name,
                Status.PASSED,
                file=_text(record.get("file")),
                function=_text(record.get("function")),
                line=_number(record.get("line")),
                defined_in=_text(record.get("defined_in")),
                given=_text(record.get("given")),
            )

    def part(self, record: _Json) -> None:
        """A part of a test has ended; the worst part tells what became of the test."""
        name = _text(record.get("id"))
        status = _member(Status, record.get("status"))
        if not name or status is None:
            return
        if record.get("flipped") is True:
            self.flipped[name] = _text(record.get("exception"))
        seconds = _seconds(record.get("seconds"))
        known = self.results.get(name)
        around = frozenset(
            self._around[key] for key in json_list(record.get("around")) if key in self._around
        )
        around |= known.around if known else frozenset()
        if known is not None and _SEVERITY.index(known.status) <= _SEVERITY.index(status):
            self.results[name] = replace(known, seconds=known.seconds + seconds, around=around)
            return
        self.results[name] = replace(
            self._tests.get(name, TestResult(name, status)),
            status=status,
            kind=None if status is Status.PASSED else _member(Kind, record.get("kind")),
            exception=_text(record.get("exception")),
            message=_text(record.get("message")),
            frames=tuple(_places(record.get("frames"))),
            missing=_missing(record.get("missing")),
            seconds=seconds + (known.seconds if known else 0.0),
            around=around,
        )

    def complain(self, record: _Json) -> None:
        """A file could not be collected."""
        self.errors.append(
            CollectError(
                _text(record.get("file")),
                _text(record.get("message")),
                _text(record.get("exception")),
                next(_places([record.get("place")]), None),
                _missing(record.get("missing")),
            )
        )

    def execute(self, record: _Json) -> None:
        """Lines of a file were executed."""
        if file := _text(record.get("file")):
            numbers = frozenset(line for line in json_list(record.get("lines")) if isinstance(line, int))
            self.executed[file] = self.executed.get(file, frozenset()) | numbers

    def hook(self, record: _Json) -> None:
        """A function of the project is called by the runner itself."""
        self.hooks.add(_hook(record))

    def serve(self, record: _Json) -> None:
        """Something of the project serves tests, which will name it by its number."""
        self._around[_number(record.get("number"))] = _hook(record)

    def used(self, record: _Json) -> None:
        """The tests' process has used these files, and asked these questions."""
        lookups = (Lookup(place.function, place.file, place.line) for place in _places(record.get("lookups")))
        opened, imported = (
            {file: frozenset(_texts(users)) for file, users in _items(record.get(way))}
            for way in ("opened", "imported")
        )
        self.reach = Reach(
            frozenset(_texts(record.get("files"))),
            opened,
            imported,
            frozenset(_texts(record.get("missed"))),
            _number(record.get("programs")),
            frozenset(lookups),
            {name: _text(file) for name, file in _items(record.get("hiding"))},
            frozenset(_replaced(record.get("replaced"))),
        )

    def load(self, record: _Json) -> None:
        """Files were loaded from outside the checkout."""
        self.foreign |= set(_texts(record.get("files")))

    def know(self, record: _Json) -> None:
        """Modules were imported from installed packages."""
        self.modules = tuple(_texts(record.get("names")))


_EVENTS: Mapping[str, Callable[[Heard, _Json], None]] = {
    "begin": Heard.begin,
    "canaries": Heard.announce,
    "deselected": Heard.deselect,
    "test": Heard.start,
    "part": Heard.part,
    "error": Heard.complain,
    "lines": Heard.execute,
    "hook": Heard.hook,
    "around": Heard.serve,
    "reach": Heard.used,
    "foreign": Heard.load,
    "modules": Heard.know,
    "finish": Heard.finish,
}


def read(report: IO[bytes], nonce: str) -> Heard:
    """Return what the records say that carry the nonce; what is beyond all measure is not heard."""
    heard = Heard()
    report.seek(0)
    while report.tell() < _MOST and (line := report.readline(_LONGEST)):
        record = json_object(json_in(line))
        if record.get("nonce") == nonce:
            heard.hear(record)
    return heard


def _text(value: Any) -> str:
    """Return a text that can be written anywhere, nothing for what is none."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _texts(value: Any) -> Iterator[str]:
    for item in json_list(value):
        if text := _text(item):
            yield text


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    for name, item in json_object(value).items():
        if text := _text(name):
            yield text, item


def _hook(record: _Json) -> Hook:
    name, code = _text(record.get("name")), _text(record.get("code"))
    return Hook(name, code, _text(record.get("file")), _number(record.get("line")))


def _replaced(value: Any) -> Iterator[Replacement]:
    for item in map(json_list, json_list(value)):
        if place := next(_places([item[1:]]), None):
            yield Replacement(_text(item[0]), place.function, place.file, place.line)


def _number(value: Any, default: int = 0) -> int:
    return value if isinstance(value, int) else default


def _seconds(value: Any) -> float:
    return max(0.0, float(value)) if isinstance(value, int | float) and abs(value) < 1e9 else 0.0  # noqa: PLR2004


def _member(values: type[_M], value: Any) -> _M | None:
    try:
        return values(value)
    except ValueError:
        return None


def _places(value: Any) -> Iterator[Place]:
    for parts in map(json_list, json_list(value)):
        if len(parts) == 3 and isinstance(parts[0], str) and isinstance(parts[1], int):  # noqa: PLR2004
            yield Place(_text(parts[0]), parts[1], _text(parts[2]))


def _missing(value: Any) -> Missing | None:
    parts = json_list(value)
    if len(parts) != 2:  # noqa: PLR2004
        return None
    return Missing(_text(parts[0]) or None, _text(parts[1]) or None)
