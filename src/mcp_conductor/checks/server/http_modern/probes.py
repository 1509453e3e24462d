"""Streamable HTTP of the modern era: headers that say what the body says, and statuses that mean something."""

import base64
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import SESSION, VERSION, Headers, HttpProbe, HttpResponse
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    META,
    METHOD_NOT_FOUND,
    NEWEST_HANDSHAKE,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.http_headers import Annotations, annotations_of
from mcp_conductor.report.model import Finding

METHOD, NAME = "Mcp-Method", "Mcp-Name"
_NAMED = ("resources/read", "prompts/get", "tools/call")
_OTHER_VERSION = "1900-01-01"
_BAD_BASE64 = "=?base64?!!!?="


def _unless_rejected(seen: HttpResponse, what: str, codes: tuple[int, ...] = (HEADER_MISMATCH,)) -> Iterator[Finding]:
    """Nothing, if SEEN is the refusal of headers that do not fit."""
    if seen.status != 400 or seen.code not in codes:
        yield fault(f"{what} is not answered with 400 and {HEADER_MISMATCH}", seen.shown())


def _unless_served(seen: HttpResponse, raw: Json, what: str) -> Iterator[Finding]:
    """Nothing, if SEEN is the result of RAW."""
    reply = seen.reply(raw["id"])
    if seen.refused or reply is None or "result" not in reply:
        yield fault(f"{what} is not served", seen.shown())


@probed("httpm-endpoint-post", alone=True)
async def the_endpoint_takes_posts(probe: Probe) -> AsyncIterator[Finding]:
    """POST server/discover: it is served with the status 200."""
    http = HttpProbe(probe)
    seen = await http.post(http.anything())
    if seen.status != 200:
        yield fault(f"a POST of server/discover is answered with {seen.status}", seen.shown())


@probed("httpm-version-header-mismatch", alone=True)
async def versions_in_header_and_body_are_compared(probe: Probe) -> AsyncIterator[Finding]:
    """POST with one version in the header and another in the body, both ways: 400, and the error -32020.

    One of the two versions is one that the server may not know, so -32022 is right as well."""
    http = HttpProbe(probe)
    codes = (HEADER_MISMATCH, UNSUPPORTED_VERSION)
    raw = http.anything()
    raw["params"]["_meta"][f"{META}protocolVersion"] = _OTHER_VERSION
    seen = await http.post(raw, {VERSION: probe.dialect.version})
    for finding in _unless_rejected(
        seen, f"a body of {_OTHER_VERSION} under a header of {probe.dialect.version}", codes
    ):
        yield finding
    seen = await http.post(http.anything(), {VERSION: NEWEST_HANDSHAKE.version})
    what = f"a body of {probe.dialect.version} under a header of {NEWEST_HANDSHAKE.version}"
    for finding in _unless_rejected(seen, what, codes):
        # By its header it is a request of the handshake era, which a server of both may refuse in the way of that era.
        refused = seen.refused or seen.code is not None
        if not refused or not await _serves_handshakes(http):
            yield finding


@probed("httpm-version-header-missing", alone=True)
async def the_version_header_is_needed(probe: Probe) -> AsyncIterator[Finding]:
    """POST without the version header: 400 and -32020, unless the server also serves clients that do not know it."""
    http = HttpProbe(probe)
    seen = await http.post(http.anything(), {VERSION: None})
    for finding in _unless_rejected(seen, f"a POST without {VERSION}"):
        if not await _serves_handshakes(http):
            yield finding


async def _serves_handshakes(http: HttpProbe) -> bool:
    raw = http.initialize()
    raw["params"]["protocolVersion"] = NEWEST_HANDSHAKE.version
    reply = (await http.post(raw)).reply(raw["id"])
    return reply is not None and "result" in reply


@probed("httpm-method-header-checked", alone=True)
async def the_method_header_is_compared(probe: Probe) -> AsyncIterator[Finding]:
    """POST without Mcp-Method, and with another method in it: 400 and -32020."""
    http = HttpProbe(probe)
    for value in (None, "prompts/list"):
        seen = await http.post(http.anything(), {METHOD: value})
        for finding in _unless_rejected(seen, _with_header(METHOD, value)):
            yield finding


@probed("httpm-header-values-case-sensitive", alone=True)
async def header_values_are_compared_exactly(probe: Probe) -> AsyncIterator[Finding]:
    """POST server/discover with Mcp-Method: SERVER/DISCOVER: 400 and -32020."""
    http = HttpProbe(probe)
    raw = http.anything()
    value = str(raw["method"]).upper()
    for finding in _unless_rejected(await http.post(raw, {METHOD: value}), _with_header(METHOD, value)):
        yield finding


