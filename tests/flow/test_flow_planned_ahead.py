"""How many sessions a feature takes whose cases were planned at once."""

import json

import pytest
from stage import GREENFIELD, Parts, Stage

from repos import MakeRepo

CODE, TEST = "prices.py", "tests/test_prices.py"
RATES = (7, 11, 13, 17, 19, 23, 29)  # a function each
KNOWN = 3  # cases that the code can do already: another value of the first ones
CASES = [f"a price with {rate} per cent" for rate in RATES] + [
    f"twice the price with {rate} per cent" for rate in RATES[:KNOWN]
]


def _listed(done: int) -> str:
    return "".join(f"- [{'x' if number < done else ' '}] {text}\n" for number, text in enumerate(CASES))


def _case(number: int) -> dict[str, str]:
    return {"description": CASES[number], "testFile": TEST, "implFile": CODE}


def _tests(count: int) -> str:
    rates = [(rate, 100) for rate in RATES] + [(rate, 200) for rate in RATES[:KNOWN]]
    tests = (
        f"\n\ndef test_{price}_with_{rate}() -> None:\n    assert prices.with_{rate}({price}) == {price + price * rate // 100}\n"
        for rate, price in rates[:count]
    )
    return "import prices\n" + "".join(tests)


def _code(count: int) -> str:
    functions = (
        f"def with_{rate}(price: int) -> int:\n    return price + price * {rate} // 100\n"
        for rate in RATES[:count]
    )
    return "\n\n".join(functions)


def _parts(*, ahead: bool = True) -> Parts:
    parts: Parts = {}
    for number in range(len(CASES) + 1):
        said: dict[str, object] = {"currentTest": _case(number) if number < len(CASES) else None}
        if ahead:
            said["upcoming"] = [_case(later) for later in range(number + 1, len(CASES))]
        parts[f"PLAN-{number + 1}"] = {"files": {"test-list.md": _listed(number)}, "say": json.dumps(said)}
    for number in range(len(CASES)):
        covered = number >= len(RATES)
        parts[f"RED-{number + 1}"] = {
            "files": {TEST: _tests(number + 1)},
            "say": '{"covered": "every price can be given"}' if covered else "",
        }
        parts[f"GREEN-{number + 1}"] = {"files": {CODE: _code(number + 1)}}
        parts[f"REFACTOR-{number + 1}"] = {}
    return parts


@pytest.mark.long
def test_ten_cases_of_which_three_are_covered_take_26_sessions_and_every_commit_they_always_took(
    make_repo: MakeRepo,
) -> None:
    # With time for every probe: what is left out is a warning, and a warning has PLAN look at the list.
    files = {**GREENFIELD, "tdd.properties": "retry.backoff=0\n"}
    stage = Stage(make_repo(files=files), _parts())
    done = stage.run()
    assert done.code == 0, done
    turns = stage.turns
    assert len(turns) == 26
    assert [turn for turn in turns if turn.startswith("PLAN")] == ["PLAN-1-1", "PLAN-11-1"]
    notes = [stage.note(commit) for commit in stage.commits("HEAD~35")]
    assert len([note for note in notes if note["phase"] == "PLAN" and note["agent"] == "rgr"]) == 9
    assert [note["outcome"] for note in notes if "outcome" in note] == ["covered"] * KNOWN
    verified = stage.rgr("verify")
    assert verified.code == 0, verified
