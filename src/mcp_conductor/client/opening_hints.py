"""What to do where the opening of a conversation is not answered: a server over HTTP may have been started on stdio."""

import re
from itertools import islice

from mcp_conductor.protocol.transcript import Transcript

_OPENINGS = ("initialize", "server/discover")
_LOCAL = re.compile(r"\bhttps?://(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1?\]):\d{1,5}(/[\w./-]*\w)?")
_MOST_LINES = 100
_LONGEST_SEARCHED = 2_000


def opening_hint(method: str | None, transcript: Transcript) -> str | None:
    """The hint where METHOD opens a conversation and is not answered, if the server has named a URL of this machine."""
    if method not in _OPENINGS:
        return None
    lines = (text for _, source, text, _ in transcript.since(0) if source in ("server", "stderr"))
    searched = (_LOCAL.search(line, 0, _LONGEST_SEARCHED) for line in islice(lines, _MOST_LINES))
    found = [match for match in searched if match is not None]
    if not found:
        return None
    url = next((match for match in found if match[1]), found[0])
    path = "" if url[1] else ", with its path (such as /mcp)"
    return f"it seems to serve HTTP: start it, and name {url[0]} in place of its command{path}"
