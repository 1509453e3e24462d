"""Settings files of every flavour give one server, and every mistake names the file, the server and the field."""

from dataclasses import replace

import pytest

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.settings import Surroundings, every_server, from_settings
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec


def spelled(path) -> Location:
    """A path in the settings as a place, so that tests can see which one was pointed at."""
    return Location(".".join(map(str, path)), 1, 1)


def around(*existing: str, locate=spelled, **environ: str) -> Surroundings:
    return Surroundings(
        file="f.json",
        directory="/conf",
        invocation="/here",
        environ=environ,
        exists=lambda path: path in existing,
        locate=locate,
    )


def refusal(settings, server=None, surroundings=None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        from_settings(settings, surroundings or around(), server)
    return caught.value


def one(entry, surroundings=None):
    return from_settings({"mcpServers": {"s": entry}}, surroundings or around())


def test_a_command_has_words_environment_and_directory():
    entry = {"type": "stdio", "command": "node", "args": ["server.js", "--x"], "env": {"A": "1"}, "cwd": "/run"}
    assert one(entry) == StdioSpec(
        name="s", command=("node", "server.js", "--x"), env={"A": "1"}, cwd="/run", protocol=None
    )


def test_a_url_has_headers_and_a_transport():
    entry = {"type": "http", "url": "https://example.com/sse", "headers": {"Authorization": "Bearer t"}}
    assert one(entry) == HttpSpec(
        name="s", url="https://example.com/sse", headers={"Authorization": "Bearer t"}, sse=False, fall_back=False
    )


@pytest.mark.parametrize(
    ("kind", "url", "sse"),
    [
        (None, "http://x/mcp", False),
        (None, "http://x/sse", True),
        ("sse", "http://x/mcp", True),
        ("http", "http://x/sse", False),
        ("streamable-http", "http://x/sse", False),
        ("streamableHttp", "http://x/sse", False),
        ("streamable_http", "http://x/sse", False),
    ],
)
def test_every_clients_word_for_a_transport_is_understood(kind, url, sse):
    assert one({"url": url, **({"type": kind} if kind else {})}).sse is sse


def test_our_own_flat_file_describes_one_server_with_five_seconds_to_start():
    spec = from_settings({"name": "mine", "command": "node"}, around())
    assert spec == StdioSpec(name="mine", command=("node",), cwd="/conf", startup_timeout=5.0)
    assert from_settings({"url": "http://x"}, around()) == HttpSpec(url="http://x")


@pytest.mark.parametrize(("written", "seconds"), [(1500, 1.5), ("1500", 1.5), ("2s", 2.0)])
def test_the_time_to_start_is_milliseconds_or_has_a_unit(written, seconds):
    assert one({"command": "x", "startupTimeout": written}).startup_timeout == seconds


def test_a_pattern_and_a_protocol_are_taken_over():
    spec = one({"command": "x", "readyPattern": "listening on \\d+", "protocolVersion": "2025-06-18"})
    assert (spec.ready_pattern, spec.protocol) == ("listening on \\d+", "2025-06-18")
    assert one({"url": "http://x", "protocolVersion": "auto"}).protocol == "auto"


@pytest.mark.parametrize("table", ["mcpServers", "servers"])
def test_a_table_of_servers_may_have_other_things_beside_it_and_in_it(table):
    settings = {"inputs": [], table: {"a": {"command": "x", "disabled": True, "gallery": 1}}}
    assert from_settings(settings, around()).name == "a"


def test_a_server_is_chosen_by_name():
    settings = {"mcpServers": {"a": {"command": "x"}, "b": {"url": "http://x"}, "broken": {}}}
    assert from_settings(settings, around(), "a").name == "a"
    assert from_settings(settings, around(), "b").name == "b"


def test_several_servers_need_a_name():
    error = refusal({"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}})
    assert "'a', 'b'" in error.hint


@pytest.mark.parametrize(
    ("settings", "name", "hint"),
    [
        ({"mcpServers": {"weather": {"command": "x"}}}, "wether", "did you mean 'weather'?"),
        ({"mcpServers": {"a": {"command": "x"}, "b": {}}}, "zzz", "it has: 'a', 'b'"),
        ({"name": "mine", "command": "x"}, "other", "it describes one server, 'mine'"),
        ({"mcpServers": {"a": {"command": "x"}}}, "", "it has: 'a'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(settings, name, hint):
    assert refusal(settings, name).hint == hint


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"mcpServers": {"a" * 10_000: {"command": "x"}, "b": {}}}, None),
        ({"mcpServers": {"a" * 10_000: {"command": "x"}}}, "zzz"),
        ({"mcpServers": {"a" * 10_000: {"command": "x"}}}, "a" * 9_999),
        ({"mcpServers": {"a" * 10_000: {}}}, None),
        ({"name": "a" * 10_000, "command": "x"}, "b"),
        ({"name": "a" * 10_000, "command": "x"}, "b" * 10_000),
        ({"mcpServers": {f"server-{number}": {} for number in range(5_000)}}, None),
    ],
)
def test_long_names_and_many_of_them_do_not_fill_the_terminal(settings, name):
    error = refusal(settings, name)
    assert len(f"{error.message}{error.hint}") < 1_000


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ([], "f.json: must be an object, not an array"),
        (None, "f.json: must be an object, not null"),
        ({"mcpServers": {}}, "f.json: 'mcpServers' must be an object with at least one server"),
        ({"servers": []}, "f.json: 'servers' must be an object with at least one server"),
        ({"mcpServers": {"s": "node"}}, "f.json: server 's': must be an object, not a string"),
    ],
)
def test_a_file_of_the_wrong_shape_is_refused(settings, says):
    assert refusal(settings).message == says


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"command": "x", "url": "http://x"}, "url"),
        ({}, ""),
        ({"args": ["x"]}, ""),
        ({"command": ""}, "command"),
        ({"command": ["node", "x"]}, "command"),
        ({"command": "x", "args": "a b"}, "args"),
        ({"command": "x", "args": ["a", 5]}, "args.1"),
        ({"command": "x", "env": []}, "env"),
        ({"command": "x", "env": {"A": True}}, "env.A"),
        ({"command": "x", "env": {"A": None}}, "env.A"),
        ({"command": "x", "cwd": 5}, "cwd"),
        ({"command": "x", "headers": {}}, "headers"),
        ({"command": "x", "type": "http"}, "type"),
        ({"command": "x", "startupTimeout": 0}, "startupTimeout"),
        ({"command": "x", "startupTimeout": True}, "startupTimeout"),
        ({"command": "x", "startupTimeout": "soon"}, "startupTimeout"),
        ({"command": "x", "readyPattern": "("}, "readyPattern"),
        ({"command": "x", "protocolVersion": "1"}, "protocolVersion"),
        ({"url": "http://x", "args": []}, "args"),
        ({"url": "http://x", "env": {}}, "env"),
        ({"url": "http://x", "cwd": "."}, "cwd"),
        ({"url": "http://x", "type": "stdio"}, "type"),
        ({"url": "http://x", "type": "websocket"}, "type"),
        ({"url": "http://x", "type": []}, "type"),
        ({"url": "ws://x"}, "url"),
        ({"url": ""}, "url"),
        ({"url": 5}, "url"),
        ({"url": "http://x", "headers": {"A": []}}, "headers.A"),
    ],
    ids=str,
)
def test_a_mistake_names_the_file_the_server_and_the_field(entry, field):
    error = refusal({"mcpServers": {"s": entry}})
    assert error.message.startswith("f.json: server 's'")
    assert field.split(".")[0] in error.message
    assert error.where.file == f"mcpServers.s.{field}".rstrip(".")


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"command": "x", "arg": []}, "did you mean 'args'?"),
        ({"command": "x", "startupTimout": 5}, "did you mean 'startupTimeout'?"),
        ({"comand": "x"}, "did you mean 'command'?"),
    ],
)
def test_an_unknown_key_of_our_own_file_is_refused_with_the_nearest_known_one(settings, hint):
    assert refusal(settings).hint == hint


