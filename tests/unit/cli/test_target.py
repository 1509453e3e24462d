"""The command line means one server; flags override the settings file."""

import json

import pytest

from mcp_conductor.cli.flags import check_flags, parse
from mcp_conductor.cli.flags.target import TARGET_FLAGS, target
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec

URL = "https://example.com/mcp"
SETTINGS = {
    "mcpServers": {
        "local": {"command": "node", "args": ["s.js"], "env": {"A": "${HOME}", "B": "file"}},
        "remote": {"url": URL, "headers": {"Authorization": "Bearer file", "X-Tenant": "t"}},
    }
}


def meant(*words: str, directory: str = "/nowhere", **environ: str):
    given = parse(list(words), {"": TARGET_FLAGS})
    check_flags(given, {"": TARGET_FLAGS})
    return target(given, Terminal(None, None, None, environ, directory))


def refusal(*words: str, directory: str = "/nowhere") -> UsageError:
    with pytest.raises(UsageError) as caught:
        meant(*words, directory=directory)
    return caught.value


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "servers.json").write_text(json.dumps(SETTINGS))
    return str(tmp_path)


@pytest.mark.parametrize(
    ("word", "url"),
    [
        ("localhost:8000/mcp", "http://localhost:8000/mcp"),
        ("127.0.0.1:80", "http://127.0.0.1:80"),
        ("[::1]:8000/a/b?c=d", "http://[::1]:8000/a/b?c=d"),
        ("my-host.example:8000/sse", "http://my-host.example:8000/sse"),
    ],
)
def test_a_host_and_a_port_are_a_url_of_http(word, url):
    assert meant(word) == HttpSpec(url=url, sse=url.endswith("/sse"))
    assert meant(word, "--transport", "http") == HttpSpec(url=url, fall_back=False)


@pytest.mark.parametrize("word", ["localhost:8000/mcp", "tool:1"])
def test_a_file_of_that_name_or_a_program_on_path_is_a_command(word, tmp_path):
    file = tmp_path / word
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert meant(word, directory=str(tmp_path)) == StdioSpec(command=(word,))
    elsewhere = meant(word, directory="/nowhere", PATH=f"/usr/bin:{tmp_path}")
    assert (elsewhere.kind == "stdio") == ("/" not in word)


@pytest.mark.parametrize(
    "word", ["server", "a/b:80", "c:/x", "host:port/x", ":80", "a b:80", "x:99999", "host:0/x", "1:"]
)
def test_other_words_with_a_colon_are_commands(word):
    assert meant(word) == StdioSpec(command=(word,))


def test_stdio_is_a_command_with_whatever_name():
    assert meant("localhost:8000", "--transport", "stdio") == StdioSpec(command=("localhost:8000",))


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        (("node", "server.js"), StdioSpec(command=("node", "server.js"))),
        (("node", "--", "--port", "3"), StdioSpec(command=("node", "--port", "3"))),
        ((URL,), HttpSpec(url=URL)),
        (("https://example.com/sse",), HttpSpec(url="https://example.com/sse", sse=True)),
        (("https://example.com/sse", "--transport", "http"), HttpSpec(url="https://example.com/sse", fall_back=False)),
        ((URL, "--transport", "sse"), HttpSpec(url=URL, sse=True, fall_back=False)),
        (("node", "--transport", "stdio"), StdioSpec(command=("node",))),
        (("node", "--protocol", "auto"), StdioSpec(command=("node",), protocol="auto")),
        ((URL, "--protocol", "2025-06-18"), HttpSpec(url=URL, protocol="2025-06-18")),
        (("node", "-e", "A=1", "--env", "B=x=y"), StdioSpec(command=("node",), env={"A": "1", "B": "x=y"})),
        (("node", "--cwd", "sub"), StdioSpec(command=("node",), cwd="/nowhere/sub")),
        (("node", "--cwd", "/abs"), StdioSpec(command=("node",), cwd="/abs")),
        ((URL, "--token", "t"), HttpSpec(url=URL, headers={"Authorization": "Bearer t"})),
        (
            (URL, "--header", "A: b", "--header", " C :d:e ", "--header", "E:"),
            HttpSpec(url=URL, headers={"A": "b", "C": "d:e", "E": ""}),
        ),
    ],
)
def test_words_and_flags_name_a_server(words, spec):
    assert meant(*words) == spec


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("node", "--transport", "websocket"), "--transport must be one of stdio, sse, http, not 'websocket'"),
        (("node", "--protocol", "2023-01-01"), "--protocol must be one of handshake, auto, modern"),
        (("node", "--transport", "http"), "--transport http needs a URL"),
        ((URL, "--transport", "stdio"), f"{URL} is a URL"),
        ((URL, "extra"), "nothing can follow a URL, but 'extra' does"),
        (("node", "--header", "A: b"), "--header is for a server at a URL, not for a command"),
        (("node", "--token", "t"), "--token is for a server at a URL, not for a command"),
        ((URL, "--env", "A=1"), "--env is for a server that is started, not for one at a URL"),
        ((URL, "--cwd", "."), "--cwd is for a server that is started, not for one at a URL"),
        (("node", "--config", "f.json"), "both a server ('node') and --config are given"),
        (("node", "--server", "s"), "--server names an entry of a settings file"),
        (("node", "--env", "A"), "--env takes KEY=VALUE"),
        ((), "no server is given"),
        (("--config", "missing.json"), "cannot read missing.json: "),
    ],
)
def test_what_does_not_fit_together_is_refused(words, says):
    assert refusal(*words).message.startswith(says)


