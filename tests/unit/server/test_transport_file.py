"""The `transport` of a server file: which origins can be allowed, and in which spelling."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.server.config_file import read
from mcp_conductor.server.transport_file import Overrides


def allowed_origins(*origins):
    transport = f"{{type: streamable-http, allowedOrigins: {list(origins)}}}"
    text = f"serverInfo: {{name: it, version: x}}\ntransport: {transport}"
    return read(Field.root(parse(text, "it.yaml", json=False), {}), Overrides()).transport.allowed_origins


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("https://app.example.com", "https://app.example.com"),
        ("https://app.example.com/", "https://app.example.com"),
        ("HTTPS://App.Example.COM", "https://app.example.com"),
        ("https://app.example.com:443", "https://app.example.com"),
        ("http://app.example.com:80/", "http://app.example.com"),
        ("http://app.example.com:443", "http://app.example.com:443"),
        ("https://app.example.com:8443", "https://app.example.com:8443"),
        ("http://[2001:DB8::1]:80", "http://[2001:db8::1]"),
        ("null", "null"),
        ("tauri://localhost", "tauri://localhost"),
        ("app://Main.Window/", "app://Main.Window"),
        ("chrome-extension://abcdef/", "chrome-extension://abcdef"),
        ("file://", "file://"),
    ],
)
def test_an_origin_is_read_as_browsers_send_it(written, sent):
    assert allowed_origins(written) == (sent,)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("*", "no wildcards"),
        ("https://*.example.com", "no wildcards"),
        ("http://localhost:*", "no wildcards"),
        ("app.example.com", "https://app.example.com"),
        ("app.example.com:8080/", "https://app.example.com:8080"),
        ("https://app.example.com/page", "at most a port"),
        ("https://me@app.example.com", "at most a port"),
        ("https://", "at most a port"),
        ("https://app.example.com?x=1", "at most a port"),
    ],
)
def test_what_no_origin_can_equal_is_refused_at_its_place(written, hint):
    with pytest.raises(UsageError, match=r"transport\.allowedOrigins\[1\] is .*, which no Origin of a request") as told:
        allowed_origins("https://app.example.com", written)
    assert hint in told.value.hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [("http", "'streamable-http'"), ("HTTP", "'streamable-http'"), ("https", "no TLS"), ("http+sse", "'sse'")],
)
def test_names_that_clients_have_for_a_transport_are_answered_with_ours(name, hint):
    text = f"serverInfo: {{name: it, version: x}}\ntransport: {{type: {name}}}"
    with pytest.raises(UsageError) as refused:
        read(Field.root(parse(text, "it.yaml", json=False), {}), Overrides())
    assert hint in refused.value.hint
