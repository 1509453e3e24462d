"""How often each fault has struck, on stderr at the end of the server: a test whose fault never struck has shown nothing."""

import signal

import pytest
from tests.e2e.server.wire import INITIALIZED, call, echo, initialize, modern, request

FAULTS = [
    {"fault": "wrong_id", "when": {"method": "tools/call", "name": "echo", "nth": [1, 3]}},
    {"fault": "delay", "params": {"time": "1ms"}, "when": {"method": "tools/list"}},
    {"fault": "never_answer", "when": {"name": "add", "nth": 2}},
    {"fault": "oversize", "params": {"bytes": 5}},
]
TOLD = [
    "fault wrong_id (tools/call 'echo'): struck 2 of 3 such requests",
    "fault delay (tools/list): never struck: no such requests came",
    "fault never_answer ('add'): never struck: 1 such request came",
    "fault oversize (all requests): struck 5 of 5 such requests",
]


def test_server_on_stdio_tells_at_the_end_of_stdin(stdio):
    server = stdio(faults=FAULTS)
    server.say(initialize(), INITIALIZED, echo(1), echo(2), echo(3), call(4, "add", {"a": 1, "b": 2}))
    server.close()
    assert (server.wait(), server.errors().splitlines()) == (0, TOLD)


def test_server_over_http_tells_when_it_is_stopped(web):
    server = web(faults=FAULTS)
    session = server.session()
    for number in (1, 2, 3):
        session.post(echo(number))
    session.post(call(4, "add", {"a": 1, "b": 2}))
    assert server.signal(signal.SIGTERM) == 0
    assert server.errors.splitlines() == TOLD


@pytest.mark.parametrize("fault", ["crash", "half_a_line_then_exit"])
def test_server_that_a_fault_ends_tells_before_it_goes(stdio, fault):
    server = stdio(faults=[{"fault": fault, "when": {"method": "tools/call"}}])
    server.say(initialize(), echo(1))
    assert server.wait() == 1
    assert server.errors().splitlines() == [f"fault {fault} (tools/call): struck 1 of 1 such request"]


def test_server_over_http_that_a_fault_ends_tells_before_it_goes(web):
    server = web(faults=[{"fault": "crash", "when": {"method": "server/discover"}}])
    with pytest.raises(ConnectionError):
        server.modern(modern(request(1, "server/discover")))
    assert server.wait() == 1
    assert server.errors.splitlines() == ["fault crash (server/discover): struck 1 of 1 such request"]


def test_fault_of_sessions_does_not_strike_where_there_are_none(web):
    server = web(faults=[{"fault": "expire_session", "when": {"method": "tools/call"}}])
    assert server.modern(modern(echo(1))).status == 200
    assert server.signal(signal.SIGTERM) == 0
    told = "fault expire_session (tools/call): never struck: it needs a session, which is not there"
    assert server.errors.splitlines() == [told]


def test_server_without_faults_tells_nothing(stdio):
    server = stdio()
    server.say(initialize())
    server.close()
    assert (server.wait(), server.errors()) == (0, "")
