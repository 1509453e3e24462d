"""Every fault on raw sockets: the bytes of the responses, in both eras, as event streams and as JSON."""

import json
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server.faulty_http import ROME, TOOLS, Visitor, fault, received
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import SERVE, text_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "servers"
WAYS = ("stream", "json", "modern")  # how a call is answered: two in the handshake era, one in the modern


@pytest.fixture
def visit(web: Callable[..., Web]) -> Callable[..., Visitor]:
    """Start a server with these faults, and a conversation with it."""

    def start(*faults: Any, way: str = "stream", seed: int = 0) -> Visitor:
        transport = {"type": "streamable-http", "port": 0, "json": way == "json", "retry": 50}
        return Visitor(web(transport=transport, tools=TOOLS, faults=list(faults), seed=seed), way).open()

    return start


every_way = pytest.mark.parametrize("way", WAYS)


@every_way
def test_without_a_match_the_response_is_the_same(visit, way):
    faults = (fault("crash", name="send_progress"), fault("http_status", nth=9))
    plain, faulty = visit(way=way).call(), visit(*faults, way=way).call()
    assert (plain.status, plain.body, plain.whole) == (faulty.status, faulty.body, True)
    assert text_of(plain.message) == "Echo: hi"


# When the reply comes, what it says, and what becomes of the process.


@every_way
def test_a_delayed_reply_comes_no_earlier_and_holds_nobody_up(visit, way):
    server = visit(fault("delay", {"time": "300ms"}), way=way)
    began = time.monotonic()
    late = server.begin()
    assert server.lives()
    response = received(late)
    assert response is not None
    assert text_of(response.message) == "Echo: hi"
    assert time.monotonic() - began >= 0.3


@every_way
def test_a_request_that_is_never_answered_waits_without_a_message_and_others_do_not(visit, way):
    server = visit(fault("never_answer"), way=way)
    with server.begin() as waiting:
        assert server.lives()
        heard = waiting.recv(1 << 16) if select.select([waiting], [], [], 0)[0] else b"nothing, on an open connection"
    assert heard
    assert b"jsonrpc" not in heard
    assert server.lives()


@every_way
def test_the_same_answer_comes_twice_in_one_response(visit, way):
    response = visit(fault("answer_twice"), way=way).call()
    texts = response.texts if way == "stream" else response.body.decode().replace("}{", "}\n{").split("\n")
    assert len(texts) == 2
    assert json.loads(texts[0]) == json.loads(texts[1])


@every_way
def test_an_answer_comes_under_a_wrong_id(visit, way):
    server = visit(fault("wrong_id", {"id": 4711}), way=way)
    assert server.call().message["id"] == 4711
    assert server.lives()


@every_way
def test_malformed_json_is_a_message_without_its_last_character(visit, way):
    (text,) = visit(fault("malformed_json"), way=way).call().texts
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(text)
    assert json.loads(text + "}")["result"]


@every_way
def test_fields_are_dropped_and_schemas_broken(visit, way):
    server = visit(fault("drop_field", {"path": "result.content"}), fault("break_schema", name="get_temp"), way=way)
    assert "content" not in server.call().message["result"]
    broken = server.call("get_temp", ROME).message["result"]["structuredContent"]
    assert broken == {"temperature": "broken", "unit": "C", "city": "Rome"}


@every_way
def test_an_oversize_reply_arrives_whole(visit, way):
    response = visit(fault("oversize", {"bytes": 5_000_000}), way=way).call()
    assert response.whole
    assert len(response.body) > 5_000_000
    assert text_of(response.message) == "Echo: hi"


@every_way
@pytest.mark.parametrize(("name", "params", "code"), [("crash", {"code": 70}, 70), ("close_stdout", {}, None)])
def test_the_connection_breaks_off_without_a_message_and_the_process_ends_or_not(visit, way, name, params, code):
    server = visit(fault(name, params), way=way)
    response = received(server.begin())
    assert response is None or (not response.whole and b"jsonrpc" not in response.body)
    assert server.lives() if code is None else server.web.wait() == code


@every_way
def test_half_a_message_comes_before_the_process_ends(visit, way):
    server = visit(fault("half_a_line_then_exit", {"code": 3}, nth=2), way=way)
    (right,) = server.call().texts
    response = server.call()
    assert not response.whole
    assert len(response.body.rpartition(b"data: ")[2]) == len(right) // 2
    assert server.web.wait() == 3


# What happens to the HTTP response.


@every_way
@pytest.mark.parametrize(("status", "retry"), [(429, 7), (500, None), (204, None)])
def test_a_status_comes_instead_of_an_answer(visit, way, status, retry):
    server = visit(fault("http_status", {"status": status, "retryAfter": retry}, every=2), way=way)
    assert server.call().status == 200
    response = server.call()
    assert (response.status, response.body) == (status, b"")
    assert response.headers.get("retry-after") == (None if retry is None else str(retry))
    assert server.call().status == 200


@every_way
def test_the_right_answer_comes_under_a_wrong_content_type(visit, way):
    response = visit(fault("wrong_content_type", {"type": "text/plain"}), way=way).call()
    assert (response.status, response.headers["content-type"]) == (200, "text/plain")
    assert b"Echo: hi" in response.body