def test_an_unknown_key_like_no_other_is_refused_with_all_known_ones():
    error = refusal({"command": "x", "zzz": 1})
    assert error.where.file == "zzz"
    assert "'startupTimeout'" in error.hint


def test_of_very_many_unknown_keys_only_the_first_are_looked_for_in_the_file():
    looked_for = []
    error = refusal({f"k{number}": 1 for number in range(5000)}, surroundings=around(locate=looked_for.append))
    assert (len(error.more), error.left_out, len(looked_for)) == (19, 4980, 20)


def test_a_misspelt_command_in_a_table_is_asked_about():
    assert refusal({"mcpServers": {"s": {"comand": "x"}}}).hint == "is 'comand' a misspelled key?"


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("${TOKEN}", "t0ken"),
        ("Bearer ${TOKEN}!", "Bearer t0ken!"),
        ("${env:TOKEN}", "t0ken"),
        ("${TOKEN}${TOKEN}", "t0kent0ken"),
        ("${TOKEN:-x}", "t0ken"),
        ("${MISSING:-x}", "x"),
        ("${env:MISSING:-x y/z}", "x y/z"),
        ("${MISSING:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("$TOKEN", "$TOKEN"),
        ("$${}", "$${}"),
        ("${1}", "${1}"),
        ("${CIRCULAR}", "${TOKEN}"),
    ],
)
def test_variables_are_filled_in_once_from_the_environment(written, filled):
    surroundings = around(TOKEN="t0ken", EMPTY="", CIRCULAR="${TOKEN}")
    assert one({"command": "x", "args": [written]}, surroundings).command == ("x", filled)
    assert one({"command": "x", "env": {"A": written}}, surroundings).env == {"A": filled}
    assert one({"url": "http://x", "headers": {"A": written}}, surroundings).headers == {"A": filled}


