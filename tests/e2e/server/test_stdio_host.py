"""A composable server on stdio, line by line: both eras, good and bad messages, and questions in between."""

import json

import pytest
from tests.e2e.server.wire import (
    HANDSHAKE,
    INITIALIZED,
    META,
    MODERN,
    NEWEST,
    call,
    code_of,
    echo,
    initialize,
    listen,
    modern,
    notification,
    ping,
    request,
    result,
    slow,
    text_of,
)

FORM = {"message": "Who?", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SOON = 2.0  # seconds within which a server ends that has nothing to wait for


# How a conversation begins.


@pytest.mark.parametrize("version", HANDSHAKE)
def test_handshake_is_in_the_revision_that_the_client_asks_for(stdio, version):
    opened = stdio().open(version)
    assert opened == {
        "protocolVersion": version,
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "logging": {},
        },
        "serverInfo": {"name": "wire", "version": "1"},
    }


@pytest.mark.parametrize("version", ["1.0.0", "2099-01-01", "", MODERN])
def test_unknown_version_is_countered_with_the_newest_of_the_handshake_era(stdio, version):
    assert stdio().open(version)["protocolVersion"] == NEWEST


def test_counter_offer_keeps_to_the_versions_of_the_config(stdio):
    server = stdio(protocolVersions=["2024-11-05", "2025-06-18"])
    assert server.open(NEWEST)["protocolVersion"] == "2025-06-18"
    assert server.open("2024-11-05")["protocolVersion"] == "2024-11-05"


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"protocolVersion": 1, "capabilities": {}, "clientInfo": {}},
        {"protocolVersion": NEWEST, "clientInfo": {}},
        {"protocolVersion": NEWEST, "capabilities": [], "clientInfo": {}},
        {"protocolVersion": NEWEST, "capabilities": {}},
    ],
    ids=["none", "empty", "version", "capabilities", "array", "client"],
)
def test_incomplete_initialize_is_refused_and_a_good_one_still_works(stdio, params):
    server = stdio()
    assert code_of(server.ask(request(1, "initialize", params))) == -32602
    assert server.open()["protocolVersion"] == NEWEST


def test_before_initialize_only_ping_is_answered(stdio):
    server = stdio()
    assert server.ask(ping(1)) == result(1, {})
    assert code_of(server.ask(request(2, "tools/list"))) == -32600
    assert code_of(server.ask(request(3, "no/such/method"))) == -32600
    server.open()
    assert len(server.ask(request(4, "tools/list"))["result"]["tools"]) == 9


def test_both_eras_speak_on_one_pipe_in_any_order(stdio):
    server = stdio()
    server.say(
        modern(request(1, "server/discover")),
        initialize("2025-06-18", identity=2),
        modern(echo(3, "modern")),
        INITIALIZED,
        echo(4, "handshake"),
        modern(request(5, "ping")),
        request(6, "ping"),
    )
    replies = [server.hear() for _ in range(6)]
    assert [reply["id"] for reply in replies] == [1, 2, 3, 4, 5, 6]
    assert replies[0]["result"]["supportedVersions"] == [MODERN]
    assert replies[1]["result"]["protocolVersion"] == "2025-06-18"
    assert replies[2]["result"]["resultType"] == "complete"
    assert replies[3]["result"] == {"content": [{"type": "text", "text": "Echo: handshake"}]}
    assert code_of(replies[4]) == -32601
    assert replies[5]["result"] == {}


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({f"{META}protocolVersion": MODERN}, -32602),
        ({f"{META}clientCapabilities": {}}, -32602),
        ({f"{META}protocolVersion": 5, f"{META}clientCapabilities": {}}, -32602),
        ({f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": []}, -32602),
        ({f"{META}protocolVersion": None, f"{META}clientCapabilities": {}}, -32602),
        ({f"{META}protocolVersion": "1900-01-01", f"{META}clientCapabilities": {}}, -32022),
        ({f"{META}protocolVersion": NEWEST, f"{META}clientCapabilities": {}}, -32022),
    ],
    ids=["no-capabilities", "no-version", "number", "array", "null", "unknown", "handshake"],
)
def test_wrong_introduction_in_the_modern_manner_is_refused(stdio, meta, code):
    reply = stdio().ask(request("m", "tools/list", {"_meta": meta}))
    assert (reply["id"], code_of(reply)) == ("m", code)
    if code == -32022:
        requested = meta[f"{META}protocolVersion"]
        assert reply["error"]["data"] == {"supported": [MODERN], "requested": requested}


