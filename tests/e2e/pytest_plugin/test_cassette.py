"""Recordings in place of servers: the fixture `cassette`."""

import json
import os
import sys

import pytest

SERVER = [sys.executable, "book.py", "serve", "book.yaml"]


def test(body, **options):
    """A test file with one test: BODY gets a session with the cassette."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"""
        def test_it(cassette, mcp_connect):
            book = mcp_connect(cassette("tapes/book.jsonl", server={SERVER!r}{given}))
            {body}
    """


test.__test__ = False
ECHO = 'assert book.call_tool("echo", {"message": "hi"}).text == "Echo: hi"'
OTHER = 'assert book.call_tool("echo", {"message": "other"}).text == "Echo: other"'


def test_a_recording_is_made_once_and_played_from_then_on(run, write, starts, project):
    write("test_python.py", test(ECHO))
    for _ in range(2):
        done = run()
        assert (done.code, starts()) == (0, 1), done.out
    assert os.stat(project / "tapes" / "book.jsonl").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("record", ["once", "none"])
def test_a_request_that_is_not_in_it_fails_the_test_also_unnoticed(run, write, starts, record):
    write("test_python.py", test(ECHO))
    assert run().code == 0
    unnoticed = """
            try:
                book.call_tool("echo", {"message": "other"})
            except Exception:
                pass
    """
    write("test_python.py", test(unnoticed.strip(), record=record))
    done = run()
    assert (done.code, starts()) == (1, 1), done.out
    assert "1 request was not in tapes/book.jsonl" in done.out
    assert 'params.arguments.message is "other", recorded as "hi"' in done.out
    assert 'hint: record="new" asks the server' in done.out


def test_new_requests_extend_it(run, write, starts):
    write("test_python.py", test(ECHO))
    assert run().code == 0
    write("test_python.py", test(OTHER, record="new"))
    assert (run().code, starts()) == (0, 2)
    write("test_python.py", test(f"{ECHO}; {OTHER}", record="none"))
    assert (run().code, starts()) == (0, 2)


def test_what_a_test_that_fails_has_begun_is_not_kept(run, write, project):
    write("test_python.py", test("assert book.list_tools() == 'no'"))
    assert run().code == 1
    assert os.listdir(project / "tapes") == []


def test_a_recording_has_its_name_when_it_is_whole_so_that_tests_may_run_beside_it(run, write, project):
    write("test_python.py", test(f"{ECHO}; import os; assert not os.path.exists('tapes/book.jsonl')"))
    done = run()
    assert done.code == 0, done.out
    assert os.listdir(project / "tapes") == ["book.jsonl"]


def test_of_a_recording_that_two_tests_have_made_at_once_the_first_is_kept(run, write, project):
    write("test_python.py", test(f"{ECHO}; import pathlib; pathlib.Path('tapes/book.jsonl').write_text('of another')"))
    done = run()
    assert done.code == 0, done.out
    assert os.listdir(project / "tapes") == ["book.jsonl"]
    assert (project / "tapes" / "book.jsonl").read_text() == "of another"


MISTAKES = {
    "cassette('no.jsonl', record='none')": "there is no recording no.jsonl",
    "cassette('no.jsonl')": "the recording no.jsonl needs a server: it is not there",
    "cassette('no.jsonl', record='always')": "record is one of once, new, none, not 'always'",
    "cassette('foreign.jsonl')": "line 1 of the recording is not a frame",
    "cassette('empty.jsonl', ignore=['a|b'])": "--ignore a|b",
}


def test_mistakes_are_told_in_a_line_each(run, write):
    write("foreign.jsonl", '{"log": 1}\n')
    write("empty.jsonl", '{"recording": 1}\n')
    write("test_python.py", "".join(f"def test_{n}(cassette):\n    {call}\n\n" for n, call in enumerate(MISTAKES)))
    done = run()
    assert set(done.statuses.values()) == {"FAILED"}
    assert [said for said in MISTAKES.values() if said not in done.out] == []
    assert "Traceback" not in done.out


def test_it_is_a_target_for_all_ways_to_connect_and_server_objects_can_be_recorded(run, write):
    write(
        "test_python.py",
        """
        import pytest
        from mcp.server import MCPServer
        from mcp_conductor import connect, connect_sync

        server, calls = MCPServer("counter"), []

        @server.tool()
        def count() -> int:
            calls.append(1)
            return len(calls)

        def test_sync(cassette):
            with connect_sync(cassette("count.jsonl", server=server)) as session:
                assert [session.call_tool("count").structured["result"] for _ in range(2)] == [1, 2]

        @pytest.mark.asyncio
        async def test_async(cassette):
            async with connect(cassette("count.jsonl", record="none"), protocol="auto") as session:
                assert [(await session.call_tool("count")).structured["result"] for _ in range(3)] == [1, 2, 2]
            assert calls == [1, 1]

        def test_modern(cassette):
            for _ in range(2):
                with connect_sync(cassette("modern.jsonl", server=server), protocol="modern") as session:
                    assert session.call_tool("count").structured["result"] == 3
                    assert session.dialect.handshake is False
        """,
    )
    done = run()
    assert (done.code, len(done.statuses)) == (0, 3), done.out


def test_a_path_that_is_ignored_may_differ_and_secrets_stay_out(run, write, project):
    write("test_python.py", test(ECHO, ignore=["params.arguments.message"]))
    assert run(API_TOKEN="Echo: hi").code == 0
    text = (project / "tapes" / "book.jsonl").read_text()
    assert "[redacted]" in text
    assert json.loads(text.splitlines()[0])["recording"] == 1
    body = 'assert book.call_tool("echo", {"message": "other"}).text == "[redacted]"'
    write("test_python.py", test(body, ignore="params.arguments.message"))
    assert run().code == 0
