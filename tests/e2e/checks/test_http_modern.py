"""The headers and statuses of the modern era: each rule broken on purpose, and reported as that and nothing else."""

import json

import pytest
from tests.e2e.checks.good_http import Good, GoodModern, broken, manners, passed, spec_of
from tests.servers.http_raw import HttpServer, event

MODERN = "2026-07-28"
VERSION, METHOD, NAME = "mcp-protocol-version", "mcp-method", "mcp-name"


class Lenient(GoodModern):
    """Accepts some headers with any value."""

    def seen_headers(self, call):
        return {**super().seen_headers(call), **{name: [value] for name, value in self.mended(call).items()}}

    def right(self, call):
        params = call.message["params"]
        version = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion", "")
        return {VERSION: version, METHOD: call.method, NAME: str(params.get("name"))}


class AnyVersion(Lenient):
    def mended(self, call):
        return {VERSION: self.right(call)[VERSION]} if VERSION in call.headers else {}


class NoVersion(Lenient):
    def mended(self, call):
        return {} if VERSION in call.headers else {VERSION: self.right(call)[VERSION]}


class AnyMethod(Lenient):
    def mended(self, call):
        return {} if call.headers.get(METHOD, "").isupper() else {METHOD: call.method}


class AnyCase(Lenient):
    def mended(self, call):
        return {METHOD: call.headers[METHOD].lower()} if METHOD in call.headers else {}


class AnyName(Lenient):
    def mended(self, call):
        return {} if "base64" in call.headers.get(NAME, "") else {NAME: self.right(call)[NAME]}


class AnyBase64(Lenient):
    def mended(self, call):
        return {NAME: self.right(call)[NAME]} if "!!!" in call.headers.get(NAME, "") else {}


class NoBase64(GoodModern):
    def problem(self, call):
        return "not the name" if "base64" in call.headers.get(NAME, "") else super().problem(call)


class AnyArgument(Lenient):
    def mended(self, call):
        arguments = call.message["params"].get("arguments", {})
        given = {name: str(arguments[name]) for name in ("city", "days") if f"mcp-param-{name}" in call.headers}
        return {f"mcp-param-{name}": value for name, value in given.items()}


class NoArgument(Lenient):
    def mended(self, call):
        arguments = call.message["params"].get("arguments", {})
        names = [name for name in ("city", "days") if f"mcp-param-{name}" not in call.headers and name in arguments]
        return {f"mcp-param-{name}": str(arguments[name]) for name in names}


class AbsentArgument(GoodModern):
    """Wants a header for an argument that the schema does not require, also where it is left out."""

    def problem(self, call):
        arguments = call.message["params"].get("arguments", {})
        left_out = call.method == "tools/call" and "city" in arguments and "unit" not in arguments
        asked_again = call.message["params"].get("_meta", {}).get("progressToken") is None
        return "Mcp-Param-Unit is missing" if left_out and asked_again else super().problem(call)


class LiteralNumbers(GoodModern):
    def problem(self, call):
        decimal = call.headers.get("mcp-param-days", "").endswith(".0")
        return "not the same number" if decimal else super().problem(call)


class UnknownMethodsGet200(GoodModern):
    def answer(self, call):
        if call.method.startswith("conductor/"):
            call.error(-32601, "Method not found", 200)
        else:
            super().answer(call)


class Asks(GoodModern):
    def work(self, call, token):
        question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        self.respond(call, {"content": [], "resultType": "complete"}, question)


class Buffered(GoodModern):
    def respond(self, call, value, *before):
        call.stream(*map(event, (*before, call.text(value))))
        call.close()


class OtherVerbs(GoodModern):
    def get(self, call):
        call.reply(404)


class MintsSessions(GoodModern):
    def respond(self, call, value, *before):
        if call.method == "server/discover":
            call.result(value, Mcp_Session_Id="x")
        else:
            super().respond(call, value, *before)


class MindsEventIds(GoodModern):
    def post(self, call):
        if "last-event-id" in call.headers:
            call.reply(400)
        else:
            super().post(call)


class DiscoverGets201(GoodModern):
    def answer(self, call):
        if call.method == "server/discover":
            body = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "resultType": "complete"}
            call.reply(201, call.text(body), "application/json")
        else:
            super().answer(call)


class ResultsGet404(GoodModern):
    def answer(self, call):
        if call.method == "tools/list":
            call.reply(404, call.text({"tools": []}), "application/json")
        else:
            super().answer(call)


class ProgressOfOthers(GoodModern):
    def work(self, call, token):
        others = {"conductor-one": "conductor-two", "conductor-two": "conductor-one"}
        super().work(call, others.get(token, token))