@probed("httpm-header-names-case-insensitive", alone=True)
async def header_names_are_compared_loosely(probe: Probe) -> AsyncIterator[Finding]:
    """POST with mCp-mEtHoD and mcp-PROTOCOL-version: it is served."""
    http = HttpProbe(probe)
    raw = http.anything()
    odd: dict[str, str | None] = {_odd_case(name): value for name, value in http.headers(raw).items()}
    usual: dict[str, str | None] = dict.fromkeys(http.headers(raw))
    for finding in _unless_served(
        await http.post(raw, {**usual, **odd}), raw, f"a request with the headers {', '.join(odd)}"
    ):
        yield finding


def _odd_case(name: str) -> str:
    return "".join(letter.upper() if index % 2 else letter.lower() for index, letter in enumerate(name))


@probed("httpm-name-header-checked", alone=True)
async def the_name_header_is_compared(probe: Probe) -> AsyncIterator[Finding]:
    """Repeat what was read, got or called before, without Mcp-Name and with another: 400 and -32020."""
    async for finding in _wrong_names(probe, None, "conductor-no-such-name"):
        yield finding


@probed("httpm-base64-invalid-server", alone=True)
async def bad_base64_is_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Repeat what was read, got or called before, with an Mcp-Name that is not valid base64: 400 and -32020."""
    async for finding in _wrong_names(probe, _BAD_BASE64):
        yield finding


async def _wrong_names(probe: Probe, *values: str | None) -> AsyncIterator[Finding]:
    """Repeat what was asked for by name before, with each of VALUES as Mcp-Name: none is served."""
    http = HttpProbe(probe)
    for method, params in _named_requests(probe).items():
        for value in values:
            seen = await http.post(http.request(method, params), {NAME: value, **_headers_of_call(probe, params)})
            for finding in _unless_rejected(seen, f"{method}: {_with_header(NAME, value)}"):
                yield finding


@probed("httpm-name-base64-server", alone=True)
async def base64_is_decoded(probe: Probe) -> AsyncIterator[Finding]:
    """Repeat what was read, got or called before, with its name in base64: it is served."""
    http = HttpProbe(probe)
    for method, params in _named_requests(probe).items():
        name = str(params["uri" if method == "resources/read" else "name"])
        raw = http.request(method, params)
        value = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
        seen = await http.post(raw, {NAME: value, **_headers_of_call(probe, params)})
        for finding in _unless_served(seen, raw, f"{method}: {_with_header(NAME, value)}"):
            yield finding


def _with_header(name: str, value: str | None) -> str:
    return f"a request without {name}" if value is None else f"a request with {name}: {value}"


def _named_requests(probe: Probe) -> dict[str, Json]:
    """By method, the params of something that was asked for by name before, and given: to ask again is harmless."""
    found: dict[str, Json] = {}
    for exchange, _ in probe.record().complete(*_NAMED):
        params = exchange.request.params
        found.setdefault(exchange.request.method, {name: value for name, value in params.items() if name != "_meta"})
    if not found:
        raise NotSeen("nothing could be read, got or called by name")
    return found


@probed("httpm-method-not-found-404", alone=True)
async def unknown_methods_get_404(probe: Probe) -> AsyncIterator[Finding]:
    """POST a method that does not exist: 404, and the error -32601."""
    http = HttpProbe(probe)
    seen = await http.post(http.request("conductor/no-such-method"))
    if seen.status != 404 or seen.code != METHOD_NOT_FOUND:
        yield fault(f"an unknown method is not answered with 404 and {METHOD_NOT_FOUND}", seen.shown())


@probed("httpm-get-delete-405", alone=True)
async def other_verbs_get_405(probe: Probe) -> AsyncIterator[Finding]:
    """GET and DELETE with the version header, on a server that serves no handshakes: 405."""
    http = HttpProbe(probe)
    if await _serves_handshakes(http):
        raise NotSeen("the server serves older clients too")
    for verb in ("GET", "DELETE"):
        seen = await http.verb(verb, {VERSION: probe.dialect.version})
        if seen.status != 405:
            yield fault(f"{verb} is answered with {seen.status}, not 405", seen.shown())


@probed("httpm-session-id-ignored", alone=True)
async def session_ids_mean_nothing(probe: Probe) -> AsyncIterator[Finding]:
    """POST with a session id: it is served, and the answer has none."""
    http = HttpProbe(probe)
    raw = http.anything()
    seen = await http.post(raw, {SESSION: "conductor"})
    for finding in _unless_served(seen, raw, f"a request with {SESSION}"):
        yield finding
    if SESSION.lower() in seen.headers:
        yield fault(f"the answer has an {SESSION}", dict(seen.headers))


@probed("httpm-last-event-id-ignored", alone=True)
async def last_event_ids_mean_nothing(probe: Probe) -> AsyncIterator[Finding]:
    """POST with a Last-Event-ID: it is served as usual."""
    http = HttpProbe(probe)
    raw = http.anything()
    for finding in _unless_served(await http.post(raw, {"Last-Event-ID": "1"}), raw, "a request with Last-Event-ID"):
        yield finding


# Arguments in headers.


@probed("xmcp-server-validates", alone=True)
async def argument_headers_are_compared(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool with x-mcp-header again, with another value and with bad base64 in the header: 400 and -32020."""
    async for finding in _wrong_arguments(probe, "conductor-other-value", _BAD_BASE64):
        yield finding


