"""`conductor record`: what lets a client in, and what looks secret, passes and is not in the recording."""

import json
import subprocess
import sys

from tests.e2e.test_record_http import proxied, texts  # noqa: F401  # a fixture


def test_what_lets_a_client_in_is_not_kept_where_the_server_says_it_again(http, proxied):  # noqa: F811  # the fixture
    def echo(call):
        said = json.dumps({"headers": dict(call.headers.items()), "path": call.path})
        call.result({"content": [{"type": "text", "text": said}]})

    proxy = proxied(http({"POST": echo}).url)
    secrets = [f"secret-of-client-{number}" for number in range(5)]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
    _, _, body = proxy.ask(
        message=asked,
        Authorization=f"Bearer {secrets[0]}",
        Cookie=f"sid={secrets[1]}; theme=dark",
        X_Custom_Auth=secrets[2],
        X_Goog_Api_Key=secrets[3],
        path=f"/mcp?api_key={secrets[4]}",
    )
    assert [secret for secret in secrets if secret not in body.decode()] == []
    (said,) = texts(proxy.end(), "server")
    assert [secret for secret in secrets if secret in proxy.file.read_text()] == []
    assert "tools/call" in proxy.file.read_text()
    assert said.count("[redacted]") == 5


def test_a_credential_is_not_kept_however_many_others_there_were(http, proxied):  # noqa: F811  # the fixture
    proxy = proxied(http({"POST": lambda call: call.result({"said": call.headers["authorization"]})}).url)
    for number in range(130):
        _, _, body = proxy.ask(Authorization=f"Bearer token-{number:06}-abcdefgh")
        assert f"token-{number:06}" in body.decode()
    proxy.process.terminate()
    _, told = proxy.process.communicate(timeout=30)
    assert told.decode() == (
        "clients sent more than 100 credentials: each more is looked for only in what belongs to its request\n"
    )
    assert "abcdefgh" not in proxy.file.read_text()


def test_secrets_in_the_address_that_a_server_sends_a_client_to_are_not_kept(http, proxied):  # noqa: F811  # the fixture
    there = "http://127.0.0.1/back?access_token=abcdefgh-secret&tab=1"
    proxy = proxied(http({"POST": lambda call: call.reply(200, b"{}", "application/json", Location=there)}).url)
    _, headers, _ = proxy.ask()
    assert headers["location"] == there
    (_, answer) = texts(proxy.end(), "http")
    assert "location: http://127.0.0.1/back?access_token=[redacted]&tab=1" in answer.lower()


def test_what_is_no_message_of_mcp_passes_and_is_not_kept(http, proxied):  # noqa: F811  # the fixture
    token = b'{"access_token": "abcdefgh-secret"}'
    server = http({"POST": lambda call: call.reply(200, token, "application/json")})
    proxy = proxied(server.url)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    _, _, body = proxy.ask(message=b"grant_type=x&client_secret=ijklmnop-secret", path="/token", **form)
    assert body == token
    recording = proxy.end()
    assert "-secret" not in proxy.file.read_text()
    assert texts(recording, "client", "server") == []
    assert texts(recording, "note") == [
        "a body of 42 bytes that is no message of MCP is not kept",
        "a body of 35 bytes that is no message of MCP is not kept",
    ]


_LOGIN = """
import json, sys
sys.stderr.write("login failed: password=stderr-pass-1\\n")
sys.stderr.flush()
for line in sys.stdin:
    asked = json.loads(line)
    said = json.dumps({"echo": asked["params"], "session": {"apiToken": "tok-of-server-77"}})
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [{"type": "text", "text": said}]}}
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


def logged_in(directory, *flags):
    """What is recorded, and said on stderr, when a client logs in that writes in small pieces."""
    arguments = {
        "user": "Ada",
        "password": "hunter2-login",
        "token_count": 7,
        "pin": 4711,
        "note": "see ghp_" + "a1B2" * 9,
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "login", "arguments": arguments}}
    command = [
        sys.executable,
        "-m",
        "mcp_conductor",
        "record",
        "-o",
        "r.jsonl",
        *flags,
        "--",
        sys.executable,
        "login.py",
    ]
    (directory / "login.py").write_text(_LOGIN)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=directory, bufsize=0, **pipes) as process:
        line = json.dumps(asked).encode() + b"\n"
        for start in range(0, len(line), 5):
            process.stdin.write(line[start : start + 5])
        answer = json.loads(process.stdout.readline())
        process.stdin.close()
        told = process.stderr.read().decode()
        assert process.wait(30) == 0
    assert json.loads(answer["result"]["content"][0]["text"])["echo"]["arguments"] == arguments  # it passed as it was
    return (directory / "r.jsonl").read_text(), told


def test_what_looks_secret_is_not_kept_in_arguments_results_and_stderr(tmp_path):
    kept, told = logged_in(tmp_path)
    assert [each for each in ("hunter2-login", "a1B2", "tok-of-server-77", "stderr-pass-1") if each in kept] == []
    assert "warning: 6 values that look secret were redacted in the recording; --keep PATH keeps one\n" in told
    texts = [json.loads(line).get("text") for line in kept.splitlines()]
    (asked,) = (json.loads(text) for text in texts if text and '"method"' in text and "echo" not in text)
    assert asked["params"]["arguments"] == {
        "user": "Ada",
        "password": "[redacted]",
        "token_count": 7,
        "pin": 4711,
        "note": "see [redacted]",
    }


def test_a_person_says_what_is_secret_and_what_is_not(tmp_path):
    flags = (
        "--redact",
        "params.arguments.pin",
        "--redact",
        "result.content[*].text.echo",
        "--keep",
        "params.arguments.note",
    )
    kept, told = logged_in(tmp_path, *flags, "--keep", "params.elsewhere")
    assert "4711" not in kept
    assert kept.count("see ghp_a1B2") == 1
    assert "warning: --keep params.elsewhere is nothing that was recorded\n" in told


def test_replay_answers_a_recording_whose_arguments_were_redacted(tmp_path):
    logged_in(tmp_path)
    command = [sys.executable, "-m", "mcp_conductor", "replay", "r.jsonl"]
    call = {"user": "Ada", "password": "another", "token_count": 7, "pin": 4711, "note": "see nothing"}
    message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "login", "arguments": call}}
    done = subprocess.run(
        command, cwd=tmp_path, input=json.dumps(message) + "\n", capture_output=True, text=True, timeout=30, check=False
    )
    answer = json.loads(done.stdout.splitlines()[0])
    assert "[redacted]" in answer["result"]["content"][0]["text"], done.stderr
