"""The kinds of events are those of the manual."""

import re
from pathlib import Path

import pytest

from mcp_conductor.cli.commands.mcp_cli.events import KINDS, event_of
from mcp_conductor.protocol.answers import Answer, Incoming
from mcp_conductor.protocol.message import build

MANUAL = Path(__file__).parents[3] / "docs" / "mcp-cli.md"


def test_the_manual_has_a_row_for_each_kind():
    section = MANUAL.read_text().partition("## Events\n")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == KINDS


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("notifications/progress", "progress"),
        ("notifications/message", "log"),
        ("notifications/resources/updated", "update"),
        ("notifications/tools/list_changed", "notification"),
        ("notifications/no-such", "notification"),
    ],
)
def test_a_notification_is_an_event_with_what_was_sent(method, kind):
    message = build({"jsonrpc": "2.0", "method": method, "params": {"a": 1}})
    assert event_of(Incoming(message)) == {"event": kind, "method": method, "params": {"a": 1}}


@pytest.mark.parametrize("answer", [{"result": {"roots": []}}, {"error": {"code": 1, "message": "no"}}])
def test_a_question_of_the_server_is_an_event_with_our_answer(answer):
    message = build({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    assert event_of(Incoming(message, Answer(**answer))) == {
        "event": "request", "method": "roots/list", "params": {}, **answer,
    }  # fmt: skip
