"""The envelopes of JSON-RPC, and what the modern era adds to a request."""

import json

import pytest

from mcp_conductor.protocol.compose import (
    compose,
    compose_error,
    compose_in,
    compose_request,
    compose_result,
    initialize_params,
)
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, NEWEST_MODERN
from mcp_conductor.protocol.message import build, read

CLIENT = {"name": "c", "version": "1"}


def test_a_message_without_an_id_is_a_notification_and_leaves_out_params_that_are_not_there():
    assert compose("notifications/initialized") == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert build(compose("ping", identity=0)).kind == "request"
    assert compose("ping", {}, identity="a") == {"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {}}


def test_the_id_stands_before_the_method_and_params_stand_last():
    assert json.dumps(compose("m", {"a": 1}, identity=7)) == (
        '{"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"a": 1}}'
    )


def test_only_a_request_of_the_modern_era_says_who_asks():
    def made(dialect):
        return compose_in(dialect, "tools/list", None, identity=1, client=CLIENT, capabilities={"roots": {}})

    assert "params" not in made(NEWEST_HANDSHAKE)
    assert made(NEWEST_MODERN)["params"]["_meta"] == {
        f"{META}protocolVersion": NEWEST_MODERN.version,
        f"{META}clientCapabilities": {"roots": {}},
        f"{META}clientInfo": CLIENT,
    }


def test_the_handshake_says_who_asks_once():
    params = initialize_params(NEWEST_HANDSHAKE, CLIENT, {})
    assert params == {"protocolVersion": NEWEST_HANDSHAKE.version, "capabilities": {}, "clientInfo": CLIENT}


def test_replies_repeat_the_id_or_have_none():
    assert build(compose_result(1, {})).kind == "result"
    assert compose_error(None, {"code": -1})["id"] is None
    assert "id" not in compose_error(None, {"code": -1}, named=False)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"name": "tool", "arguments": {"a": [1, 2.5, None, True], "ü": "€ \ud800 \u2028"}},
        read('{"exact": 1.10, "large": 12345678901234567890123456789, "small": -0}'),
    ],
)
@pytest.mark.parametrize("method", ["tools/call", 'odd "name"\n', "ü\udc80"])
def test_a_request_is_the_same_whether_it_is_encoded_at_once_or_in_parts(method, params):
    assert compose_request(method, params, 7) == build(compose(method, params, identity=7))
