"""Start and end of a server's process: a signal, a cancel or a time-out at any moment ends it, and nothing is left."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_conductor import connect
from mcp_conductor.errors import ConnectionLost
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.transport import children
from mcp_conductor.transport.stdio import open_stdio

LADDER_SECONDS = 9.0  # three steps of two seconds, the sweep, and a busy machine
STUBBORN = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open("up", "w").close()
    hear()
    while True:
        time.sleep(60)
"""
HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"1"}}}\n'
)
PROGRAM = "import sys; from mcp_conductor.cli import {0}; sys.exit({0}())"
SUITE = """
description: one
tests:
  - it: answers
    list: tools
    expect: {}
"""


def conductor(*words):
    return [sys.executable, "-c", PROGRAM.format("conductor"), *words]


def mcp_cli(*words):
    return [sys.executable, "-c", PROGRAM.format("mcp_cli"), *words]


@pytest.fixture
def programs(serve, tmp_path):
    """The command line of each program that starts a server, with this server."""

    def make(code):
        server = serve(code)
        (tmp_path / "a.test.mcp.yml").write_text(SUITE)
        words = ", ".join(f'"{word}"' for word in server[1:])
        settings = f'{{"mcpServers": {{"one": {{"command": "{server[0]}", "args": [{words}]}}}}}}'
        (tmp_path / "mcp.json").write_text(settings)
        client = f"{sys.executable} -c 'import sys, subprocess; subprocess.run(sys.argv[1:])' {{server}}"
        return {
            "mcp-cli": mcp_cli(*server, "--method", "tools/list"),
            "test": conductor("test", "a.test.mcp.yml", "--", *server),
            "check": conductor("check", *server),
            "check --client": conductor("check", "--client", client),
            "discover": conductor("discover", *server),
            "bridge": conductor("bridge", "mcp.json"),
            "--server all": mcp_cli("--config", "mcp.json", "--server", "all", "--method", "tools/list"),
        }

    return make


def begun(process, program):
    """PROCESS; a bridge starts its servers when a client says hello, so this one does."""
    if program == "bridge":
        process.stdin.write(HELLO)
        process.stdin.flush()
    return process


def first_child(process):
    """Wait, without a pause, until PROCESS has a child: the moment is what is tested."""
    deadline = time.monotonic() + 20
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while time.monotonic() < deadline:
        if (found := children.read_text().split()) or process.poll() is not None:
            return int(found[0])
    raise AssertionError("no child appeared")


def ended(process, seconds=LADDER_SECONDS):
    began = time.monotonic()
    _, err = process.communicate(timeout=seconds)
    assert b"Traceback" not in err, err
    return process.returncode, time.monotonic() - began


PROGRAMS = ["mcp-cli", "test", "check", "check --client", "discover", "bridge", "--server all"]


@pytest.mark.parametrize(
    ("program", "number"),
    [*((each, signal.SIGINT) for each in PROGRAMS), *(("mcp-cli", each) for each in (signal.SIGTERM, signal.SIGHUP))],
)
def test_a_signal_as_the_server_appears_ends_the_program(programs, in_background, program, number):
    process = in_background(programs("hello(); serve({'tools/list': {'tools': []}})")[program])
    begun(process, program)
    first_child(process)
    process.send_signal(number)
    # A bridge with a client is a server: to be asked to end is no failure of it.
    assert ended(process)[0] == (0 if program == "bridge" else 128 + number)


