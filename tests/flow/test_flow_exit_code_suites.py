"""Suites of which only an exit code can be had: fewer rules, and the notes say so."""

import re

import pytest
from stage import PLAIN, PLAIN_SETTINGS, SWIFT, Json, Stage, calculator

from repos import MakeRepo

# A shell script tests a shell script: nothing here tells results test by test.
RUNNER = 'for test in tests/*.sh; do [ -e "$test" ] || continue; sh "$test" || { echo "$test fails"; exit 1; }; done\n'
FILES = {
    "README.md": "x\n",
    "run-tests.sh": RUNNER,
    "tdd.properties": f"{SWIFT}test.command=sh run-tests.sh\n",
}
CASE = {"description": "greets", "testFile": "tests/greet.sh", "implFile": "greet"}
LIST = "- [{}] greets\n"
ASKS = '[ "$(sh ./greet)" = hello ]\n'
GREETS = "echo hello\n"


def honest() -> dict[str, Json]:
    return {
        "PLAN-1": {"files": {"test-list.md": LIST.format(" ")}, "commit": "plan: list", "say": _answer(CASE)},
        "RED-1": {"files": {"tests/greet.sh": ASKS}, "commit": "test: greets"},
        "GREEN-1": {"files": {"greet": GREETS}, "commit": "feat: greets"},
        "REFACTOR-1": {"files": {"greet": "# Greet.\n" + GREETS}, "commit": "refactor: say what it does"},
        "PLAN-2": {"files": {"test-list.md": LIST.format("x")}, "commit": "plan: done", "say": _answer(None)},
    }


def _answer(case: Json | None) -> str:
    return '{"currentTest": %s}' % ("null" if case is None else str(case).replace("'", '"'))


@pytest.mark.long
def test_phases_are_judged_by_exit_code_and_the_notes_say_what_was_not_measured(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=FILES), honest())
    start = stage.head()
    done = stage.run()
    assert done.code == 0, done.out
    assert "exit code" in done.out
    notes = {note["phase"]: note for note in map(stage.note, stage.commits(start)[1:4])}
    assert {phase: note["testResult"] for phase, note in notes.items()} == {
        "RED": "FAIL",
        "GREEN": "PASS",
        "REFACTOR": "PASS",
    }
    for note in notes.values():
        assert note["evidence"] == "exit-code"
        assert note["unmeasured"]


REJECTED = {
    "a test that passes": ("RED-1", {"files": {"tests/greet.sh": "true\n"}}, "UnexpectedPass"),
    "a suite that fails without the test": (
        "RED-1",
        {"files": {"tests/greet.sh": ASKS, "greet": "exit 1\n", "run-tests.sh": "exit 1\n"}},
        None,
    ),
    "code in RED that breaks the suite": (
        "RED-1",
        {"files": {"tests/greet.sh": ASKS, "other": "x\n"}},
        "ScopeViolation",
    ),
    "GREEN that does not pass": ("GREEN-1", {"files": {"greet": "echo hi\n"}}, "TestFailure"),
    "GREEN that edits the test": ("GREEN-1", {"files": {"tests/greet.sh": "true\n"}}, "TestTampering"),
    "REFACTOR that breaks it": ("REFACTOR-1", {"files": {"greet": "echo bye\n"}}, "TestFailure"),
}


@pytest.mark.long
def test_what_an_exit_code_shows_is_rejected(make_repo: MakeRepo) -> None:
    """Play one run in which each phase goes wrong in several ways first."""
    parts = honest()
    expected: list[tuple[str, str | None]] = []
    counts: dict[str, int] = {}
    for phase, part, kind in REJECTED.values():
        counts[phase] = counts.get(phase, 0) + 1
        parts[f"{phase}-{counts[phase]}"] = {**part, "commit": "chore: wrong"}
        expected.append((f"{phase}-{counts[phase] + 1}", kind))
    stage = Stage(
        make_repo(files={**FILES, "tdd.properties": FILES["tdd.properties"] + "max.retries=9\n"}), parts
    )
    done = stage.run()
    assert done.code == 0, done.out
    for turn, kind in expected:
        details = stage.session(turn)["handoff"]["errorDetails"]
        assert details is not None, turn
        assert kind in (None, details["type"]), turn


NODE = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}\n',
    "tdd.properties": "retry.backoff=0\nprobe.budget=60\ntest.command=npm test\n",
}
NODE_TEST = """import test from 'node:test';
import assert from 'node:assert';
import { add } from '../add.js';

test('adds', () => {
  assert.strictEqual(add(1, 2), 3);
});
"""
NEGATIVE = "\ntest('adds what is negative', () => {\n  assert.strictEqual(add(-1, -2), -3);\n});\n"
ADD = "export const add = (a, b) => a + b;\n"


