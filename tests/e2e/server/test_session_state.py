"""What tools change while a server runs: seen by all clients, or with `state: perSession` only by the session itself."""

import pytest
from tests.e2e.server.wire import call, modern, request, text_of

URI = "test://resource_1"
ADD = {"name": "extra", "description": "One more"}
MEMBERS = {"tools": [{"preset": name} for name in ("add_tool", "update_resource", "simple_task")]}


@pytest.fixture(params=["streamable-http", "json"])
def serve(request, web):
    """Start a server on HTTP whose state is shared or not."""
    transport = {"type": "streamable-http", "port": 0, "json": request.param == "json"}
    return lambda **members: web(transport=transport, tasks={"list": True}, **MEMBERS, **members)


def tools(session):
    return [tool["name"] for tool in session.ask(request(1, "tools/list"))["result"]["tools"]]


def content(session):
    return session.ask(request(1, "resources/read", {"uri": URI}))["result"]["contents"][0]["text"]


def change(session):
    assert text_of(session.ask(call(1, "add_tool", ADD))) == "Tool extra added"
    assert text_of(session.ask(call(1, "update_resource", {"uri": URI, "text": "new"}))) == f"Resource {URI} updated"


def test_changes_are_shared_by_default(serve):
    server = serve()
    one, other = server.session(), server.session()
    change(one)
    assert [(tools(each)[-1], content(each)) for each in (one, other, server.session())] == [("extra", "new")] * 3


def test_changes_stay_in_the_session_that_made_them(serve):
    server = serve(state="perSession")
    one, other = server.session(), server.session()
    change(one)
    assert (tools(one)[-1], content(one)) == ("extra", "new")
    for untouched in (other, server.session()):
        assert (tools(untouched), content(untouched)) == (
            ["add_tool", "update_resource", "simple_task"],
            "Content for resource 1",
        )
    change(other)  # the same name is free here


def test_only_the_session_itself_is_told_of_its_changes(serve):
    server = serve(state="perSession")
    one, other = server.session(), server.session()
    streams = [one.get(), other.get()]
    for session in (one, other):
        session.ask(request(1, "resources/subscribe", {"uri": URI}))
    change(other)
    assert streams[1].hear()["method"] == "notifications/tools/list_changed"
    assert streams[1].hear()["params"] == {"uri": URI}
    change(one)
    assert streams[0].hear()["method"] == "notifications/tools/list_changed"


def test_tasks_belong_to_the_session_that_made_them(serve):
    server = serve(state="perSession")
    one, other = server.session(), server.session()
    one.ask(call(1, "simple_task", {}, task={}))
    assert [len(each.ask(request(2, "tasks/list"))["result"]["tasks"]) for each in (one, other)] == [1, 0]


def test_requests_without_a_session_share_a_state_of_their_own(serve):
    server = serve(state="perSession")
    session = server.session()
    server.modern(modern(call(1, "add_tool", ADD)))
    assert "extra" not in tools(session)
    listed = server.modern(modern(request(1, "tools/list"))).json["result"]["tools"]
    assert listed[-1]["name"] == "extra"


def test_pipe_is_one_session(stdio):
    server = stdio(state="perSession", **MEMBERS)
    server.open()
    assert server.ask(call(1, "add_tool", ADD))["method"] == "notifications/tools/list_changed"
    assert server.hear()["id"] == 1
    assert "extra" in [tool["name"] for tool in server.ask(request(2, "tools/list"))["result"]["tools"]]
