"""What a server says wrong in any session of a run is found, whichever check provoked it."""

import textwrap
import threading

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.good_http import Good, manners, spec_of
from tests.e2e.checks.plain_servers import PlainHttp, broken, over_http
from tests.servers.http_raw import event

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.server_spec import StdioSpec

ONCE = "base-response-once-server"
UNKNOWN = {"code": -32601, "message": "Method not found"}

# It answers a request that is cancelled once more, with an error.
TWICE_AFTER_CANCEL = """
    def notified(self, notification):
        identity = notification.get("params", {}).get("requestId")
        if notification["method"] == "notifications/cancelled" and isinstance(identity, int):
            self.say(error(identity, -32800, "Request cancelled"))
    """
# The same, where the request was not answered yet: then it is the only answer.
ONCE_AFTER_CANCEL = """
    answered = set()
    def reply(self, request):
        self.answered.add(request["id"])
        return super().reply(request)
    def notified(self, notification):
        if notification["method"] == "notifications/cancelled":
            identity = notification["params"].get("requestId")
            if isinstance(identity, int) and identity not in self.answered:
                self.say(error(identity, -32800, "Request cancelled"))
    """


async def test_a_second_answer_after_a_cancellation_is_found(tmp_path, verdicts_of, failed):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", TWICE_AFTER_CANCEL), only=("base", "cancellation"))
    assert failed(outcomes) == {ONCE}
    found = outcomes[ONCE]
    assert "answered a second time: first with a result, and now with an error" in found.findings[0].message
    identity = found.findings[0].actual["id"]
    asked, first, cancelled, second = (frame.text.replace(" ", "") for frame in found.frames)
    assert all(f'"id":{identity}' in each for each in (asked, first, second))
    assert f'"requestId":{identity}' in cancelled
    assert "Request cancelled" in found.frames[-1].text


async def test_a_server_that_answers_once_whatever_is_cancelled_is_not_blamed(tmp_path, verdicts_of, failed):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", ONCE_AFTER_CANCEL), only=("base", "cancellation"))
    assert failed(outcomes) == set()


@pytest.mark.parametrize("twice", [False, True])
async def test_a_second_answer_on_a_stream_of_http_is_found(verdicts_of, failed, twice):
    class Streams(PlainHttp):
        content_type = "text/event-stream"

        def answer_post(self, body):
            status, answer = super().answer_post(body)
            times = 2 if twice and b'"conductor-id"' in body else 1  # which only a probe asks, in a session of its own
            return status, (b"data: " + answer.rstrip() + b"\n\n") * times if answer else b""

        def status(self, said):
            return 200 if said else 202

    with over_http(Streams()) as spec:
        outcomes = await verdicts_of(spec, only=["base"])
    assert failed(outcomes) == ({ONCE} if twice else set())


class Once(Good):
    """It answers each request on a stream of its own."""

    def answer(self, call):
        known = {"ping": {}, "tools/list": {"tools": []}}
        said = event(call.text(known[call.method]) if call.method in known else call.text(error=UNKNOWN))
        call.stream(*self.earlier(said), said)
        self.again(call, said.encode())
        call.close()

    def earlier(self, said):
        return []

    def again(self, call, said):
        pass


class InALaterChunk(Once):
    def __init__(self):
        super().__init__()
        self.next = threading.Event()

    def answer(self, call):
        self.next.set()
        self.next = threading.Event()
        super().answer(call)

    def again(self, call, said):
        if self.next.wait(0.1):  # so that it is no part of what came with the first answer
            call.send(said)


class OnTheStreamOfGet(Once):
    def again(self, call, said):
        for stream in self.streams_of(call):
            stream.send(said)


class WithTheNextAnswer(Once):
    before = ""

    def earlier(self, said):
        before, self.before = self.before, said
        return [before]


@pytest.mark.parametrize("way", [Once, InALaterChunk, OnTheStreamOfGet, WithTheNextAnswer])
async def test_a_second_answer_that_comes_later_or_elsewhere_is_found(http, way):
    server = http(manners(way()))
    only = [ONCE, "ping-response-server", "base-method-not-found-server", "base-params-omitted-accepted-server"]
    verdicts = await check(spec_of(server), "2025-11-25", Options(only=only, timeout=1.0))
    failed = {each.id: each.findings for each in verdicts.outcomes if each.status == "failed"}
    assert failed.keys() == (set() if way is Once else {ONCE}), failed


