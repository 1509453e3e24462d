"""What is said of a request that a recording does not have."""

import pytest
from tests.unit.replaying.conversations import pool, request, result

from mcp_conductor.replaying.nearest import why_missing

MODERN = {"io.modelcontextprotocol/protocolVersion": "v"}
KNOWN = [
    request(1, "initialize"), result(1),
    request(2, name="add", arguments={"a": 1, "b": [1, {"c": "x" * 100}]}), result(2),
    request(3, name="add", arguments={"a": 5, "b": []}), result(3),
    request(4, "resources/read", uri="a://b"), result(4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        (
            "tools/call",
            {"name": "add", "arguments": {"a": 5, "b": [], "c": True}},
            "tools/call add; the nearest request there differs: params.arguments.c is true, which is not recorded",
        ),
        (
            "tools/call",
            {"name": "add", "arguments": {"a": 1, "b": [1, {"c": "y"}]}},
            f'tools/call add; the nearest request there differs: params.arguments.b[1].c is "y", recorded as "{"x" * 58}…',
        ),
        (
            "tools/call",
            {"name": "add", "arguments": {"a": 5}},
            "tools/call add; the nearest request there differs: params.arguments.b is missing, recorded as []",
        ),
        ("tools/call", {"name": "sub"}, "tools/call sub; there, tools/call is about add"),
        ("prompts/list", {}, "prompts/list; it has initialize, tools/call, resources/read"),
        (
            "server/discover",
            {"_meta": MODERN},
            "server/discover; it begins with initialize, and this client speaks the modern era, which does not",
        ),
    ],
)
def test_a_miss_says_what_came_nearest(method, params, said):
    assert why_missing(pool(*KNOWN), method, params) == f"not in the recording: {said}"


def test_a_client_of_the_handshake_era_is_told_that_the_recording_is_of_the_other():
    known = pool(request(1, "tools/list", _meta=MODERN), result(1))
    said = why_missing(known, "initialize", {})
    assert said.endswith("it is of the modern era, which has no initialize, and this client speaks the handshake era")


def test_a_miss_is_one_short_line_whatever_the_request_is():
    known = pool(*(each for n in range(200) for each in (request(n, name=f"t{n}\n" * 50), result(n))))
    said = why_missing(known, "tools/call", {"name": "x" * 10_000})
    assert len(said) < 2_000
    assert "\n" not in said


def test_a_miss_says_if_there_is_nothing():
    assert why_missing(pool(), "ping", {}) == "not in the recording: ping; it has no requests"
