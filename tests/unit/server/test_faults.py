"""Faults as values: what each does to a reply, when each strikes, and what a config may not say of them."""

import inspect
import json
from random import Random

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.message import build, compact
from mcp_conductor.server.fault_file import read_fault as read
from mcp_conductor.server.faults import ANOTHER_TYPE, FAULTS, Fault, Faults
from mcp_conductor.server.spoiled_reply import SpoiledReply

REPLY = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "hi"}], "isError": False}}
ERROR = {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no"}}
# A value for each param without a default.
NEEDED = {"delay": {"time": "10ms"}, "drop_field": {"path": "result"}}


def entry(text: str) -> Field:
    """The first entry of `faults` in a YAML text that has nothing else."""
    return Field.root(parse("faults:\n" + text, "server.yaml"), {}).members()["faults"].items()[0]


def spoiled_by(name: str, **params) -> SpoiledReply:
    spoiled = SpoiledReply(Random(0))
    FAULTS.get(name)(spoiled, **params)
    return spoiled


def changed(name: str, reply=REPLY, **params):
    return spoiled_by(name, **params).changed(reply)


def call(name: str = "echo", method: str = "tools/call"):
    return build({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name}})


def struck(when: str, count: int = 8, seed: int = 0, **request) -> list[int]:
    """Which of COUNT requests are struck by a fault with this WHEN."""
    faults = Faults((read(entry(f"- {{fault: never_answer, when: {when}}}")),), seed)
    return [number for number in range(1, count + 1) if faults.spoiled_reply(call(**request)) is not None]


# When.


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("{}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{nth: 2}", [2]),
        ("{nth: [1, 3, 99]}", [1, 3]),
        ("{every: 3}", [3, 6]),
        ("{every: 1}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{nth: [2, 3, 4], every: 2}", [2, 4]),
        ("{probability: 1}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{method: tools/call}", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("{method: tools/list}", []),
        ("{name: echo, nth: 1}", [1]),
        ("{name: add}", []),
    ],
)
def test_a_fault_strikes_the_requests_that_its_when_fits(when, expected):
    assert struck(when) == expected


def test_only_requests_that_fit_are_counted():
    faults = Faults((read(entry("- {fault: never_answer, when: {name: echo, nth: 2}}")),), 0)
    hits = [faults.spoiled_reply(call(name)) is not None for name in ("add", "echo", "add", "echo", "echo")]
    assert hits == [False, False, False, True, False]


def test_a_fault_of_the_client_is_not_for_replies_of_the_server():
    faults = Faults((Fault(name="crash", act=FAULTS.get("crash"), replier="client"),), 0)
    assert faults.spoiled_reply(call()) is None
    assert faults.spoiled_reply(call(), replier="client") is not None
    assert faults.report() == ["fault crash (all requests of the server): struck 1 of 1 such request"]


def test_a_fault_that_is_taken_back_may_strike_the_next_request():
    cut = Fault(name="cut_stream", act=FAULTS.get("cut_stream"), nth=(1,), needs=frozenset({"an event stream"}))
    faults = Faults((cut,), 0)
    faults.take_back(faults.spoiled_reply(call()), frozenset())
    assert faults.report() == [
        "fault cut_stream (all requests): never struck: it needs an event stream, which is not there"
    ]
    assert faults.spoiled_reply(call()) is not None


def test_a_resource_is_named_by_its_uri():
    faults = Faults((Fault(name="crash", act=FAULTS.get("crash"), target="test://a"),), 0)
    read_it = build({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "test://a"}})
    assert faults.spoiled_reply(read_it) is not None
    assert faults.spoiled_reply(call()) is None


@pytest.mark.parametrize("params", [{}, {"params": []}, {"params": {"name": ["echo"]}}])
def test_a_request_without_a_usable_name_is_not_struck_by_name(params):
    faults = Faults((Fault(name="crash", act=FAULTS.get("crash"), target="echo"),), 0)
    assert faults.spoiled_reply(build({"jsonrpc": "2.0", "id": 1, "method": "tools/call", **params})) is None


def test_chance_is_the_same_for_the_same_seed_and_another_for_another():
    again = [struck("{probability: 0.5}", count=64, seed=3) for _ in range(2)]
    assert again[0] == again[1]
    assert 10 < len(again[0]) < 54
    assert again[0] != struck("{probability: 0.5}", count=64, seed=4)


