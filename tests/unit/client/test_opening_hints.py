"""A server over HTTP that was started as one on stdio is recognized by the URL that it prints."""

import pytest

from mcp_conductor.client.opening_hints import opening_hint
from mcp_conductor.protocol.transcript import Frame, Transcript

SEEMS = "it seems to serve HTTP: start it, and name {} in place of its command"


def hint_for(*frames, method="initialize"):
    return opening_hint(method, Transcript.of(Frame(0, source, text) for source, text in frames))


@pytest.mark.parametrize(
    ("frames", "hint"),
    [
        ([("stderr", "INFO: Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)")],
         SEEMS.format("http://127.0.0.1:8000") + ", with its path (such as /mcp)"),
        ([("stderr", "running on http://0.0.0.0:8000"), ("stderr", "at http://0.0.0.0:8000/mcp.")],
         SEEMS.format("http://0.0.0.0:8000/mcp")),
        ([("server", "Connect to http://localhost:3000/sse for events")], SEEMS.format("http://localhost:3000/sse")),
        ([("server", "listening on http://[::1]:3000/mcp")], SEEMS.format("http://[::1]:3000/mcp")),
        ([("stderr", "see https://example.com:443/docs"), ("client", "http://127.0.0.1:1/mcp")], None),
        ([], None),
    ],
)  # fmt: skip
def test_the_url_that_is_named_is_the_one_to_use(frames, hint):
    assert hint_for(*frames) == hint


def test_another_request_that_is_not_answered_has_other_reasons():
    assert hint_for(("stderr", "http://127.0.0.1:8000/mcp"), method="tools/call") is None
