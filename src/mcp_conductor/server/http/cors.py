"""What a browser must be told before a page of another origin may read an answer (CORS, of the Fetch standard).

Pages that may send requests (see `admission`) may also read the answers, errors included: otherwise a client in a
browser could not tell why it failed.
"""

import re

from mcp_conductor.server.http.exchange import HttpExchange

Header = tuple[str, str]

_EXPOSED = "Mcp-Session-Id, Retry-After, WWW-Authenticate"  # what else a page may read of the head of an answer
_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:[ \t]*,[ \t]*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
_MAX_AGE_SECONDS = 600


def allow_reading(exchange: HttpExchange) -> None:
    """Let the page that sent this request read the answer; it is one of those that may send requests."""
    origin = exchange.header("origin")
    if origin is not None:
        exchange.always += [
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", _EXPOSED),
            ("Vary", "Origin"),
        ]


def is_preflight(exchange: HttpExchange) -> bool:
    """Whether a browser asks first if it may send a request."""
    names = ("origin", "access-control-request-method")
    return exchange.method == "OPTIONS" and all(exchange.header(name) is not None for name in names)


async def answer_preflight(exchange: HttpExchange, methods: str) -> None:
    """Allow what METHODS say, with all headers that the browser asks for: no list could name those of tools."""
    asked = exchange.header("access-control-request-headers") or ""
    named = [("Access-Control-Allow-Headers", asked)] if _NAMES.fullmatch(asked) else []
    allowed = ("Access-Control-Allow-Methods", methods)
    await exchange.reply(204, headers=[allowed, *named, ("Access-Control-Max-Age", str(_MAX_AGE_SECONDS))])