@pytest.mark.parametrize("written", ["${MISSING}", "${env:MISSING}", "a${MISSING}b"])
def test_a_missing_variable_is_an_error_at_its_place(written):
    error = refusal({"mcpServers": {"s": {"command": "x", "env": {"A": written}}}})
    assert "MISSING" in error.message
    assert error.where.file == "mcpServers.s.env.A"
    assert "${MISSING:-default}" in error.hint


def test_a_number_in_the_environment_or_a_header_is_taken_for_its_text():
    assert one({"command": "x", "env": {"PORT": 3000, "BIG": 2**70}}).env == {"PORT": "3000", "BIG": str(2**70)}
    assert one({"url": "http://x", "headers": {"X-Version": 2}}).headers == {"X-Version": "2"}


@pytest.mark.parametrize(
    ("text", "file"), [("env: {V: 1.10}\ncommand: x", "f.yaml"), ('{"env":{"V":1.10},"command":"x"}', "f.json")]
)
def test_a_number_whose_spelling_would_be_lost_must_be_quoted(text, file):
    with pytest.raises(UsageError):
        from_settings(parse(text, file).data, around())


def test_a_missing_variable_of_another_server_is_no_mistake():
    settings = {"mcpServers": {"a": {"command": "x"}, "b": {"command": "${MISSING}"}}}
    assert from_settings(settings, around(), "a").command == ("x",)


