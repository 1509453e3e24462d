"""Servers in Python tests: `mcp_connect`, `mcp_server` and `composed_server`, in tests that are async or not."""

import sys

import pytest

SYNC_AND_ASYNC = """
    import asyncio
    import pytest

    TOOLS = ["echo", "lose", "motto", "crash"]

    def test_sync(mcp_server):
        assert [tool["name"] for tool in mcp_server.request("tools/list")["tools"]] == TOOLS
        assert [len(page["tools"]) for page in mcp_server.pages("tools/list")] == [4]
        assert mcp_server.server == {"name": "book", "version": "1.0.0"}
        assert isinstance(mcp_server.next_id(), int)

    @pytest.mark.asyncio
    async def test_asyncio(mcp_server):
        assert [tool["name"] for tool in (await mcp_server.request("tools/list"))["tools"]] == TOOLS
        assert [len(page["tools"]) async for page in mcp_server.pages("tools/list")] == [4]
        assert await asyncio.gather(mcp_server.request("ping"), mcp_server.request("ping")) == [{}, {}]

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_anyio(mcp_server, anyio_backend):
        assert [tool["name"] for tool in (await mcp_server.request("tools/list"))["tools"]] == TOOLS
"""


def test_a_server_is_there_for_sync_and_for_async_tests(run, write, starts, ends):
    write("test_python.py", SYNC_AND_ASYNC)
    done = run()
    assert (done.code, len(done.statuses)) == (0, 3), done.out
    assert (starts(), ends()) == (3, 3)


def test_sync_tests_need_no_plugin_for_async_ones(run, write):
    write("test_python.py", SYNC_AND_ASYNC)
    write("pytest.ini", "[pytest]\nmarkers =\n    asyncio\n    anyio\n")
    assert run("-p", "no:asyncio", "-p", "no:anyio", "-k", "sync and not asyncio").statuses == {"test_sync": "PASSED"}


def test_two_servers_at_a_time_can_be_talked_to(run, write):
    write(
        "test_python.py",
        f"""
        import pytest
        from mcp_conductor import MethodError, StdioSpec

        COMMAND = [{sys.executable!r}, "-m", "mcp_conductor", "serve", "book.yaml"]

        def test_it(mcp_connect):
            one = mcp_connect(COMMAND)
            two = mcp_connect({{"command": COMMAND[0], "args": COMMAND[1:]}}, protocol="2025-06-18")
            assert one.request("ping") == two.request("ping") == {{}}
            assert (one.dialect.version, two.dialect.version) == ("2025-11-25", "2025-06-18")
            with pytest.raises(MethodError) as caught:
                one.request("no/such/method")
            assert caught.value.code == -32601
        """,
    )
    assert run().statuses == {"test_it": "PASSED"}


def test_the_server_is_that_of_the_marker_or_of_the_ini_file(run, write, project):
    command = f"{sys.executable} -m mcp_conductor serve"
    write("other.json", '{"serverInfo": {"name": "other", "version": "1"}, "transport": {"type": "stdio"}}')
    write(
        "test_python.py",
        f"""
        import pytest

        def test_ini(mcp_server):
            assert mcp_server.server["name"] == "other"

        @pytest.mark.conductor_server("{command} book.yaml", protocol="2026-07-28")
        def test_marked(mcp_server):
            assert (mcp_server.server["name"], mcp_server.dialect.version) == ("book", "2026-07-28")

        @pytest.mark.conductor_server(name="book")
        def test_named(mcp_server):
            assert mcp_server.server["name"] == "book"
        """,
    )
    with (project / "pytest.ini").open("a") as ini:
        ini.write(f"conductor_command = {command} other.json\n")
    (project / "deep").mkdir()
    done = run("..", cwd=project / "deep")
    assert set(done.statuses.values()) == {"PASSED"}, done.out


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ('name="other"', "error: conductor.config.json has no server 'other'"),
        ('"no-such-program"', "error: cannot start 'no-such-program': No such file or directory"),
        ('"http://127.0.0.1:1", name="x"', "error: the marker conductor_server names a server twice"),
        ('"http://127.0.0.1:1", tiemout=5', "error: the marker conductor_server has no option 'tiemout'"),
    ],
)
def test_a_server_that_is_not_there_is_an_error_without_a_traceback(run, write, marker, told):
    write("test_python.py", f"import pytest\n@pytest.mark.conductor_server({marker})\ndef test_it(mcp_server): pass\n")
    done = run()
    assert done.statuses == {"test_it": "ERROR"}
    assert f"___ ERROR at setup of test_it ___\n{told}\n" in done.text


