"""Which conversation an HTTP exchange belongs to."""

import pytest

from mcp_conductor.recording.http_sessions import HttpSessions
from mcp_conductor.recording.reader import read_recording
from mcp_conductor.recording.writer import open_recording
from mcp_conductor.text.redaction import Redactor

INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
CALL = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'


@pytest.fixture
def recorded(tmp_path):
    """Record these exchanges, each a list of heads and messages: the number of the session of each."""

    def recorded(*exchanges):
        file = str(tmp_path / "r.jsonl")
        writer = open_recording(file, Redactor())
        sessions = HttpSessions(writer)
        for frames in exchanges:
            exchange = sessions.exchange()
            for source, text in frames:
                exchange.observe(source, text)
        writer.close()
        entries = read_recording(file).entries
        assert [entry.frame.text for entry in entries] == [text for frames in exchanges for _, text in frames]
        of_exchange = {}
        for entry in entries:
            of_exchange.setdefault(entry.exchange, set()).add(entry.session)
        assert list(of_exchange) == list(range(1, len(exchanges) + 1))
        assert all(len(numbers) == 1 for numbers in of_exchange.values())
        return [numbers.pop() for numbers in of_exchange.values()]

    return recorded


def opening(answer):
    return [("http", "POST /mcp"), ("client", INITIALIZE), ("http", answer), ("server", "{}")]


def named(session, text=CALL):
    return [("http", f"POST /mcp\nMcp-Session-Id: {session}"), ("client", text), ("http", "HTTP 200"), ("server", "{}")]


NAMELESS = [("http", "POST /mcp"), ("client", CALL), ("http", "HTTP 200"), ("server", "{}")]


def test_clients_with_sessions_have_conversations_of_their_own(recorded):
    first, second = opening("HTTP 200\nmcp-session-id: a"), opening("HTTP 200\nmcp-session-id: b")
    assert recorded(first, second, named("a"), named("b"), named("a")) == [1, 2, 1, 2, 1]


def test_a_session_that_began_before_the_recording_is_a_conversation_too(recorded):
    assert recorded(named("old"), opening("HTTP 200\nmcp-session-id: a"), named("old")) == [1, 2, 1]


def test_what_names_no_session_is_one_conversation(recorded):
    assert recorded(NAMELESS, NAMELESS) == [1, 1]


def test_without_sessions_a_handshake_begins_a_conversation(recorded):
    assert recorded(opening("HTTP 200"), NAMELESS, opening("HTTP 200"), NAMELESS) == [1, 1, 2, 2]


def test_an_exchange_without_a_body_is_written_when_its_answer_comes(recorded):
    assert recorded([("http", "GET /mcp"), ("http", "HTTP 405")]) == [1]


def test_a_stream_whose_first_event_may_name_it_is_written_when_it_does_or_when_nothing_else_will(tmp_path):
    writer = open_recording(str(tmp_path / "r.jsonl"), Redactor())
    sessions = HttpSessions(writer)
    for name in ("/messages?a", None):
        exchange = sessions.exchange()
        exchange.is_open = True
        exchange.observe("http", "GET /sse")
        exchange.observe("http", "HTTP 200")
        assert not any(entry.exchange == exchange.number for entry in read_recording(str(tmp_path / "r.jsonl")).entries)
        if name is None:
            exchange.settle()
        else:
            exchange.join(name)
        exchange.observe("server", "{}")
        exchange.settle()
    writer.close()
    entries = read_recording(str(tmp_path / "r.jsonl")).entries
    assert [(entry.exchange, entry.session) for entry in entries] == [(1, 1)] * 3 + [(2, 2)] * 3


def test_a_conversation_with_an_address_of_its_own_is_known_by_that(tmp_path):
    writer = open_recording(str(tmp_path / "r.jsonl"), Redactor())
    sessions = HttpSessions(writer)
    for name in ("/messages?a", "/messages?b", "/messages?a"):
        exchange = sessions.exchange()
        exchange.observe("http", "POST /messages")
        exchange.join(name)
    writer.close()
    assert [entry.session for entry in read_recording(str(tmp_path / "r.jsonl")).entries] == [1, 2, 1]


class Connection:
    """Stands for a connection, of which only the identity matters."""


@pytest.mark.parametrize("told", ["connection", "agent"])
def test_clients_that_take_turns_without_session_ids_are_told_apart(tmp_path, told):
    writer = open_recording(str(tmp_path / "r.jsonl"), Redactor())
    sessions = HttpSessions(writer)
    connections = Connection(), Connection()
    for client, frames in (
        (0, opening("HTTP 200")),
        (1, opening("HTTP 200")),
        (0, NAMELESS),
        (1, NAMELESS),
        (0, NAMELESS),
    ):
        exchange = sessions.exchange(connections[client] if told == "connection" else None)
        agent = f"\nUser-Agent: client-{client}" if told == "agent" else "\nUser-Agent: both"
        for source, text in frames:
            exchange.observe(source, text + agent if text == "POST /mcp" else text)
    writer.close()
    entries = read_recording(str(tmp_path / "r.jsonl")).entries
    of_exchange = {entry.exchange: entry.session for entry in entries}
    assert list(of_exchange.values()) == [1, 2, 1, 2, 1]
