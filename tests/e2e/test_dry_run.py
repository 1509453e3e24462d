"""--dry-run shows what the same command line really sends, and sends nothing."""

import json

import pytest
from tests.conftest import BOOKSHELF
from tests.servers.oauth_server import oauth_server

CALLS = [
    ("--method", "ping"),
    ("--method", "resources/read", "--uri", "book://shelf/1", "--metadata", "a=1"),
    ("--method", "tools/call", "--tool-name", "find_books", "--tool-args-json", '{"text": "eliot"}'),
    ("--method", "tools/call", "--tool-name", "find_books", "--tool-arg", "text=eliot", "--progress-token", "p"),
    ("--method", "completion/complete", "--completion-ref", "ref/prompt/recommend", "--argument-name", "mood",
     "--argument-value", "c"),
    ("--method", "server/info", "--handle-sampling", "auto", "--protocol", "2025-06-18"),
    ("--raw", '{"jsonrpc": "2.0", "id": 9, "method": "tools/list"}'),
]  # fmt: skip


@pytest.mark.parametrize("words", CALLS, ids=lambda words: " ".join(words[1:2]))
def test_it_shows_the_messages_that_are_really_sent(cli, tmp_path, words):
    shown = cli(*BOOKSHELF, *words, "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    assert cli(*BOOKSHELF, *words, "--record", "record.jsonl").code == 0
    frames = [json.loads(line) for line in (tmp_path / "record.jsonl").read_text().splitlines()[1:]]
    really = [json.loads(frame["text"]) for frame in frames if frame["source"] == "client"]
    assert [each["message"] for each in json.loads(shown.out)["sent"]] == really


def test_it_shows_the_requests_that_are_really_sent_without_secrets(cli):
    with oauth_server() as server:
        server.tokens["my-secret-token"] = ""
        words = (server.url, "--method", "tools/list", "--token", "my-secret-token", "--header", "X-Key: abc")
        shown = cli(*words, "--dry-run")
        assert server.received == []
        assert cli(*words).code == 0
        # The GET stream is opened beside the calls: its place in their order may differ.
        really = [request.partition("\n") for request in server.received if request.startswith("POST")]
    assert "my-secret-token" not in shown.out + shown.err
    sent = [each for each in json.loads(shown.out)["sent"] if each["http"].startswith("POST")]
    assert [each["http"] for each in sent] == [first for first, _, _ in really]
    for each, (_, _, rest) in zip(sent, really, strict=True):
        head, _, body = rest.replace("\r", "").partition("\n\n")
        headers = dict(line.lower().split(": ", 1) for line in head.splitlines())
        hidden = {"authorization": "[redacted]", "x-key": "[redacted]"}
        assert each["headers"] == {**headers, **{name: hidden[name] for name in hidden if name in headers}}
        assert each.get("message") == (json.loads(body) if body.strip() else None)


def test_nothing_is_started_or_written(cli, tmp_path):
    words = ("sh", "--", "-c", "touch started", "--", "--method", "tools/list", "--record", "record.jsonl")
    run = cli(*words, "-e", "MY_TOKEN=very-secret-value", "--dry-run")
    assert (run.code, run.err) == (0, "")
    assert list(tmp_path.iterdir()) == []
    shown = json.loads(run.out)
    assert shown["command"] == ["sh", "-c", "touch started"]
    assert shown["env"] == {"MY_TOKEN": "[redacted]"}


SECRET = "hunter2-is-not-a-good-one"
COMMANDS = [
    ["docker", "run", "-e", f"GITHUB_TOKEN={SECRET}", "image"],
    ["docker", "run", f"--env=OPENAI_API_KEY={SECRET}", "image"],
    ["env", f"MY_PASSWORD={SECRET}", "python", "server.py"],
    ["proxy", "--header", f"Authorization: Bearer {SECRET}"],
    ["proxy", "-H", f"X-Api-Key: {SECRET}"],
    ["sh", "-c", f"API_KEY={SECRET} exec server"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:3]))
@pytest.mark.parametrize("where", ["words", "settings"])
def test_secrets_in_the_command_of_the_server_are_not_shown(cli, tmp_path, command, where):
    settings = {"mcpServers": {"it": {"command": command[0], "args": command[1:]}}}
    (tmp_path / "servers.json").write_text(json.dumps(settings))
    words = ("--config", "servers.json") if where == "settings" else (command[0], "--", *command[1:], "--")
    run = cli(*words, "--method", "ping", "--dry-run")
    assert (run.code, SECRET in run.out + run.err) == (0, False)
    shown = [word.replace("Bearer ", "").replace(SECRET, "[redacted]") for word in command]
    assert json.loads(run.out)["command"] == shown


def test_secrets_in_a_command_that_cannot_be_started_are_not_shown(cli):
    words = ("./missing", "--", "-e", f"API_KEY={SECRET}", "--", "--method", "ping")
    for flags in ([], ["-v", "--record", "/dev/stderr"], ["--errors", "json"], ["--timeout", "never"]):
        run = cli(*words, *flags)
        assert run.code != 0
        assert SECRET not in run.out + run.err


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_following_ends_soon_and_is_said(cli, era):
    run = cli("node", "--method", "resources/subscribe", "--uri", "a://b", "--follow", "--protocol", era, "--dry-run")
    assert run.code == 0
    shown = json.loads(run.out)
    asked = {"handshake": "resources/subscribe", "modern": "subscriptions/listen"}[era]
    assert shown["sent"][-1]["message"]["method"] == asked
    assert shown["notes"] == ["after that, what the server says would be printed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("node", "--method", "tools/lost"), "unknown method 'tools/lost'"),
        (("--method", "oauth/discover", "--server-url", "http://127.0.0.1:1"), "--dry-run has no meaning for oauth/"),
        (("node", "--script", "-"), "--script and --dry-run exclude each other"),
    ],
)
def test_what_cannot_be_meant_is_refused_as_always(cli, words, says):
    run = cli(*words, "--dry-run")
    assert (run.code, run.out) == (1, "")
    assert says in run.err