@pytest.mark.parametrize("transport", ["stdio", "streamable-http", "sse"])
def test_a_server_is_made_from_a_dict(run, write, transport):
    write(
        "test_python.py",
        f"""
        def test_it(composed_server, mcp_connect):
            server = composed_server({{
                "tools": [{{"name": "greet", "result": "hello"}}],
                "transport": {{"type": {transport!r}}},
            }})
            greeting = {{"content": [{{"type": "text", "text": "hello"}}]}}
            assert server.request("tools/call", {{"name": "greet"}}) == greeting
            assert mcp_connect(server.spec).request("tools/call", {{"name": "greet"}}) == greeting
        """,
    )
    done = run("--durations=0")
    assert done.statuses == {"test_it": "PASSED"}, done.out


def test_a_mistake_in_the_dict_is_told_with_its_place_and_a_hint(run, write):
    write("test_python.py", 'def test_it(composed_server):\n    composed_server({"tols": []})\n')
    done = run("-rf")
    assert "\n".join(line.removeprefix("E   ").strip() for line in done.out.splitlines() if line.startswith("E ")) == (
        "mcp_conductor.errors.UsageError: composed_server(): tols is not a known key\n"
        "--> composed_server():9:3\n"
        '9 |   "tols": []\n'
        "|   ^^^^^^\n"
        "hint: did you mean 'tools'?"
    )
    assert "pytest_plugin" not in done.out


def test_a_test_that_fails_leaves_no_server_running(run, write, starts, ends):
    write("test_python.py", "def test_it(mcp_server):\n    assert mcp_server.request('ping') == 1\n")
    assert run().statuses == {"test_it": "FAILED"}
    assert (starts(), ends()) == (1, 1)


@pytest.mark.peers
def test_a_server_of_the_sdk_is_tested_in_the_process_of_the_tests(run, write):
    write(
        "test_python.py",
        """
        from mcp.server.mcpserver import MCPServer

        def test_it(mcp_connect):
            server = MCPServer("sums")

            @server.tool()
            def add(a: int, b: int) -> int:
                return a + b

            session = mcp_connect(server.streamable_http_app())
            assert [tool.name for tool in session.list_tools()] == ["add"]
            assert session.call_tool("add", {"a": 1, "b": 2}).raw["content"][0]["text"] == "3"
        """,
    )
    done = run("-W", "default")
    assert done.statuses == {"test_it": "PASSED"}, done.out


SCOPED = """
    def test_one(mcp_server):
        assert mcp_server.request("ping") == {}

    def test_two(mcp_server):
        assert mcp_server.request("ping") == {}
"""


@pytest.mark.parametrize(("scope", "servers"), [("function", 4), ("module", 2), ("session", 1)])
def test_a_server_lasts_as_long_as_the_ini_file_says(run, write, starts, ends, scope, servers):
    write("pytest.ini", f"[pytest]\nconductor_scope = {scope}\n")
    write("test_a.py", SCOPED)
    write("test_b.py", SCOPED)
    done = run()
    assert done.code == 0, done.out
    assert (starts(), ends()) == (servers, servers)


def test_a_fixture_of_ones_own_has_any_scope_and_hides_secrets(run, write, starts, ends):
    write(
        "conftest.py",
        f"""
        from mcp_conductor.pytest_plugin import server_fixture

        WORDS = [{sys.executable!r}, "book.py", "serve", "book.yaml"]
        book = server_fixture(WORDS, scope="session", env={{"API_KEY": "s3cr3t-of-mine"}}, timeout=10)
        nowhere = server_fixture("/no/such/program", scope="module")
        """,
    )
    for name in ("test_a.py", "test_b.py"):
        write(name, "def test_it(book):\n    assert book.request('ping') == 's3cr3t-of-mine'\n")
    write("test_c.py", "def test_nowhere(nowhere):\n    pass\n")
    done = run()
    assert (done.code, starts(), ends()) == (1, 1, 1), done.out
    assert "s3cr3t-of-mine" not in done.text.replace("== 's3cr3t-of-mine'", "")
    assert "cannot start '/no/such/program'" in done.out


def test_tests_whose_names_become_the_same_have_ids_of_their_own(run, suite):
    suite(
        """
        - it: "a::b"
          call: {tool: echo, args: {message: x}}
          expect: {result: "match:type:object"}
        - it: "a:b"
          call: {tool: echo, args: {message: x}}
          expect: {result: "match:type:object"}
        """
    )
    assert sorted(run().statuses) == ["a:b", "a:b#2"]
    assert list(run("a.test.mcp.yml::a:b#2").statuses) == ["a:b#2"]
