"""Who may use which error codes: JSON-RPC, MCP, and applications (2026-07-28)."""

import re
from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.openings import VERSION
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import RETIRED_CODES, sent_codes
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN_CODES,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.message import render
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

_OF_JSON_RPC = (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR)
_OF_MCP = range(-32099, -32019)
_LEGACY = range(-32019, -31999)
_RESERVED = range(-32768, -32099)  # what JSON-RPC keeps for itself, below the codes of servers
# Only what is a failure of the server beyond doubt, in any programming language.
_FAILURE = compiled_later(
    r"^\W*(unexpected |unhandled )?internal (server )?error\b|\bunhandled exception\b"
    r"|^Traceback \(most recent call last\)|\bNullPointerException\b|^panic: |\bpanicked at\b",
    re.IGNORECASE,
)
_MOST_SEARCHED = 10_000  # characters of a message


@judged("errors-reserved-range-server")
def codes_of_mcp_are_used_as_defined(record: Record) -> Iterator[Finding]:
    """Look at every error code from -32020 to -32099: it is one of the three that MCP defines, in its meaning."""
    for code, exchange, raw in sent_codes(record):
        meta = exchange.request.params.get("_meta")
        asked = meta.get(VERSION) if isinstance(meta, dict) else None
        if code in RETIRED_CODES or code not in _OF_MCP:
            continue
        if code not in MODERN_CODES:
            yield fault(f"error code {code} is reserved for MCP", raw)
        elif code == UNSUPPORTED_VERSION and asked == record.dialect.version:
            yield fault(f"error code {code} means an unsupported version, but {asked} is supported", raw)
        elif code == HEADER_MISMATCH and record.transport == "stdio":
            yield fault(f"error code {code} is about HTTP headers, but stdio has none", raw)


@judged("base-internal-error-server")
def failures_of_the_server_have_their_code(record: Record) -> Iterator[Finding]:
    """Look at every error that calls itself an internal one, or shows an exception: its code is -32603."""
    seen = False
    for exchange, error in record.errors():
        code, said = error.get("code"), str(error.get("message"))[:_MOST_SEARCHED]
        failure = _FAILURE.search(said) is not None
        seen = seen or failure or code == INTERNAL_ERROR
        if failure and code != INTERNAL_ERROR:
            what = (
                f"the server failed at {exchange.request.method}, and the code is {render(code)}, not {INTERNAL_ERROR}"
            )
            yield fault(what, exchange.reply and exchange.reply.raw)
    if not seen:
        raise NotSeen("no request made the server fail")


@judged("errors-legacy-range-server")
def legacy_codes_are_not_used(record: Record) -> Iterator[Finding]:
    """Look at every error code: none is in -32000 to -32019."""
    for code, _, raw in sent_codes(record):
        if code in _LEGACY and code not in RETIRED_CODES:
            yield fault(f"error code {code} is in the range of older implementations", raw)


@judged("errors-application-codes")
def application_codes_are_outside_of_the_reserved_range(record: Record) -> Iterator[Finding]:
    """Look at every error code from -32100 to -32768: it is one of JSON-RPC itself."""
    for code, _, raw in sent_codes(record):
        if code in _RESERVED and code not in _OF_JSON_RPC:
            yield fault(f"error code {code} is reserved by JSON-RPC", raw)
