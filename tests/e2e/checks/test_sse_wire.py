"""HTTP+SSE: each rule broken on purpose, and reported as that and nothing else."""

import json
import sys

import pytest
from tests import prefork
from tests.e2e.checks.good_http import AREA, broken, composed, manners

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.checks.server.sse.probes import _outer_address
from mcp_conductor.protocol.server_spec import HttpSpec

OLD = "2024-11-05"
CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
MCP_CLI = (sys.executable, "-c", "import sys; from mcp_conductor.cli import mcp_cli; sys.exit(mcp_cli())")


class Old:
    """A server of the old transport that keeps the rules; the checker's own conversation is the first one."""

    def __init__(self):
        self.open = {}

    def __call__(self, call):
        if self.foreign(call):
            call.reply(403)
        elif call.verb == "GET":
            self.get(call)
        else:
            self.post(call)

    def foreign(self, call):
        return "origin" in call.headers

    def get(self, call):
        number = len(self.open) + 1
        self.open[number] = call
        self.begin(call, number)
        call.hold()

    def begin(self, call, number):
        call.stream(self.endpoint(number))

    def endpoint(self, number):
        return f"event: endpoint\ndata: /messages?session={number}\n\n"

    def post(self, call):
        number = int(call.path.rpartition("=")[2])
        call.reply(202)
        if call.id is not None:
            self.answer(self.open[number], call, number)

    def answer(self, stream, call, number):
        stream.send(f"event: {self.kind(number)}\ndata: {self.text(call)}\n\n".encode())

    def kind(self, number):
        return "message"

    def text(self, call):
        info = {"name": "old", "version": "1"}
        opened = {"protocolVersion": OLD, "capabilities": {}, "serverInfo": info}
        return call.text(opened if call.method == "initialize" else {})


class OnlyOneStream(Old):
    def begin(self, call, number):
        if number == 1:
            super().begin(call, number)
        else:
            call.reply(200, "{}", "application/json")


class OneClientAtATime(Old):
    """It is wrong to be like that, but it has the two endpoints."""

    def begin(self, call, number):
        if number == 1:
            super().begin(call, number)
        else:
            call.reply(500)


class NoEndpoint(Old):
    def endpoint(self, number):
        return super().endpoint(number) if number == 1 else "event: hello\ndata: there\n\n"


class OtherEvents(Old):
    def kind(self, number):
        return "message" if number == 1 else "response"


class AnswersInThePost(Old):
    def post(self, call):
        if call.path.endswith("=1"):
            super().post(call)
        else:
            call.reply(200, self.text(call), "application/json")


class NoJson(Old):
    def text(self, call):
        noise = "hello\n\nevent: message\ndata: " if call.method == "ping" else ""
        return noise + super().text(call)


class AnyOrigin(Old):
    def foreign(self, call):
        return False


class AnyOriginOnPost(Old):
    def foreign(self, call):
        return call.verb == "GET" and super().foreign(call)


BROKEN = [
    (OnlyOneStream, {"sse-two-endpoints"}),
    (NoEndpoint, {"sse-endpoint-event"}),
    (OtherEvents, {"sse-message-events"}),
    (AnswersInThePost, {"sse-message-events"}),
    (NoJson, {"sse-data-json"}),
    (AnyOrigin, {"sse-origin-validation"}),
    (AnyOriginOnPost, {"sse-origin-validation"}),
]


@pytest.mark.parametrize(
    ("way", "ids"), [(Old, set()), (OneClientAtATime, set()), *BROKEN], ids=lambda each: getattr(each, "__name__", "")
)
async def test_a_server_of_the_old_transport_is_reported_for_what_it_breaks_alone(http, way, ids):
    server = http(manners(way()))
    assert await broken(HttpSpec(url=server.url, sse=True), OLD) == ids


async def test_an_answer_in_the_post_is_reported_without_waiting_for_one_on_the_stream(http):
    spec = HttpSpec(url=http(manners(AnswersInThePost())).url, sse=True)
    verdicts = await check(spec, OLD, Options(only=["sse-message-events"]))
    (outcome,) = [each for each in verdicts.outcomes if each.id == "sse-message-events"]
    message = "the answer to initialize comes in the response to its POST, not on the stream"
    assert [each.message for each in outcome.findings] == [message]


async def test_our_own_server_of_the_old_transport_breaks_nothing(tmp_path):
    with composed(tmp_path, type="sse") as port:
        assert await broken(HttpSpec(url=f"http://127.0.0.1:{port}/sse", sse=True), OLD) == set()


