"""`conductor discover` on servers that others wrote: their tools are called with arguments that they accept."""

import sys

import pytest
from tests.conftest import SERVERS
from tests.e2e.recordings.conftest import PROGRAMS, git as git_repository, node

from mcp_conductor.files.source import load

RECORD = "--record-expectations"


def everything(_):
    tools = (
        "echo get-annotated-message get-env get-resource-links get-resource-reference get-structured-content get-sum"
    )
    return node("everything"), {*tools.split(), "get-tiny-image", "trigger-long-running-operation"}


def filesystem(folder):
    (folder / "files" / "sub").mkdir(parents=True)
    (folder / "files" / "a.txt").write_text("hello\n")
    tools = "read_file read_text_file read_media_file read_multiple_files list_directory list_directory_with_sizes"
    more = "directory_tree search_files get_file_info list_allowed_directories"
    return node("filesystem", str(folder / "files")), {*tools.split(), *more.split()}


def memory(folder):
    words = node("memory")
    return ("env", f"MEMORY_FILE_PATH={folder / 'memory.json'}", *words), {"read_graph", "search_nodes", "open_nodes"}


def git(folder):
    (program,), *_ = git_repository(folder)
    tools = "git_status git_diff_unstaged git_diff_staged git_diff git_log git_show git_branch"
    return (program, "--repository", str(folder / "r")), set(tools.split())


def time(_):
    return (str(PROGRAMS / "mcp-server-time"), "--local-timezone", "Europe/Berlin"), {
        "get_current_time",
        "convert_time",
    }


def typescript(_):
    node("everything")  # or it is skipped
    return ("node", str(SERVERS.parent / "peers" / "servers" / "typescript.mjs")), {"add"}


def sdk(_):
    return (sys.executable, str(SERVERS / "sdk_server.py")), set()


def fastmcp(_):
    return (sys.executable, str(SERVERS / "fastmcp_server.py")), set()


HANDSHAKE, MODERN = (), ("--protocol", "modern")
QUICKLY = ("--arg", "trigger-long-running-operation.duration=0.1")
SOON = [(everything, QUICKLY), (filesystem, HANDSHAKE), (git, HANDSHAKE), (typescript, MODERN)]
PEERS = [*SOON, *((peer, HANDSHAKE) for peer in (memory, time, typescript, sdk, fastmcp)), (sdk, MODERN)]


@pytest.fixture
def discover(conductor, tmp_path):
    def run(server, *flags):
        found = conductor("discover", "-o", "a.test.mcp.yml", *flags, "--", *server, limit=120)
        assert found.code == 0, found.all
        return found, {test["it"]: test for test in load(str(tmp_path / "a.test.mcp.yml")).data["tests"]}

    return run


def names(peers):
    return [f"{peer.__name__}{'-modern' if era == MODERN else ''}" for peer, era in peers]


@pytest.mark.parametrize(("peer", "era"), SOON, ids=names(SOON))
def test_tools_that_only_read_are_called_with_success(conductor, discover, tmp_path, peer, era):
    server, tools = peer(tmp_path)
    _, tests = discover(server, *era)
    called = {test["call"]["tool"] for test in tests.values() if "call" in test and "skip" not in test}
    assert called == tools
    assert all(test["expect"] != {"ok": False} for test in tests.values())
    done = conductor("test", "a.test.mcp.yml", "--", *server, limit=120)
    assert done.code == 0, done.all


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (RECORD,)], ids=["plain", "recorded"])
@pytest.mark.parametrize(("peer", "era"), PEERS, ids=names(PEERS))
def test_the_suite_of_a_real_server_passes_twenty_times(conductor, discover, tmp_path, peer, era, flags):
    server, tools = peer(tmp_path)
    _, tests = discover(server, *era, *flags)
    assert {test["call"]["tool"] for test in tests.values() if "call" in test and "skip" not in test} == tools
    for _ in range(20):
        done = conductor("test", "a.test.mcp.yml", "--", *server, limit=120)
        assert done.code == 0, done.all


def test_a_directory_of_the_command_line_is_a_variable_and_is_not_expected(conductor, discover, tmp_path):
    server, _ = filesystem(tmp_path)
    _, tests = discover(server, RECORD)
    assert tests["calls read_file"]["call"]["args"] == {"path": "{{ directory }}/a.txt"}
    text = (tmp_path / "a.test.mcp.yml").read_text()
    assert text.count(str(tmp_path)) == 1
    (tmp_path / "files").rename(tmp_path / "elsewhere")
    (tmp_path / "a.test.mcp.yml").write_text(text.replace(str(tmp_path / "files"), str(tmp_path / "elsewhere")))
    done = conductor("test", "a.test.mcp.yml", "--", *server[:-1], str(tmp_path / "elsewhere"))
    assert done.code == 0, done.all


def test_what_cannot_be_reached_from_here_is_skipped_with_the_reason(discover):
    _, tests = discover((str(PROGRAMS / "mcp-server-fetch"),))
    assert tests["calls fetch"]["call"]["args"] == {"url": "http://127.0.0.1:9/"}
    assert tests["calls fetch"]["skip"].startswith("it fails with these arguments")
