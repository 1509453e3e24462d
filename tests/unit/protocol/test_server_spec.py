"""Words of a command line name a server: a URL is called, anything else is started."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec, from_words, is_sse


@pytest.mark.parametrize(
    "words",
    [("node", "server.js"), ("server",), ("npx", "-y", "x"), ("sh", "-c", "http://x"), ("httpd",), ("ftp://x",)],
)
def test_anything_but_a_url_is_a_command(words):
    assert from_words(words) == from_words(words, transport="stdio") == StdioSpec(command=words)


@pytest.mark.parametrize(
    ("url", "transport", "sse"),
    [
        ("http://localhost:3000/mcp", None, False),
        ("https://example.com/mcp", None, False),
        ("https://example.com", None, False),
        ("https://example.com/sse", None, True),
        ("https://example.com/sse?key=1", None, True),
        ("https://example.com/mcp?next=/sse", None, False),
        ("https://example.com/ssex", None, False),
        ("https://example.com/sse", "http", False),
        ("https://example.com/mcp", "sse", True),
        ("https://example.com/sse", "sse", True),
    ],
)
def test_a_url_tells_its_transport_unless_it_is_given(url, transport, sse):
    assert from_words((url,), transport=transport) == HttpSpec(url=url, sse=sse, fall_back=transport is None)
    assert is_sse(url, transport) is sse


@pytest.mark.parametrize(
    ("words", "transport"),
    [
        (("https://example.com/mcp",), "stdio"),
        (("node", "server.js"), "http"),
        (("node", "server.js"), "sse"),
        (("https://example.com/mcp", "extra"), None),
        (("https://example.com/mcp", "--port"), "http"),
    ],
)
def test_words_that_do_not_fit_the_transport_are_refused(words, transport):
    with pytest.raises(UsageError) as caught:
        from_words(words, transport=transport)
    assert words[-1 if len(words) > 1 and words[0].startswith("http") else 0] in caught.value.message


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (StdioSpec(command=("node", "server.js")), "node server.js"),
        (StdioSpec(command=("node",), name="mine"), "mine"),
        (HttpSpec(url="https://example.com/mcp"), "https://example.com/mcp"),
        (HttpSpec(url="https://example.com/mcp", name="mine"), "mine"),
    ],
)
def test_a_server_is_called_by_its_name_or_else_by_how_it_is_reached(spec, shown):
    assert str(spec) == shown
