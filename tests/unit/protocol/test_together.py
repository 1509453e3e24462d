"""Messages that are read together are those that would be read one by one."""

import json
import tracemalloc

import pytest

from mcp_conductor.protocol.message import parse
from mcp_conductor.protocol.together import Unread, decode_texts
from mcp_conductor.protocol.transcript import Frame, Transcript, decoded, spoken

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
RESULT = '{"jsonrpc":"2.0","id":1,"result":{"at":[-0, 1.50, 12345678901234567890.5]}}'
BATCH = f"[{REQUEST},{RESULT}]"


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        [REQUEST, RESULT, BATCH, REQUEST],
        [" " + REQUEST + "\n", REQUEST],
        [REQUEST, "Listening on port 80", RESULT],
        [REQUEST, "1, 2"],
        ["1, 2", "", "3"],
        ['{"a":[{}', "{}]}", "{},{}"],
        ["[1", "2],3"],
        ['{"a":"', '"}'],
        [REQUEST, '{"n":' + "9" * 5000 + "}"],
        ["[" * 100_000, REQUEST],
        ['{"a":NaN}', REQUEST],
        ['{"a":1,"a":2}', "null", '"text"', "-0"],
        ['{"name":"Zoë"}', '{"name":"\udcff"}', REQUEST],
        [REQUEST] * 600,
    ],
    ids=lambda texts: " and ".join(texts[:3])[:40] or "none",
)
def test_each_message_is_as_if_it_was_read_alone(texts):
    frames = [Frame(0.0, "server", text) for text in texts]
    alone = [frame.message for frame in frames]
    together = [each.message for each in decoded(frames)]
    assert together == alone
    assert repr(together) == repr(alone)


def test_long_texts_are_not_copied_together():
    text = '{"data":"' + "x" * 3_000_000 + '"}'
    frames = [Frame(float(number), "server", text) for number in range(8)]
    tracemalloc.start()
    try:
        assert all(each.message.text is text for each in decoded(frames))
        assert tracemalloc.get_traced_memory()[1] < 5 * len(text)
    finally:
        tracemalloc.stop()


def test_keys_that_messages_have_in_common_are_kept_once():
    one, other = decode_texts([REQUEST, REQUEST.replace("1", "7")])
    assert all(key is again for key, again in zip(one.raw, other.raw, strict=True))


def test_the_messages_of_a_batch_are_spoken_one_by_one():
    frames = [Frame(0.5, "client", BATCH), Frame(1.0, "note", "noticed"), Frame(2.0, "server", RESULT)]
    found = list(spoken(decoded(frames)))
    assert [(each.at, each.source, each.message.kind) for each in found] == [
        (0.5, "client", "request"),
        (0.5, "client", "result"),
        (2.0, "server", "result"),
    ]


def test_a_transcript_that_keeps_its_messages_says_the_same():
    frames = [
        Frame(0.0, "client", REQUEST),
        Frame(0.1, "stderr", "busy"),
        Frame(0.2, "server", "noise"),
        Frame(0.3, "server", RESULT),
        Frame(0.4, "client", BATCH),
    ]
    kept, plain = Transcript.read(frames), Transcript.of(frames)
    assert kept.frames == plain.frames
    assert list(kept.decoded()) == list(plain.decoded())
    assert list(kept.spoken()) == list(plain.spoken())
    assert kept.exchanges() == plain.exchanges()
    assert [*kept.messages("client"), *kept.messages("server")] == [
        *plain.messages("client"),
        *plain.messages("server"),
    ]


def test_a_transcript_that_keeps_its_messages_reads_them_once():
    kept = Transcript.read([Frame(0.0, "client", REQUEST), Frame(0.3, "server", RESULT)])
    (exchange,) = kept.exchanges()
    assert [exchange.request.raw, exchange.reply.raw] == [each.message.raw for each in kept.decoded()]
    assert all(
        each.message.raw is (exchange.request, exchange.reply)[place].raw for place, each in enumerate(kept.spoken())
    )


def test_a_message_that_is_unread_still_says_all():
    message = parse(RESULT)
    unread = Unread.of(message)
    assert unread[1] is None
    assert (unread.raw, unread.result, unread.kind, unread.id) == (json.loads(RESULT), message.result, "result", 1)


def test_what_cannot_be_read_again_is_kept_as_it_is():
    broken = parse("{oops")
    assert Unread.of(broken) is broken