def test_chance_does_not_depend_on_what_concerns_other_faults():
    halves = "- {{fault: never_answer, when: {{name: {}, probability: 0.5}}}}"
    both = tuple(read(entry(halves.format(name))) for name in ("echo", "add"))
    alone, mixed = Faults(both, 1), Faults(both, 1)
    expected = [alone.spoiled_reply(call("echo")) is not None for _ in range(32)]
    found = []
    for _ in range(32):
        mixed.spoiled_reply(call("add"))
        found.append(mixed.spoiled_reply(call("echo")) is not None)
    assert found == expected


def test_jitter_lies_between_the_time_and_the_time_plus_jitter_and_depends_on_the_seed():
    def delays(seed: int) -> list[float]:
        faults = Faults((read(entry("- {fault: delay, params: {time: 100ms, jitter: 1s}}")),), seed)
        return [spoiled.delay for spoiled in (faults.spoiled_reply(call()) for _ in range(32)) if spoiled is not None]

    assert delays(1) == delays(1) != delays(2)
    assert len(set(delays(1))) == 32
    assert all(0.1 <= delay <= 1.1 for delay in delays(1))


def test_several_faults_bend_one_reply_together():
    entries = ("- {fault: delay, params: {time: 1s}}", "- {fault: delay, params: {time: 500}}", "- fault: wrong_id")
    spoiled = Faults(tuple(read(entry(each)) for each in entries), 0).spoiled_reply(call())
    assert spoiled is not None
    assert spoiled.delay == 1.5
    assert spoiled.changed(REPLY)["id"] == "not-7"


# What.


def test_a_wrong_id_is_made_up_or_as_given():
    assert changed("wrong_id")["id"] == "not-7"
    assert changed("wrong_id", id=99)["id"] == 99
    assert changed("wrong_id", id="7")["id"] == "7"


def test_malformed_json_is_the_reply_without_its_last_character():
    assert spoiled_by("malformed_json").garbled(b'{"id":7}') == b'{"id":7'


def test_half_a_reply_and_none_of_it():
    assert spoiled_by("half_a_line_then_exit").garbled(b"123456789") == b"1234"
    assert spoiled_by("crash").garbled(b"123456789") == b""
    assert spoiled_by("close_stdout").garbled(b"123456789") == b""
    assert SpoiledReply(Random(0)).garbled(b"123456789") == b"123456789"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("result", {"jsonrpc": "2.0", "id": 7}),
        ("jsonrpc", {"id": 7, "result": REPLY["result"]}),
        ("result.isError", {**REPLY, "result": {"content": REPLY["result"]["content"]}}),
        ("result.content[0]", {**REPLY, "result": {"content": [], "isError": False}}),
        ("result.content[0].text", {**REPLY, "result": {"content": [{"type": "text"}], "isError": False}}),
        ('result["isError"]', {**REPLY, "result": {"content": REPLY["result"]["content"]}}),
        ("result.content[1]", REPLY),
        ("result.nothing.there", REPLY),
        ("result[0]", REPLY),
        ("result.content.text", REPLY),
        ("id.deeper", REPLY),
    ],
)
def test_a_field_is_dropped_where_the_path_leads_and_nowhere_else(path, expected):
    untouched = compact(REPLY)
    assert changed("drop_field", path=path) == expected
    assert compact(REPLY) == untouched


def test_a_member_with_dots_in_its_name_can_be_dropped():
    reply = {"id": 1, "result": {"_meta": {"example.com/a": 1, "b": 2}}}
    assert changed("drop_field", reply, path='result._meta["example.com/a"]')["result"] == {"_meta": {"b": 2}}


