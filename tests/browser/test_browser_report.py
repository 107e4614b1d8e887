from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pages import overflow, violations
from redgreenrefactor.model.run_report import Patch, run_report
from redgreenrefactor.views.report_page import report_page
from told_runs import entries

LONG = "a_very_long_name_that_has_no_place_to_be_broken_at" * 3
PATCH = f"""diff --git a/src/{LONG}.py b/src/{LONG}.py
--- a/src/{LONG}.py
+++ b/src/{LONG}.py
@@ -1,2 +1,2 @@ def to_roman
 def to_roman(number):
-    return "{LONG}"
+    return '<b onmouseover="alert(1)">'"""


@pytest.fixture
def address(tmp_path: Path) -> str:
    told = entries()
    patches = {entry.commit: Patch(f"feat: {LONG}", PATCH) for entry in told}
    others = [replace(entry, handoff=replace(entry.handoff, run_id="another")) for entry in told]
    first, second = run_report(told, patches), run_report(others, patches)
    assert first is not None
    assert second is not None
    for name, runs in (("one.html", [first]), ("two.html", [first, second])):
        (tmp_path / name).write_text(report_page(runs))
    return (tmp_path / "one.html").as_uri()


def test_a_reader_clicks_through_the_cycles(visit: Callable[..., Any], address: str) -> None:
    page = visit(address)

    page.get_by_role("navigation").get_by_role("link", name="2 · 1994 is").click()
    page.wait_for_url("**#c2")
    page.wait_for_function("document.querySelector('#c2').getBoundingClientRect().top < 200")
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert page.locator("main details[open]").count() == 0
    page.locator("#t1-GREEN-1 > summary").click()
    assert page.get_by_text("→ Leave tests alone.").is_visible()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("main details:not([open])").count() == 0


def test_the_keyboard_reaches_and_opens_everything(visit: Callable[..., Any], address: str) -> None:
    page = visit(address)

    page.keyboard.press("Tab")
    page.locator(".skip:focus").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    page.locator("#t1-PLAN-1 > summary").focus()
    page.keyboard.press("Enter")
    page.locator("#t1-PLAN-1[open]").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["one.html", "two.html"])
def test_nobody_is_kept_out(visit: Callable[..., Any], address: str, scheme: str, name: str) -> None:
    page = visit(address.replace("one.html", name), color_scheme=scheme)
    page.get_by_role("button", name="Unfold all").click()

    assert violations(page) == []


def test_nothing_overflows_on_a_telephone(visit: Callable[..., Any], address: str) -> None:
    page = visit(address, width=400)
    page.get_by_role("button", name="Unfold all").click()

    assert overflow(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_on_paper_everything_is_unfolded(visit: Callable[..., Any], address: str) -> None:
    page = visit(address)
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    assert page.get_by_text("→ Leave tests alone.").is_visible()
    assert not page.get_by_role("button").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details[open]").count() == 0
