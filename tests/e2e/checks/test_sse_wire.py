"""HTTP+SSE: each rule broken on purpose, and reported as that and nothing else."""

import pytest
from tests.e2e.checks.good_http import broken, composed, manners

from mcp_conductor.checks.server.probes.sse_wire import _outer_address
from mcp_conductor.protocol.server_spec import HttpSpec

OLD = "2024-11-05"


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
