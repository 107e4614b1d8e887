"""A real browser: Debian's chromium, driven by Playwright; `make browser` has both, and axe-core."""

import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from pages import AXE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what needs a browser to `make browser`."""
    lacking = (
        "`make browser` looks at pages in a browser"
        if not AXE
        else ""
        if CHROMIUM
        else "no chromium is installed"
    )
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if lacking:
                item.add_marker(pytest.mark.skip(reason=lacking))


@pytest.fixture(scope="session")
def chromium() -> Generator[Any]:
    """One browser for all tests."""
    playwright: Any = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the consoles of all pages complain of."""
    return []


@pytest.fixture
def visit(chromium: Any, complaints: list[str]) -> Generator[Callable[..., Any]]:
    """Open an address in a page of its own; whatever its console has to complain of fails the test."""
    pages: list[Any] = []

    def heard(told: Any) -> None:
        complaints.extend([told.text] if told.type in ("error", "warning") else [])

    def failed(error: Any) -> None:
        complaints.append(str(error))

    def opened(address: str, width: int = 1200, **about: Any) -> Any:
        page = chromium.new_page(viewport={"width": width, "height": 800}, reduced_motion="reduce", **about)
        page.set_default_timeout(20_000)
        page.on("console", heard)
        page.on("pageerror", failed)
        page.goto(address)
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []
