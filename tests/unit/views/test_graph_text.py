import re
from dataclasses import replace

import pytest

from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.run_report import run_report
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views.graph_text import graph_text
from redgreenrefactor.views.lines import ASCII, Ink, cells
from told_runs import OPENING, PLAN_1, REJECTED, entries


def test_a_graph_shows_every_cycle_with_its_way_and_what_was_rejected() -> None:
    report = run_report(entries(), {})
    assert report is not None

    assert list(graph_text(report, width=80)) == [
        "Roman numerals …                                                        complete",
        "│",
        "✓ 1  1 is I                                                         done  16.0 s",
        "│    PLAN ✓ 0000000 → RED ✓ 0000000 → GREEN ✗ ✓ 0000000 → REFACTOR ✓ 0000000",
        "│    ✗ 1-GREEN-1: TestTampering: test_roman.py was edited in GREEN",
        "│",
        "✓ 2  1994 is <b>MCMXCIV</b>                                       covered  8.0 s",
        "│    PLAN ✓ 0000000 → RED ✗ ✓ 0000000",
        "│    ✗ 2-RED-1: NothingDone: RED changed nothing",
        "│",
        "✓ 3  no case left                                                  closed  4.0 s",
        "│    PLAN ✓ 0000000",
    ]


def test_colours_are_laid_over_the_same_graph() -> None:
    report = run_report(entries(), {})
    assert report is not None
    plain, colourful = (list(graph_text(report, width=80, ink=Ink(color=color))) for color in (False, True))

    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in colourful] == plain
    assert all("\x1b[" in line for line in colourful)


@pytest.mark.parametrize("width", [20, 40, 60])
def test_a_graph_fits_a_narrow_terminal_and_keeps_its_line(width: int) -> None:
    report = run_report(entries(), {})
    assert report is not None
    lines = list(graph_text(report, width=width, ink=ASCII))

    assert max(map(cells, lines)) <= width
    assert all(line.startswith(("|", "ok", "Roman", " ")) for line in lines)


def test_the_phase_in_work_is_marked_and_words_of_others_are_harmless() -> None:
    rejected = replace(
        REJECTED, phase=PhaseName.RED, next_phase=PhaseName.RED, error="\x1b[2Jgone", error_details=None
    )
    told = [Entry("c2", rejected), Entry("c1", PLAN_1), Entry("c0", OPENING)]
    report = run_report(told, {}, at_work=True)
    assert report is not None
    lines = list(graph_text(report, width=80))

    assert "│    PLAN ✓ c1 → RED ✗ …" in lines
    assert "│    ✗ 1-RED-1: gone" in lines
