"""A recording as a server, without a host: what each client hears."""

import asyncio

import pytest
from tests.unit.replaying.conversations import answer, note, pool, question, request, result, told

from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, NEWEST_MODERN
from mcp_conductor.protocol.message import build
from mcp_conductor.replaying import playing
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import TransportConfig

SOON = 10.0
STDIO = TransportConfig(type="stdio")
OPENING = [request(0, "initialize"), result(0, protocolVersion=NEWEST_HANDSHAKE.version)]


class Peer:
    """A client of a replay; HEARD is what it was sent, in order."""

    def __init__(self, *said, transport=STDIO, client=None, **options):
        self.told = []
        self.server = ReplayServer(pool(*said), transport, complain=self.told.append, **options)
        self.heard = []
        self.client = client or Client(self.heard.append)
        self.client.send = self.heard.append

    def ask(self, identity, method="tools/call", **params):
        message = build({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        self.server.take(message, self.client, self.heard.append, self.heard.append)
        return self

    def say(self, method="", **members):
        raw = {"jsonrpc": "2.0", **({"method": method, "params": members} if method else members)}
        self.server.hear(build(raw), self.client)
        return self

    async def quiet(self):
        """Wait until nothing more happens by itself."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self.words()

    def words(self):
        """What was heard, in a few words."""
        return [
            None if each is None else each.get("method") or each.get("result", each.get("error")) for each in self.heard
        ]


def opened(*said, capabilities=None, **options):
    peer = Peer(*OPENING, *said, **options).ask("i", "initialize", capabilities=capabilities or {})
    peer.heard.clear()
    return peer


async def test_a_reply_has_the_id_of_this_client_and_comes_at_once():
    peer = opened(request(1, name="a"), ("server", {"id": 1, "result": {"n": 1}, "extra": 12345678901234567890}))
    peer.ask("mine", name="a")
    assert peer.heard == [{"jsonrpc": "2.0", "id": "mine", "result": {"n": 1}, "extra": 12345678901234567890}]
    assert peer.client.dialect is NEWEST_HANDSHAKE


async def test_progress_has_the_token_of_this_client_and_one_without_hears_none():
    said = [
        request(1, _meta={"progressToken": "t"}),
        note("notifications/progress", progressToken="t", progress=1),
        result(1),
    ]
    peer = opened(*said).ask(5, _meta={"progressToken": 77})
    assert await peer.quiet() == ["notifications/progress", {}]
    assert peer.heard[0]["params"] == {"progressToken": 77, "progress": 1}
    assert await opened(*said).ask(5).quiet() == [{}]


async def test_a_reply_comes_later_than_progress_that_a_client_asked_for():
    said = [
        request(1, _meta={"progressToken": "t"}),
        note("notifications/progress", progressToken="t", progress=1),
        note("notifications/message"),
        result(1),
    ]
    assert await opened(*said, lead=0.01).ask(5).quiet() == ["notifications/message", {}]
    peer = opened(*said, lead=0.01).ask(5, _meta={"progressToken": 77})
    assert await peer.quiet() == ["notifications/progress", "notifications/message"]
    async with asyncio.timeout(SOON):
        await peer.client.running[5]
    assert peer.words()[2:] == [{}]


ASKING = [
    request(1), note("notifications/message"), question(9, "sampling/createMessage"), answer(9), note("notifications/later"),
    result(1, done=True),
]  # fmt: skip


async def test_a_question_is_asked_with_an_id_of_ours_and_its_answer_awaited():
    peer = opened(*ASKING, capabilities={"sampling": {}}).ask(5)
    assert await peer.quiet() == ["notifications/message", "sampling/createMessage"]
    peer.say(id=peer.heard[1]["id"], result={"any": 1})
    assert await peer.quiet() == [
        "notifications/message",
        "sampling/createMessage",
        "notifications/later",
        {"done": True},
    ]


async def test_a_client_that_answers_with_an_error_hears_the_rest_too():
    peer = opened(*ASKING, capabilities={"sampling": {}}).ask(5)
    await peer.quiet()
    peer.say(id=peer.heard[1]["id"], error={"code": -1, "message": "no"})
    assert (await peer.quiet())[2:] == ["notifications/later", {"done": True}]


async def test_a_client_that_has_not_declared_it_is_not_asked_which_is_told():
    peer = opened(*ASKING).ask(5)
    assert await peer.quiet() == ["notifications/message", "notifications/later", {"done": True}]
    assert peer.told == [
        "sampling/createMessage was not asked of this client, which has not declared that it answers it"
    ]


async def test_what_followed_a_reply_follows_it_and_what_followed_a_notification_follows_that():
    peer = opened(
        told("notifications/initialized"),
        note("notifications/ready"),
        request(1),
        result(1),
        note("notifications/after"),
    )
    assert await peer.say("notifications/initialized").quiet() == ["notifications/ready"]
    assert await peer.ask(5).quiet() == ["notifications/ready", {}, "notifications/after"]
    assert await peer.say("notifications/roots/list_changed").quiet() == peer.words()


async def test_what_followed_a_notification_comes_before_the_reply_to_a_request_that_came_with_it():
    ready = note("notifications/tools/list_changed")
    peer = opened(told("notifications/initialized"), ready, request(1, "tools/list"), result(1, tools=[]))
    peer.say("notifications/initialized").ask(1, "tools/list")
    assert await peer.quiet() == ["notifications/tools/list_changed", {"tools": []}]


async def test_a_request_that_was_cancelled_waits_for_its_cancellation():
    peer = opened(request(1), note("notifications/message"), told("notifications/cancelled", requestId=1)).ask(5)
    assert await peer.quiet() == ["notifications/message"]
    peer.say("notifications/cancelled", requestId=5)
    assert await peer.quiet() == ["notifications/message", None]
    assert peer.client.running == {}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([request(1), told("notifications/cancelled", requestId=1)], "the client cancelled it"),
        ([request(1)], "it ends before that, or the server gave none"),
    ],
)
async def test_a_request_without_an_answer_gets_an_error_in_the_end(said, why, monkeypatch):
    monkeypatch.setattr(playing, "UNANSWERED_SECONDS", 0.01)
    peer = opened(*said).ask(5)
    assert await peer.quiet() == []
    await asyncio.sleep(0.1)
    assert peer.words() == [{"code": -32603, "message": f"the recording has no answer to this request: {why}"}]


async def test_a_miss_is_an_error_and_told_and_counted_but_not_without_end():
    peer = opened(request(1, name="a"), result(1))
    for n in range(30):
        peer.ask(n, name="b")
    why = "not in the recording: tools/call b; there, tools/call is about a"
    assert peer.words() == [{"code": -32602, "message": why}] * 30
    assert peer.told == [why] * 20 + ["more of this is not told here"]
    assert (peer.server.missed, len(peer.server.misses)) == (30, 20)
    assert peer.ask(99, "prompts/list").heard[-1]["error"]["code"] == -32601


async def test_ping_is_answered_also_if_it_is_not_in_the_recording():
    peer = opened(request(1), result(1)).ask(5, "ping")
    assert (peer.words(), peer.server.missed) == ([{}], 0)


async def test_pages_are_found_by_their_cursors_in_any_order_and_again():
    pages = ((None, "p2"), ("p2", "p3"), ("p3", None))
    said = []
    for number, (cursor, following) in enumerate(pages, 1):
        said.append(request(number, "tools/list", **({"cursor": cursor} if cursor else {})))
        said.append(result(number, tools=[number], **({"nextCursor": following} if following else {})))
    peer = opened(*said)
    for cursor in ("p3", None, "p2", None, "p3"):
        peer.ask(5, "tools/list", cursor=cursor)
    assert [each["tools"] for each in peer.words()] == [[3], [1], [2], [1], [3]]


async def test_a_recorded_answer_that_is_no_message_is_an_error():
    (said,) = opened(request(1), ("server", '{"jsonrpc":"2.0","id":1,"result":' + "[" * 100_000)).ask(5).heard
    assert said["error"]["message"] == "the recorded answer to this request is no message"


async def test_in_real_time_the_pauses_are_those_of_the_recording(monkeypatch):
    pauses = []

    async def sleep(seconds, real=asyncio.sleep):
        if seconds:
            pauses.append(seconds)
        await real(0)

    monkeypatch.setattr(playing.asyncio, "sleep", sleep)
    peer = Peer(
        *OPENING, request(1), note("notifications/message"), result(1), note("notifications/after"), real_time=True
    )
    await peer.ask(0, "initialize").quiet()
    assert await peer.ask(5).quiet() == [*peer.words()[:1], "notifications/message", {}, "notifications/after"]
    assert pauses == [1.0] * 4


async def test_a_long_pause_is_told_and_none_is_longer_than_five_minutes(monkeypatch):
    pauses = []

    async def sleep(seconds, real=asyncio.sleep):
        pauses.append(seconds)
        await real(0)

    steps = [(9, "say"), (10, "say"), (7200, "reply")]
    peer = Peer(request(1, name="a"), note("notifications/a"), note("notifications/b"), result(1), real_time=True)
    (call,) = peer.server.pool.alike("tools/call", {"name": "a"})
    call.steps = [step._replace(pause=seconds) for step, (seconds, _) in zip(call.steps, steps, strict=True)]
    monkeypatch.setattr(playing.asyncio, "sleep", sleep)
    peer.ask(5, name="a")
    await peer.client.running[5]
    assert pauses == [9, 10, 300]
    assert peer.told == [
        "tools/call a waits 10 s, as in the recording",
        "tools/call a waits 300 s, and not 7200 s as in the recording",
    ]


MODERN = {f"{META}protocolVersion": NEWEST_MODERN.version, f"{META}clientCapabilities": {}}
SUBSCRIPTION = f"{META}subscriptionId"
LISTENING = [
    request(1, "subscriptions/listen", _meta=MODERN), note("notifications/subscriptions/acknowledged", _meta={SUBSCRIPTION: 1}),
    request(2, _meta=MODERN), result(2), note("notifications/resources/updated", uri="a://b", _meta={SUBSCRIPTION: 1}),
]  # fmt: skip


def modern(*said, **options):
    return Peer(*said, client=Client(print, NEWEST_MODERN, {}), **options)


async def test_a_subscription_stays_open_and_hears_what_followed_each_call_under_its_own_id():
    peer = modern(*LISTENING).ask("l", "subscriptions/listen", _meta=MODERN)
    assert await peer.quiet() == ["notifications/subscriptions/acknowledged"]
    await peer.ask("c", _meta=MODERN).quiet()
    assert peer.words()[1:] == [{}, "notifications/resources/updated"]
    assert [each["params"]["_meta"][SUBSCRIPTION] for each in (peer.heard[0], peer.heard[2])] == ["l", "l"]
    peer.server.stop()
    assert (await peer.quiet())[-1] == {"resultType": "complete", "_meta": {SUBSCRIPTION: "l"}}


async def test_a_client_without_the_subscription_hears_nothing_of_it():
    assert await modern(*LISTENING).ask("c", _meta=MODERN).quiet() == [{}]


async def test_a_subscription_that_the_server_ended_ends_where_it_did():
    peer = modern(*LISTENING, result(1, _meta={SUBSCRIPTION: 1})).ask("l", "subscriptions/listen", _meta=MODERN)
    await peer.quiet()
    assert (await peer.ask("c", _meta=MODERN).quiet())[-1] == {"_meta": {SUBSCRIPTION: "l"}}
    assert peer.server.listeners == set()


async def test_rounds_of_input_are_matched_by_their_state_and_not_by_the_answers():
    said = [
        request(1, name="a", _meta=MODERN), result(1, resultType="input_required", requestState="s"),
        request(2, name="a", requestState="s", inputResponses={"q": 1}, _meta=MODERN), result(2, resultType="complete"),
    ]  # fmt: skip
    peer = (
        modern(*said)
        .ask(1, name="a", _meta=MODERN)
        .ask(2, name="a", requestState="s", inputResponses={"q": 2}, _meta=MODERN)
    )
    assert [each["resultType"] for each in peer.words()] == ["input_required", "complete"]


async def test_a_modern_recording_without_discover_answers_it_by_what_it_has():
    info = {f"{META}serverInfo": {"name": "s", "version": "1"}}
    said = [
        request(1, "tools/list", _meta=MODERN), result(1, tools=[], _meta=info),
        request(2, "resources/read", uri="a://b", _meta=MODERN), result(2, contents=[]),
        request(3, "prompts/list", _meta=MODERN), ("server", {"id": 3, "error": {"code": -32601, "message": "no"}}),
    ]  # fmt: skip
    peer = modern(*said).ask(1, "server/discover", _meta=MODERN)
    assert peer.words() == [
        {
            "resultType": "complete",
            "supportedVersions": [NEWEST_MODERN.version],
            "capabilities": {"tools": {}, "resources": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": info,
        }
    ]
    assert peer.server.missed == 0
    assert peer.told == ["server/discover is not in the recording, and is answered by what the recording has"]
    ended = result(1, _meta={SUBSCRIPTION: 1})
    subscribed = modern(*LISTENING, ended, *said).ask(1, "server/discover", _meta=MODERN).words()[0]["capabilities"]
    assert subscribed == {"tools": {"listChanged": True}, "resources": {"listChanged": True, "subscribe": True}}


async def test_a_recorded_refusal_of_discover_is_played():
    refused = request(9, "server/discover", _meta=MODERN), ("server", {"id": 9, "error": {"code": -1, "message": "no"}})
    said = [*refused, request(1, "tools/list", _meta=MODERN), result(1, tools=[])]
    assert modern(*said).ask(1, "server/discover", _meta=MODERN).words() == [{"code": -1, "message": "no"}]


async def test_over_http_a_client_of_the_modern_era_begins_again_with_discover():
    repeated = [request(n, name="a", _meta=MODERN) if n % 2 else result(n - 1, n=n) for n in range(1, 5)]
    discover = [request(9, "server/discover", _meta=MODERN), result(9)]
    peer = modern(*repeated, *discover, transport=TransportConfig(type="streamable-http"))
    for n in range(3):
        peer.ask(n, name="a", _meta=MODERN)
    peer.ask(3, "server/discover", _meta=MODERN).ask(4, name="a", _meta=MODERN)
    assert peer.words() == [{"n": 2}, {"n": 4}, {"n": 4}, {}, {"n": 2}]


async def test_clients_that_never_come_back_are_forgotten_the_oldest_first():
    peer = modern(request(1, name="a", _meta=MODERN), result(1), transport=TransportConfig(type="streamable-http"))
    first = peer.server.talk(peer.client, build({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
    for n in range(1100):
        peer.ask(n, name="a", _meta={**MODERN, f"{META}clientInfo": {"name": str(n)}})
    assert peer.words() == [{}] * 1100
    assert peer.server.talk(peer.client, build({"jsonrpc": "2.0", "id": 1, "method": "ping"})) is not first


async def test_a_client_that_has_gone_leaves_nothing_behind():
    peer = opened(*ASKING, result(1), question(10, "sampling/createMessage"), capabilities={"sampling": {}}).ask(5)
    await peer.quiet()
    peer.server.forget(peer.client)
    await peer.quiet()
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
