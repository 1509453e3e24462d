"""How the era and the revision are found: with the handshake by default, with every other choice, on every kind of server."""

import json

import pytest

from mcp_conductor import StdioSpec, TransportError, connect

INFO = ("--method", "server/info")
DISCOVER = """
    DISCOVER = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private", "_meta": {META + "serverInfo": {"name": "modern", "version": "2"}}}
"""
MODERN_ONLY = (
    DISCOVER
    + """
    while True:
        request = hear()
        if request["method"] == "server/discover":
            result(request, DISCOVER)
        elif request["method"] == "initialize":
            error(request, -32022, "Unsupported protocol version", data={"supported": ["2026-07-28"], "requested": "x"})
        else:
            meta = request["params"]["_meta"]
            result(request, {"resultType": "complete", "tools": [{"name": meta[META + "protocolVersion"]}]})
"""
)


def version(run):
    assert run.code == 0, run.err
    return json.loads(run.out)["protocolVersion"]


@pytest.mark.parametrize("offered", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_handshake_takes_each_counter_offer_that_we_know(cli, serve, offered):
    assert (
        version(cli(*serve(f"assert hello({offered!r})['protocolVersion'] == '2025-11-25'; hear()"), *INFO)) == offered
    )


@pytest.mark.parametrize("pinned", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_pinned_revision_is_the_one_that_is_offered(cli, serve, pinned):
    run = cli(*serve(f"assert hello()['protocolVersion'] == {pinned!r}; hear()"), *INFO, "--protocol", pinned)
    assert version(run) == pinned


def test_old_servers_never_see_a_method_that_they_do_not_know(cli, serve):
    assert version(cli(*serve("hello(); assert hear() is None"), *INFO)) == "2025-11-25"


def test_the_handshake_finds_its_way_to_a_server_that_is_only_modern(cli, serve):
    run = cli(*serve(MODERN_ONLY), *INFO)
    assert version(run) == "2026-07-28"
    assert json.loads(run.out)["name"] == "modern"


def test_the_handshake_finds_its_way_to_a_modern_server_that_does_not_know_initialize(cli, serve):
    server = serve(DISCOVER + "\n    serve({'server/discover': DISCOVER})")
    assert version(cli(*server, *INFO)) == "2026-07-28"


def test_a_refused_handshake_is_the_servers_error(cli, serve):
    run = cli(
        *serve("request = hear(); error(request, -32000, 'licence expired', data={'since': 'May'}); hear()"), *INFO
    )
    assert run.code == 2
    assert json.loads(run.out) == {"error": {"code": -32000, "message": "licence expired", "data": {"since": "May"}}}
    assert "initialize was answered with error -32000: licence expired" in run.err


@pytest.mark.parametrize("choice", ["handshake", "auto"])
def test_an_error_without_an_id_is_the_answer_to_the_opening(cli, serve, choice):
    server = serve("""
        while True:
            hear()
            say({"id": None, "error": {"code": -32000, "message": "licence expired"}})
    """)
    run = cli(*server, *INFO, "--protocol", choice)
    assert run.code == 2
    assert "the answer to initialize has no id" in run.err
    assert "initialize was answered with error -32000: licence expired" in run.err


def test_an_error_without_an_id_is_no_answer_to_a_later_request(cli, serve):
    server = serve("""
        hello(tools={})
        while "id" not in (request := hear()):
            pass
        say({"id": None, "error": {"code": -32700, "message": "what?"}})
        result(request, {"tools": []})
        hear()
    """)
    run = cli(*server, "--method", "tools/list")
    assert (run.code, json.loads(run.out)) == (0, {"tools": []})


def test_a_server_that_knows_neither_opening_is_reported_with_its_answer_to_initialize(cli, serve):
    run = cli(*serve("serve({})"), *INFO)
    assert run.code == 2
    assert "initialize was answered with error -32601" in run.err


def test_a_version_refused_by_an_error_with_a_list_is_offered_again(cli, serve):
    server = serve("""
        error(hear(), -32602, "Unsupported protocol version", data={"supported": ["2025-03-26"], "requested": "x"})
        hello()
        hear()
    """)
    run = cli(*server, *INFO)
    assert version(run) == "2025-03-26"
    assert "it should have offered 2025-03-26" in run.err


def test_modern_speaks_without_a_handshake_and_stamps_each_request(cli, serve):
    run = cli(*serve(MODERN_ONLY), "--method", "tools/list", "--protocol", "modern", "--metadata", "a=1", "--verbose")
    assert json.loads(run.out)["tools"] == [{"name": "2026-07-28"}]
    assert '"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"' in run.err
    assert 'clientInfo":{"name":"mcp-conductor"' in run.err
    assert '"a":1' in run.err


def test_modern_on_an_old_server_says_so(cli, serve):
    run = cli(*serve("serve({'initialize': {}})"), *INFO, "--protocol", "modern")
    assert run.code == 2
    assert "server/discover was answered with error -32601" in run.err
    assert "--protocol handshake" in run.err


def test_auto_takes_the_modern_era_where_it_can(cli, serve):
    server = serve(DISCOVER + "\n    serve({'server/discover': DISCOVER, 'initialize': {}})")
    assert version(cli(*server, *INFO, "--protocol", "auto")) == "2026-07-28"


@pytest.mark.parametrize("code", [-32601, -32602, -32600, 0])
def test_auto_takes_any_other_error_for_the_handshake_era(cli, serve, code):
    server = serve(f"error(hear(), {code}, 'what?'); hello(); hear()")
    run = cli(*server, *INFO, "--protocol", "auto")
    assert version(run) == "2025-11-25"


def test_auto_loses_little_on_a_server_that_never_answers_what_it_does_not_know(cli, serve):
    run = cli(*serve("assert hear()['method'] == 'server/discover'; hello(); hear()"), *INFO, "--protocol", "auto")
    assert version(run) == "2025-11-25"
    assert "cancelled" not in run.err


def test_auto_takes_the_first_answer_and_ignores_the_other(cli, serve):
    server = serve(
        DISCOVER
        + """
    discover, initialize = hear(), hear()
    assert [discover["method"], initialize["method"]] == ["server/discover", "initialize"]
    result(discover, DISCOVER)
    error(initialize, -32022, "too late")
    hear()
    """
    )
    assert version(cli(*server, *INFO, "--protocol", "auto")) == "2026-07-28"


def test_auto_waits_for_a_slow_modern_server_that_refuses_initialize(cli, serve):
    server = serve(
        DISCOVER
        + """
    discover, initialize = hear(), hear()
    error(initialize, -32022, "modern only", data={"supported": ["2026-07-28"]})
    result(discover, DISCOVER)
    hear()
    """
    )
    assert version(cli(*server, *INFO, "--protocol", "auto")) == "2026-07-28"


def test_auto_starts_a_server_that_dies_of_the_probe_once_more(cli, serve):
    server = serve("""
        request = hear()
        if request["method"] != "initialize":
            sys.exit(1)
        result(request, {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old", "version": "0"}})
        hear()
        hear()
    """)
    run = cli(*server, *INFO, "--protocol", "auto")
    assert version(run) == "2024-11-05"
    assert "it is started again" in run.err


def test_auto_reports_a_server_of_a_later_era(cli, serve):
    server = serve("error(hear(), -32022, 'no', data={'supported': ['2031-01-01'], 'requested': '2026-07-28'}); hear()")
    run = cli(*server, *INFO, "--protocol", "auto")
    assert run.code == 1
    assert "2031-01-01" in run.err


def test_input_required_is_answered_and_its_state_comes_back_exactly(cli, serve):
    server = serve(
        DISCOVER
        + """
    def call(params):
        if "inputResponses" not in params:
            assert "requestState" not in params
            schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            return {"resultType": "input_required", "requestState": "opaque é\\\\n", "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": schema}},
                "where": {"method": "roots/list", "params": {}}}}
        assert params["name"] == "greet" and params["arguments"] == {"loud": True}
        assert params["requestState"] == "opaque é\\\\n"
        assert params["_meta"][META + "clientCapabilities"] == {"roots": {}, "elicitation": {"form": {}, "url": {}}}
        return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(params["inputResponses"])}]}
    serve({"server/discover": DISCOVER, "tools/call": call})
    """
    )
    run = cli(
        *server, "--protocol", "modern", "--method", "tools/call", "--tool-name", "greet", "--tool-args-json", '{"loud": true}',
        "--handle-elicitation", '{"name": "Ada"}', "--roots", "file:///tmp=Temp",
    )  # fmt: skip
    assert run.code == 0, run.err
    assert json.loads(json.loads(run.out)["content"][0]["text"]) == {
        "who": {"action": "accept", "content": {"name": "Ada"}},
        "where": {"roots": [{"uri": "file:///tmp", "name": "Temp"}]},
    }


def test_ping_of_the_modern_era_is_a_discover(cli, serve):
    run = cli(*serve(MODERN_ONLY), "--method", "ping", "--protocol", "modern")
    assert (run.code, json.loads(run.out)["supportedVersions"]) == (0, ["2026-07-28"])
    assert "2026-07-28 has no ping; server/discover is sent instead" in run.err


def test_following_a_resource_of_the_modern_era_is_a_subscription(cli, serve):
    server = serve(
        DISCOVER
        + """
    result(hear(), DISCOVER)
    listen = hear()
    assert listen["params"]["notifications"] == {"resourceSubscriptions": ["file:///a"]}
    meta = {META + "subscriptionId": listen["id"]}
    notify("notifications/subscriptions/acknowledged", _meta=meta, notifications=listen["params"]["notifications"])
    notify("notifications/resources/updated", _meta=meta, uri="file:///a")
    result(hear(), {"resultType": "complete", "contents": [{"uri": "file:///a", "text": "new"}]})
    cancelled = hear()
    assert cancelled["method"] == "notifications/cancelled" and cancelled["params"]["requestId"] == listen["id"]
    hear()
    """
    )
    run = cli(
        *server,
        "--protocol",
        "modern",
        "--method",
        "resources/subscribe",
        "--uri",
        "file:///a",
        "--follow",
        "--timeout",
        "600ms",
    )
    assert run.code == 0, run.err
    result, _, events = run.out.partition("\n\n")
    assert json.loads(result) == {"notifications": {"resourceSubscriptions": ["file:///a"]}}
    kinds = [json.loads(line) for line in events.splitlines()]
    assert kinds[-1] == {"event": "updated", "uri": "file:///a", "contents": [{"uri": "file:///a", "text": "new"}]}
    assert [event["event"] for event in kinds] == ["subscribed", "notification", "notification", "updated"]


def test_a_subscription_that_the_server_ends_is_noted(cli, serve):
    server = serve(
        DISCOVER
        + """
    result(hear(), DISCOVER)
    listen = hear()
    meta = {META + "subscriptionId": listen["id"]}
    notify("notifications/subscriptions/acknowledged", _meta=meta, notifications=listen["params"]["notifications"])
    result(listen, {"resultType": "complete", "_meta": meta})
    hear()
    """
    )
    subscribe = ("--method", "resources/subscribe", "--uri", "file:///a", "--follow", "--timeout", "500ms")
    run = cli(*server, "--protocol", "modern", *subscribe)
    assert run.code == 0
    assert "the server has ended the subscription" in run.err


def test_the_log_level_of_the_modern_era_is_asked_for_in_meta(cli, serve):
    server = serve(
        DISCOVER
        + """
    result(hear(), DISCOVER)
    listen = hear()
    assert listen["params"]["_meta"][META + "logLevel"] == "debug"
    notify("notifications/subscriptions/acknowledged", _meta={META + "subscriptionId": listen["id"]}, notifications={})
    notify("notifications/message", level="debug", data="hi")
    hear()
    """
    )
    run = cli(
        *server,
        "--protocol",
        "modern",
        "--method",
        "logging/setLevel",
        "--log-level",
        "debug",
        "--follow",
        "--timeout",
        "500ms",
    )
    assert run.code == 0, run.err
    assert '"params":{"level":"debug","data":"hi"}' in run.out


def test_the_tasks_of_the_modern_era_are_polled_and_their_questions_answered(cli, serve):
    server = serve(
        DISCOVER
        + """
    looks = 0
    def call(params):
        assert params["_meta"][META + "clientCapabilities"]["extensions"] == {META + "tasks": {}}
        return {"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": 1000, "pollIntervalMs": 10}
    def get(params):
        global looks
        looks += 1
        task = {"resultType": "complete", "taskId": "t1", "pollIntervalMs": 10}
        if looks == 1:
            return {**task, "status": "working"}
        if answers is None:
            return {**task, "status": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": {
                "mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}}}}}
        return {**task, "status": "completed", "result": {"content": [{"type": "text", "text": json.dumps(answers)}]}}
    answers = None
    def update(params):
        global answers
        answers = params["inputResponses"]
        return {"resultType": "complete"}
    serve({"server/discover": DISCOVER, "tools/call": call, "tasks/get": get, "tasks/update": update})
    """
    )
    call = ("--method", "tools/call", "--tool-name", "slow", "--run-as-task", "--poll", "--handle-elicitation", "auto")
    run = cli(*server, "--protocol", "modern", *call)
    assert run.code == 0, run.err
    ended = json.loads(run.out)
    assert (ended["taskId"], ended["status"]) == ("t1", "completed")
    assert json.loads(ended["result"]["content"][0]["text"]) == {"q": {"action": "accept", "content": {"n": 3}}}


def test_a_batch_is_understood_where_the_revision_has_batches(cli, serve):
    server = serve("""
        hello("2025-03-26")
        request = hear()
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        shout(json.dumps([note, {"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}]) + "\\n")
        hear()
    """)
    run = cli(*server, "--method", "tools/list")
    assert (run.code, run.err) == (0, "")


def test_a_batch_is_noted_where_the_revision_has_none(cli, serve):
    server = serve("""
        hello()
        request = hear()
        shout(json.dumps([{"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}]) + "\\n")
        hear()
    """)
    run = cli(*server, "--method", "tools/list")
    assert run.code == 0
    assert "a JSON-RPC batch, which 2025-11-25 does not have" in run.err


async def test_a_server_that_never_answers_is_not_started_twice(serve, environment, tmp_path):
    starts = tmp_path / "starts"
    server = serve(f"open({str(starts)!r}, 'a').write('started ')\nwhile True: hear()")
    spec = StdioSpec(command=server, env=environment, startup_timeout=1)
    with pytest.raises(TransportError, match="startupTimeout"):
        async with connect(spec, protocol="auto"):
            pass
    assert starts.read_text() == "started "
