import re
from dataclasses import replace
from datetime import datetime, timedelta
from html.parser import HTMLParser
from itertools import islice

import pytest

from redgreenrefactor.model.facts import MutantCounts
from redgreenrefactor.model.handoff import State
from redgreenrefactor.model.result import Entry
from redgreenrefactor.model.run_report import Patch, ReportedTurn, RunReport, run_report
from redgreenrefactor.model.verdict import Outcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.views import plots
from redgreenrefactor.views.diffs import files_of
from redgreenrefactor.views.graph_text import graph_text
from redgreenrefactor.views.markup import Markup, tag, text
from redgreenrefactor.views.plots import Series
from redgreenrefactor.views.report_cycles import diff_blocks
from redgreenrefactor.views.report_markdown import report_markdown
from redgreenrefactor.views.report_page import report_page
from told_runs import GREEN_1, OPENING, PLAN_1, RED_1, RUN, entries

PATCH = """diff --git a/roman.py b/roman.py
index 1..2 100644
--- a/roman.py
+++ b/roman.py
@@ -1,2 +1,3 @@ def to_roman
 def to_roman(number):
-    return None
+    return "<script>alert(1)</script>"
+    # \u202eevil
\\ No newline at end of file
diff --git a/logo.png b/logo.png
new file mode 100644
index 0..1
Binary files /dev/null and b/logo.png differ
diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x = 1
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755"""