@pytest.mark.parametrize("program", ["mcp-cli", "test", "check", "bridge"])
def test_a_second_signal_shortens_the_wait_for_a_stubborn_server(programs, in_background, program, tmp_path):
    process = begun(in_background(programs(STUBBORN)[program]), program)
    wait_for(tmp_path / "up", process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    code, seconds = ended(process, 4)
    assert code in ((0, 143) if program == "bridge" else (130, 143))
    assert seconds < 3


def test_a_bridge_that_serves_ends_all_servers_on_sighup(programs, in_background, tmp_path):
    command = programs("hello(); open('up', 'w').close(); serve({'tools/list': {'tools': []}})")["bridge"]
    process = begun(in_background(command), "bridge")
    wait_for(tmp_path / "up", process)
    process.send_signal(signal.SIGHUP)
    assert ended(process)[0] in (0, 129)


def wait_for(file, process):
    deadline = time.monotonic() + 20
    while not file.exists() and process.poll() is None:
        assert time.monotonic() < deadline, f"{file} did not appear"
        time.sleep(0.001)


@pytest.mark.parametrize("delay", [0, 1, 2, 5, 10, 20, 50])
async def test_connect_can_be_cancelled_at_any_moment(spec, survivors, delay):
    async def open_it():
        async with connect(spec("hello(); serve({})")):
            await asyncio.sleep(60)

    task = asyncio.ensure_future(open_it())
    await asyncio.sleep(delay / 1000)  # not a wait for something: the moment is the test
    task.cancel()
    async with asyncio.timeout(LADDER_SECONDS):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert survivors() == []


@pytest.mark.parametrize("milliseconds", [pytest.param(1, marks=pytest.mark.slow), 100])
async def test_connect_within_a_timeout_ends_with_it_however_stubborn_the_server_is(
    spec, survivors, milliseconds, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(milliseconds / 1000), connect(spec(STUBBORN)):
            raise AssertionError("it did not open")
    assert asyncio.get_running_loop().time() - began < LADDER_SECONDS
    assert survivors() == []


@pytest.fixture
def spec(serve, environment):
    def make(code):
        return StdioSpec(command=serve(code), env=environment)

    return make


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(programs, in_background, tmp_path):
    words = programs("hello(); open('up', 'w').close(); open('go').read(); serve({'tools/list': {'tools': []}})")
    os.mkfifo(tmp_path / "go")
    process = in_background(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *words["mcp-cli"]])
    wait_for(tmp_path / "up", process)
    process.send_signal(signal.SIGHUP)
    (tmp_path / "go").write_text("now")
    assert ended(process)[0] == 0


DAEMON = """
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.close(0), os.close(1), os.close(2)
            open("daemon", "w").write(str(os.getpid()))
            while True:
                time.sleep(60)
        os._exit(0)
    os.wait()
    while not os.path.exists("daemon"):
        pass
    hello()
    serve({'tools/list': {'tools': []}})
"""


@pytest.mark.parametrize("program", ["mcp-cli", "test", pytest.param("discover", marks=pytest.mark.slow)])
def test_a_daemon_in_a_session_of_its_own_does_not_escape(programs, in_background, program):
    process = in_background(programs(DAEMON)[program])
    assert ended(process, 20)[0] == 0


async def test_what_left_the_session_but_not_its_parent_is_ended_by_the_library_too(spec, survivors):
    async with connect(spec("subprocess.Popen(['sleep', '60'], start_new_session=True); hello(); serve({})")):
        assert len(survivors()) == 2
    assert survivors() == []


async def test_processes_of_the_caller_are_left_alone(spec):
    own = subprocess.Popen(["sleep", "60"], start_new_session=True)  # noqa: ASYNC220
    try:
        async with connect(spec("hello(); serve({})")):
            pass
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


async def test_a_server_that_closes_its_stdin_is_gone(spec):
    server = "hello(); request = hear(); os.close(0); result(request, {}); time.sleep(60)"
    async with connect(spec(server), timeout=20) as session:
        await session.request("ping")
        with pytest.raises(ConnectionLost, match="the server closed its stdin"):
            await session.request("ping")


class Listening:
    """Keeps everything that a transport hears."""

    def __init__(self):
        self.busy = False
        self.said = []

    def heard(self, message, answers=None):
        self.said.append(message.text)
        self.busy = len(self.said) == 1

    def on_stderr(self, line): ...

    def gone(self, why): ...


async def test_nothing_is_read_while_what_was_heard_is_still_being_worked_on(spec):
    listening = Listening()
    async with open_stdio(spec("shout('1\\n2\\n'); shout('3\\n' * 100_000); hear()"), listening) as transport:
        while not listening.said:  # noqa: ASYNC110
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert listening.said == ["1"]
        listening.busy = False
        while len(listening.said) < 100_002:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.exit_code is None


async def test_the_last_words_of_a_process_are_heard_before_its_end(spec):
    for _ in range(20):
        listening = Listening()
        code = "sys.stdin.read(); shout('first\\n'); os.write(1, b'last ' * 10_000 + b'\\n'); os._exit(0)"
        async with open_stdio(spec(code), listening) as transport:
            assert await transport.hang_up(20)
        listening.busy = False
        assert listening.said[:1] == ["first"]


async def test_a_process_whose_stdin_we_closed_is_still_listened_to(spec):
    listening = Listening()
    code = "sys.stdin.read(); shout('first\\n'); time.sleep(0.7); shout('second\\n')"
    async with open_stdio(spec(code), listening) as transport:
        hanging_up = asyncio.ensure_future(transport.hang_up(20))
        while not listening.said:  # noqa: ASYNC110
            await asyncio.sleep(0)
        listening.busy = False
        assert await hanging_up
    assert listening.said == ["first", "second"]


BUSY = """
from mcp_conductor.cli.process import interruptible

interruptible.DEAF_SECONDS = 0.3

async def compute():
    open("up", "w").close()
    while True:
        pass

interruptible.run_interruptibly(compute())
"""


def test_a_signal_ends_a_program_that_is_in_the_middle_of_long_work(in_background, tmp_path):
    process = in_background([sys.executable, "-c", BUSY])
    wait_for(tmp_path / "up", process)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 143


def test_mcp_conductor_is_conductor():
    from importlib.metadata import entry_points

    programs = {each.name: each.value for each in entry_points(group="console_scripts")}
    assert programs["mcp-conductor"] == programs["conductor"]


SCRIPT = "from mcp_conductor.cli import conductor_script; conductor_script()"


def test_what_others_have_registered_for_the_end_of_a_program_is_done():
    code = f"import atexit; atexit.register(print, 'the end', flush=True); {SCRIPT}; print('never')"
    words = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    version, end = done.stdout.splitlines()
    assert (version.split()[0], end, done.stderr) == ("conductor", "the end", "")


def test_a_file_that_a_plugin_leaves_open_is_written_to_its_end(tmp_path):
    (tmp_path / "ours.py").write_text("left_open = open('said', 'w')\nleft_open.write('all of it')\n")
    words = ("test", "--plugin", "ours.py", "--collect-only", "--", "no-such-program")
    subprocess.run([sys.executable, "-c", SCRIPT, *words], cwd=tmp_path, capture_output=True, timeout=30, check=False)
    assert (tmp_path / "said").read_text() == "all of it"


@pytest.mark.parametrize("words", [("--nonsense",), ("test", "no-such-file.yml", "--", "x")])
def test_an_installed_program_ends_with_the_code_of_the_program(tmp_path, words):
    programs = [[sys.executable, "-c", code, *words] for code in (SCRIPT, PROGRAM.format("conductor"))]
    done = [subprocess.run(each, cwd=tmp_path, capture_output=True, timeout=30, check=False) for each in programs]
    assert [each.returncode for each in done] == [2, 2]


def test_a_server_that_was_started_ahead_is_the_one_that_is_used(spec):
    server = spec("time.sleep(60)")
    children.start_ahead(server.command, cwd=server.cwd, env=server.env)
    (ahead,) = children._ahead.values()
    try:
        assert children.start(server.command, cwd=server.cwd, env={"OTHER": "1"}) is not ahead
        assert children.start(server.command, cwd=server.cwd, env=server.env) is ahead
        assert children.start(server.command, cwd=server.cwd, env=server.env) is not ahead
    finally:
        children.kill_all()
        for child in list(children._running.values()):
            child.popen.communicate(timeout=10)
            child.forget()


def test_a_server_that_was_started_ahead_and_not_used_is_killed(spec, survivors):
    server = spec("time.sleep(60)")
    children.start_ahead(server.command, cwd=server.cwd, env=server.env)
    (ahead,) = children._ahead.values()
    children.kill_unused()
    assert ahead.popen.returncode == -signal.SIGKILL
    assert survivors() == []


def test_what_cannot_be_started_ahead_is_refused_when_it_is_asked_for():
    children.start_ahead(("no-such-program",), cwd=None, env={})
    with pytest.raises(FileNotFoundError):
        children.start(("no-such-program",), cwd=None, env={})


def test_what_must_not_miss_a_process_waits_until_it_has_started(monkeypatch, spec):
    seen = []
    popen = children.Popen

    def interrupted(*words, **options):
        children.when_started(lambda: seen.append(len(children._running)))
        assert seen == []
        return popen(*words, **options)

    monkeypatch.setattr(children, "Popen", interrupted)
    before = len(children._running)
    child = children.start(spec("pass").command, cwd=None, env={})
    assert seen == [before + 1]
    child.popen.communicate(timeout=10)
    child.forget()