def test_server_of_the_modern_era_alone_wants_an_introduction_and_has_no_handshake(stdio):
    server = stdio(protocolVersions=[MODERN])
    assert code_of(server.ask(request(1, "tools/list"))) == -32602
    assert code_of(server.ask(initialize())) == -32022
    assert server.ask(modern(echo(2)))["result"]["_meta"] == {f"{META}serverInfo": {"name": "wire", "version": "1"}}


def test_server_of_the_handshake_era_alone_ignores_modern_introductions(stdio):
    server = stdio(protocolVersions=[NEWEST])
    assert code_of(server.ask(modern(request(1, "server/discover")))) == -32600
    server.open()
    assert code_of(server.ask(modern(request(2, "server/discover")))) == -32601
    assert "resultType" not in server.ask(modern(request(3, "tools/list")))["result"]


@pytest.mark.parametrize("method", ["initialize/", "ping", "logging/setLevel", "resources/subscribe", "tasks/list"])
def test_method_that_the_modern_era_does_not_have_is_not_found(stdio, method):
    assert code_of(stdio().ask(modern(request(1, method)))) == -32601


# Bad messages.


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"}",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b"NaN",
        b"\xff\xfe",
        b"[1",
        b"\x00",
        b"[" * 100_000,
    ],
    ids=["brace", "closing", "word", "cut", "nan", "bytes", "array", "nul", "deep"],
)
def test_line_that_is_no_json_is_answered_with_a_parse_error_and_no_id(stdio, line):
    server = stdio()
    reply = server.ask(line)
    assert (code_of(reply), reply["id"]) == (-32700, None)
    server.open()
    reply = server.ask(line)
    assert code_of(reply) == -32700
    assert "id" not in reply
    assert server.is_quiet()


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"5",
        b'"ping"',
        b"{}",
        b"[]",
        b"[[]]",
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":7,"method":5}',
        b'{"jsonrpc":"2.0","id":7}',
        b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}',
        b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
        b'{"id":7,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(stdio, line):
    server = stdio()
    server.open()
    reply = server.ask(line)
    assert code_of(reply) == -32600
    assert reply.get("id") in (None, 7, 1.5)
    assert server.is_quiet()


@pytest.mark.parametrize("params", [[], [1], "x", 5, True, None], ids=repr)
def test_params_that_are_no_object_are_invalid_params(stdio, params):
    server = stdio()
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params}).encode()
    assert code_of(server.ask(line)) == -32602
    server.open()
    assert code_of(server.ask(line)) == -32602


def test_arguments_that_are_nested_too_deeply_are_blamed_and_not_the_schema(stdio):
    server = stdio()
    server.open()
    deep: dict = {}
    for _ in range(900):
        deep = {"a": deep}
    answer = str(server.ask(call(1, "echo", {"message": "hello", "more": deep})))
    # How deep Python can look depends on its version.
    told = "Invalid arguments for tool echo: the value is nested too deeply to be checked"
    assert told in answer or "Echo: hello" in answer
    assert "Echo: hello" in str(server.ask(echo(2)))


