"""Plays a run into the terminal it is started in.

It says when there is something to see, and goes on when it is told to; its clock stands still in between.
"""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from itertools import count

from views_samples import RUN, TAMPERED, suite

from redgreenrefactor.model.events import (
    Event,
    Judged,
    ModelAnswered,
    Paused,
    RunEnded,
    SessionBegan,
    SessionEnded,
    SessionReported,
    SessionSaid,
    SuiteStarted,
    ToolUsed,
    TurnStarted,
    Warned,
)
from redgreenrefactor.model.facts import Facts, Minimality, MutantCounts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.session import Brief, Report, Role, Usage
from redgreenrefactor.model.verdict import Ruling, TestOutcome, Verdict
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.views.console import TerminalView

TDD = (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
CASES = (
    Case("1 is I", "tests/test_roman.py", "roman.py"),
    Case("numbers that are written by subtraction, as 4 is IV", "tests/test_roman.py", "roman.py"),
)
COMMITS = (f"{number * 7919:07x}" * 5 for number in count(30_001, 977))
SUBJECTS = {
    PhaseName.PLAN: "plan: what comes next",
    PhaseName.RED: "test: write down what is wanted",
    PhaseName.GREEN: "feat: write it as a numeral",
    PhaseName.REFACTOR: "refactor: no changes needed",
}
MUTANTS = "how many mistakes in the new code the new test notices"
SHOWN, GO_ON = "shown", "go-on"


def begins(phase: PhaseName, cycle: int, attempt: int = 1) -> list[Event]:
    case = CASES[cycle - 1]
    left = 5.0 - 0.08 * (4 * cycle + TDD.index(phase))
    brief = Brief(Role(RoleName.TEST, "", ""), phase, cycle, attempt, RUN.run_id, "", "", allowance_usd=left)
    turn = TurnStarted(phase, cycle, attempt, case, "api", cycle - 1, 7 - cycle)
    return [turn, SessionBegan(brief, "api", "/p", "c0ffee"), SessionSaid("Read tests/test_roman.py")]


def ends(phase: PhaseName, cycle: int, passed: int, verdict: Verdict, attempt: int = 1) -> list[Event]:
    used = Usage(1200, 900, 20_000, 0, 0.08)
    failed = int(phase is PhaseName.RED)
    tests: list[Event] = [] if phase is PhaseName.PLAN else [SuiteStarted("suite"), suite(passed, failed)]
    judged = Judged(phase, cycle, attempt, verdict, next(COMMITS), SUBJECTS[phase], 41.0)
    return [
        SessionReported(Report("done", usage=used), 38.0),
        SessionEnded(38.0, failed=False),
        *tests,
        judged,
    ]


def accepted(phase: PhaseName, cycle: int, passed: int, attempt: int = 1) -> list[Event]:
    facts = Facts(minimality=Minimality(100, 3, ()), mutants=MutantCounts(7, 7))
    verdict = Verdict(
        Ruling.ACCEPTED,
        case=CASES[cycle - 1],
        test_result=TestOutcome.FAIL if phase is PhaseName.RED else TestOutcome.PASS,
        facts=facts if phase is PhaseName.GREEN else Facts(),
    )
    return ends(phase, cycle, passed, verdict, attempt)


def turn(phase: PhaseName, cycle: int, passed: int) -> list[Event]:
    return [*begins(phase, cycle), *accepted(phase, cycle, passed)]


REFUSED = [
    *begins(PhaseName.GREEN, 2),
    *ends(PhaseName.GREEN, 2, 3, Verdict(Ruling.REJECTED, (TAMPERED,))),
    Paused(2.0),
]
# What is to be seen at each stop.
STOPS: list[list[Event]] = [
    [replace(RUN, phases=TDD), SuiteStarted("suite")],
    [
        suite(2, 0),
        Warned("git knows no user.name and user.email here: commits are made as RedGreenRefactor"),
        *(event for number, phase in enumerate(TDD) for event in turn(phase, 1, 2 + (number > 1))),
        *turn(PhaseName.PLAN, 2, 3),
        *turn(PhaseName.RED, 2, 3),
        *REFUSED,
        *begins(PhaseName.GREEN, 2, 2),
        ModelAnswered("p", "m", "m", Usage(900, 300, 9000, 0, 0.031), 3.0, "stop"),
        SessionSaid(
            "Edit roman.py: return 'IV' where 4 is left, which is what the test asks for and no more"
        ),
    ],
    [
        SessionReported(Report("done", usage=Usage(1200, 900, 20_000, 0, 0.08)), 38.0),
        SessionEnded(38.0, failed=False),
        SuiteStarted("suite"),
        suite(4, 0),
        SuiteStarted("probe", MUTANTS, 3, 7),
    ],
    [
        *accepted(PhaseName.GREEN, 2, 4, attempt=2)[2:],
        RunEnded("stopped", "Stopped by --max-cycles 2. Type 'rgr resume' to go on.", 371.0),
    ],
]


def main() -> None:
    now = [0.0]
    view = TerminalView(sys.stdout, color=not os.environ.get("NO_COLOR"), clock=lambda: now[0])
    with closing(view):
        for events in STOPS:
            for event in events:
                view(event)
            now[0] += 83.25
            view(ToolUsed("Read", "1", failed=False, seconds=0.1))  # has no line of its own, and draws anew
            subprocess.run(["tmux", "wait-for", "-S", SHOWN], check=True)
            subprocess.run(["tmux", "wait-for", GO_ON], check=True)


if __name__ == "__main__":
    main()
