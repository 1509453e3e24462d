"""`conductor serve --verbose` and `--record`: every message that crosses the wire, and none of the secrets."""

import json
import os
import stat
import subprocess
import sys

import pytest
from tests import prefork
from tests.e2e.server.http_wire import EVENTS, Web
from tests.e2e.server.wire import INITIALIZED, SERVE, Pipe, config, echo, initialize, line_of, request

from mcp_conductor import read_recording

SECRET = "hunter2-is-not-a-good-one"
CHECK = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())", "check")


@pytest.fixture
def start(tmp_path):
    """Start a server with these flags, and the secret in its environment."""
    started = []

    def start(kind, *flags, **members):
        transport = "stdio" if kind is Pipe else {"type": "streamable-http", "port": 0, **members.pop("transport", {})}
        (tmp_path / "server.json").write_text(json.dumps(config(transport, **members)))
        environment = {**os.environ, "MY_API_TOKEN": SECRET, "GREETING": "good-morning-to-you"}
        started.append(kind([*SERVE, "server.json", *flags], tmp_path, env=environment))
        return started[-1]

    yield start
    for each in started:
        each.dispose()


def recorded(file):
    return [(frame["source"], frame["text"]) for frame in map(json.loads, file.read_text().splitlines()[1:])]


def test_messages_on_stdio_are_shown_a_line_for_each(start):
    server = start(Pipe, "--verbose")
    server.open()
    server.ask(echo(1, "two\nlines"))
    server.close()
    lines = [line.split(maxsplit=2)[1:] for line in server.errors().splitlines()]
    assert [arrow for arrow, _ in lines] == ["-->", "<--", "-->", "-->", "<--"]
    assert json.loads(lines[3][1]) == echo(1, "two\nlines")
    assert json.loads(lines[4][1])["result"]["content"][0]["text"] == "Echo: two\nlines"


def test_recording_of_stdio_has_what_was_said_and_is_for_its_owner(start, tmp_path):
    server = start(Pipe, "--record", "said.jsonl")
    said = [initialize(), INITIALIZED, echo(1), b"this is not JSON"]
    server.say(*said)
    server.close()
    assert (server.wait(), server.errors()) == (0, "")
    frames = recorded(tmp_path / "said.jsonl")
    assert [text for source, text in frames if source == "client"] == [line_of(each).decode().rstrip() for each in said]
    assert [json.loads(text).get("id") for source, text in frames if source == "server"] == [0, 1, None]
    assert stat.S_IMODE((tmp_path / "said.jsonl").stat().st_mode) == 0o600


def test_recording_can_be_judged_like_one_of_mcp_cli(start, tmp_path):
    server = start(Pipe, "--record", "said.jsonl")
    server.open()
    server.ask(request(1, "tools/list"))
    server.close()
    assert server.wait() == 0
    words = [*CHECK, "--transcript", "said.jsonl"]
    done = prefork.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    assert done.returncode == 0, done.stdout.decode()
    assert b"passed" in done.stdout


@pytest.mark.parametrize("json_only", [False, True], ids=["streams", "json"])
def test_messages_over_http_are_recorded_with_the_heads_but_without_credentials(start, tmp_path, json_only):
    server = start(Web, "--record", "said.jsonl", "--verbose", transport={"json": json_only})
    session = server.session()
    names = ("Authorization", "X-Api-Key", "Proxy-Authorization", "X-Auth-Token", "X-Goog-Api-Key")
    session.post(echo(1), **dict.fromkeys(names, "Bearer abcdefgh12345678"))
    assert server.post(echo(2)).status == 400
    assert server.signal(15) == 0
    frames = recorded(tmp_path / "said.jsonl")
    messages = [(source, json.loads(text)) for source, text in frames if source != "http"]
    ids = [(source, message.get("id"), message.get("method")) for source, message in messages]
    assert ids == [
        ("client", 0, "initialize"),
        ("server", 0, None),
        ("client", None, "notifications/initialized"),
        ("client", 1, "tools/call"),
        ("server", 1, None),
        ("client", 2, "tools/call"),
        ("server", None, None),
    ]
    heads = [text for source, text in frames if source == "http"]
    assert [head.split("\n")[0] for head in heads] == ["POST /mcp", "HTTP 200", "POST /mcp", "HTTP 202"] + [
        *("POST /mcp", "HTTP 200", "POST /mcp", "HTTP 400")
    ]
    assert "mcp-session-id: " in heads[4].lower()
    assert "abcdefgh12345678" not in (tmp_path / "said.jsonl").read_text() + server.errors
    assert "http: POST /mcp\n" in server.errors


def test_messages_over_http_sse_are_recorded_and_nothing_else(start, tmp_path):
    server = start(Web, "--record", "said.jsonl", transport={"type": "sse"})
    stream = server.begin("GET", None, {"Accept": EVENTS})
    path = stream.next().data
    for message in (initialize("2024-11-05"), echo(1)):
        assert server.send("POST", message, path=path).status == 202
        stream.hear()
    assert server.signal(15) == 0
    messages = [
        (source, json.loads(text)["id"]) for source, text in recorded(tmp_path / "said.jsonl") if source != "http"
    ]
    assert messages == [("client", 0), ("server", 0), ("client", 1), ("server", 1)]


def test_each_client_of_http_sse_is_a_conversation_of_its_own(start, tmp_path):
    server = start(Web, "--record", "said.jsonl", transport={"type": "sse"})
    streams = [server.begin("GET", None, {"Accept": EVENTS}) for _ in range(2)]
    paths = [stream.next().data for stream in streams]
    for message in (initialize("2024-11-05"), echo(1)):
        for stream, path in zip(streams, paths, strict=True):
            assert server.send("POST", message, path=path).status == 202
            stream.hear()
    assert server.send("POST", echo(7), path=f"{paths[0]}x").status == 404
    assert server.signal(15) == 0
    recording = read_recording(str(tmp_path / "said.jsonl"))
    said: dict[int, list[tuple[str, int]]] = {}
    for entry in recording.entries:
        if entry.frame.message is not None and entry.frame.message.id is not None:
            said.setdefault(entry.session, []).append((entry.frame.source, entry.frame.message.id))
    alone = [("client", 0), ("server", 0), ("client", 1), ("server", 1)]
    assert said == {1: alone, 2: alone}


@pytest.mark.parametrize("kind", [Pipe, Web])
def test_secrets_of_the_environment_are_neither_shown_nor_recorded(start, tmp_path, kind):
    tools = [{"preset": "get_env"}, {"name": "greet", "result": "${GREETING}"}]
    server = start(kind, "--record", "said.jsonl", "--verbose", tools=tools)
    if kind is Pipe:
        server.open()
        answers = [
            server.ask(request(number, "tools/call", {"name": name})) for number, name in ((1, "get-env"), (2, "greet"))
        ]
        server.close()
        errors = server.errors()
    else:
        session = server.session()
        answers = [
            session.ask(request(number, "tools/call", {"name": name}))
            for number, name in ((1, "get-env"), (2, "greet"))
        ]
        assert server.signal(15) == 0
        errors = server.errors
    assert SECRET in json.dumps(answers[0])
    assert "good-morning-to-you" in json.dumps(answers[1])
    for text in (errors, (tmp_path / "said.jsonl").read_text()):
        assert "get-env" in text
        assert SECRET not in text
        assert "good-morning-to-you" not in text


def test_file_that_cannot_be_written_is_an_error_before_anything_is_served(start):
    server = start(Pipe, "--record", "no/such/directory/said.jsonl")
    assert server.wait() == 2
    assert server.errors().startswith("error: cannot write no/such/directory/said.jsonl: ")