def test_notifications_and_answers_to_nothing_are_never_answered(stdio):
    server = stdio()
    server.open()
    server.say(
        notification("notifications/no/such"),
        notification("tools/list"),
        notification("notifications/cancelled"),
        notification("notifications/cancelled", {"requestId": "nobody"}),
        notification("notifications/cancelled", [1]),
        notification("notifications/initialized", 5),
        result(99, {}),
        {"jsonrpc": "2.0", "id": 98, "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "2.0", "error": {"code": 1, "message": "no"}},
        b"",
        b"   \t ",
        b"\r",
    )
    assert server.is_quiet()


@pytest.mark.parametrize("identity", [{}, [], [1, 2]], ids=repr)
def test_cancellation_with_an_impossible_id_is_ignored(stdio, identity):
    server = stdio()
    server.open()
    server.say(notification("notifications/cancelled", {"requestId": identity}), ping())
    assert server.hear() == result("ping", {})


@pytest.mark.parametrize(
    "written",
    [
        "1",
        "0",
        "-1",
        '"x"',
        '""',
        '"1"',
        "9007199254740993",
        "123456789012345678901234567890",
        "1.0",
        "1e2",
        '"\\u00e9\\ud83d\\ude00"',
    ],
)
def test_id_comes_back_exactly_as_it_was_written(stdio, written):
    server = stdio()
    server.say(b'{"jsonrpc":"2.0","id":' + written.encode() + b',"method":"ping"}')
    line = server.line().decode()
    shown = json.dumps(json.loads(written), ensure_ascii=False) if written.startswith('"') else written
    assert line == '{"jsonrpc":"2.0","id":' + shown + ',"result":{}}'


# Batches.


def test_batch_of_2025_03_26_is_answered_with_a_batch(stdio):
    server = stdio()
    server.open("2025-03-26")
    replies = server.ask([ping(1), INITIALIZED, echo("two"), 5, request(3, "no/such"), [], slow(4, 20)])
    assert {
        reply.get("id"): reply.get("result", reply.get("error", {}).get("code")) for reply in replies if reply["id"]
    } == {
        1: {},
        "two": {"content": [{"type": "text", "text": "Echo: hello"}]},
        3: -32601,
        4: {"content": [{"type": "text", "text": "Completed 0 progress notifications (units: 0, total: 2)"}]},
    }
    assert [code_of(reply) for reply in replies if reply["id"] is None] == [-32600, -32600]
    server.say([INITIALIZED, notification("x")])
    assert server.is_quiet()


@pytest.mark.parametrize("version", [version for version in HANDSHAKE if version != "2025-03-26"])
def test_batch_is_refused_in_every_other_revision(stdio, version):
    server = stdio()
    assert code_of(server.ask([ping(1), ping(2)])) == -32600
    server.open(version)
    assert code_of(server.ask([ping(1), ping(2)])) == -32600
    assert server.is_quiet()


# Cancellation, and questions to the client.


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_cancelled_request_is_never_answered(stdio, era):
    server = stdio()
    server.open()
    spoken = modern if era == "modern" else dict
    server.say(spoken(slow(1, 30_000, "token")))
    assert server.hear()["params"]["progress"] == 1
    server.say(notification("notifications/cancelled", {"requestId": 1}))
    assert server.is_quiet()
    server.close()
    assert server.line() == b""
    assert server.wait(SOON) == 0


def test_cancelled_request_takes_its_question_back(stdio):
    server = stdio()
    server.open(elicitation={})
    question = server.ask(call(1, "collect_elicitation", FORM))
    server.say(notification("notifications/cancelled", {"requestId": 1}))
    assert server.hear() == notification("notifications/cancelled", {"requestId": question["id"]})
    server.say(result(question["id"], {"action": "decline"}))
    assert server.is_quiet()


def test_question_reaches_the_client_and_its_answer_the_tool(stdio):
    server = stdio()
    server.open("2025-06-18", elicitation={}, sampling={}, roots={})
    question = server.ask(call(1, "collect_elicitation", FORM))
    assert question["method"] == "elicitation/create"
    assert question["params"] == {"message": "Who?", "requestedSchema": FORM["schema"]}
    assert server.ask(ping()) == result("ping", {}), "the server must listen while it waits"
    answer = {"action": "accept", "content": {"name": "x"}}
    assert json.loads(text_of(server.ask(result(question["id"], answer))).partition(": ")[2]) == answer


def test_listener_of_the_modern_era_hears_of_changes_under_its_own_id(stdio):
    server = stdio()
    heard = server.ask(
        listen("sub", toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=["test://resource_1"])
    )
    tag = {f"{META}subscriptionId": "sub"}
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["test://resource_1"]}
    assert heard == notification("notifications/subscriptions/acknowledged", {"notifications": wanted, "_meta": tag})
    server.say(modern(call(1, "remove_tool", {"name": "add"})))
    server.say(modern(call(2, "update_resource", {"uri": "test://resource_1", "text": "new"})))
    server.say(modern(call(3, "update_resource", {"uri": "test://resource_2", "text": "new"})))
    heard = [server.hear() for _ in range(5)]
    assert [message.get("method", message.get("id")) for message in heard] == [
        "notifications/tools/list_changed", 1, "notifications/resources/updated", 2, 3,
    ]  # fmt: skip
    assert heard[2]["params"] == {"uri": "test://resource_1", "_meta": tag}
    server.close()
    reply = server.hear()
    assert (reply["id"], reply["result"]["_meta"][f"{META}subscriptionId"]) == ("sub", "sub")
    assert server.wait(SOON) == 0
