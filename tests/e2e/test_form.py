"""The form that url_elicitation_form shows, as a browser sees it."""

import asyncio
from urllib.parse import urlencode, urlsplit

import pytest
from tests.unit.server.harness import HANDSHAKE, MODERN, Conversation, failure_of, text_of

from mcp_conductor.server import form

TOOL = "url_elicitation_form"


async def visit(url, *, body=None, path=None, head=()):
    """What a browser gets: status, and page."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    method, sent = ("GET", b"") if body is None else ("POST", body.encode())
    lines = [f"{method} {path or parts.path} HTTP/1.1", f"Host: {parts.netloc}", *head]
    if body is not None and not head:
        lines.append(f"Content-Length: {len(sent)}")
    writer.write("\r\n".join([*lines, "", ""]).encode() + sent)
    async with asyncio.timeout(5):
        answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, page = answer.partition("\r\n\r\n")
    return int(head.split()[1]), page


async def closed(url):
    parts = urlsplit(url)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except OSError:
        return True
    writer.close()
    return False


def asked_url(talk):
    (question,) = talk.asked
    return question["params"]["url"]


async def opened(talk, arguments=None):
    """Call the tool in the handshake era: its reply in time, and the form's URL."""
    reply = talk.begin("tools/call", {"name": TOOL, "arguments": arguments or {}})
    await talk.until(lambda: talk.asked)
    return reply, asked_url(talk)


async def test_a_value_that_is_submitted_is_collected():
    talk = Conversation(TOOL)
    reply, url = await opened(talk, {"message": "Which?"})
    question = talk.asked[0]["params"]
    assert (question["mode"], question["message"]) == ("url", "Which?")
    assert url.startswith("http://127.0.0.1:")
    status, page = await visit(url)
    assert (status, '<form method="post">' in page) == (200, True)
    status, page = await visit(url, body=urlencode({"value": "blue & grün"}))
    assert (status, "Submitted" in page) == (200, True)
    result = (await reply)["result"]
    assert text_of(result) == "Collected value: blue & grün"
    assert talk.notified("notifications/elicitation/complete") == [{"elicitationId": question["elicitationId"]}]
    assert await closed(url)


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_who_does_not_accept_needs_no_form(action):
    talk = Conversation(TOOL, answers={"elicitation/create": {"action": action}})
    assert text_of(await talk.call(TOOL)) == f"Elicitation {action}: user did not accept"
    assert talk.asked[0]["params"]["message"] == "Please submit a value in the form"
    assert talk.notified("notifications/elicitation/complete") == []
    assert await closed(asked_url(talk))


async def test_the_form_stays_open_between_the_rounds_of_the_modern_era():
    talk = Conversation(TOOL, version=MODERN)
    first = await talk.result("tools/call", {"name": TOOL})
    again = {"name": TOOL, **talk.answered(first)}
    url = asked_url(talk)
    assert (await visit(url))[0] == 200
    reply = talk.begin("tools/call", again)
    assert (await visit(url, body="value=blue"))[0] == 200
    assert text_of((await reply)["result"]) == "Collected value: blue"
    assert await closed(url)


async def test_a_value_may_be_submitted_before_the_request_comes_again():
    talk = Conversation(TOOL, version=MODERN)
    first = await talk.result("tools/call", {"name": TOOL})
    again = {"name": TOOL, **talk.answered(first)}
    await visit(asked_url(talk), body="value=blue")
    assert text_of(await talk.result("tools/call", again)) == "Collected value: blue"
    once_more = await talk.result("tools/call", again)
    assert once_more["resultType"] == "input_required"  # that form is gone; here is another
    talk.answers["elicitation/create"] = {"action": "decline"}
    await talk.result("tools/call", {"name": TOOL, **talk.answered(once_more)})


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
async def test_a_client_that_cannot_open_a_url_leaves_no_form_behind(version, monkeypatch):
    forms = []
    listen = form.Form.listen

    async def remember(self):
        await listen(self)
        forms.append(self)

    monkeypatch.setattr(form.Form, "listen", remember)
    talk = Conversation(TOOL, version=version, capabilities={"elicitation": {"form": {}}})
    reply = await talk.request("tools/call", {"name": TOOL})
    if version == MODERN:
        assert reply["error"]["code"] == -32021
    else:
        assert failure_of(reply["result"])
    assert [await closed(each.url) for each in forms] in ([], [True])


async def test_a_form_that_nobody_fills_in_closes_by_itself(monkeypatch):
    monkeypatch.setattr(form, "FORM_SECONDS", 0.05)
    talk = Conversation(TOOL)
    reply, url = await opened(talk)
    assert "the form was not submitted" in failure_of((await reply)["result"])
    assert await closed(url)


async def test_a_call_that_is_cancelled_closes_its_form():
    talk = Conversation(TOOL)
    reply, url = await opened(talk)
    talk.cancel()
    assert await reply is None
    assert await closed(url)


async def test_only_its_own_path_is_the_form():
    talk = Conversation(TOOL)
    reply, url = await opened(talk)
    for path in ("/", "/favicon.ico", "/form-guess"):
        assert (await visit(url, path=path))[0] == 404
        assert (await visit(url, path=path, body="value=evil"))[0] == 404
    await visit(url, body="value=mine")
    assert text_of((await reply)["result"]) == "Collected value: mine"


async def test_what_is_no_submission_is_refused_and_the_form_stays():
    talk = Conversation(TOOL)
    reply, url = await opened(talk)
    assert (await visit(url, body="other=1"))[0] == 400
    assert (await visit(url, body="x", head=["Content-Length: 1000000"]))[0] == 413
    assert not reply.done()
    await visit(url, body="value=")
    assert text_of((await reply)["result"]) == "Collected value: "