@probed("xmcp-server-missing-header", alone=True)
async def argument_headers_are_needed(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool with x-mcp-header again, without the header: 400 and -32020."""
    async for finding in _wrong_arguments(probe, None):
        yield finding


async def _wrong_arguments(probe: Probe, *values: str | None) -> AsyncIterator[Finding]:
    """Repeat a call with each of VALUES in each header of its arguments: none is served."""
    http = HttpProbe(probe)
    params, headers = _annotated_call(probe)
    for name in headers:
        for value in values:
            seen = await http.post(http.request("tools/call", params), {**headers, name: value})
            for finding in _unless_rejected(seen, _with_header(name, value)):
                yield finding


@probed("xmcp-server-null-no-header", alone=True)
async def absent_arguments_need_no_header(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool with x-mcp-header again, without an argument that it does not require: no header is wanted."""
    http = HttpProbe(probe)
    for params, schema, annotations in _annotated_calls(probe):
        required = schema.get("required")
        for path in annotations:
            if len(path) > 1 or path[0] in (required if isinstance(required, list) else []):
                continue
            fewer = {**params, "arguments": _without(params.get("arguments"), path[0])}
            raw = http.request("tools/call", fewer)
            seen = await http.post(raw, {**http.headers(raw, annotations)})
            if seen.code == HEADER_MISMATCH:
                yield fault(f"a header is required for {path[0]!r}, which is not among the arguments", seen.shown())
            return
    raise NotSeen("no tool that may be called has x-mcp-header on an argument that is not required")


@probed("xmcp-server-numeric-compare", alone=True)
async def numbers_are_compared_as_numbers(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that wants an integer in a header again, with 42.0 in place of 42: it is served."""
    http = HttpProbe(probe)
    for params, _, annotations in _annotated_calls(probe):
        for path, suffix in annotations.items():
            value = _member(params.get("arguments"), path)
            if isinstance(value, int) and not isinstance(value, bool):
                raw = http.request("tools/call", params)
                name = f"Mcp-Param-{suffix}"
                headers: Headers = {**http.headers(raw, annotations), name: f"{value}.0"}
                seen = await http.post(raw, headers)
                if seen.code == HEADER_MISMATCH:
                    yield fault(f"{name}: {value}.0 is refused in place of {value}", seen.shown())
                return
    raise NotSeen("no tool that may be called wants an integer in a header")


def _annotated_calls(probe: Probe) -> Iterator[tuple[Json, Json, Annotations]]:
    """The calls so far of tools with x-mcp-header: params, schema, and which arguments go into which headers."""
    schemas = {tool.get("name"): tool.get("inputSchema") for tool in probe.found.tools}
    for exchange, _ in probe.record().complete("tools/call"):
        params = {name: value for name, value in exchange.request.params.items() if name != "_meta"}
        schema = schemas.get(params.get("name"))
        annotations = annotations_of(schema)
        if annotations and isinstance(schema, dict):
            yield params, schema, annotations


def _annotated_call(probe: Probe) -> tuple[Json, dict[str, str | None]]:
    """A call with arguments that are repeated in headers, and these headers."""
    for params, _, annotations in _annotated_calls(probe):
        if headers := _argument_headers(probe, params, annotations):
            return params, headers
    raise NotSeen("no tool with x-mcp-header may be called")


def _headers_of_call(probe: Probe, params: Json) -> dict[str, str | None]:
    """The headers for the arguments of a call that is repeated; none for other requests."""
    for known, _, annotations in _annotated_calls(probe):
        if known == params:
            return _argument_headers(probe, params, annotations)
    return {}


def _argument_headers(probe: Probe, params: Json, annotations: Annotations) -> dict[str, str | None]:
    http = HttpProbe(probe)
    headers = http.headers(http.request("tools/call", params), annotations)
    return {name: value for name, value in headers.items() if name.startswith("Mcp-Param-")}


def _without(arguments: Any, name: str) -> Json:
    return {key: value for key, value in arguments.items() if key != name} if isinstance(arguments, dict) else {}


def _member(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