BROKEN = [
    (AnyVersion, {"httpm-version-header-mismatch"}),
    (NoVersion, {"httpm-version-header-missing"}),
    (AnyMethod, {"httpm-method-header-checked"}),
    (AnyCase, {"httpm-header-values-case-sensitive"}),
    (AnyName, {"httpm-name-header-checked"}),
    (AnyBase64, {"httpm-base64-invalid-server"}),
    (NoBase64, {"httpm-name-base64-server"}),
    (AnyArgument, {"xmcp-server-validates"}),
    (NoArgument, {"xmcp-server-missing-header"}),
    (LiteralNumbers, {"xmcp-server-numeric-compare"}),
    (UnknownMethodsGet200, {"httpm-method-not-found-404"}),
    (Asks, {"httpm-no-server-requests"}),
    (Buffered, {"httpm-accel-buffering"}),
    (OtherVerbs, {"httpm-get-delete-405"}),
    (MintsSessions, {"httpm-session-id-ignored"}),
    (MindsEventIds, {"httpm-last-event-id-ignored"}),
    (DiscoverGets201, {"httpm-endpoint-post"}),
    (ResultsGet404, {"httpm-status-200-results"}),
    (ProgressOfOthers, {"http-sse-related-only-modern"}),
]


@pytest.mark.parametrize(("way", "ids"), BROKEN, ids=[way.__name__ for way, _ in BROKEN])
async def test_a_server_that_breaks_a_rule_of_the_modern_era_is_reported_for_that_alone(http, way, ids):
    assert await broken(spec_of(http(manners(way()), modern=True)), MODERN) == ids


async def test_a_server_that_wants_a_header_for_an_absent_argument_is_reported(http):
    found = await broken(spec_of(http(manners(AbsentArgument()), modern=True)), MODERN)
    assert "xmcp-server-null-no-header" in found


async def test_a_good_server_of_the_modern_era_breaks_nothing(http):
    kept = await passed(spec_of(http(manners(GoodModern()), modern=True)), MODERN)
    assert {"httpm-name-header-checked", "httpm-name-base64-server", "httpm-get-delete-405"} <= kept
    assert {"xmcp-server-validates", "xmcp-server-missing-header", "xmcp-server-null-no-header"} <= kept
    assert {"xmcp-server-numeric-compare", "http-sse-related-only-modern", "httpm-accel-buffering"} <= kept


class _MindsCase:
    """A connection on which a header in odd letters is lost."""

    def __init__(self, connection):
        self._connection = connection

    def recv(self, size):
        return self._connection.recv(size).replace(b"mCp-mEtHoD", b"x-lost")

    def __getattr__(self, name):
        return getattr(self._connection, name)


class CaseSensitive(HttpServer):
    def _hear(self, connection):
        return super()._hear(_MindsCase(connection))


async def test_a_server_that_minds_the_case_of_header_names_is_reported():
    server = CaseSensitive(manners(GoodModern()), modern=True)
    try:
        assert await broken(spec_of(server), MODERN) == {"httpm-header-names-case-insensitive"}
    finally:
        server.stop()


class BothEras(Good):
    """A request without version header is an old one."""

    def __init__(self):
        super().__init__()
        self.modern = GoodModern()

    def __call__(self, call):
        if "mcp-protocol-version" in call.headers and call.method != "initialize":
            self.modern(call)
        else:
            super().__call__(call)


async def test_a_server_of_both_eras_may_take_a_request_without_version_for_an_old_one(http):
    assert await broken(spec_of(http(manners(BothEras()))), MODERN) == set()


class ByHeader(BothEras):
    """A request under the header of an old version is an old one, with any body."""

    def __call__(self, call):
        if call.headers.get("mcp-protocol-version", MODERN) != MODERN:
            Good.__call__(self, call)
        else:
            super().__call__(call)


async def test_a_server_of_both_eras_may_take_a_request_under_an_old_header_for_an_old_one(http):
    assert await broken(spec_of(http(manners(ByHeader()))), MODERN) == set()


@pytest.mark.parametrize("status", [200, 404])
async def test_a_server_of_both_eras_may_refuse_by_the_header_in_the_way_of_the_older_one(http, status):
    class BothEras(GoodModern):
        def post(self, call):
            if call.method == "initialize":
                Good.post(self, call)
            elif call.headers.get("mcp-protocol-version", MODERN) != MODERN:
                call.error(-32601, "no such method in that revision", status)
            else:
                super().post(call)

    assert "httpm-version-header-mismatch" not in await broken(spec_of(http(manners(BothEras()))), MODERN)
