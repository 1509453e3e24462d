"""A person with a browser: visits the page that a client shows, agrees to everything, and is sent back to the client.

Started by itself (`python fake_browser.py URL`) it is what the client finds as BROWSER, so that no real one is opened.
"""

import re
import sys
from urllib.request import ProxyHandler, build_opener

SECONDS = 10.0
COLUMNS = 2000  # of the screen that clients are told they write to: a program that wraps its lines keeps a URL whole
_WIDEST = 200  # a shorter one may be the first part of a URL that was wrapped all the same; with PKCE none is so short


def page_in(line: str, origin: str) -> str | None:
    """The address of our page for consent, if LINE shows the whole of it.

    What a part of an address lacks would be taken for what the client did not send.
    """
    plain = line.replace("\\u0026", "&").replace("&amp;", "&")
    found = re.search(re.escape(origin) + r"/as/authorize\?[\w.~:/?#@!$&()*+,;=%\[\]-]+", plain, re.ASCII)
    if found is None or len(found[0]) <= _WIDEST or found[0].endswith("...") or plain.startswith("…", found.end()):
        return None
    return found[0].rstrip(".,:;!?)]*")


def visit(url: str) -> None:
    """Open URL, and follow its redirects."""
    # No proxy: the page is on this machine.
    with build_opener(ProxyHandler({})).open(url, timeout=SECONDS) as page:
        page.read()


if __name__ == "__main__":
    visit(sys.argv[1])
