"""Faults over HTTP+SSE, where every reply comes on one GET stream."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.e2e.server.faulty_http import HI, ROME, TOOLS, Response, Visitor, fault, received
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import INITIALIZED, call, initialize


@pytest.fixture
def on_sse(web: Callable[..., Web]) -> Iterator[Callable[..., Any]]:
    """Open a GET stream: a way to POST, which gives the status, and one to read the stream until it is closed."""
    with ExitStack() as opened:

        def start(*faults: Any) -> tuple[Callable[[Any], int], Callable[[], Response | None]]:
            visitor = Visitor(web(transport={"type": "sse", "port": 0}, tools=TOOLS, faults=list(faults)), "stream")
            stream, heard = opened.enter_context(visitor.send("GET")), b""
            while not (found := re.search(rb"event: endpoint\ndata: (\S+)\n\n", heard)):
                chunk = stream.recv(1 << 16)
                assert chunk, "the stream ends before it says where to POST"
                heard += chunk
            path = found[1].decode()
            return lambda message: visitor.exchange("POST", message, path=path).status, lambda: received(stream, heard)

        yield start


@pytest.mark.parametrize(
    ("name", "params", "seen"),
    [
        ("wrong_id", {"id": 9}, [0, 9]),
        ("answer_twice", {}, [0, 1, 1]),
        ("never_answer", {}, [0]),
        ("cut_stream", {}, [0]),
        ("cut_stream", {"after": 1}, [0, 1]),
    ],
)
def test_a_reply_on_the_one_stream_of_http_sse_is_bent_as_well(on_sse, name, params, seen):
    post, rest = on_sse(fault(name, params), fault("close_stdout", name="get_temp"))
    for message in (initialize("2024-11-05"), INITIALIZED, call(1, "echo", HI)):
        assert post(message) == 202
    post(call(2, "get_temp", ROME))
    response = rest()
    assert not response.whole
    assert [json.loads(event["data"])["id"] for event in response.events[1:]] == seen


def test_a_status_over_http_sse_is_that_of_the_post(on_sse):
    post, rest = on_sse(fault("http_status", {"status": 429}, nth=1), fault("close_stdout", nth=2))
    assert [post(message) for message in (initialize(), call(1, "echo", HI), call(2, "echo", HI))] == [202, 429, 202]
    assert len(rest().events) == 2


def test_a_session_of_http_sse_expires_with_its_stream(on_sse):
    post, rest = on_sse(fault("expire_session"))
    assert [post(call(number, "echo", HI)) for number in (1, 2)] == [404, 404]
    assert len(rest().events) == 1