# Only what a probe asks in a session of its own provokes it: the requirement, and what is sent then.
UNDECLARED = {
    "logging-capability-declared": ("notifications/message", {"level": "info", "data": "x"}),
    "tools-listchanged-needs-capability": ("notifications/tools/list_changed", {}),
    "prompts-listchanged-needs-capability": ("notifications/prompts/list_changed", {}),
    "resources-listchanged-needs-capability": ("notifications/resources/list_changed", {}),
    "resources-subscribe-needs-capability": ("notifications/resources/updated", {"uri": "file:///a"}),
    "progress-only-active": ("notifications/progress", {"progressToken": 1, "progress": 1}),
}
SAYS = """
    def reply(self, request):
        if request["id"] == "conductor-id":
            self.say({{"jsonrpc": "2.0", "method": {!r}, "params": {!r}}})
        return super().reply(request)
    """


@pytest.mark.parametrize("name", UNDECLARED)
async def test_an_undeclared_notification_is_found_in_any_session(tmp_path, verdicts_of, failed, name):
    only = ["base-response-id-echo-server", *UNDECLARED, "resources-updated-only-subscribed"]
    outcomes = await verdicts_of(broken(tmp_path, "Plain", SAYS.format(*UNDECLARED[name])), only=only)
    assert failed(outcomes, "failed", "warned") == {name}
    assert UNDECLARED[name][0] in outcomes[name].frames[-1].text


async def test_declared_notifications_are_not_blamed(tmp_path, verdicts_of, failed):
    flags = {"listChanged": True}
    declares = {"tools": flags, "prompts": flags, "resources": {**flags, "subscribe": True}, "logging": {}}
    says = "".join(SAYS.format(*UNDECLARED[name]) for name in ["logging-capability-declared"])
    server = broken(tmp_path, "Plain", f"capabilities = {declares}\n" + textwrap.dedent(says))
    outcomes = await verdicts_of(server, only=["base-response-id-echo-server", *UNDECLARED])
    assert failed(outcomes, "failed", "warned") == set()
    assert outcomes["logging-capability-declared"].status == "passed"


async def test_progress_that_was_asked_for_is_not_blamed_in_any_session(tmp_path, verdicts_of, failed):
    says = """
        def reply(self, request):
            token = request.get("params", {}).get("_meta", {}).get("progressToken")
            if token is not None:
                self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
            return super().reply(request)
        """
    outcomes = await verdicts_of(broken(tmp_path, "Plain", says))
    assert failed(outcomes) == set()
    assert outcomes["progress-only-active"].status == "passed"


ECHO = "base-response-id-echo-server"
IDS = {
    "fractions are cut off": ("int(x) if isinstance(x, float) else x", set()),
    "integers have 32 bits": ("x % 2**32 if isinstance(x, int) else x", {ECHO}),
    "integers have 53 bits, and the rest is cut off": ("min(x, 2**53 - 1) if isinstance(x, int) else x", set()),
    "strings of digits are numbers": ("int(x) if str(x).isdigit() else x", {ECHO}),
    "signs are lost": ("abs(x) if isinstance(x, int) else x", {ECHO}),
    "integers are doubles": ("int(float(x)) if isinstance(x, int) else x", set()),
    "nothing is changed": ("x", set()),
}

LOST = "integers beyond 2^53 lose digits here"
REMARKS = {
    "fractions are cut off": ["the id 4545.5 comes back as 4545: fractions are not kept here"],
    "integers have 53 bits, and the rest is cut off": [
        f"the id 9007199254740993 comes back as 9007199254740991: {LOST}"
    ],
    "integers are doubles": [f"the id 9007199254740993 comes back as 9007199254740992: {LOST}"],
}


@pytest.mark.parametrize("how", IDS)
async def test_an_id_that_is_changed_is_found(tmp_path, failed, how):
    change, broken_ones = IDS[how]
    body = f"""
    def reply(self, request):
        x = request["id"]
        return {{**super().reply(request), "id": {change}}}
    """
    spec = StdioSpec(command=broken(tmp_path, "Plain", body), env={"PYTHONPATH": str(SERVERS)})
    verdicts = await check(spec, "2025-11-25", Options(only=[ECHO], timeout=1.0))
    outcomes = {outcome.id: outcome for outcome in verdicts.outcomes}
    assert failed(outcomes, "failed", "warned") == broken_ones
    assert [each for each in verdicts.remarks if "comes back as" in each] == REMARKS.get(how, [])
    if broken_ones:
        assert outcomes[ECHO].frames


async def test_a_fraction_as_an_id_may_be_refused(tmp_path, verdicts_of, failed):
    body = """
    def reply(self, request):
        whole = not isinstance(request["id"], float)
        return super().reply(request) if whole else error(None, -32600, "Invalid request")
    """
    assert failed(await verdicts_of(broken(tmp_path, "Plain", body), only=["base"])) == set()
