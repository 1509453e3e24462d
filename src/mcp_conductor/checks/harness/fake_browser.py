"""A person with a browser: visits the page that a client shows, agrees to everything, and is sent back to the client.

Started by itself (`python fake_browser.py URL`) it is what the client finds as BROWSER, so that no real one is opened.
"""

import re
import sys
from urllib.request import ProxyHandler, build_opener

SECONDS = 10.0


def page_in(line: str, origin: str) -> str | None:
    """The address of our page for consent, if LINE shows it."""
    found = re.search(re.escape(origin) + r"/as/authorize\?[^\s\"'<>]+", line)
    return found[0].rstrip(".,)") if found else None


def visit(url: str) -> None:
    """Open URL, and follow its redirects."""
    # No proxy: the page is on this machine.
    with build_opener(ProxyHandler({})).open(url, timeout=SECONDS) as page:
        page.read()


if __name__ == "__main__":
    visit(sys.argv[1])
