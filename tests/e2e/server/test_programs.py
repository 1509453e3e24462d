"""`conductor serve` and `server-composable`: what they are told, what they say, and how they exit."""

import json
import signal
import socket
import subprocess

import pytest
from tests import prefork
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import (
    COMPOSABLE,
    PATIENCE,
    SERVE,
    Pipe,
    config,
    initialize,
    line_of,
    modern,
    ping,
    request,
    result,
)

INFO = 'serverInfo: {name: "it", version: "1"}\n'
PROGRAMS = {"conductor": SERVE, "server-composable": COMPOSABLE}
BAD = {"conductor": 2, "server-composable": 1}


@pytest.fixture(params=list(PROGRAMS))
def program(request):
    return request.param


@pytest.fixture
def run(tmp_path, program):
    """Run a program to its end: its exit code, its stdout and its stderr."""

    def run(*words, stdin: bytes = b"", env=None):
        done = prefork.run(
            [*PROGRAMS[program], *map(str, words)],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE,
            cwd=tmp_path,
            env=env,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture
def file(tmp_path):
    """Write a config file; a value becomes JSON."""

    def write(content=None, name: str = "server.json"):
        content = config() if content is None else content
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    return write


@pytest.fixture
def start(tmp_path, program):
    """Start a program that goes on until it is told to stop."""
    started = []

    def start(kind, *words):
        started.append(kind([*PROGRAMS[program], *words], tmp_path))
        return started[-1]

    yield start
    for each in started:
        each.dispose()


# The file, and its format.


@pytest.mark.parametrize("flags", [["server.json"], ["--config", "server.json"], ["--config=server.json"]], ids=str)
def test_file_is_a_word_or_the_value_of_a_flag(run, file, flags):
    file()
    assert run(*flags, stdin=line_of(ping(1)))[:2] == (0, '{"jsonrpc":"2.0","id":1,"result":{}}\n')


@pytest.mark.parametrize("name", ["server.yaml", "server.YML", "server.json", "server.jsonc"])
def test_extension_tells_the_format(run, file, name):
    content = json.dumps(config()) if "js" in name else INFO + "transport: {type: stdio}\n"
    assert run(file(content, name))[0] == 0


@pytest.mark.parametrize(("flag", "content"), [("--json", None), ("--yaml", INFO + "transport:\n  type: stdio\n")])
def test_flag_tells_the_format_where_the_extension_does_not(run, file, program, flag, content):
    name = file(content, "server.conf")
    assert run(name, flag)[0] == 0
    code, out, err = run(name)
    assert (code, out) == (BAD[program], "")
    assert "cannot tell from its name" in err
    assert "--input-format json" in err


def test_flag_for_the_format_is_stronger_than_the_extension(run, file, program):
    assert run(file(INFO + "transport: {type: stdio}\n", "server.json"), "--yaml")[0] == 0
    assert run(file(INFO, "other.yaml"), "--json")[0] == BAD[program]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no config file"),
        (["missing.json"], "missing.json"),
        (["server.json", "--json", "--yaml"], "cannot be combined with"),
        (["server.json", "--config", "other.json"], "2 config files are given"),
        (["server.json", "other.json"], "2 config files are given"),
        (["--config"], "--config needs a value"),
        (["server.json", "--prot", "80"], "did you mean --port?"),
        (["server.json", "--port"], "--port needs a value"),
        (["server.json", "--port", "abc"], "0 to 65535"),
        (["server.json", "--port", "65536"], "0 to 65535"),
        (["server.json", "--port", "-1"], "0 to 65535"),
        (["server.json", "--port=1", "--port=2"], "given twice"),
        (["server.json", "--transport", "carrier-pigeon"], "stdio, streamable-http or sse"),
        (["server.json", "--validate=yes"], "takes no value"),
        ([".", "--json"], "cannot read"),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_words_that_make_no_sense_are_explained(run, file, program, words, said):
    file()
    code, out, err = run(*words)
    assert (code, out) == (BAD[program], "")
    assert err.startswith("error: ")
    assert said in err


def test_port_of_many_digits_is_out_of_range(run, file):
    assert "0 to 65535" in run(file(), "--port", "9" * 5000)[2]


# What stands in the file.


def test_unknown_key_is_an_error_with_its_place_and_the_nearest_name(run, file, program):
    name = file(INFO + "transport:\n  type: stdio\ntols: []\n", "server.yaml")
    code, out, err = run(name)
    assert (code, out) == (BAD[program], "")
    assert "server.yaml:4:1" in err
    assert "did you mean 'tools'?" in err
    assert "4 | tols: []" in err


STDIO = INFO + "transport: {type: stdio}\n"
MISTAKES = {
    "no-info": ("transport: {type: stdio}\n", "", "serverInfo"),
    "no-transport": (INFO, "", "transport"),
    "transport": (INFO + "transport: {type: tcp}\n", ":2:13", "one of stdio, streamable-http, sse"),
    "port-of-stdio": (INFO + "transport: {type: stdio, port: 1}\n", ":2:26", "no meaning for stdio"),
    "port": (INFO + "transport: {type: sse, port: 70000}\n", ":2:24", "from 0 to 65535"),
    "preset": (STDIO + "tools: [{preset: ecko}]\n", ":3:10", "did you mean 'echo'?"),
    "twice": (STDIO + "tools: [{preset: echo}, {preset: echo}]\n", ":3:25", "a second tool called 'echo'"),
    "place": (STDIO + "tools: [{preset: simple_prompt}]\n", ":3:10", "put it under prompts"),
    "version": (STDIO + "protocolVersions: [2025-11-26]\n", ":3:20", "must be one of"),
    "no-versions": (STDIO + "protocolVersions: []\n", ":3:1", "at least one version"),
    "switch": (STDIO + "logging: 'yes'\n", ":3:1", "true or false"),
    "no-yaml": ("[1, 2", ":2:1", "not YAML"),
    "array": ("- 1\n", "", "must be an object"),
    "empty": ("", "", "is empty"),
}


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_mistake_in_the_file_is_an_error_that_points_at_it(run, file, program, mistake):
    content, place, said = MISTAKES[mistake]
    code, out, err = run(file(content, "server.yaml"), *(["--validate"] if program == "conductor" else []))
    assert (code, out) == (BAD[program], "")
    assert said in err
    assert f"server.yaml{place}" in err


def test_variables_of_the_environment_are_filled_in(run, file, program):
    content = config(serverInfo={"name": "${WHO}", "version": "${VERSION:-7}"})
    code, out, _ = run(file(content), stdin=line_of(initialize()), env={"WHO": "somebody"})
    assert (code, json.loads(out)["result"]["serverInfo"]) == (0, {"name": "somebody", "version": "7"})
    code, out, err = run(file(content), env={})
    assert (code, out) == (BAD[program], "")
    assert "WHO" in err
    assert "server.json:1:" in err


# Instead of serving.


def test_validation_says_what_the_file_makes(run, file):
    code, out, err = run(file(), "--validate")
    assert (code, out, err) == (0, "wire: 9 tools, 3 resources, on stdio\n", "")


def test_presets_are_listed_for_people_and_for_programs(run):
    code, out, err = run("--list-presets")
    assert (code, err) == (0, "")
    assert "numbered_tools(count=5)" in out
    code, out, err = run("--list-presets", "--json")
    listed = {preset["name"]: preset for preset in json.loads(out)}
    assert listed["numbered_tools"]["params"] == {"count": {"default": 5}}
    assert listed["echo"]["kind"] == "tool"


@pytest.mark.parametrize("flag", ["--help", "-h", "--version"])
def test_help_and_version_need_no_file(run, flag):
    code, out, err = run(flag)
    assert (code, err) == (0, "")
    assert out


# Where it listens.


@pytest.mark.parametrize(("kind", "path"), [("streamable-http", "/mcp"), ("http", "/mcp"), ("sse", "/sse")])
def test_flags_are_stronger_than_the_file(start, file, kind, path):
    server = start(Web, file(), "--transport", kind, "--port", "0")
    assert server.start_line == f"Composable server listening at http://127.0.0.1:{server.port}{path}"
    assert server.send("PUT").status == 405
    assert server.signal(signal.SIGINT) == 0
    assert (server.process.stdout.read(), server.errors) == (b"", "")


def test_stdio_by_flag_ignores_what_the_file_says_of_http(run, file):
    name = file(config({"type": "sse", "port": 1, "path": "/x"}))
    assert run(name, "--transport", "stdio", stdin=line_of(ping(1)))[:2] == (
        0,
        '{"jsonrpc":"2.0","id":1,"result":{}}\n',
    )


def test_host_may_be_given_by_name(start, file, tmp_path):
    file()
    server = start(Pipe, "server.json", "--transport", "http", "--host", "localhost", "--port", "0")
    said = server.process.stderr.readline().decode()
    assert said.startswith("Composable server listening at http://localhost:")
    with socket.create_connection(("127.0.0.1", int(said.rpartition(":")[2].partition("/")[0])), PATIENCE):
        assert server.signal(signal.SIGTERM) == 0


def test_only_this_machine_is_served_unless_told_otherwise(start, file):
    server = start(Web, file(), "--transport", "http", "--port", "0")
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", server.port), PATIENCE):  # noqa: PT011
        pass


def test_two_servers_of_a_file_that_names_no_port_run_side_by_side(start, file):
    name = file(config({"type": "streamable-http"}))
    first, second = start(Web, name), start(Web, name)
    assert first.port != second.port
    assert first.session().ask(ping())["result"] == second.session().ask(ping())["result"] == {}


def test_taken_port_is_an_error(run, file, program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = run(file(), "--transport", "http", "--port", port)
    assert (code, out) == (BAD[program], "")
    assert f"127.0.0.1:{port}" in err
    assert "--port" in err


def test_host_that_is_nowhere_is_an_error(run, file, program):
    code, _, err = run(file(), "--transport", "http", "--host", "host.invalid", "--port", "0")
    assert code == BAD[program]
    assert "host.invalid" in err


def test_port_is_free_again_as_soon_as_the_server_has_ended(start, file):
    name = file()
    first = start(Web, name, "--transport", "http", "--port", "0")
    assert first.modern(modern(request(1, "tools/list"))).status == 200
    assert first.signal(signal.SIGTERM) == 0
    second = start(Web, name, "--transport", "http", "--port", str(first.port))
    assert second.port == first.port


def test_second_signal_ends_the_server_at_once(start, file):
    server = start(Pipe, file())
    assert server.ask(ping(1)) == result(1, {})
    server.process.send_signal(signal.SIGTERM)
    # The second may come when the first has been dealt with, and the interpreter is on its way out.
    assert server.signal(signal.SIGTERM) in (0, 130, -signal.SIGTERM)


# Who can reach it.


def started(tmp_path, members, *flags):
    """The stderr of a server over HTTP that is told to stop as soon as it listens."""
    (tmp_path / "server.json").write_text(json.dumps(config({"type": "streamable-http", "port": 0}, **members)))
    words = [*SERVE, "server.json", *flags]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        first = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert first.startswith("Composable server listening at ")
        return process.stderr.read()


@pytest.mark.parametrize(
    ("members", "shown"),
    [
        ({"tools": [{"preset": "get-env"}]}, "get-env"),
        ({"tools": [{"preset": "get_env"}], "resources": [{"preset": "test_env"}]}, "get-env, test://env"),
    ],
)
def test_presets_that_show_the_environment_to_other_machines_are_warned_of(tmp_path, members, shown):
    assert started(tmp_path, members, "--host", "0.0.0.0") == (
        f"warning: other machines can reach 0.0.0.0, where {shown} shows the environment variables of this program\n"
        "  hint: leave that out, or listen on 127.0.0.1\n"
    )
    assert started(tmp_path, members, "--host", "127.0.0.2") == ""


def test_a_server_that_shows_no_environment_may_be_open_without_a_warning(tmp_path):
    assert started(tmp_path, {}, "--host", "0.0.0.0") == ""


def test_a_name_on_the_command_line_is_let_in_besides_those_of_the_file(tmp_path):
    names = {"type": "streamable-http", "port": 0, "allowedHosts": ["a.example"]}
    (tmp_path / "server.json").write_text(json.dumps(config(names)))
    server = Web([*SERVE, "server.json", "--allow-host", "b.example", "--allow-host", "c.example:80"], tmp_path)
    try:
        hosts = ("a.example", "b.example:1", "c.example:80", "c.example", "d.example")
        discover = modern(request(1, "server/discover"))
        assert [server.modern(discover, Host=host).status for host in hosts] == [200, 200, 200, 421, 421]
    finally:
        server.dispose()