async def test_an_old_server_that_can_be_reached_from_outside_is_reported(tmp_path):
    outside = _outer_address() or pytest.skip("this machine has no other address")
    with composed(tmp_path, type="sse", host="0.0.0.0") as port:
        assert "sse-bind-localhost" in await broken(HttpSpec(url=f"http://127.0.0.1:{port}/sse", sse=True), OLD)
        assert "sse-authentication" in await broken(HttpSpec(url=f"http://{outside}:{port}/sse", sse=True), OLD)


class ErrorsInThePostToo(Old):
    """Errors have a status and a body of their own; the answer stands on the stream all the same, a moment later."""

    def post(self, call):
        if call.id is None or call.method in ("initialize", "ping"):
            super().post(call)
            return
        refusal = call.text(error={"code": -32601, "message": "Method not found"})
        call.reply(404, refusal, "application/json")
        stream = self.open[int(call.path.rpartition("=")[2])]
        stream.send(f"event: message\ndata: {refusal}\n\n".encode())


async def test_an_answer_on_the_stream_counts_though_its_request_got_a_bad_status(http, verdicts_of, failed):
    spec = HttpSpec(url=http(manners(ErrorsInThePostToo())).url, sse=True)
    outcomes = await verdicts_of(
        spec, OLD, only=("base-response-id-echo-server", "base-method-not-found-server", "completion")
    )
    assert failed(outcomes) == set()
    assert outcomes["base-response-id-echo-server"].status == "passed"


class NeverAnEndpoint(Old):
    def endpoint(self, number):
        return "event: hello\ndata: there\n\n"


class OnlyOtherEvents(Old):
    def kind(self, number):
        return "response"


class OtherEventsForLists(Old):
    def kind_of(self, call):
        return "response" if call.method == "tools/list" else "message"

    def answer(self, stream, call, number):
        info = {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": {"name": "old", "version": "1"}}
        known = {"initialize": info, "ping": {}, "tools/list": {"tools": []}}
        code = -32602 if call.method == "tools/call" else -32601
        refused = {"error": {"code": code, "message": "no"}}
        said = {"result": known[call.method]} if call.method in known else refused
        text = json.dumps({"jsonrpc": "2.0", "id": call.id, **said})
        stream.send(f"event: {self.kind_of(call)}\ndata: {text}\n\n".encode())


class RightEventsForLists(OtherEventsForLists):
    def kind_of(self, call):
        return "message"


NEVER = [
    (RightEventsForLists, set()),
    (NeverAnEndpoint, {"sse-endpoint-event"}),
    (OnlyOtherEvents, {"sse-message-events"}),
    (OtherEventsForLists, {"sse-message-events"}),
]
SSE = ("--transport", "sse")


@pytest.mark.parametrize(("way", "ids"), NEVER, ids=lambda each: getattr(each, "__name__", ""))
async def test_a_server_with_which_no_client_can_talk_is_told_why(http, way, ids):
    server = http(manners(way()))
    found = await check(
        HttpSpec(url=server.url, sse=True, endpoint_timeout=1.0),
        OLD,
        Options(timeout=1.0, only=(*AREA, "tools", "ping", "base-response-once-server")),
    )
    failed = {each.id: each for each in found.outcomes if each.status == "failed"}
    assert failed.keys() == ids
    assert not any("silent" in each.message for one in found.outcomes for each in one.findings)
    proof = "\n".join(line for each in failed.values() for line in each.wire)
    assert not ids or ("there" if way is NeverAnEndpoint else '"jsonrpc"') in proof


@pytest.mark.parametrize(("way", "ids"), NEVER[1:], ids=lambda each: getattr(each, "__name__", ""))
def test_the_command_says_so_too(http, way, ids):
    server = http(manners(way()))
    done = prefork.run(
        [
            *CONDUCTOR,
            "check",
            *SSE,
            "--timeout",
            "1s",
            "--json",
            "--only",
            "sse",
            server.url,
        ],
        capture_output=True,
        text=True,
        timeout=20,
    )
    outcomes = json.loads(done.stdout)["outcomes"]
    assert {each["id"] for each in outcomes if each["status"] == "failed"} == ids
    assert done.returncode == 1


def test_an_event_of_another_type_is_shown_and_is_no_silence(http):
    server = http(manners(OnlyOtherEvents()))
    done = prefork.run(
        [*MCP_CLI, *SSE, server.url, "-v", "--method", "ping"], capture_output=True, text=True, timeout=60
    )
    assert "event: response" in done.stderr
    assert "came as an event of the type 'response'" in done.stderr
    assert "no answer to" not in done.stderr
