"""Whatever is read from outside: any text at all is read, or refused with a message, and never a traceback.

How many texts each reader is given is `RGR_FUZZ` (all readers together get about that many); `make fuzz` gives many.
"""

import json
import os
from collections.abc import Callable, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redgreenrefactor.agents import script
from redgreenrefactor.config import Flags, load
from redgreenrefactor.config.keys import KEYS
from redgreenrefactor.errors import RgrError
from redgreenrefactor.gates.plan import Answer, read_answer
from redgreenrefactor.gates.review import Opinion, read_opinion
from redgreenrefactor.git import mark
from redgreenrefactor.goals import test_list
from redgreenrefactor.goals.task_file import read_task
from redgreenrefactor.goals.text_file import read_spec
from redgreenrefactor.languages import python, stubs
from redgreenrefactor.languages.manifests import adds_for_tests, files_run
from redgreenrefactor.languages.paths import reconfigures
from redgreenrefactor.languages.sources import tally
from redgreenrefactor.loop.workflows import taskfile
from redgreenrefactor.model.codec import json_in, json_object
from redgreenrefactor.model.decision import cycle_of, diagnosis_due
from redgreenrefactor.model.evidence import Change, File
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import Handoff, from_json, to_json
from redgreenrefactor.model.result import Entry, RunStatus, result_of
from redgreenrefactor.model.verdict import TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.mutation import mutants
from redgreenrefactor.mutation.text_mutants import code_mutants, failing_at_once, wrong_expectations
from redgreenrefactor.runners import coverage_tools, report

NOTE: Mapping[str, Any] = {
    "schemaVersion": 1,
    "runId": "r",
    "feature": "f",
    "state": "running",
    "phase": "GREEN",
    "nextPhase": "REFACTOR",
    "cycleNumber": 1,
    "currentTest": {"description": "d", "testFile": "t.py", "implFile": "i.py"},
    "completedTests": ["a"],
    "pendingTests": ["b"],
    "testResult": "PASS",
    "error": None,
    "errorDetails": {"type": "TestFailure", "message": "m"},
    "retryCount": 0,
    "timestamp": "2026-01-11T10:30:00Z",
    "attempts": 1,
    "outcome": "covered",
    "findings": [
        {"type": "TestFailure", "message": "m", "file": "f", "line": 1, "hint": None, "severity": "error"}
    ],
    "carriedFrom": "c",
    "awaiting": "approval",
    "previous": {"phase": "PLAN", "nextPhase": "PLAN"},
    "usage": {"inputTokens": 1, "outputTokens": 2, "costUsd": 0.1},
    "seconds": 1.5,
    "due": {"usage": None, "seconds": 1},
    "diagnosis": {"before": 2, "message": "m", "failed": False},
    "buildsOn": "1-GREEN-1",
    "testList": "blob",
}
ANSWER = {"currentTest": NOTE["currentTest"], "dropped": [{"description": "x", "reason": "y"}]}
OPINION = {"verdict": "approve", "title": "t", "body": "b", "feedback": "f"}
TASK: Mapping[str, Any] = {
    "id": "IMPL-1",
    "title": "t",
    "description": "<files_to_read>a.py</files_to_read>",
    "meta": {
        "tdd_workflow": True,
        "max_iterations": 3,
        "tdd_cycles": [{"test_count": 1, "test_cases": ["a"]}],
    },
    "cli_execution": {"id": "S-IMPL-1", "strategy": "resume", "resume_from": "S-IMPL-0"},
    "focus_paths": ["src"],
    "convergence": {"criteria": ["`pytest`"]},
    "pre_analysis": [{"step": "look", "commands": ["ls"], "on_error": "skip"}],
    "implementation": [{"tdd_phase": phase, "actions": ["do"]} for phase in ("red", "green", "refactor")],
    "depends_on": ["IMPL-0"],
}
RECORD = {
    "event": "part",
    "id": "t.py::test_a",
    "ids": ["t.py::test_a"],
    "status": "failed",
    "kind": "assertion",
    "seconds": 0.1,
    "exit": 1,
    "planned": 1,
    "started": 1,
    "file": "t.py",
    "function": "test_a",
    "line": 3,
    "message": "m",
    "exception": "AssertionError",
    "frames": [["t.py", 3]],
    "missing": {"module": "m", "name": "n"},
    "lines": {"a.py": [1, 2]},
    "flipped": True,
}

plain = st.text(max_size=200) | st.binary(max_size=200).map(
    lambda raw: raw.decode("utf-8", "surrogateescape")
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
)


