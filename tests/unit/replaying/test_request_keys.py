"""What of a request is compared with the recording."""

import pytest

from mcp_conductor.protocol.message import read
from mcp_conductor.replaying.request_keys import compared, key_of, secret_places, with_holes


def key(method, params):
    return key_of(compared(method, params))


CALL = {"name": "add", "arguments": {"a": 1, "b": [True, None, "x"]}}


@pytest.mark.parametrize(
    "params",
    [
        {**CALL, "_meta": {"progressToken": 7, "io.modelcontextprotocol/protocolVersion": "v", "trace": "t"}},
        {**CALL, "inputResponses": {"q": {"action": "accept"}}},
        {**CALL, "cursor": None},
        {"arguments": {"b": [True, None, "x"], "a": 1.0}, "name": "add"},
    ],
)
def test_what_differs_each_time_is_not_compared(params):
    assert key("tools/call", params) == key("tools/call", CALL)


@pytest.mark.parametrize(
    "params",
    [
        {**CALL, "name": "sub"},
        {**CALL, "task": {"ttl": 1000}},
        {**CALL, "requestState": "s"},
        {"name": "add", "arguments": {"a": 1, "b": [1, None, "x"]}},
        {"name": "add", "arguments": {"a": "1", "b": [True, None, "x"]}},
        {"name": "add", "arguments": {"a": 1, "b": [None, True, "x"]}},
        {"name": "add", "arguments": {"a": read("1.00000000000000000001"), "b": [True, None, "x"]}},
    ],
)
def test_all_else_is(params):
    assert key("tools/call", params) != key("tools/call", CALL)


def test_no_arguments_are_the_same_however_they_are_left_out():
    assert len({key("tools/call", {"name": "a", **more}) for more in ({}, {"arguments": {}}, {"arguments": None})}) == 1
    assert key("ping", {}) == key("ping", {"_meta": {}})


@pytest.mark.parametrize("method", ["initialize", "server/discover"])
def test_what_opens_a_conversation_is_compared_by_its_method(method):
    assert key(method, {"clientInfo": {"name": "a"}}) == key(method, {"clientInfo": {"name": "b"}})


def test_a_path_that_is_forgotten_is_not_compared():
    def forget(request):
        return {**request, "params": {**request["params"], "arguments": {}}}

    assert compared("tools/call", CALL, forget) == {"method": "tools/call", "params": {"name": "add"}}
    assert compared("tools/call", CALL, lambda _: {}) == {"method": "tools/call"}


def test_a_secret_that_was_left_out_fits_anything_in_its_place():
    recorded = compared("tools/call", {"name": "a", "arguments": {"keys": ["x", "Bearer [redacted]"], "n": 1}})
    holes = secret_places(recorded)
    assert holes == (("params", "arguments", "keys", 1),)
    same = compared("tools/call", {"name": "a", "arguments": {"keys": ["x", {"any": 1}], "n": 1}})
    assert with_holes(same, holes) == with_holes(recorded, holes)
    assert with_holes(compared("tools/call", {"name": "a", "arguments": {"keys": ["x"]}}), holes) is None
    assert with_holes(compared("tools/call", {"name": "a", "arguments": {"keys": "no"}}), holes) is None


def test_a_request_that_is_nested_deeply_is_compared_as_it_is():
    def nested(depth):
        value = {}
        for _ in range(depth):
            value = {"a": value}
        return {"name": "a", "arguments": value}

    assert key("tools/call", nested(5000)) == key("tools/call", nested(5000))
    assert key("tools/call", nested(5000)) != key("tools/call", nested(5001))
    assert secret_places(nested(5000)) == ()
