"""`--script`: what is secret in a script stands in its answers, and in nothing that is recorded or shown."""

import json

import pytest

PING = '{"method": "ping"}\n'
ECHO = """
    hello(tools={})
    def call(params):
        if params["name"] == "die":
            sys.stderr.write("last words\\n")
            sys.exit(3)
        return {"content": [], "structuredContent": params["arguments"]}
    serve({"tools/call": call, "tools/list": {"tools": []}})
"""


def call(name, more=None, **arguments):
    """A line that calls a tool."""
    return json.dumps({"method": "tools/call", "params": {"name": name, "arguments": arguments}, **(more or {})}) + "\n"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def run(cli, serve):
    """Run a script that comes from stdin, and is shown and recorded."""

    def begin(*script, server=ECHO, **environment):
        words = ("--script", "-", "-v", "--record", "r.jsonl")
        return cli(*serve(server), *words, stdin="".join(script), **environment)

    return begin


def everything_shown(done, tmp_path):
    return done.err + (tmp_path / "r.jsonl").read_text()


@pytest.mark.parametrize("placeholder", ["{{ env.API_TOKEN }}", '{{ env(\\"API_TOKEN\\") }}', "{{ env | json }}"])
def test_what_a_script_takes_from_the_environment_is_in_no_recording(run, tmp_path, placeholder):
    line = json.dumps({"method": "tools/call", "params": {"name": "a", "arguments": {"k": "@"}}}).replace(
        "@", placeholder
    )
    done = run(line, API_TOKEN="t0ken-of-env-77")
    assert "t0ken-of-env-77" in done.out
    assert "t0ken-of-env-77" not in everything_shown(done, tmp_path)
    assert done.code == 0


MINTS = """
    hello(tools={})
    def call(params):
        notify("notifications/message", level="info", data="minted " + KEY)
        return {"content": [], "structuredContent": {"key": KEY}}
    KEY = "minted" + "-key-12345"
    serve({"tools/call": call, "ping": {}, "tools/list": {"tools": []}})
"""


@pytest.mark.parametrize("more", [{}, {"background": True}])
def test_a_secret_capture_is_in_no_recording_from_its_own_answer_on(run, tmp_path, more):
    capture = {"capture": {"key": {"from": "result.structuredContent.key", "secret": True}}, **more}
    done = run(call("mint", more=capture), PING, call("mint"), server=MINTS)
    assert "minted-key-12345" in done.out
    assert "minted-key-12345" not in everything_shown(done, tmp_path)
    recorded = lines((tmp_path / "r.jsonl").read_text())
    assert [each["at"] for each in recorded if "at" in each] == sorted(each["at"] for each in recorded if "at" in each)
    assert len([each for each in done.err.splitlines() if "tools/call" in each]) == 2


def test_what_was_held_back_for_a_secret_is_shown_when_the_server_dies(run, tmp_path):
    capture = {"capture": {"key": {"from": "result.x", "secret": True}}}
    done = run(call("die", more=capture))
    assert "stderr: last words" in done.err
    assert "last words" in (tmp_path / "r.jsonl").read_text()
