"""Values that came in an answer and were sent by the client later."""

import random

import pytest

from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.recording.flows import Place, flows, pick

ID = "note-4f2a9c"


def spoken(*pairs):
    """The dialogue of PAIRS of params and results; ("tools/list", {}) in place of params names another method."""
    frames = []
    for number, (asked, result) in enumerate(pairs):
        method, params = asked if isinstance(asked, tuple) else ("tools/call", asked)
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        frames.append(Frame(2.0 * number, "client", compact(request)))
        frames.append(Frame(2.0 * number + 1, "server", compact({"jsonrpc": "2.0", "id": number, "result": result})))
    return Dialogue.of(frames)


def text(said):
    return {"content": [{"type": "text", "text": said}]}


TEXT = ("result", "content", 0, "text")


@pytest.mark.parametrize(
    ("result", "place"),
    [
        ({"structuredContent": {"id": ID}}, Place(1, ("result", "structuredContent", "id"))),
        (text(ID), Place(1, TEXT)),
        (text('{"notes": [{"id": "note-4f2a9c"}]}'), Place(1, TEXT, inner=("notes", 0, "id"))),
        (text("Saved as note-4f2a9c."), Place(1, TEXT, prefix="Saved as ", occurrence=1)),
        (text("* id: note-000001\n* id: note-4f2a9c"), Place(1, TEXT, prefix="\n* id: ", occurrence=1)),
        ({**text("id: note-4f2a9c"), "structuredContent": {"id": ID}}, Place(1, ("result", "structuredContent", "id"))),
    ],
    ids=["member", "text", "json", "word", "second word", "plainest"],
)
def test_a_value_flows_from_where_it_came_to_where_it_went(result, place):
    (flow,) = flows(spoken(({"name": "new"}, result), ({"arguments": {"id": ID}}, {})))
    assert flow.value == ID
    assert flow.source == place
    assert flow.targets == (Place(2, ("params", "arguments", "id")),)
    assert pick(place, {"result": result}) == ID


def test_a_value_may_be_a_number_and_a_part_of_a_text_that_is_sent():
    (flow,) = flows(
        spoken(
            ({}, {"structuredContent": {"id": 1234567}}), ({"uri": "note://1234567/text"}, {}), ({"id": 1234567}, {})
        )
    )
    assert flow.value == 1234567
    assert flow.targets == (
        Place(2, ("params", "uri"), prefix="note://", occurrence=1),
        Place(3, ("params", "id")),
    )


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        ({"id": "short"}, {"id": "short"}),
        ({"id": 12345}, {"id": 12345}),
        ({"id": True}, {"id": True}),
        ({"text": "some longer words"}, {"text": "other longer words"}),
    ],
)
def test_what_is_short_or_a_plain_word_does_not_flow(result, sent):
    assert flows(spoken(({}, result), (sent, {}))) == []


def test_what_the_client_said_first_is_its_own():
    assert flows(spoken(({"text": ID}, {"echo": ID}), ({"text": ID}, {}))) == []


def test_names_of_tools_and_prompts_do_not_flow_but_cursors_do():
    listed = {"tools": [{"name": "create_note"}], "nextCursor": "page-2-of-3"}
    found = flows(
        spoken(
            (("tools/list", {}), listed),
            (("tools/list", {"cursor": "page-2-of-3"}), {"tools": []}),
            ({"name": "create_note"}, {}),
        )
    )
    assert [(flow.value, flow.source.path) for flow in found] == [("page-2-of-3", ("result", "nextCursor"))]


def test_another_answer_has_another_value_at_the_same_place():
    place = Place(1, TEXT, prefix="Saved as ", occurrence=1)
    assert pick(place, {"result": text("Saved as x81-77.")}) == "x81-77"
    assert pick(place, {"result": text("Refused.")}) is None
    assert pick(place, {"error": {"code": 1}}) is None
    assert pick(Place(1, ("result", "id")), {"result": {"id": None}}) is None
    assert pick(Place(1, TEXT, inner=("id",)), {"result": text("no json")}) is None


@pytest.mark.parametrize("seed", range(30))
def test_every_flow_holds_in_conversations_made_at_random(seed):
    chosen = random.Random(seed)
    values = [f"{chosen.randrange(16**8):08x}x" for _ in range(6)] + [chosen.randrange(10**6, 10**9) for _ in range(3)]
    pairs = []
    for _ in range(12):
        sent = {"arguments": {f"a{i}": chosen.choice(values) for i in range(chosen.randrange(3))}}
        came = chosen.sample(values, chosen.randrange(4))
        wrapped = chosen.choice(
            [lambda each: {"ids": each}, lambda each: text(compact(each)), lambda each: text(f"{each}")]
        )
        pairs.append((sent, wrapped(came)))
    dialogue = spoken(*pairs)
    said = [str(set(map(str, asked.request.params["arguments"].values()))) for asked in dialogue.asked]
    found = flows(dialogue)
    for flow in found:
        source = flow.source.exchange
        assert str(pick(flow.source, dialogue.asked[source - 1].reply.raw)) == str(flow.value)
        assert all(target.exchange > source for target in flow.targets)
        assert not any(str(flow.value) in each for each in said[:source])
    assert len({str(flow.value) for flow in found}) == len(found)
    # What came first in an answer and was sent later is found.
    for value in values:
        first_sent = next((n for n, each in enumerate(said) if str(value) in each), None)
        came = next((n for n, pair in enumerate(pairs) if str(value) in str(pair[1])), None)
        flowed = first_sent is not None and came is not None and came < first_sent
        assert flowed == (str(value) in {str(flow.value) for flow in found})
