"""Which reply a fault is for: by who replies, the conversation and the id."""

from mcp_conductor.protocol.message import build
from mcp_conductor.proxy.spoiling import Spoiling, spoiled_text
from mcp_conductor.server.faults import FAULTS, Fault, Faults
from mcp_conductor.server.spoiled_reply import EVENT_STREAM, EVERY_MEANS, STDOUT

CALL = build({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})
REPLY = build({"jsonrpc": "2.0", "id": 1, "result": {}})


def fault(name="never_answer", **when):
    return Fault(name=name, act=FAULTS.get(name), **when)


def spoiling(*faults, told=None):
    return Spoiling(Faults(faults or (fault(),), 0), [].append if told is None else told.append)


def test_a_reply_is_found_once_by_its_id():
    between = spoiling()
    between.asked(CALL, "client", EVERY_MEANS)
    assert between.replied(build({"jsonrpc": "2.0", "id": 2, "result": {}}), "server") is None
    assert between.replied(REPLY, "client") is None
    assert between.replied(REPLY, "server") is not None
    assert between.replied(REPLY, "server") is None


def test_conversations_with_the_same_ids_are_told_apart():
    between = spoiling(fault(nth=(1,)))
    between.asked(CALL, "client", EVERY_MEANS, "one")
    between.asked(CALL, "client", EVERY_MEANS, "two")
    assert between.replied(REPLY, "server", "two") is None
    assert between.replied(REPLY, "server", "one") is not None


def test_only_what_a_fault_may_be_for_is_listened_to():
    between = spoiling()
    assert (between.listens_to("client"), between.listens_to("server")) == (True, False)
    plan = between.asked(CALL, "client", EVERY_MEANS)
    assert between.listens_to("server")
    between.forget(plan)
    assert not between.listens_to("server")


def test_a_fault_of_the_client_is_for_questions_of_the_server():
    between = spoiling(fault(replier="client"))
    assert between.asked(CALL, "client", EVERY_MEANS) is None
    assert between.asked(CALL, "server", EVERY_MEANS) is not None
    assert between.replied(REPLY, "client") is not None


def test_requests_that_are_never_answered_take_limited_room():
    between = spoiling()
    for number in range(10_001):
        between.asked(build({"jsonrpc": "2.0", "id": number, "method": "ping"}), "client", EVERY_MEANS)
    assert between.replied(build({"jsonrpc": "2.0", "id": 0, "result": {}}), "server") is None
    assert between.replied(REPLY, "server") is not None


def test_it_is_told_once_which_faults_strike():
    told, noted = [], []
    between = spoiling(fault("wrong_id"), fault("answer_twice"), told=told)
    plan = between.asked(CALL, "client", EVERY_MEANS)
    assert told == []
    for _ in range(2):
        between.strike(plan, noted.append)
    assert told == noted == [f"fault {name} strikes tools/call 'echo' (id 1)" for name in ("wrong_id", "answer_twice")]


def test_a_thousand_lines_are_told_and_all_are_noted():
    told, noted = [], []
    between = spoiling(told=told)
    for _ in range(1500):
        between.strike(between.asked(CALL, "client", EVERY_MEANS), noted.append)
    assert (len(told), len(noted)) == (1000, 1500)
    assert told[-1].endswith("; what strikes from here on is not told any more")


def test_a_long_name_is_cut_where_it_is_told():
    told = []
    between = spoiling(told=told)
    request = build({"jsonrpc": "2.0", "id": "i" * 999, "method": "m" * 999, "params": {"uri": "u" * 999}})
    between.strike(between.asked(request, "client", EVERY_MEANS), [].append)
    assert len(told[0]) < 300


def test_a_fault_that_turns_out_to_lack_its_means_has_not_struck():
    told = []
    cut = fault("cut_stream", needs=frozenset({EVENT_STREAM}), nth=(1,))
    between = spoiling(cut, fault("wrong_id"), told=told)
    plan = between.asked(CALL, "client", EVERY_MEANS)
    between.without(plan, frozenset({STDOUT}))
    between.strike(plan, [].append)
    assert [line.split()[1] for line in told] == ["wrong_id"]
    assert between.report() == [
        "fault cut_stream (all requests): never struck: it needs an event stream, which is not there",
        "fault wrong_id (all requests): struck 1 of 1 such request",
    ]


def test_a_text_that_is_not_changed_is_kept_as_it_was_written():
    between = spoiling(fault("malformed_json"))
    plan = between.asked(CALL, "client", EVERY_MEANS)
    assert spoiled_text(plan.spoiled, REPLY.raw, b'{ "id": 1.0 }') == b'{ "id": 1.0 '