@pytest.mark.parametrize("header", ["no colon s3cret", ": s3cret", " : s3cret", ""])
def test_a_header_that_is_none_is_refused_without_showing_what_may_be_secret(header):
    error = refusal(URL, "--header", header)
    assert error.message == "--header takes 'NAME: VALUE', on one line"


def test_a_flag_replaces_a_header_however_its_name_is_written():
    spec = meant(URL, "--header", "authorization: Basic x", "--token", "t")
    assert [name.lower() for name in spec.headers] == ["authorization"]


def test_a_server_of_a_settings_file_is_chosen_by_name(directory):
    spec = meant("--config", "servers.json", "--server", "local", directory=directory, HOME="/h")
    assert spec == StdioSpec(name="local", command=("node", "s.js"), env={"A": "/h", "B": "file"}, cwd=directory)


def test_flags_override_the_file(directory):
    local = meant(
        *("--config", "servers.json", "--server", "local", "-e", "B=flag", "--cwd", "sub", "--protocol", "modern"),
        directory=directory,
        HOME="/h",
    )
    assert (local.env, local.cwd, local.protocol) == ({"A": "/h", "B": "flag"}, f"{directory}/sub", "modern")
    remote = meant(
        *("--config", "servers.json", "--server", "remote", "--token", "flag", "--transport", "sse"),
        directory=directory,
    )
    assert remote.headers == {"Authorization": "Bearer flag", "X-Tenant": "t"}
    assert remote.sse


@pytest.mark.parametrize(("server", "transport"), [("local", "http"), ("local", "sse"), ("remote", "stdio")])
def test_a_transport_that_does_not_fit_the_file_is_refused(directory, server, transport):
    with pytest.raises(UsageError) as caught:
        meant(
            *("--config", "servers.json", "--server", server, "--transport", transport), directory=directory, HOME="/h"
        )
    assert repr(server) in caught.value.message


def test_the_nearest_settings_file_is_found_from_here_upwards(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "conductor.config.json").write_text('{"command": "far"}')
    assert meant(directory=str(below)).command == ("far",)
    (tmp_path / "a" / "conductor.config.json").write_text('{"command": "near"}')
    spec = meant(directory=str(below))
    assert (spec.command, spec.cwd) == (("near",), str(tmp_path / "a"))


def test_a_mistake_in_the_file_is_shown_as_the_user_called_it(tmp_path):
    (tmp_path / "f.yaml").write_text("command: x\nurl: http://x\n")
    error = refusal("--config", "f.yaml", directory=str(tmp_path))
    assert str(error.where) == "f.yaml:2:1"
    assert error.message.startswith("f.yaml: ")
