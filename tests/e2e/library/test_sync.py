"""connect_sync(): the same methods without async, in scripts, beside a running loop, and up to the end of a program."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conductor import ConnectionLost, MethodError, Session, StdioSpec, SyncSession, TransportError, connect_sync

SAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "examples", "servers")
SUBSCRIPTIONS = (sys.executable, "-m", "mcp_conductor", "serve", os.path.join(SAMPLES, "subscriptions.yaml"))
PROMISED = (Path(__file__).parent / "public_api.txt").read_text()
OF_A_LOOP = {"listen", "next_id", "note", "wait_until_unheard"}  # of use to code on the loop of the session only


@pytest.fixture
def spec(environment, survivors):
    yield StdioSpec(command=SUBSCRIPTIONS, env=environment)
    assert survivors() == []


def promised(kind):
    return set(re.findall(rf"^    {kind}\.(\w+)", PROMISED, re.MULTILINE))


def test_it_has_the_methods_of_a_session():
    assert promised("Session") - OF_A_LOOP - promised("SyncSession") == set()


@pytest.mark.parametrize("name", sorted(promised("Session") & promised("SyncSession")))
def test_a_method_takes_what_that_of_a_session_takes(name):
    def names(kind):
        method = inspect.getattr_static(kind, name)
        return [] if isinstance(method, property) else list(inspect.signature(method).parameters)[1:]

    assert names(SyncSession) == names(Session)


def test_calls_wait_for_their_answers(spec):
    told = []
    with connect_sync(spec, timeout=10, on_notification=lambda message: told.append(message.method)) as session:
        assert session.server["name"]
        tools = session.list_tools()
        assert [tool.name for tool in tools] == [tool["name"] for tool in session.everything("tools/list")["tools"]]
        assert [page["tools"] for page in session.pages("tools/list")] == [[tool.raw for tool in tools]]
        uri = session.list_resources()[0].uri
        with session.subscribe(uri) as updates:
            session.call_tool("update_resource", {"uri": uri, "text": "new"})
            assert next(iter(updates)).uri == uri
        with pytest.raises(MethodError):
            session.request("no/such")
    assert session.ended
    assert "notifications/resources/updated" in told
    session.close()
    with pytest.raises(ConnectionLost):
        session.ping()


async def test_it_works_where_a_loop_is_running(spec):
    with connect_sync(spec, timeout=10) as session:
        session.ping()


def test_a_function_answers_the_server(serve, environment):
    code = """
        hello()
        request = hear()
        result(request, {"said": ask("s", "sampling/createMessage", messages=[], maxTokens=5)["result"]["content"]["text"]})
        hear()
    """
    server = StdioSpec(command=serve(code), env=environment)
    with connect_sync(server, sampling=lambda request: "four", timeout=10) as session:
        assert session.request("x") == {"said": "four"}


def test_a_server_that_does_not_start_leaves_nothing_behind(environment, survivors):
    with pytest.raises(TransportError):
        connect_sync(StdioSpec(command=(sys.executable, "-c", "raise SystemExit(3)"), env=environment))
    with pytest.raises(TransportError):
        connect_sync("/no/such/program")
    assert survivors() == []


def test_a_server_that_goes_away_is_lost(serve, environment):
    with connect_sync(StdioSpec(command=serve("hello(); hear(); sys.exit(3)"), env=environment)) as session:
        with pytest.raises(ConnectionLost):
            session.ping()
        assert session.ended


def test_what_is_open_at_the_end_of_a_program_is_closed(environment, survivors):
    code = f"from mcp_conductor import connect_sync\nsession = connect_sync({list(SUBSCRIPTIONS)!r})\nsession.ping()\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert survivors() == []
