"""A browser that can reach nothing, for tests of pages.

`open_page` opens a page from a file, as a user does who was sent one, and fails the test where the
page asks for anything from outside, writes an error into its console, or throws.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .engine_page import engine


# not for the session: while Playwright runs, asyncio takes this thread's loop for a running one
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The system's Chromium, or the one that Playwright installed."""
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=path, args=["--no-sandbox", "--disable-gpu"]
            )
        except api.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """``open_page(page, **settings)``: a path, an address or a text, opened by Playwright in a
    context with these settings (viewport, color_scheme, locale, reduced_motion, ...); allow= is
    for addresses that may be reached beside the page itself."""
    contexts, wrong = [], []

    def open_page(page: str | Path, allow: str = "", **settings: Any) -> Any:
        if isinstance(page, str) and not page.startswith("http"):
            path = tmp_path / f"page{len(contexts)}.html"
            path.write_text(page, encoding="utf-8")
            page = path
        address = page.as_uri() if isinstance(page, Path) else page
        settings = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **settings}
        context = chromium.new_context(**settings)
        contexts.append(context)

        def check(route: Any) -> None:
            url = route.request.url
            if url.split("#")[0] == address or (allow and url.startswith(allow)):
                route.continue_()
            else:
                wrong.append(f"asked for {url[:200]}")
                route.abort()

        context.route("**/*", check)
        opened = context.new_page()
        opened.set_default_timeout(10_000)
        opened.on("pageerror", lambda error: wrong.append(f"threw {error}"))
        opened.on(
            "console",
            lambda said: (
                said.type in ("error", "warning") and wrong.append(f"console: {said.text}")
            ),
        )
        opened.on("dialog", lambda dialog: (wrong.append("opened a dialog"), dialog.dismiss()))
        opened.goto(address)
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def call(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """``call(name, *arguments)`` calls a function of the page's engine in Chromium."""
    with engine(open_page) as made:
        yield made


@pytest.fixture(scope="session")
def axe() -> Callable[[Any], list[str]]:
    """``axe(page)``: what axe-core has to say against a page, a line each. It comes inside of the
    package, nothing is fetched."""
    reason = "no axe-core: pip install axe-playwright-python"
    found = pytest.importorskip("axe_playwright_python.sync_playwright", reason=reason)
    script = Path(found.__file__).with_name("axe.min.js").read_text(encoding="utf-8")

    def check(page: Any) -> list[str]:
        page.evaluate(script + "\n;undefined")
        results = page.evaluate("axe.run(document)")
        return [
            f"{one['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
            for one in results["violations"]
            for node in one["nodes"]
        ]

    return check
