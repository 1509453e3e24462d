"""Statuses, content types, Origin and streams: each broken on purpose, and reported as that and nothing else."""

import pytest
from tests.e2e.checks.good_http import Good, broken, composed, manners, passed, spec_of

from mcp_conductor.checks.server.sse.probes import _outer_address
from mcp_conductor.protocol.server_spec import HttpSpec


class AnyOrigin(Good):
    def foreign(self, call):
        return False


class AnyOriginOnGet(Good):
    def foreign(self, call):
        return call.verb == "POST" and super().foreign(call)


class WrongOriginStatus(Good):
    def __call__(self, call):
        if self.foreign(call):
            call.reply(400)
        else:
            super().__call__(call)


class NoOriginAtAll(Good):
    def foreign(self, call):
        return "origin" in call.headers


class NotificationsGet200(Good):
    def notified(self, call):
        call.reply(200)


class NotificationsGetABody(Good):
    def notified(self, call):
        if call.message.get("params") == 5:
            call.reply(400)
        else:
            call.reply(202, "null", "application/json")


class BadNotificationsGet500(Good):
    def notified(self, call):
        call.reply(500 if call.message.get("params") == 5 else 202)


class AnswersAreText(Good):
    def answer(self, call):
        if call.method == "tools/list":
            call.reply(200, call.text({"tools": []}), "text/plain")
        else:
            super().answer(call)


class AnswersAreNoObjects(Good):
    def answer(self, call):
        if call.method == "tools/list":
            call.reply(200, "[]", "application/json")
        else:
            super().answer(call)


class StreamsStayOpen(Good):
    def answer(self, call):
        if call.method == "tools/list":
            call.stream()
            call.event({"tools": []})
            call.hold()
        else:
            super().answer(call)


class StreamsBringNothing(Good):
    def answer(self, call):
        if call.method == "tools/list":
            call.stream(": nothing\n\n")
            call.hold()
        else:
            super().answer(call)


class StreamsEndEarly(Good):
    def answer(self, call):
        if call.method == "tools/list":
            call.stream(": nothing\n\n")
            call.close()
        else:
            super().answer(call)


BROKEN = [
    (AnyOrigin, {"http-origin-validated"}),
    (AnyOriginOnGet, {"http-origin-validated"}),
    (WrongOriginStatus, {"http-origin-invalid-403"}),
    (NoOriginAtAll, {"http-origin-valid-accepted"}),
    (NotificationsGet200, {"http-notification-202"}),
    (NotificationsGetABody, {"http-notification-202"}),
    (BadNotificationsGet500, {"http-notification-rejected-4xx"}),
    (AnswersAreText, {"http-request-content-type"}),
    (AnswersAreNoObjects, {"http-request-content-type"}),
    (StreamsStayOpen, {"http-sse-closes-after-response"}),
    (StreamsBringNothing, {"http-sse-contains-response"}),
]


@pytest.mark.parametrize(("way", "ids"), BROKEN, ids=[way.__name__ for way, _ in BROKEN])
async def test_a_server_that_breaks_a_rule_of_http_is_reported_for_that_alone(http, way, ids):
    assert await broken(spec_of(http(manners(way())))) == ids


async def test_a_stream_that_ends_early_is_reported_where_that_is_not_allowed(http):
    early = {"http-sse-not-closed-early"}
    assert await broken(spec_of(http(manners(StreamsEndEarly()))), "2025-06-18") == early


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_good_server_of_the_handshake_era_breaks_nothing(http, version):
    kept = await passed(spec_of(http(manners(Good()))), version)
    assert {"http-origin-validated", "http-notification-202", "http-request-content-type", "http-no-broadcast"} <= kept
    assert {"session-unknown-404", "resume-no-cross-stream-replay", "http-sse-related-only"} <= kept


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("how", [{}, {"json": True}, {"stateless": True, "json": True}])
async def test_our_own_server_breaks_nothing(tmp_path, version, how):
    with composed(tmp_path, **how) as port:
        ids = await broken(HttpSpec(url=f"http://127.0.0.1:{port}/mcp"), version)
    assert ids == set()


@pytest.fixture
def outside():
    """An address by which others reach this machine."""
    return _outer_address() or pytest.skip("this machine has no other address")


@pytest.mark.usefixtures("outside")
async def test_a_local_server_that_can_be_reached_from_outside_is_reported(tmp_path):
    with composed(tmp_path, host="0.0.0.0") as port:
        assert "http-bind-localhost" in await broken(HttpSpec(url=f"http://127.0.0.1:{port}/mcp"))


async def test_a_server_elsewhere_that_serves_strangers_is_reported(tmp_path, outside):
    with composed(tmp_path, host="0.0.0.0") as port:
        assert "http-authentication" in await broken(HttpSpec(url=f"http://{outside}:{port}/mcp"))