@pytest.mark.parametrize("resumable", [True, False])
def test_a_cut_stream_can_be_resumed_for_the_rest_or_not(visit, resumable):
    server = visit(fault("cut_stream", {"resumable": resumable}))
    cut = server.call()
    assert not cut.whole
    assert [event.get("event") for event in cut.events] == [None]
    rest = server.resume(cut.events[0]["id"])
    assert (rest.status, b"Echo: hi" in rest.body, rest.whole) == (200 if resumable else 400, resumable, True)
    assert server.lives()


@pytest.mark.parametrize("way", ["stream", "modern"])
def test_a_stream_is_cut_between_two_messages(visit, way):
    server = visit(fault("cut_stream", {"after": 2}, name="send_progress"), way=way)
    cut = server.call("send_progress", {"units": 3, "delayMs": 1}, _meta={"progressToken": "t"})
    assert not cut.whole
    seen = [json.loads(text)["params"]["progress"] for text in cut.texts]
    assert seen == [1, 2]
    if way == "stream":
        *rest, last = map(json.loads, server.resume(cut.events[-1]["id"]).texts)
        assert seen + [each["params"]["progress"] for each in rest] == [1, 2, 3]
        assert "result" in last


@pytest.mark.parametrize("way", ["stream", "modern"])
def test_a_stream_is_cut_before_the_reply_or_after_it_in_both_eras_alike(visit, way):
    server = visit(fault("cut_stream", nth=1), fault("cut_stream", {"after": 1}, nth=2), way=way)
    before, after = server.call(), server.call()
    assert (before.status, before.texts, before.whole) == (200, [], False)
    assert ([json.loads(text)["result"]["content"][0]["text"] for text in after.texts], after.whole) == (
        ["Echo: hi"],
        False,
    )


@pytest.mark.parametrize("way", ["stream", "modern"])
def test_a_stream_is_cut_at_once_while_the_tool_still_works(visit, way):
    server = visit(fault("cut_stream", name="send_progress"), way=way)
    begun = time.monotonic()
    assert not server.call("send_progress", {"units": 1, "delayMs": 20_000}).whole
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("way", ["stream", "json"])
def test_an_expired_session_is_not_found_until_a_new_one_is_opened(visit, way):
    server = visit(fault("expire_session", nth=2), way=way)
    assert [server.call().status for _ in range(3)] == [200, 404, 404]
    assert server.exchange("GET").status == 404
    server.session = {}
    assert server.open().call().status == 200


def test_chance_is_the_same_in_every_run_with_the_same_seed(visit):
    servers = [visit(fault("http_status", probability=0.5), seed=3) for _ in range(2)]
    found = [[server.call().status for _ in range(20)] for server in servers]
    assert found[0] == found[1]
    assert set(found[0]) == {200, 500}


# How mcp-cli takes it.


@pytest.mark.parametrize(
    ("file", "tool", "protocol", "code", "told"),
    [
        ("http", "tool_1", "handshake", 1, "answered with status 429\n  hint: the server asks to wait: 2"),
        ("http", "tool_2", "modern", 1, "answered with status 500"),
        ("http", "tool_3", "handshake", 1, "answered with text/html"),
        ("http", "tool_3", "modern", 1, "answered with text/html"),
        ("http", "tool_4", "handshake", 0, ""),
        ("http", "tool_5", "handshake", 1, "the stream of tools/call cannot be resumed: status 400"),
        ("http", "tool_6", "handshake", 0, "the server has ended the session; a new one is opened"),
        ("messages", "tool_1", "handshake", 0, ""),
        ("messages", "tool_2", "handshake", 124, "an answer with id 4711, which no request has"),
        ("messages", "tool_2", "modern", 1, "an answer with id 4711, which no request has"),
        ("messages", "tool_3", "modern", 1, "the answer to tools/call cannot be used: not JSON"),
        ("messages", "tool_4", "modern", 0, ""),
        ("messages", "tool_5", "modern", 0, ""),
        ("stdio", "tool_2", "modern", 1, "error: "),
        ("stdio", "tool_3", "modern", 1, "the server closed the connection before an answer came"),
        ("stdio", "tool_4", "modern", 1, "the server closed the connection before an answer came"),
    ],
)
def test_mcp_cli_survives_every_example_with_a_clear_message(cli, tmp_path, file, tool, protocol, code, told):
    example = str(EXAMPLES / f"faults-{file}.yaml")
    server = Web([*SERVE, example, "--transport", "streamable-http", "--port", "0"], tmp_path)
    words = ("--method", "tools/call", "--tool-name", tool, "--tool-arg", "message=hi", "--protocol", protocol)
    limit = ("--timeout", "2s" if code == 124 else "20s")
    try:
        runs = [cli(server.start_line.rpartition(" ")[2], *words, *limit) for _ in range(2 if "429" in told else 1)]
    finally:
        server.dispose()
    assert runs[-1].code == code, runs
    assert told in runs[-1].err
    assert "internal error" not in runs[-1].err
    assert bool(runs[-1].out) == (code == 0)
