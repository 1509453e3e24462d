"""What leads out to the network: addresses of other hosts, in what is sent and in what a server takes by default."""

import pytest

from mcp_conductor.suites.authoring.outward import outward_argument, outward_text

OUT = "https://example.com/a.zip"


@pytest.mark.parametrize(
    "text",
    [
        OUT,
        "HTTP://Example.com",
        "see https://example.com/ for more",
        "git+ssh://git@example.com/repo",
        "git@example.com:team/repo.git",
        "wss://10.0.0.1:8000/",
        "http://[2001:db8::1]/",
        "http://127.0.0.1@example.com/",
        "http://localhost.example.com/",
        "http://2130706433/",
        "ftp://0.0.0.0/",
        "http://{host}/",
        "postgresql://user:secret@db/books",
        "//example.com/a.js",
    ],
)
def test_an_address_of_another_host_leads_out(text):
    assert outward_text(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://127.0.0.1:9/",
        "http://localhost:8000/x",
        "https://app.localhost/",
        "http://127.8.9.10/",
        "http://[::1]:80/",
        "file:///etc/hosts",
        "demo://resource/1",
        "data:text/plain,hi",
        "user@example.invalid",
        "a//b",
        "notes.txt",
        "12:30",
    ],
)
def test_what_stays_here_does_not(text):
    assert outward_text(text) is None


def schema(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("given", "arguments", "found"),
    [
        (schema(), {"url": OUT}, ("url", OUT)),
        (schema(), {"urls": ["http://127.0.0.1/", OUT]}, ("urls", OUT)),
        (schema(), {"source": {"at": OUT}}, ("source", OUT)),
        (schema(), {"map": {OUT: 1}}, ("map", OUT)),
        (schema(), {"host": "example.com"}, ("host", "example.com")),
        (schema(), {"apiHost": "10.0.0.1:80"}, ("apiHost", "10.0.0.1:80")),
        (schema(h={"format": "hostname"}), {"h": "example.com"}, ("h", "example.com")),
        (schema(), {"file": "example.com"}, None),
        (schema(), {"host": "localhost:80"}, None),
        (schema(), {"domain": "sample"}, None),
        # What is not sent is what the server takes by itself.
        (schema(url={"default": OUT}), {}, ("url", OUT)),
        (schema(urls={"items": {"default": OUT}, "default": [OUT]}), {}, ("urls", OUT)),
        (schema(url={"default": OUT}), {"url": "http://127.0.0.1/"}, None),
        (schema(url={"examples": [OUT], "enum": [OUT, "x"]}), {}, None),
        (schema(source={"properties": {"at": {"default": OUT}}}), {"source": {}}, ("source", OUT)),
        (schema(source={"properties": {"at": {"default": OUT}}}), {"source": {"at": "x"}}, None),
        (schema(source={"properties": {"at": {"default": OUT}}}), {}, ("source", OUT)),
        ({**schema(source={"$ref": "#/$defs/s"}), "$defs": {"s": {"default": OUT}}}, {}, ("source", OUT)),
        (schema(source={"anyOf": [{"type": "null"}, {"default": OUT}]}), {}, ("source", OUT)),
        ({**schema(source={"$ref": "#/$defs/s"}), "$defs": {"s": {"items": {"$ref": "#/$defs/s"}}}}, {}, None),
        (True, {}, None),
        ({"properties": 5}, {"a": 1}, None),
    ],
)
def test_arguments_lead_out_by_what_is_sent_and_by_what_is_left_to_the_server(given, arguments, found):
    assert outward_argument(given, arguments, ()) == found


def test_what_a_person_gave_is_theirs_to_decide():
    given = schema(url={"default": OUT}, other={"default": OUT})
    assert outward_argument(given, {"url": OUT}, ["url"]) == ("other", OUT)
    assert outward_argument(given, {"url": OUT, "other": OUT}, ["url", "other"]) is None
