"""Names of tools on a bridge: legal, and no two the same."""

import pytest

from mcp_conductor.bridge.names import Names, ToolFilter, prefixes
from mcp_conductor.errors import ConfigError


def names(*servers, separator="__", **filters):
    return Names(prefixes(servers, separator), separator, filters)


@pytest.mark.parametrize(
    ("server", "separator", "prefix"),
    [
        ("files", "__", "files"),
        ("my server.v2", "__", "my_server_v2"),
        ("a__b", "__", "a_b"),
        ("a_", "__", "a"),
        ("io.example/files", "__", "io_example_files"),
        ("my_server", "_", "my-server"),
        ("my-server", "-", "my_server"),
        ("ünï", "__", "n"),
        ("…", "__", "server"),
    ],
)
def test_the_name_of_a_server_is_made_legal_and_does_not_hold_the_separator(server, separator, prefix):
    assert prefixes([server], separator) == {server: prefix}


@pytest.mark.parametrize("separator", ["__", "_", "-", ".", "/", "--", "_-_"])
def test_the_first_separator_in_a_name_ends_the_name_of_its_server(separator):
    servers = ["a", "a__b", "a_", "-a-", "b.c", "d-_e", "f_g-h"]
    kept = []
    for server in servers:
        try:
            prefixes([*kept, server], separator)
        except ConfigError:
            continue
        kept.append(server)
    known = names(*kept, separator=separator)
    tools = ["c", "b__c", "_c", "-c", "a", ".c"]
    shown = [(known.tool(server, tool), server) for server in kept for tool in tools]
    assert len({name for name, _ in shown}) == len(shown)
    assert all(known.server_of(name) == server for name, server in shown)


def test_two_servers_that_would_have_one_name_are_a_mistake():
    with pytest.raises(ConfigError) as raised:
        prefixes(["a b", "a.b"])
    assert raised.value.message == "the servers 'a b' and 'a.b' are both called 'a_b': rename one of them"


def test_a_separator_that_no_name_may_have_is_a_mistake():
    with pytest.raises(ConfigError):
        prefixes(["a"], " ")


def test_a_tool_name_that_is_not_legal_is_made_legal():
    assert names("a").tool("a", "read a file!") == "a__read_a_file_"
    assert names("a").tool("a", "fs/read.text") == "a__fs/read.text"


@pytest.mark.parametrize(
    ("allow", "deny", "shown"),
    [
        (("*",), (), {"read", "read_all", "write"}),
        (("read*",), (), {"read", "read_all"}),
        (("read*",), ("*_all",), {"read"}),
        (("*",), ("write", "none"), {"read", "read_all"}),
        ((), (), set()),
    ],
)
def test_a_filter_shows_what_is_allowed_and_not_denied(allow, deny, shown):
    known = names("a", a=ToolFilter(allow=allow, deny=deny))
    assert {tool for tool in ("read", "read_all", "write") if known.tool("a", tool)} == shown


def test_a_renamed_tool_has_the_whole_name_that_it_was_given():
    known = names("a", a=ToolFilter(rename={"read": "look"}))
    assert (known.tool("a", "read"), known.tool("a", "write")) == ("look", "a__write")


def test_who_has_a_name_keeps_it_and_the_later_tool_is_left_out():
    known = names("a", "b")
    assert known.give([("x", "b", "two")]) == ({"x": ("b", "two")}, [])
    given, clashes = known.give([("x", "a", "one"), ("x", "b", "two")])
    assert given == {"x": ("b", "two")}
    assert clashes == ["the tool 'one' of a is left out: 'x' is the tool 'two' of b"]
    assert known.give([("x", "a", "one")]) == ({"x": ("a", "one")}, [])