@pytest.mark.parametrize(
    ("result", "params", "expected"),
    [
        ({"content": []}, {}, {"content": "broken"}),
        (
            {"resultType": "complete", "ttlMs": 0, "tools": []},
            {},
            {"resultType": "complete", "ttlMs": 0, "tools": "broken"},
        ),
        ({"structuredContent": {"a": 1, "b": 2}}, {}, {"structuredContent": {"a": "broken", "b": 2}}),
        ({"structuredContent": {"a": "x"}}, {}, {"structuredContent": {"a": 0}}),
        ({"structuredContent": [1]}, {}, {"structuredContent": "broken"}),
        ({"structuredContent": {}}, {}, {"structuredContent": "broken"}),
        ({}, {}, "broken"),
        ({"a": {"b": [1, 2]}}, {"path": "result.a.b[1]"}, {"a": {"b": [1, "broken"]}}),
        ({"a": 1}, {"path": "result.a", "value": None}, {"a": None}),
        ({"a": 1}, {"path": "result.new", "value": [1]}, {"a": 1, "new": [1]}),
        ({"a": [1]}, {"path": "result.a[5]", "value": 2}, {"a": [1]}),
        ({"a": 1}, {"path": "result.no.where", "value": 2}, {"a": 1}),
    ],
)
def test_a_schema_is_broken_at_the_path_or_where_it_shows_most(result, params, expected):
    assert changed("break_schema", {"id": 1, "result": result}, **params)["result"] == expected


def test_the_schema_of_an_error_is_broken_in_the_error():
    assert changed("break_schema", ERROR) == {**ERROR, "error": {"code": "broken", "message": "no"}}


def test_an_oversize_reply_keeps_what_it_says():
    padded = changed("oversize", {"id": 1, "result": {"a": 1, "_meta": {"b": 2}}}, bytes=100)
    assert padded["result"] == {"a": 1, "_meta": {"b": 2, "padding": "x" * 100}}
    assert changed("oversize", ERROR, bytes=100)["error"]["code"] == -32602


@pytest.mark.parametrize(
    "reply", [{"jsonrpc": "2.0"}, {"id": 1, "result": None}, {"id": 1, "result": {"_meta": 3}}, ERROR]
)
@pytest.mark.parametrize("name", list(FAULTS))
def test_no_fault_fails_over_what_another_has_left_of_a_reply(name, reply):
    spoiled = spoiled_by(name, **NEEDED.get(name, {}))
    assert isinstance(spoiled.garbled(compact(spoiled.changed(reply)).encode()), bytes)


