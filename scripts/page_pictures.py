"""Pictures of the page that `--report html` and `conductor show` write, for the docs: real runs in a real browser.

usage: page_pictures.py     writes docs/images/page-*.png; needs chromium and Playwright. Look at all of them.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
SERVER = ["python", str(ROOT / "examples" / "bookshelf.py")]
FILES = {
    "searching.test.mcp.yml": """\
description: Searching the shelf
tests:
  - it: finds a book by its author
    call: {tool: find_books, args: {text: Le Guin}}
    expect: {ok: true}
  - it: finds nothing in an empty year
    call: {tool: find_books, args: {text: a, since: 2100}}
    expect: {asserts: ["result.structuredContent.books count == 0"]}
  - it: refuses a number as text
    call: {tool: find_books, args: {text: 7}}
    expect: {ok: false}
  - it: sorts by relevance
    skip: not decided yet
    call: {tool: find_books, args: {text: the}}
    expect: {ok: true}
""",
    "counting.test.mcp.yml": """\
description: Counting pages
tests:
  - it: lists its tools
    list: tools
    expect: {asserts: ["result.tools[*].name contains count_pages"]}
  - it: counts the pages of all books
    call: {tool: count_pages, args: {}, meta: {progressToken: pages}}
    expect:
      result:
        content:
          - {type: text, text: "1,650 pages"}
        isError: false
      notifications:
        - {method: notifications/progress}
  - it: answers ping
    request: {method: ping}
    expect: {result: {}}
""",
    "prompts.test.mcp.yml": """\
description: Prompts and resources
tests:
  - it: offers a prompt
    list: prompts
    expect: {ok: true}
  - it: lists resources
    list: resources
    expect: {ok: true}
  - it: knows its own name
    list: tools
    expect: {asserts: [session.serverInfo.name == bookshelf]}
""",
}
FAILED = "#test=counting.test.mcp.yml%3A%3Acounts%20the%20pages%20of%20all%20books"
# The name of a picture: the page, the place in it, the colours, and what is scrolled to, if anything.
SHOTS = {
    "page-test-light": ("test.html", FAILED, "light", None),
    "page-conversation-dark": ("test.html", FAILED, "dark", ".conversation"),
    "page-check-light": ("check.html", "#overview", "light", None),
    "page-show-light": ("said.html", "", "light", None),
}
SIZE = {"width": 1280, "height": 800}


def conductor(folder: str, *words: str) -> None:
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(words, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.DEVNULL, check=False)


def write_pages(folder: str) -> None:
    for name, text in FILES.items():
        Path(folder, name).write_text(text)
    conductor(folder, "conductor", "test", "--jobs", "2", "--report", "html:test.html", "--", *SERVER)
    notes = ["python", str(ROOT / "examples" / "notes" / "notes.py")]
    Path(folder, "notes.py").write_text(Path(notes[1]).read_text())
    conductor(folder, "conductor", "check", "--report", "html:check.html", "--", "python", "notes.py")
    call = ["mcp-cli", *SERVER, "--method", "tools/call", "--tool-name", "count_pages", "--progress-token", "pages"]
    conductor(folder, *call, "--record", "said.jsonl")
    conductor(folder, "conductor", "show", "said.jsonl", "--output", "said.html")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_pages(folder)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, (file, link, colours, place) in SHOTS.items():
            page = browser.new_page(viewport=SIZE, color_scheme=colours)
            page.goto(f"file://{folder}/{file}{link}")
            page.wait_for_selector("html[data-ready]")
            if place is not None:
                page.locator(place).first.evaluate("part => part.scrollIntoView({block: 'start'})")
            page.screenshot(path=str(FOLDER / f"{name}.png"))
            print(f"docs/images/{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