@st.composite
def spoiled(draw: st.DrawFn, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object that was right, but for a few of its values."""
    made = dict(body)
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(sorted(body)))
        if draw(st.booleans()):
            made[name] = draw(values)
        else:
            made.pop(name, None)
    return made


def jsons(body: Mapping[str, Any]) -> st.SearchStrategy[str]:
    written = spoiled(body).map(lambda made: json.dumps(made, ensure_ascii=False))
    cut = st.tuples(written, st.integers(0, 400)).map(lambda both: both[0][: both[1]])
    return plain | written | cut | values.map(json.dumps)


@st.composite
def scratched(draw: st.DrawFn, text: str) -> str:
    """Return a text that was right, but for a few characters."""
    for _ in range(draw(st.integers(1, 3))):
        place, gone = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        put_in = draw(
            st.text(max_size=3) | st.sampled_from(["\\", '"', "\\x", "0" * 5000, "\x1b", ",", "\n"])
        )
        text = text[:place] + put_in + text[place + gone :]
    return text


PLAIN = to_json(
    Handoff(
        PhaseName.GREEN,
        PhaseName.REFACTOR,
        run_id="r",
        feature="f",
        cycle_number=1,
        current_test=Case('says "a"', "t.py", "i.py"),
        timestamp="2026-01-11T10:30:00Z",
        test_result=TestOutcome.PASS,
        attempts=1,
    )
)

bullets = st.sampled_from(
    ["- [ ] ", "- [x] ", "* [X] ", "1. [ ] ", "  - [ ] ", "```", "> - [ ] ", "- [] ", "\t- [x]", ""]
)
lists = st.lists(st.tuples(bullets, st.text(max_size=30)).map("".join), max_size=12).map("\n".join) | plain
keys = st.sampled_from([key.name for key in KEYS]) | st.text(max_size=12)
properties = (
    st.lists(
        st.tuples(keys, st.sampled_from(["=", ":", " ", "=\\\n"]), st.text(max_size=20)).map("".join),
        max_size=5,
    )
    .map("\n".join)
    .__or__(plain)
)


def read_note(text: str) -> None:
    handoff = from_json(text)
    assert from_json(to_json(handoff)) == handoff
    cycle_of(handoff)
    diagnosis_due(handoff, taskfile(3).phases[1], 1)
    result_of([Entry("c", handoff)], RunStatus.STOPPED, 1.0).to_json()


def read_plan_answer(text: str) -> None:
    assert isinstance(read_answer(text), Answer | str)


def read_review(text: str) -> None:
    assert isinstance(read_opinion(text), Opinion | str)


def read_task_file(text: str) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "IMPL-1.json"
        place.write_bytes(text.encode("utf-8", "surrogatepass"))
        read_task(place)


def read_specification(text: str) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "SPEC.md"
        place.write_bytes(text.encode("utf-8", "surrogatepass"))
        read_spec(place)


def read_properties(text: str) -> None:
    load(("tdd.properties", text), {}, Flags())


def read_variables(text: str) -> None:
    names = [key.variable for key in KEYS if key.variable]
    load(None, dict.fromkeys(names, text.replace("\0", "")), Flags())


def read_list(text: str) -> None:
    plan = test_list.parse(text)
    assert all(item.text for item in plan.items)


def read_records(text: str) -> None:
    heard = report.Heard()
    for line in text.split("\n"):
        heard.hear(json_object(json_in(line.encode("utf-8", "surrogatepass"))))
    assert isinstance(heard.finished, bool)


MANIFESTS = (
    *("package.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "tox.ini", "pom.xml", "build.gradle"),
    *("vite.config.ts", "go.mod", "CMakeLists.txt", ".npmrc", "deno.json", "composer.json"),
)
SOURCES = (
    "a.js",
    "a_test.go",
    "a.rs",
    "A.java",
    "a.kt",
    "a.cs",
    "a.cpp",
    "a_spec.rb",
    "a.php",
    "test_a.py",
    "a.sh",
)


def read_manifest(text: str) -> None:
    """Look at what a session may have written into the files that say how tests are run."""
    for name in MANIFESTS:
        for before in (None, "{}", text):
            change = Change(name, File("100644", "1", before) if before else None, File("100644", "2", text))
            reconfigures(change, "npm test")
            adds_for_tests(name, before or "", text)
        files_run(text, "npm test")


def read_source(text: str) -> None:
    """Look at what a session may have written into tests and code."""
    for name in SOURCES:
        found = tally(name, text)
        for block in found.blocks:
            failing_at_once(text, block)
            list(islice(wrong_expectations(name, text, block), 3))
            assert block.says_nothing in (True, False)
        list(islice(code_mutants(name, text, {"a"}), 3))
    python.tests_in(text)
    python.helpers(text)
    stubs.beyond_stubs(None, text)
    list(islice(mutants.mutations(text, frozenset(range(9))), 3))


def read_coverage(text: str) -> None:
    """Read what a suite may have written in place of a report."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "jacoco.xml").write_bytes(text.encode("utf-8", "surrogatepass"))
        loaded = json_in((place / "jacoco.xml").read_bytes())
        coverage_tools._coverage_py(loaded, place)  # pyright: ignore[reportPrivateUsage]
        coverage_tools._istanbul(loaded, place)  # pyright: ignore[reportPrivateUsage]
        coverage_tools._go_profile(text, "m")  # pyright: ignore[reportPrivateUsage]
        coverage_tools._jacoco(place, iter([place / "jacoco.xml"]))  # pyright: ignore[reportPrivateUsage]


def read_script(text: str) -> None:
    script.parse(text, "script.toml")


def read_mark(text: str) -> None:
    with TemporaryDirectory() as folder:
        place = Path(folder) / "mark.json"
        place.write_bytes(text.encode("utf-8", "surrogatepass"))
        mark.read(place, mark.Mark)


scripts = plain | st.lists(
    st.tuples(
        st.sampled_from(
            ["[[scene]]", "phase =", "cycle =", "say =", "[[scene.call]]", "[files]", "tool =", '"a" =']
        ),
        st.sampled_from(['"RED"', "1", '"""x"""', "[]", "{}", "true", "", "1979-05-27"]),
    ).map(" ".join),
    max_size=8,
).map("\n".join)

PACKAGE: Mapping[str, Any] = {
    "scripts": {"test": "node a.js", "pretest": ["x"], "post*": 1},
    "jest": {},
    "devDependencies": {},
    "tool": {"pytest": {}},
    "test": [{"name": "a", "harness": False}],
    "package": {"autotests": False},
    "workspace": {"members": ["a"]},
}
tables = st.lists(
    st.tuples(
        st.sampled_from(
            ["[tool.pytest]", "[[test]]", "[package]", "[workspace]", "x =", "[tool:pytest]", "name ="]
        ),
        st.sampled_from(["", " 1", ' "a"', " []", " {}", " [[", "\n"]),
    ).map("".join),
    max_size=8,
).map("\n".join)
pieces = st.sampled_from(
    [
        *(
            "test('a', () => {",
            "it.each`",
            "func TestA(t *testing.T) {",
            "#[test]\nfn a() {",
            "@Test void a() {",
            "def test_a():",
        ),
        *(
            "assert",
            "expect(1).toBe(",
            "assert_eq!(",
            ")",
            "}",
            "{",
            "(",
            '"',
            "'",
            "`",
            "\\",
            "/*",
            "*/",
            "//",
            "#",
            "\n",
            "    ",
        ),
        *(
            "1",
            "== 2",
            " + ",
            "true",
            "return ",
            "class A:",
            "if x:",
            "lambda: ",
            "/[/",
            '"""',
            "f'{",
            "#[cfg(any())]",
            "$(",
            "<<EOF",
        ),
    ]
)
sources = st.lists(pieces | st.text(max_size=4), max_size=25).map("".join)
COVERAGE: Mapping[str, Any] = {
    "files": {"a.py": {"executed_lines": [1], "missing_lines": [2]}},
    "a.js": {"s": {"0": 1}},
}
counters = st.tuples(st.text(max_size=5), st.text(max_size=5), st.text(max_size=9)).map(
    lambda three: (
        f"<report><package name={quoteattr(three[0])}><sourcefile name={quoteattr(three[1])}>"
        f"<counter type='LINE' missed={quoteattr(three[2])} covered='1'/></sourcefile></package></report>"
    )
)
profiles = st.tuples(st.text(max_size=9), st.integers(0), st.integers(0)).map(
    lambda line: f"{line[0]}:1.1,2.2 {line[1]} {line[2]}"
)

READERS: dict[str, tuple[Callable[[str], None], st.SearchStrategy[str]]] = {
    "notes": (read_note, scratched(PLAIN) | jsons(NOTE)),
    "plan_answers": (read_plan_answer, jsons(ANSWER)),
    "reviews": (read_review, jsons(OPINION)),
    "task_files": (read_task_file, jsons(TASK)),
    "specifications": (read_specification, plain),
    "properties": (read_properties, properties),
    "variables": (read_variables, plain),
    "lists": (read_list, lists),
    "records": (read_records, jsons(RECORD)),
    "scripts": (read_script, scripts),
    "manifests": (read_manifest, jsons(PACKAGE) | tables),
    "sources": (read_source, sources | plain),
    "coverage": (read_coverage, jsons(COVERAGE) | counters | profiles),
    "marks": (
        read_mark,
        jsons({"runId": "r", "base": "b", "branch": "x", "refs": {}, "steering": {}, "sealed": True}),
    ),
}
EACH = max(50, int(os.environ.get("RGR_FUZZ", "800")) // len(READERS))


@pytest.mark.parametrize("reader", READERS)
def test_no_text_is_too_odd(reader: str) -> None:
    read, texts = READERS[reader]

    @settings(max_examples=EACH, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(texts)
    def try_out(text: str) -> None:
        try:
            read(text)
        except RgrError as error:
            assert error.message  # noqa: PT017
            assert error.exit_code in (2, 3)  # noqa: PT017

    try_out()


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 3_000, "\ud800", "\0", "9" * 5000, '{"phase": 1e999}']
)
@pytest.mark.parametrize("reader", READERS)
def test_texts_made_to_hurt_are_only_texts(reader: str, text: str) -> None:
    read, _ = READERS[reader]
    try:
        read(text)
    except RgrError as error:
        assert error.exit_code in (2, 3)  # noqa: PT017


def test_a_report_file_of_any_bytes_is_read() -> None:
    @settings(max_examples=EACH, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
    @given(st.binary(max_size=300))
    def try_out(raw: bytes) -> None:
        report.read(BytesIO(raw), "nonce")

    try_out()