@pytest.mark.parametrize(
    ("cwd", "existing", "found"),
    [
        (None, (), "/conf"),
        ("/abs", (), "/abs"),
        ("sub", ("/conf/sub",), "/conf/sub"),
        ("sub", ("/conf/sub", "/here/sub"), "/conf/sub"),
        ("sub", ("/here/sub",), "/here/sub"),
        ("sub", (), "/conf/sub"),
        ("../up", (), "/up"),
        (".", ("/conf",), "/conf"),
    ],
)
def test_a_directory_is_meant_from_the_file_or_else_from_where_we_are(cwd, existing, found):
    entry = {"command": "x", **({} if cwd is None else {"cwd": cwd})}
    assert one(entry, around(*existing)).cwd == found


@pytest.mark.parametrize(
    ("word", "existing", "found"),
    [
        ("server.js", ("/here/server.js",), "/here/server.js"),
        ("./server.js", ("/here/server.js",), "/here/server.js"),
        ("build/index", ("/here/build/index",), "/here/build/index"),
        ("server.js", ("/conf/server.js", "/here/server.js"), "server.js"),
        ("server.js", (), "server.js"),
        ("/abs/server.js", ("/here/abs/server.js",), "/abs/server.js"),
        ("--file=a.js", ("/here/--file=a.js",), "--file=a.js"),
        ("file:///a.js", ("/here/file:/a.js",), "file:///a.js"),
        ("run", ("/here/run",), "run"),
        (".", ("/here",), "."),
    ],
)
def test_a_path_that_exists_only_where_we_are_is_meant_from_there(word, existing, found):
    assert one({"command": "node", "args": [word]}, around(*existing)).command == ("node", found)


def test_a_program_is_looked_for_only_if_it_is_a_path():
    existing = around("/here/bin/run", "/here/python3.11")
    assert one({"command": "bin/run"}, existing).command == ("/here/bin/run",)
    assert one({"command": "python3.11"}, existing).command == ("python3.11",)


@pytest.mark.parametrize(
    ("text", "file", "place"),
    [
        ('{\n  "mcpServers": {\n    "s": {"command": "x",\n      "url": "http://x"}}}', "f.json", "f.json:4:7"),
        ('{"servers": {\n  // mine\n  "s": {},\n}}', "f.json", "f.json:3:3"),
        ('{"command": "x",\n "args": ["a",\n  5]}', "f.json", "f.json:3:3"),
        ("command: x\nenv:\n  A: ${MISSING}\n", "f.yaml", "f.yaml:3:3"),
        ("command: x\nargz: []\n", "f.yaml", "f.yaml:2:1"),
        ("[]", "f.json", "f.json:1:1"),
    ],
)
def test_a_mistake_has_a_place_in_the_file(text, file, place):
    document = parse(text, file)
    assert str(refusal(document.data, surroundings=around(locate=document.locate)).where) == place


@pytest.mark.parametrize(
    ("cwd", "directory"), [({}, "/here"), ({"cwd": "./sub"}, "/here/sub"), ({"cwd": "/run"}, "/run")]
)
def test_files_of_mcp_aegis_are_read_as_it_does(cwd, directory):
    entry = {"name": "s", "command": "node", "args": ["a.js"], "description": "mine", **cwd}
    assert "unknown key 'description'" in refusal(entry).message
    found = from_settings(entry, replace(around("/conf/sub"), lenient=True))
    assert found == StdioSpec(name="s", command=("node", "a.js"), startup_timeout=5.0, cwd=directory)


def test_all_servers_are_those_that_are_not_disabled():
    table = {
        "on": {"command": "a"},
        "off": {"command": "b", "disabled": True},
        "too": {"command": "c", "disabled": False},
    }
    assert list(every_server({"mcpServers": table}, around())) == ["on", "too"]
    assert from_settings({"mcpServers": table}, around(), "off").command == ("b",)  # who names it means it


def test_a_file_whose_servers_are_all_disabled_is_refused():
    with pytest.raises(UsageError) as caught:
        every_server({"servers": {"off": {"command": "b", "disabled": True}}}, around())
    assert (caught.value.message, caught.value.where.file) == ("f.json: all servers are disabled", "servers")