def node_parts() -> dict[str, Json]:
    """A cheat in REFACTOR, then a test of behaviour that is there already."""
    boxes = "- [{}] adds\n- [{}] adds what is negative\n"
    cases = [
        {"description": name, "testFile": "test/add.test.js", "implFile": "add.js"}
        for name in ("adds", "adds what is negative")
    ]
    twice = {"files": {"test/add.test.js": NODE_TEST + NEGATIVE}, "commit": "test: negative"}
    cheat = {
        "package.json": NODE["package.json"].replace("node --test", "true"),
        "add.js": f"// Sums.\n{ADD}",
    }
    return {
        "PLAN-1": {"files": {"test-list.md": boxes.format(" ", " ")}, "say": _answer(cases[0])},
        "RED-1": {"files": {"test/add.test.js": NODE_TEST}},
        "GREEN-1": {"files": {"add.js": ADD}},
        "REFACTOR-1-1": {"files": cheat},
        "REFACTOR-1-2": {"files": {"test/add.test.js": NODE_TEST.replace("assert.strictEqual(", "(")}},
        "REFACTOR-1": {"files": {"add.js": f"// Sums.\n{ADD}"}},
        "PLAN-2": {"files": {"test-list.md": boxes.format("x", " ")}, "say": _answer(cases[1])},
        "RED-2": twice,
        "PLAN-3": {"files": {"test-list.md": boxes.format("x", "x")}, "say": _answer(None)},
    }


@pytest.mark.long
@pytest.mark.needs("node", "npm")
def test_a_project_of_another_language_is_guarded_and_its_covered_cases_are_kept(make_repo: MakeRepo) -> None:
    stage = Stage(make_repo(files=NODE), node_parts())
    start = stage.head()
    done = stage.run()
    assert done.code == 0, done.out
    rejected = ("REFACTOR-1-2", "REFACTOR-1-3", "RED-2-2")
    told = [stage.session(turn)["handoff"]["errorDetails"]["type"] for turn in rejected]
    assert told == ["TestTampering", "TestTampering", "UnexpectedPass"]
    proofs = [
        note["mutants"] for note in map(stage.note, stage.commits(start)) if note.get("wrongExpectation")
    ]
    assert proofs == [{"tried": 1, "noticed": 1}]


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["words", "json"])
def test_such_a_suite_that_fails_before_the_run_is_refused(
    make_repo: MakeRepo, words: tuple[str, ...]
) -> None:
    stage = Stage(make_repo(files={**FILES, "tests/old.sh": "echo old $A_TOKEN; exit 1\n"}), honest())
    before = stage.repo.refs()
    done = stage.run(*words, env={"A_TOKEN": "hunter2hunter2"})
    assert done.code == 3, done
    assert re.search(r"fails before the run \(exit code 1\)\n +old\n", done.err), done.err
    assert "hunter2" not in done.out + done.err
    assert not words or "\n  old" in done.json["error"]
    assert "Make the suite pass first" in done.err
    assert (stage.repo.refs(), stage.sessions) == (before, [])


@pytest.mark.long
def test_a_script_that_runs_pytest_tells_everything(make_repo: MakeRepo) -> None:
    files = {
        "pyproject.toml": "",
        "run-tests.sh": "exec python -m pytest\n",
        "tdd.properties": FILES["tdd.properties"],
    }
    stage = Stage(make_repo(files=files))
    stage.play({**stage.parts, "GREEN-1": {"exit": 1}})
    assert stage.run(env={"TDD_MAX_RETRIES": "0"}).code == 1
    assert stage.note()["phase"] == "RED"
    assert stage.note()["evidence"] == "per-test"


@pytest.mark.long
def test_a_checkout_is_prepared_before_every_run_of_tests(make_repo: MakeRepo) -> None:
    runner = PLAIN["run_all.py"] + "\nassert open('made.txt').read() == 'made'\n"
    settings = f"{PLAIN_SETTINGS}setup.command=printf made > made.txt\n"
    stage = Stage(make_repo(files={**PLAIN, "run_all.py": runner, "tdd.properties": settings}), calculator(1))
    done = stage.run("--json")
    assert done.code == 0, done.out
    assert not (stage.repo.path / "made.txt").exists()


@pytest.mark.long
def test_a_checkout_that_cannot_be_prepared_is_refused_in_its_own_words(make_repo: MakeRepo) -> None:
    settings = f"{PLAIN_SETTINGS}setup.command=echo no such luck >&2; exit 3\n"
    stage = Stage(make_repo(files={**PLAIN, "tdd.properties": settings}), calculator(1))
    done = stage.run("--json")
    assert done.code == 3, done
    assert "setup.command" in done.json["error"]
    assert "no such luck" in done.json["error"]
