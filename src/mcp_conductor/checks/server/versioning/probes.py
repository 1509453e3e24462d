"""Versions without a handshake (2026-07-28): server/discover, refusals, and what is not there any more."""

from collections.abc import AsyncIterator
from typing import Any

from mcp_conductor.checks.engine.capabilities import DECLARED, served_undeclared
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import http_session
from mcp_conductor.checks.engine.openings import LISTS, VERSION, context, declared_lists, first, initialize, with_meta
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import code_of, data_of, result_of
from mcp_conductor.checks.engine.shapes import list_of_texts
from mcp_conductor.checks.engine.tool_calls import explored_calls
from mcp_conductor.errors import HttpStatusError, RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import HANDSHAKE, METHOD_NOT_FOUND, NEWEST_HANDSHAKE, UNSUPPORTED_VERSION
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

_NO_VERSION = "1900-01-01"
_A_VERSION = compiled_later(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b")
_CORE_TYPES = ("complete", "input_required")
_NEGOTIATED_TYPES = (*_CORE_TYPES, "task")  # the exploration declares the tasks extension
_REMOVED: dict[str, Json] = {
    "ping": {},
    "logging/setLevel": {"level": "error"},
    "resources/subscribe": {"uri": "conductor://none"},
    "resources/unsubscribe": {"uri": "conductor://none"},
    "tasks/list": {},
    "tasks/result": {"taskId": "conductor-none"},
}


# server/discover.


@probed("versioning-discover-implemented")
async def discover_is_implemented(probe: Probe) -> AsyncIterator[Finding]:
    """Call server/discover: the answer is a result."""
    reply = await probe.ask("server/discover")
    if reply.kind != "result":
        yield fault("server/discover is not answered with a result", reply.raw)


def _modern(versions: list[str] | None) -> set[str]:
    """Versions without a handshake; whether the others are listed too is left to the server."""
    return set(versions or ()) - set(HANDSHAKE)


@probed("versioning-discover-lists-served-version")
async def discover_lists_what_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Look for the version in use in supportedVersions, and use each other one that is listed: none is refused."""
    reply = await probe.ask("server/discover")
    listed = list_of_texts((result_of(reply) or {}).get("supportedVersions"))
    if listed is None:
        raise NotSeen("server/discover lists no versions")
    if probe.dialect.version not in listed:
        yield fault(f"version {probe.dialect.version} is served, but not listed", reply.raw)
    for version in sorted(_modern(listed) - {probe.dialect.version}):
        answer = await with_meta(probe, "server/discover", {**context(probe), VERSION: version})
        if code_of(answer) == UNSUPPORTED_VERSION:
            yield fault(f"version {version} is listed, but not served", answer.raw)


@probed("versioning-discover-matches-handlers", follows=DECLARED)
async def discover_tells_what_there_is(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for all lists: those of declared capabilities are there, those of others are not."""
    for method in declared_lists(probe):
        reply = await probe.ask(method)
        if code_of(reply) == METHOD_NOT_FOUND:
            yield fault(f"{method} is declared, but does not exist", reply.raw)
    if not all(probe.declares(name) for name in LISTS):
        async for finding in served_undeclared(probe):
            yield finding


# Versions that are refused.


@probed("versioning-unsupported-version-error")
async def unknown_versions_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Ask in a version that does not exist: the error is -32022, with the supported versions and the requested one."""
    for method in ("server/discover", *declared_lists(probe)[:1]):
        reply = await _in_no_version(probe, method)
        if code_of(reply) != UNSUPPORTED_VERSION:
            yield fault(f"{method} in version {_NO_VERSION} is not answered with {UNSUPPORTED_VERSION}", reply.raw)
            continue
        if not list_of_texts(data_of(reply).get("supported")):
            yield fault("data.supported lists no versions", reply.raw, path="error.data.supported")
        if data_of(reply).get("requested") != _NO_VERSION:
            yield fault(f"data.requested is not {_NO_VERSION}", reply.raw, path="error.data.requested")


async def _in_no_version(probe: Probe, method: str) -> Message:
    return await with_meta(probe, method, {**context(probe), VERSION: _NO_VERSION})


@probed("versioning-unsupported-version-http-400", alone=True)
async def unknown_versions_have_status_400(probe: Probe) -> AsyncIterator[Finding]:
    """POST a request in a version that does not exist: the error -32022 comes with status 400."""
    params = {"_meta": {**context(probe), VERSION: _NO_VERSION}}
    async with http_session(probe) as http:
        answer = await http.post(compose("server/discover", params, identity="conductor"))
    if code_of(answer.message) != UNSUPPORTED_VERSION:
        raise NotSeen(f"the version was not refused with {UNSUPPORTED_VERSION}")
    if answer.status != 400:
        yield fault(f"{UNSUPPORTED_VERSION} comes with status {answer.status}, not 400", answer.shown())


@probed("versioning-supported-list-consistent")
async def supported_versions_agree(probe: Probe) -> AsyncIterator[Finding]:
    """Compare the versions in error -32022 with those of server/discover, except for those that need a handshake."""
    reply = await _in_no_version(probe, "server/discover")
    refused = list_of_texts(data_of(reply).get("supported"))
    discovery = await probe.result("server/discover") or {}
    discovered = list_of_texts(discovery.get("supportedVersions"))
    if code_of(reply) != UNSUPPORTED_VERSION or refused is None or discovered is None:
        raise NotSeen(f"there are no two lists: no {UNSUPPORTED_VERSION} with data.supported, or no supportedVersions")
    if _modern(refused) != _modern(discovered):
        yield fault(
            f"server/discover lists {compact(sorted(discovered))}, but data.supported lists others",
            reply.raw,
            beside=[discovery],
        )


# Two eras.


@probed("versioning-modern-only-names-versions", alone=True, hands_on=("leaving",))
async def initialize_is_refused_with_versions(probe: Probe) -> AsyncIterator[Finding]:
    """Send initialize: if the answer is an error, it names a version that the server supports."""
    listed = list_of_texts(probe.session.opened.get("supportedVersions")) or [probe.dialect.version]
    async with probe.unopened(NEWEST_HANDSHAKE, then="leaving") as fresh:
        try:
            reply = await initialize(fresh, probe.patience)
            said: Any = reply.raw
        except HttpStatusError as error:
            said = error.body
        except RequestTimeout:
            raise NotSeen("initialize is not answered") from None
    if isinstance(said, dict) and "result" in said:
        raise NotSeen("the server takes part in the handshake, too")
    if not set(_A_VERSION.findall(compact(said))) & set(listed):
        yield fault("the answer to initialize names no version that the server supports", said)


@probed("versioning-dual-era-serves-modern", alone=True, hands_on=("polite",))
async def no_handshake_is_needed(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for a list as the first message on a connection, with all of `_meta`: it is served."""
    method = next(iter(declared_lists(probe)), "server/discover")
    async with probe.unopened(then="polite") as fresh:
        reply = await first(fresh, method, {"_meta": context(probe)}, probe.patience)
        if reply.kind == "result":
            fresh.session.settle(probe.dialect, probe.session.opened)
    if reply.kind == "error" and (await probe.ask(method)).kind == "result":
        yield fault(f"{method} as the first message is refused", reply.raw)


@probed("versioning-removed-methods", follows="base-method-not-found-server")
async def removed_methods_do_not_exist(probe: Probe) -> AsyncIterator[Finding]:
    """Call the methods that older revisions had, such as ping: the error has the code -32601."""
    for method, params in _REMOVED.items():
        reply = await probe.ask(method, params)
        if code_of(reply) != METHOD_NOT_FOUND:
            yield fault(f"{method} is not answered with {METHOD_NOT_FOUND}", reply.raw)


# Types of results, and extensions.


@probed("versioning-resulttype-extension-negotiated", "versioning-extension-fallback", alone=True)
async def extensions_are_used_only_if_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call the tools that may be called without declaring any extension: the results are those of the core."""
    for exchange, result in probe.record().results():
        if isinstance(result.get("resultType"), str) and result["resultType"] not in _NEGOTIATED_TYPES:
            yield fault(f"{exchange.request.method}: resultType is not one that the client knows", result)
    calls = [params for params, _ in explored_calls(probe)]
    if not calls:
        raise NotSeen("no tool may be called without asking (--call-tools)")
    async with probe.polite_session() as other:
        for params in calls:
            try:
                reply = await other.ask("tools/call", params)
            except RequestTimeout:
                continue  # a tool may take its time
            kind = (result_of(reply) or {}).get("resultType", "complete")
            if kind not in _CORE_TYPES:
                yield fault(
                    f"tool {params['name']!r}: resultType is {compact(kind)}, which was not negotiated", reply.raw
                )
