"""A real browser, one for all tests of a process. Where there is none, these tests are skipped, and say why.

Playwright keeps an event loop running in its thread, and would break every other test there that has one. So it gets a
thread of its own, and the tests of this directory run in it.
"""

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent.parent.parent / "peers" / "node_modules" / "axe-core" / "axe.min.js"
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="browser")


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    wanted = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    _THREAD.submit(partial(pyfuncitem.obj, **wanted)).result()
    return True


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="Playwright is not installed: scripts/setup")
    program = chromium()
    if program is None:
        pytest.skip("there is no browser: apt-get install chromium, or CONDUCTOR_BROWSER=install scripts/setup")
    from playwright.sync_api import sync_playwright

    playwright = _THREAD.submit(sync_playwright().start).result()
    flags = ["--no-sandbox", "--disable-gpu"]  # root has no sandbox, as in most containers
    started = _THREAD.submit(partial(playwright.chromium.launch, executable_path=program, args=flags)).result()
    yield started
    _THREAD.submit(started.close).result()
    _THREAD.submit(playwright.stop).result()


class Visit:
    """One page in the browser, and all that it should not do."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.messages: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, file: Path, link: str = "") -> Any:
        self.page.goto("about:blank")
        self.requests.clear()
        self.page.goto(f"file://{file}{link}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def faults(self) -> list[str]:
        """What axe-core calls serious or critical."""
        self.page.evaluate(AXE.read_text())  # not a script element, which the page's policy forbids
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {each['nodes'][0]['html'][:200]} ({each['nodes'][0]['failureSummary'][:300]})"
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Make a page in the browser; the test fails if the page says anything to the console, or asks for anything."""
    opened: list[tuple[Any, Visit]] = []

    def make(**options: Any) -> Visit:
        given = {
            "viewport": {"width": 1280, "height": 800},
            "permissions": ["clipboard-read", "clipboard-write"],
            **options,
        }
        context = browser.new_context(**given)
        opened.append((context, Visit(context.new_page())))
        return opened[-1][1]

    yield make
    for context, made in opened:
        _THREAD.submit(context.close).result()
        assert made.messages == []
        assert [url for url in made.requests if not url.startswith("file:")] == []
        assert len(made.requests) <= 1
