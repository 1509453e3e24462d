from time import monotonic

import pytest
from tests.unit.server.harness import ERAS, HANDSHAKE, MODERN, Conversation, failure_of, made, text_of

LOG_LEVEL = "io.modelcontextprotocol/logLevel"


async def test_send_notification_sends_a_log_message():
    talk = Conversation("send_notification", logging=True)
    listed = await talk.listed()
    assert listed["description"] == "Send a notification message from the server"
    assert listed["inputSchema"]["required"] == ["message"]
    assert text_of(await talk.call("send_notification", {"message": "m"})) == "Notification sent: m"
    assert talk.notified("notifications/message") == [
        {"level": "info", "logger": "test-server", "data": {"message": "m"}}
    ]


async def test_send_notification_keeps_to_the_level_that_the_client_set():
    talk = Conversation("send_notification", logging=True)
    await talk.result("logging/setLevel", {"level": "error"})
    await talk.call("send_notification", {"message": "m", "level": "warning"})
    await talk.call("send_notification", {"message": "m", "level": "alert"})
    assert [params["level"] for params in talk.notified("notifications/message")] == ["alert"]


async def test_send_notification_is_silent_in_the_modern_era_unless_the_request_asks():
    talk = Conversation("send_notification", version=MODERN, logging=True)
    await talk.call("send_notification", {"message": "m"})
    assert talk.heard == []
    await talk.call("send_notification", {"message": "m"}, _meta={LOG_LEVEL: "debug"})
    assert len(talk.notified("notifications/message")) == 1


@pytest.mark.parametrize("version", ERAS)
async def test_send_notification_says_so_when_the_server_does_not_log(version):
    talk = Conversation("send_notification", version=version)
    said = failure_of(await talk.call("send_notification", {"message": "m"}, _meta={LOG_LEVEL: "debug"}))
    assert said == "Notification not sent: logging is off in the config of this server"
    assert talk.heard == []


@pytest.mark.parametrize("version", ERAS)
async def test_send_progress_counts_up_to_the_units(version):
    talk = Conversation("send_progress", version=version)
    arguments = {"units": 2, "delayMs": 0, "total": 4, "message": "Going"}
    result = await talk.call("send_progress", arguments, _meta={"progressToken": "t"})
    assert text_of(result) == "Completed 2 progress notifications (units: 2, total: 4)"
    assert talk.notified("notifications/progress") == [
        {"progressToken": "t", "progress": 1, "total": 4, "message": "Going (1/2)"},
        {"progressToken": "t", "progress": 2, "total": 4, "message": "Going (2/2)"},
    ]


async def test_send_progress_has_a_default_message_and_no_total_of_its_own():
    talk = Conversation("send_progress")
    result = await talk.call("send_progress", {"units": 1}, _meta={"progressToken": 7})
    assert text_of(result) == "Completed 1 progress notifications (units: 1, total: 1)"
    assert talk.notified("notifications/progress") == [
        {"progressToken": 7, "progress": 1, "message": "Processing... (1/1)"}
    ]


async def test_send_progress_sends_nothing_without_a_token():
    talk = Conversation("send_progress", version=HANDSHAKE)
    result = await talk.call("send_progress", {"units": 3, "delayMs": 0})
    assert text_of(result) == "Completed 0 progress notifications (units: 0, total: 3)"
    assert talk.heard == []


async def test_send_progress_waits_between_the_units_only():
    talk = Conversation("send_progress")
    began = monotonic()
    await talk.call("send_progress", {"units": 1, "delayMs": 60_000}, _meta={"progressToken": 1})
    await talk.call("send_progress", {"units": 2, "delayMs": 20}, _meta={"progressToken": 1})
    assert 0.02 <= monotonic() - began < 5


async def test_send_progress_refuses_units_that_are_none():
    talk = Conversation(*made("send_progress", name="go"))
    properties = (await talk.listed())["inputSchema"]["properties"]
    assert properties["units"] == {
        "type": "integer",
        "description": "Number of progress units to send",
        "exclusiveMinimum": 0,
        "maximum": 2**53 - 1,
    }
    assert properties["delayMs"]["default"] == 100
    assert failure_of(await talk.call("go", {"units": 0}))