# What a config may not say.


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_fault_has_a_page_in_the_manual_and_defaults_that_can_be_used(name):
    assert (FAULTS.get(name).__doc__ or "").split("\n")[0].endswith(".")
    params = list(inspect.signature(FAULTS.get(name)).parameters.values())[1:]
    needed = {each.name for each in params if each.default is each.empty}
    assert needed == set(NEEDED.get(name, {}))
    read(entry(f"- {{fault: {name}, params: {json.dumps(NEEDED.get(name, {}))}}}"))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("- 3", (2, 3), "must be an object"),
        ("- {when: {nth: 1}}", (2, 3), "does not say which fault"),
        ("- {fault: 3}", (2, 4), "must be a string"),
        ("- {fault: dela}", (2, 4), "is 'dela', which is not a fault"),
        ("- {fault: crash, wen: {}}", (2, 18), "is not a known key"),
        ("- {fault: crash, when: null}", (2, 18), "must be an object"),
        ("- {fault: crash, when: {count: 1}}", (2, 25), "is not a known key"),
        ("- {fault: crash, when: {method: 3}}", (2, 25), "must be a string"),
        ("- {fault: crash, when: {method: notifications/initialized}}", (2, 25), "must be the method of a request"),
        ("- {fault: crash, when: {nth: 0}}", (2, 25), "must be at least 1, not 0"),
        ("- {fault: crash, when: {nth: []}}", (2, 25), "must name at least one request"),
        ("- {fault: crash, when: {nth: [1, x]}}", (2, 34), "must be an integer"),
        ("- {fault: crash, when: {nth: true}}", (2, 25), "must be an integer"),
        ("- {fault: crash, when: {every: 0}}", (2, 25), "must be at least 1, not 0"),
        ("- {fault: crash, when: {probability: 1.5}}", (2, 25), "must be from 0 to 1"),
        ("- {fault: crash, when: {probability: 0}}", (2, 25), "is 0: the fault would never strike"),
        ("- {fault: crash, params: []}", (2, 18), "must be an object"),
        ("- {fault: crash, params: {cod: 1}}", (2, 27), "is not a known key"),
        ("- {fault: crash, params: {code: 256}}", (2, 27), "must be from 0 to 255, not 256"),
        ("- {fault: crash, params: {code: -1}}", (2, 27), "must be from 0 to 255, not -1"),
        ("- {fault: crash, params: {code: true}}", (2, 27), "must be an integer"),
        ("- {fault: half_a_line_then_exit, params: {code: 1.5}}", (2, 43), "must be an integer"),
        ("- {fault: never_answer, params: {time: 1}}", (2, 25), "takes none"),
        ("- {fault: delay}", (2, 3), "needs params.time"),
        ("- {fault: delay, params: {time: soon}}", (2, 27), "must be a time such as"),
        ("- {fault: delay, params: {time: -5}}", (2, 27), "must be a time such as"),
        ("- {fault: delay, params: {time: 25h}}", (2, 27), "must be a time such as"),
        ("- {fault: delay, params: {time: [1]}}", (2, 27), "must be a number or a string"),
        ("- {fault: delay, params: {time: 1s, jitter: often}}", (2, 37), "must be a time such as"),
        ("- {fault: answer_twice, params: {times: 1}}", (2, 34), "must be from 2 to 1000, not 1"),
        ("- {fault: answer_twice, params: {times: 1001}}", (2, 34), "must be from 2 to 1000, not 1001"),
        ("- {fault: wrong_id, params: {id: [1]}}", (2, 30), "must be an integer or a string"),
        ("- {fault: stdout_noise, params: {lines: 0}}", (2, 34), "must be from 1 to 10000, not 0"),
        ("- {fault: stdout_noise, params: {text: 3}}", (2, 34), "must be a string"),
        ("- {fault: oversize, params: {bytes: 0}}", (2, 30), "must be from 1 to 268435456, not 0"),
        ("- {fault: oversize, params: {bytes: 1000000000000}}", (2, 30), "must be from 1 to 268435456"),
        ("- {fault: http_status, params: {status: 100}}", (2, 33), "must be from 200 to 599, not 100"),
        ("- {fault: http_status, params: {status: 600}}", (2, 33), "must be from 200 to 599, not 600"),
        ("- {fault: http_status, params: {retryAfter: -1}}", (2, 33), "must be from 0 to 86400, not -1"),
        ('- {fault: wrong_content_type, params: {type: "a\\nb"}}', (2, 40), "must be printable ASCII"),
        ('- {fault: wrong_content_type, params: {type: ""}}', (2, 40), "must be printable ASCII"),
        ("- {fault: wrong_content_type, params: {type: größe}}", (2, 40), "must be printable ASCII"),
        ("- {fault: cut_stream, params: {after: -1}}", (2, 32), "must be from 0 to 1000, not -1"),
        ("- {fault: cut_stream, params: {resumable: 1}}", (2, 32), "must be a boolean"),
        ("- {fault: drop_field}", (2, 3), "needs params.path"),
        ('- {fault: drop_field, params: {path: ""}}', (2, 32), "must be a path such as"),
        ("- {fault: drop_field, params: {path: result..x}}", (2, 32), "must be a path such as"),
        ('- {fault: drop_field, params: {path: "result.tools[x]"}}', (2, 32), "must be a path such as"),
        ('- {fault: drop_field, params: {path: "a]b"}}', (2, 32), "must be a path such as"),
        ("- {fault: break_schema, params: {path: .result}}", (2, 34), "must be a path such as"),
    ],
)
def test_a_bad_entry_is_refused_with_its_place_and_what_is_wrong_with_it(text, place, words):
    with pytest.raises(UsageError) as caught:
        read(entry(text))
    where = caught.value.where
    assert where is not None
    assert (where.file, where.line, where.column) == ("server.yaml", *place)
    assert words in caught.value.message


def test_an_unknown_fault_is_refused_with_the_nearest_one():
    with pytest.raises(UsageError) as caught:
        read(entry("- {fault: anser_twice}"))
    assert caught.value.hint == "did you mean 'answer_twice'?"


def test_a_value_of_null_is_put_there_and_no_value_is_one_of_another_type():
    assert inspect.signature(FAULTS.get("break_schema")).parameters["value"].default == ANOTHER_TYPE
    spoiled = SpoiledReply(Random(0))
    read(entry("- {fault: break_schema, params: {path: result, value: null}}")).act(spoiled)
    assert spoiled.changed(REPLY)["result"] is None