class Page(HTMLParser):
    """What a browser would make of a page: its elements, and whether each is closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: dict[str, str] = {}
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.links += [given["href"] or ""] if "href" in given else []
        assert not {name for name in given if name.startswith("on")}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("line", "path", "rect", "circle", "polyline")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        place = self.open[-1] if self.open else ""
        self.words[place] = self.words.get(place, "") + data


@pytest.fixture
def report() -> RunReport:
    found = run_report(entries(), {f"{5:040x}": Patch("feat: <i>one</i>", PATCH)})
    assert found is not None
    return found


def test_a_page_is_whole_and_asks_the_network_for_nothing(report: RunReport) -> None:
    source = report_page([report], made="2026-01-12")
    page = Page(source)

    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", source)
    assert "url(" not in source
    assert "@import" not in source
    assert "default-src 'none'" in source
    assert len(page.ids) == len(set(page.ids))
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)


def test_what_the_project_wrote_is_text_and_nothing_else(report: RunReport) -> None:
    source = report_page([report])
    page = Page(source)

    assert "<script>alert" not in source
    assert "<i>" not in source
    assert "1994 is <b>MCMXCIV</b>" in page.words["a"]
    assert '"<script>alert(1)</script>"' in page.words["ins"]
    assert "# \\u202eevil" in page.words["ins"]


def test_the_story_tells_verdicts_reasons_and_diffs(report: RunReport) -> None:
    page = Page(report_page([report]))

    assert "✗ attempt 1 rejected" in page.words["span"]
    assert "test_roman.py was edited in GREEN" in page.words["li"]
    assert "→ Leave tests alone." in page.words["p"]
    assert "3 of 4 wrong versions of the code are noticed; missed: roman.py:2" in page.words["dd"]
    assert "80 % of the change is needed by the test; not needed: roman.py:4" in page.words["dd"]
    assert "92.5 % of the changed code, 90 % wanted" in page.words["dd"]
    assert "✓ covered already" in page.words["span"]
    assert "    return None" in page.words["del"]


def test_every_plot_has_words_for_those_who_do_not_see_it(report: RunReport) -> None:
    source = report_page([report])
    titles = re.findall(r"<svg[^>]*><title>([^<]*)</title>", source)

    assert [title.partition(":")[0] for title in titles] == [
        "Cases done over time",
        "Seconds for each cycle",
        "Seconds in sessions, in the suite, in other gates",
        "Tokens and cost by phase",
        "Minimality and mutants, per cent",
        "Coverage, per cent",
    ]
    assert source.count('role="img"') == len(titles)
    assert titles[2].endswith(": sessions 88 %, suite 4 %, gates 8 %")


def test_time_is_told_by_name(report: RunReport) -> None:
    words = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", report_page([report])))
    assert words["time at work"] == "28.0 s"
    assert words["of that in gates"] == "3.0 s"
    assert words["by the clock"] == "9 min 00 s"


def test_what_nobody_measured_is_not_drawn() -> None:
    bare = replace(RED_1, usage=None, seconds=None, agent=None)
    report = run_report([Entry("c1", bare), Entry("c0", replace(OPENING, timestamp="yesterday"))], {})
    assert report is not None

    assert "<figure" not in report_page([report])


def test_several_runs_have_an_index(report: RunReport) -> None:
    other = run_report(
        [
            Entry("c1", replace(PLAN_1, run_id="other", state=State.STOPPED, completed_tests=("1",))),
            Entry("c0", OPENING),
        ],
        {},
    )
    assert other is not None
    source = report_page([report, other])
    page = Page(source)

    assert page.words["h1"] == "2 runs"
    assert "other · 1 case done" in source
    assert {"#r1-run", "#r2-run", "#r2-c1"} <= set(page.links)
    assert len(page.ids) == len(set(page.ids))


def test_fifty_cycles_with_long_diffs_stay_below_a_megabyte() -> None:
    head = "diff --git a/long.py b/long.py\n--- a/long.py\n+++ b/long.py\n@@ -0,0 +1 @@\n"
    long = Patch("feat: much", head + f"+{'x<>' * 2_000}\n" + "+line &<>& line\n" * 300)
    told = [Entry("c0", OPENING)]
    for cycle in range(1, 51):
        told += [
            Entry(f"{cycle}-{phase}", replace(RED_1, cycle_number=cycle, phase=phase))
            for phase in (PhaseName.PLAN, PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)
        ]
    report = run_report(told[::-1], {entry.commit: long for entry in told})
    assert report is not None
    source = report_page([report])

    assert len(source.encode()) < 1_000_000
    assert "more lines: rgr diff" in source


def test_a_diff_is_told_file_by_file() -> None:
    files = files_of(PATCH)

    assert [(file.path, file.what, file.added, file.removed) for file in files] == [
        ("roman.py", "", 2, 1),
        ("logo.png", "new", 0, 0),
        ("new.py", "renamed from old.py", 0, 0),
        ("gone.py", "deleted", 0, 1),
        ("run.sh", "mode changed", 0, 0),
    ]
    assert files_of("") == []


def test_lines_that_were_added_or_removed_are_marked_together_and_nothing_in_them_is_markup() -> None:
    patch = "diff --git a/a.py b/a.py\n@@ -1,2 +1,3 @@ <b>\n same\n-old <i>\n+new & 1\n+new 2\n-- x\n"

    (block,) = diff_blocks(Patch("feat: x", patch), 1000, "rgr diff c0ffee")
    assert (
        "<pre><b>@@ -1,2 +1,3 @@ &lt;b&gt;\n</b> same\n<del>-old &lt;i&gt;\n</del><ins>+new &amp; 1\n+new 2\n</ins><del>-- x\n</del></pre>"
        in block
    )
    (short,) = diff_blocks(Patch("feat: x", patch), 40, "rgr diff c0ffee")
    assert "same" in short
    assert "… 4 more lines: rgr diff c0ffee" in short


def test_markup_escapes_all_but_markup() -> None:
    assert tag("p", "a < b", [Markup("<br>"), None], class_="x", title='"q"', hidden=True, id=None) == (
        '<p class="x" title="&quot;q&quot;" hidden>a &lt; b<br></p>'
    )
    assert text("a\x1b[31m\udc80\tb\n") == "a\\x1b[31m\\udc80\tb\n"


def test_markdown_fits_a_pull_request(report: RunReport) -> None:
    told = report_markdown([report])

    assert told.startswith("## Roman numerals\n\n**complete** · 2 of 2 cases done")
    assert "| 2 | 1994 is \\<b\\>MCMXCIV\\</b\\> | ✓ covered already, 1 rejected attempt |" in told
    assert "- `1-GREEN-1` **TestTampering**: test\\_roman.py was edited in GREEN" in told
    assert "diff --git" not in told
    assert report_markdown([report, report]).startswith(f"# 2 runs\n\n- Roman numerals: complete (`{RUN}`)")


def test_rounds_of_a_review_have_a_track_of_their_own() -> None:
    coded = replace(RED_1, phase=PhaseName.CODE, next_phase=PhaseName.REVIEW, current_test=None)
    reviewed = replace(coded, phase=PhaseName.REVIEW, next_phase=PhaseName.COMPLETE, outcome=Outcome.APPROVED)
    report = run_report([Entry("c2", reviewed), Entry("c1", coded), Entry("c0", OPENING)], {})
    assert report is not None
    page = Page(report_page([report]))

    assert "CODE ✓" in page.words["li"]
    assert "REVIEW ✓" in page.words["li"]
    assert "✓ approved" in page.words["span"]
    assert page.words["a"].endswith("Round 1")
    assert "Seconds for each round" in page.words["figcaption"]
    assert "rounds" in page.words["dt"]
    assert "1  Round 1" in next(islice(graph_text(report, width=80), 2, None))


def test_a_task_file_has_no_planning() -> None:
    note = replace(RED_1, current_test=None, pending_tests=(), completed_tests=())
    report = run_report(
        [Entry("c2", replace(note, phase=PhaseName.GREEN)), Entry("c1", note), Entry("c0", OPENING)], {}
    )
    assert report is not None
    page = Page(report_page([report]))

    assert page.words["a"].endswith("1 · The whole task")
    assert "PLAN" not in page.words["li"]
    assert "of 0" not in report_markdown([report])

    tried = replace(note, phase=PhaseName.PLAN, next_phase=PhaseName.PLAN)
    first = run_report([Entry("c1", tried), Entry("c0", OPENING)], {})
    assert first is not None
    assert "PLAN" in Page(report_page([first])).words["li"]


def test_what_was_measured_cannot_break_the_table_of_a_pull_request(report: RunReport) -> None:
    odd = replace(GREEN_1, facts=replace(GREEN_1.facts, mutants=MutantCounts(2, 1, missed=("a | b <i>",))))
    cycle = replace(report.cycles[0], turns=(ReportedTurn("c1", odd, accepted=True),))
    told = report_markdown([replace(report, cycles=(cycle,))])
    assert "missed: a \\| b \\<i\\>" in told


def test_a_table_says_where_only_an_exit_code_was_evidence(report: RunReport) -> None:
    blind = replace(
        GREEN_1, facts=replace(GREEN_1.facts, evidence="exit-code", mutants=None, minimality=None)
    )
    turns = tuple(ReportedTurn(name, blind, accepted=True) for name in ("c1", "c2"))
    told = report_markdown([replace(report, cycles=(replace(report.cycles[0], turns=turns),))])
    assert "| only the exit code of the suite |\n" in told
    assert "exit code" not in report_markdown([report])


def test_a_long_title_is_cut_and_told_whole_below(report: RunReport) -> None:
    long = "Convert " + "numbers and more numbers " * 20
    entry = report.latest
    told = replace(report, latest=replace(entry, handoff=replace(entry.handoff, feature=long)))
    page = Page(report_page([told]))

    assert page.words["h1"] == f"{long[:120].rstrip()}…"
    assert long.strip() in page.words["pre"]
    assert "The whole feature" in page.words["summary"]


def test_a_run_that_has_just_begun_boasts_of_nothing() -> None:
    begun = run_report([Entry("c0", OPENING)], {}, at_work=True)
    assert begun is not None
    page = Page(report_page([begun]))

    assert "PLAN is at work" in page.words["p"]
    assert page.words["dt"] == "rejected attemptsbegan"


@pytest.mark.parametrize(
    ("hours", "unit"), [(0.01, ">s<"), (0.2, ">min<"), (30, ">h<"), (200, ">days<")], ids=str
)
def test_time_is_drawn_in_units_that_suit_it(report: RunReport, hours: float, unit: str) -> None:
    began = datetime.fromisoformat("2026-01-11T10:35:00+00:00") - timedelta(hours=hours)
    first = replace(report, began=began.isoformat(), cycles=report.cycles[:1])
    assert unit in report_page([first]).partition("</figure>")[0]


def test_words_below_a_plot_stand_below_what_they_name() -> None:
    places = [str(number) for number in range(1, 8)]
    drawn = plots.columns_of([Series("x", "red", (1.0,) * 7)], places)
    bars = [float(x) + float(w) / 2 for x, w in re.findall(r'x="([\d.]+)" width="([\d.]+)"', drawn)]
    words = [float(x) for x in re.findall(r'<text x="([\d.]+)" y="142.0" text-anchor="middle"', drawn)]

    assert words == pytest.approx(bars, abs=0.2)
    wide = plots.columns_of([Series("x", "red", (1.0,) * 300)], [f"word{n}" for n in range(300)])
    assert max(float(x) for x in re.findall(r'<text x="([\d.]+)"', wide)) + 3 * plots.LETTER <= plots.WIDE


def test_series_that_coincide_are_both_seen() -> None:
    same = (100.0, 100.0)
    drawn = plots.lines_of([Series("one", "read", same), Series("two", "wrote", same)], ["1", "2"])
    assert re.findall(r'r="([\d.]+)" class="(\w+)"', drawn) == [
        ("4.5", "read"),
        ("4.5", "read"),
        ("3.0", "wrote"),
        ("3.0", "wrote"),
    ]


def test_joiners_stay_where_a_script_is_spelt_with_them_and_nowhere_else() -> None:
    persian, family = "\u0645\u06cc\u200c\u062e\u0645", "👩\u200d👧"
    assert text(f"{persian} {family}") == f"{persian} {family}"
    assert text("pass\u200dword ü\u200dx \u200dü ü\u200d\u200dü\u200d") == (
        "pass\\u200dword ü\\u200dx \\u200dü ü\\u200d\\u200dü\\u200d"
    )
