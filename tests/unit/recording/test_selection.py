"""Which frames of a recording are shown."""

import json
from typing import Any

import pytest

from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording import selection
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.selection import Selection, Wanted, select

ASK = {"id": 1, "method": "tools/call", "params": {"name": "book", "_meta": {"progressToken": 7}}}
QUESTION = {"id": 1, "method": "elicitation/create", "params": {"message": "Which?"}}


def said(*frames: tuple[Any, ...]) -> list[Entry]:
    """Entries of (source, message or text, exchange), a tenth of a second apart."""
    return [
        Entry(Frame(number / 10, source, text if isinstance(text, str) else _json(text)), 1, *exchange)
        for number, (source, text, *exchange) in enumerate(frames)
    ]


def _json(message: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", **message})


def places(entries: list[Entry], **wanted: Any) -> list[int]:
    """The numbers of the frames that are shown."""
    return [round(entry.frame.at * 10) for entry in select(entries, Wanted(**wanted))]


TALK = said(
    ("client", {"id": 0, "method": "tools/list"}),  # 0
    ("client", ASK),  # 1
    ("server", {"id": 0, "result": {"tools": []}}),  # 2
    ("server", {"method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}}),  # 3
    ("server", QUESTION),  # 4
    ("stderr", "oh"),  # 5
    ("client", {"id": 1, "result": {"action": "decline"}}),  # 6
    ("server", {"method": "notifications/message", "params": {"level": "info", "data": 1}}),  # 7
    ("server", {"id": 1, "result": {"content": [], "isError": True}}),  # 8
    ("client", {"id": 2, "method": "resources/read", "params": {"uri": "note:///a"}}),  # 9
    ("client", {"id": 3, "method": "prompts/get", "params": {"name": "book"}}),  # 10
    ("client", {"method": "notifications/cancelled", "params": {"requestId": 3}}),  # 11
    ("server", "this is not JSON"),  # 12
    ("server", {"id": 2, "error": {"code": -32002, "message": "no"}}),  # 13
    ("client", {"id": 4, "method": "ping"}),  # 14
    ("process", "exited with code 1"),  # 15
)


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ({}, list(range(16))),
        ({"methods": ("tools/call",)}, [1, 3, 4, 6, 8]),  # reply, progress, the question and its answer
        ({"methods": ("tools/*",)}, [0, 1, 2, 3, 4, 6, 8]),
        ({"methods": ("elicitation/*",)}, [4, 6]),
        ({"methods": ("notifications/progress", "ping")}, [3, 14]),
        ({"methods": ("prompts/get",)}, [10, 11]),  # with its cancellation
        ({"names": ("book",)}, [1, 3, 4, 6, 8, 10, 11]),
        ({"names": ("note:*",)}, [9, 13]),
        ({"names": ("book",), "methods": ("prompts/*",)}, [10, 11]),
        ({"errors": True}, [1, 3, 4, 6, 8, 9, 12, 13, 14, 15]),  # what was cancelled is not unanswered
        ({"errors": True, "methods": ("resources/*",)}, [9, 13]),
        ({"errors": True, "sources": ("server",)}, [3, 4, 8, 12, 13]),
        ({"sources": ("stderr", "process")}, [5, 15]),
        ({"since": 0.35, "until": 0.6}, [4, 5, 6]),
        ({"session": 2}, []),
    ],
)
def test_an_exchange_is_shown_with_all_that_belongs_to_it(wanted, shown):
    assert places(TALK, **wanted) == shown


HTTP = said(
    ("http", "GET /mcp\naccept: text/event-stream", 1),
    ("http", "HTTP 405", 1),
    ("http", "POST /mcp", 2),
    ("client", ASK, 2),
    ("http", "POST /mcp", 3),
    ("client", {"id": 2, "method": "tools/list"}, 3),
    ("http", "HTTP 200", 2),
    ("server", {"method": "notifications/message", "params": {"level": "info", "data": 1}}, 2),
    ("server", QUESTION, 2),
    ("http", "HTTP 503", 3),
    ("http", "POST /mcp", 4),
    ("client", {"id": 1, "result": {"action": "decline"}}, 4),
    ("http", "HTTP 202", 4),
    ("server", {"id": 1, "result": {}}, 2),
    ("http", "GET /other", 5),
    ("http", "HTTP 404", 5),
)


def test_over_http_the_heads_of_an_exchange_belong_to_it():
    assert places(HTTP, methods=("tools/call",)) == [2, 3, 6, 7, 8, 10, 11, 12, 13]
    assert places(HTTP, methods=("elicitation/create",)) == [8, 10, 11, 12]


def test_a_status_that_says_no_is_an_error_but_405_for_a_stream_is_none():
    assert places(HTTP, errors=True) == [4, 5, 9, 14, 15]


def test_ids_of_both_sides_sessions_and_types_are_told_apart():
    one, text = {"id": 1, "method": "a"}, {"id": "1", "method": "b"}
    entries = said(
        ("client", one), ("server", {"id": 1, "method": "c"}), ("client", text), ("server", {"id": "1", "result": {}})
    )
    entries += [Entry(Frame(0.4, "server", _json({"id": 1, "result": {}})), 2)]
    assert places(entries, methods=("b",)) == [2, 3]
    assert places(entries, errors=True) == [0, 1]


def test_what_is_known_at_once_is_given_out_at_once_and_an_error_when_it_comes():
    plain, faults = (Selection(each, bounded=True) for each in (Wanted(methods=("tools/*",)), Wanted(errors=True)))
    assert [len(plain.take(entry)) for entry in TALK[1:5]] == [1, 0, 1, 1]
    assert [len(faults.take(entry)) for entry in TALK[1:9]] == [0, 0, 0, 0, 0, 0, 0, 5]
    assert (plain.seen, plain.shown, faults.shown) == (4, 3, 5)


def test_memory_is_bounded_while_a_recording_is_followed(monkeypatch):
    monkeypatch.setattr(selection, "_MOST_HELD", 100_000)
    monkeypatch.setattr(selection, "_MOST_OPEN", 50)
    faults = Selection(Wanted(errors=True), bounded=True)
    (first,) = said(("client", ASK))
    faults.take(first)
    (progress,) = said(
        ("server", {"method": "notifications/progress", "params": {"progressToken": 7, "x": "x" * 9_000}})
    )
    for _ in range(100):
        faults.take(progress)
    assert faults._held < 120_000  # noqa: SLF001
    for number in range(200):
        for entry in said(("http", "POST /", number), ("client", {"id": number + 2, "method": "ping"}, number)):
            faults.take(entry)
    (session,) = faults._sessions.values()  # noqa: SLF001
    assert len(session.open) <= 51
    assert len(session.http) <= 51


def _of_subscription(identity: Any, method: str) -> dict[str, Any]:
    meta = {f"{META}subscriptionId": identity}
    return {"method": f"notifications/{method}", "params": {"uri": "a://b", "_meta": meta}}


LISTENING = said(
    ("client", {"id": "l", "method": "subscriptions/listen"}),  # 0
    ("client", {"id": 2, "method": "subscriptions/listen"}),  # 1
    ("server", _of_subscription("l", "subscriptions/acknowledged")),  # 2
    ("client", {"id": 3, "method": "tools/call", "params": {"name": "touch"}}),  # 3
    ("server", _of_subscription("l", "resources/updated")),  # 4
    ("server", {"id": 3, "result": {}}),  # 5
    ("server", {"id": 2, "error": {"code": -32603, "message": "no"}}),  # 6
    ("client", {"method": "notifications/cancelled", "params": {"requestId": "l"}}),  # 7
    ("server", {"id": "l", "result": {"resultType": "complete"}}),  # 8
)


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ({"methods": ("subscriptions/*",)}, [0, 1, 2, 4, 6, 7, 8]),
        ({"methods": ("subscriptions/*",), "errors": True}, [1, 6]),
        ({"errors": True}, [1, 6]),
        ({"methods": ("tools/call",)}, [3, 5]),
        ({"methods": ("notifications/resources/*",)}, [4]),
    ],
)
def test_what_a_subscription_was_told_belongs_to_it(wanted, shown):
    assert places(LISTENING, **wanted) == shown


def test_a_subscription_that_stays_open_is_no_error_and_does_not_take_memory_without_end(monkeypatch):
    assert places(LISTENING[:6], errors=True) == []
    monkeypatch.setattr(selection, "_MOST_HELD", 1000)
    watched = Selection(Wanted(errors=True), bounded=True)
    for number in range(100):
        for entry in LISTENING[:1] if not number else LISTENING[4:5]:
            assert watched.take(entry) == []
    assert watched._held < 2000
