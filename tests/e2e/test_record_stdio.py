"""`conductor record -- COMMAND`: a client and a server on stdio notice nothing of what stands between them."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import BOOKSHELF

from mcp_conductor import read_recording

RECORD = (sys.executable, "-m", "mcp_conductor", "record", "-o", "said.jsonl", "--")
SOON = 20.0


@pytest.fixture
def relayed(tmp_path, environment):
    """Start a Python script as a server with a relay before it."""
    started = []

    def start(script, *flags):
        (tmp_path / "server.py").write_text(script)
        words = [*RECORD[:-3], *(flags or ("-o", "said.jsonl")), "--", sys.executable, "-u", "server.py"]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started.append(subprocess.Popen(words, cwd=tmp_path, env=environment, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


@pytest.fixture
def recording(tmp_path):
    return lambda: read_recording(str(tmp_path / "said.jsonl"))


def of(recording, source):
    return [entry.frame.text for entry in recording.entries if entry.frame.source == source]


def write_without_end(stream):
    while True:
        os.write(stream.fileno(), b"x")


def is_running(process):
    """Whether PROCESS is there, and is not only waiting to be asked how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(is_so, what):
    until = time.monotonic() + SOON
    while not is_so():
        assert time.monotonic() < until, f"not within {SOON:g} s: {what}"
        time.sleep(0.01)


ECHO = """
import os
while data := os.read(0, 50_000):
    while data:
        data = data[os.write(1, data):]
os.write(2, b"bye \\xff\\n")
"""


def test_every_byte_passes_in_both_directions_also_those_that_are_no_message(relayed, recording):
    chance = random.Random(7)
    sent = b"".join(
        chance.randbytes(chance.randrange(2000)) + chance.choice([b"\n", b"\r\n", b"", b"\0"]) for _ in range(900)
    )
    out, err = relayed(ECHO).communicate(sent, timeout=SOON)
    assert out == sent
    assert err == b"bye \xff\n"
    lines = [line.removesuffix(b"\r") for line in sent.split(b"\n") if line.strip()]
    for source in ("client", "server"):
        assert [text.encode(errors="surrogateescape") for text in of(recording(), source)] == lines
    assert of(recording(), "stderr") == ["bye \udcff"]
    assert of(recording(), "process") == ["started", "the client closed stdin", "exited with code 0"]


def test_what_follows_from_something_stands_behind_it(relayed, recording):
    server = relayed(ECHO)
    for number in range(300):
        server.stdin.write(b"%d\n" % number)
        server.stdin.flush()
        assert server.stdout.readline() == b"%d\n" % number
    server.communicate(timeout=SOON)
    said = [
        (entry.frame.source, entry.frame.text)
        for entry in recording().entries
        if entry.frame.source in ("client", "server")
    ]
    assert said == [(source, str(number)) for number in range(300) for source in ("client", "server")]


def test_a_large_message_passes_although_neither_side_reads_before_it_has_written(relayed):
    line = b"x" * 3_000_000 + b"\n"
    out, _ = relayed("import sys; line = sys.stdin.readline(); sys.stdout.write(line)").communicate(line, timeout=SOON)
    assert out == line


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_that_of_the_server(relayed, recording, code):
    server = relayed(f"import sys; print('last words', flush=True); sys.exit({code})")
    out, _ = server.communicate(timeout=SOON)
    assert (server.returncode, out) == (code, b"last words\n")
    assert of(recording(), "process")[-1] == f"exited with code {code}"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_a_server_that_a_signal_ends_ends_the_relay_by_the_same(relayed, recording, name):
    server = relayed(f"import os, signal; os.kill(os.getpid(), signal.{name})")
    server.communicate(timeout=SOON)
    assert server.returncode == -getattr(signal, name)
    assert of(recording(), "process")[-1] == f"ended by {name}"


REACTS = """
import signal, sys, time
for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(each, lambda number, _: sys.exit(100 + number))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_goes_to_the_server_which_decides_what_follows(relayed, name):
    server = relayed(REACTS)
    assert server.stdout.readline() == b"ready\n"
    server.send_signal(getattr(signal, name))
    assert server.wait(SOON) == 100 + getattr(signal, name)


def test_a_server_behind_a_wrapper_that_a_signal_ends_is_ended_too(relayed):
    wrapper = (
        "import subprocess, sys\n"
        "server = 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'\n"
        "sys.exit(subprocess.call([sys.executable, '-c', server]))\n"
    )
    process = relayed(wrapper)
    server = int(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.wait(SOON) == -signal.SIGTERM
    wait_for(lambda: not is_running(server), "the end of the server")


def test_the_end_of_stdin_reaches_the_server_and_the_end_of_stdout_the_client(relayed):
    server = relayed("import os, sys\nos.close(1)\nsys.stdin.read()\nsys.exit(5)")
    assert server.stdout.read() == b""  # while it lives
    assert server.poll() is None
    server.stdin.close()
    assert server.wait(SOON) == 5


def test_a_client_that_stops_reading_is_a_broken_pipe_for_the_server(relayed):
    server = relayed(
        "import os\ntry:\n    while True: os.write(1, b'x' * 1000)\nexcept BrokenPipeError:\n    os._exit(9)"
    )
    server.stdout.read(1)
    server.stdout.close()
    assert server.wait(SOON) == 9


def test_a_server_that_closes_its_stdin_is_a_broken_pipe_for_the_client(relayed):
    server = relayed("import os, time\nos.close(0)\nos.write(1, b'closed')\ntime.sleep(60)")
    assert server.stdout.read(6) == b"closed"
    with pytest.raises(BrokenPipeError):
        write_without_end(server.stdin)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_after_a_signal_what_a_client_does_not_read_is_not_waited_for(relayed, name, tmp_path):
    relay = relayed("import os\nfor _ in range(1000): os.write(1, b'x' * 999 + b'\\n')")
    file = tmp_path / "said.jsonl"
    wait_for(lambda: file.exists() and file.stat().st_size > 60_000, "as much as a pipe holds")
    number = getattr(signal, name)
    relay.send_signal(number)
    assert relay.wait(5) == -number  # a client that asks in this way does not wait for long


def test_what_a_client_does_not_read_is_kept_for_it_until_it_does(relayed):
    server = relayed("import os\nfor _ in range(40): os.write(1, b'y' * 10_000)")
    assert server.stdout.read() == b"y" * 400_000
    assert server.wait(SOON) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the child of a process that is killed")
def test_a_relay_that_is_killed_leaves_no_server_and_a_whole_recording(relayed, recording, tmp_path):
    server = relayed(
        "import os, signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint(os.getpid(), flush=True)\ntime.sleep(60)"
    )
    pid = int(server.stdout.readline())
    wait_for(lambda: of(recording(), "server") == [str(pid)], "the line is in the recording")
    server.kill()
    assert server.wait(SOON) == -signal.SIGKILL

    def ended():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"

    wait_for(ended, "the server has ended")
    assert (recording().warning, of(recording(), "server")) == (None, [str(pid)])


def test_a_client_that_dies_ends_the_server_and_the_relay(tmp_path, environment, recording):
    (tmp_path / "server.py").write_text("import sys\nprint('up', flush=True)\nsys.stdin.read()\n")
    client = f"""
import subprocess, sys, time
relay = subprocess.Popen({[*RECORD, sys.executable, "server.py"]!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
relay.stdout.readline()
print(relay.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", client], cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.kill()
    wait_for(lambda: of(recording(), "process")[-1:] == ["exited with code 0"], "the server has ended")
    assert of(recording(), "process") == ["started", "the client closed stdin", "exited with code 0"]


def test_a_stream_that_another_process_holds_open_is_not_waited_for(relayed):
    server = relayed("import subprocess\nprint(subprocess.Popen(['sleep', '60']).pid, flush=True)")
    began = time.monotonic()
    code, took = server.wait(SOON), time.monotonic() - began
    os.kill(int(server.stdout.read()), signal.SIGKILL)
    assert code == 0
    assert took < 15


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
def test_a_full_disk_is_told_and_the_traffic_goes_on(relayed, tmp_path):
    (tmp_path / "full.jsonl").symlink_to("/dev/full")
    server = relayed(ECHO, "-o", "full.jsonl")
    out, err = server.communicate(b"hello\n" * 100, timeout=SOON)
    assert (server.returncode, out) == (0, b"hello\n" * 100)
    assert err == b"warning: the recording ends here: No space left on device\nbye \xff\n"


def test_secrets_of_the_environment_and_of_the_command_are_not_in_the_recording(tmp_path, environment):
    words = [*RECORD, "sh", "-c", 'echo "$MY_TOKEN $1"; echo "$MY_TOKEN" >&2', "sh", "--api-key=abcdefgh-12345"]
    variables = {**environment, "MY_TOKEN": "hunter22-hunter33"}
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, timeout=SOON, check=False)
    assert b"hunter22-hunter33 --api-key=abcdefgh-12345" in done.stdout
    text = (tmp_path / "said.jsonl").read_text()
    assert "hunter22" not in text
    assert "abcdefgh-12345" not in text
    assert text.count("[redacted]") >= 4


def test_names_of_files_can_have_the_time_and_the_process(tmp_path, environment):
    words = [sys.executable, "-m", "mcp_conductor", "record", "-o", "r-{time}-{pid}.jsonl", "--", "true"]
    for _ in range(2):
        subprocess.run(words, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, timeout=SOON, check=True)
    names = sorted(os.listdir(tmp_path))
    assert len(names) == 2
    assert all(name.startswith("r-2") and "{" not in name for name in names)
    assert json.loads((tmp_path / names[0]).read_text().splitlines()[0])["server"] == {"command": ["true"]}


def test_all_that_follows_the_first_dashes_is_the_command_of_the_server(tmp_path, environment, recording):
    words = [*RECORD, "echo", "--", "--method", "-o", "x", "--"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=SOON, check=False)
    assert (done.returncode, done.stdout) == (0, b"-- --method -o x --\n")
    assert recording().header.server == {"command": words[len(RECORD) :]}


def test_a_wrapped_server_is_recorded_each_time_and_the_settings_come_back(tmp_path, environment):
    text = json.dumps({"mcpServers": {"books": {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}}}, indent=4)
    (tmp_path / "mcp.json").write_text(text)

    def run(*words):
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, timeout=SOON, check=True
        ).stdout

    program = (sys.executable, "-m", "mcp_conductor")
    call = (*program, "call", "--config", "mcp.json", "--method", "tools/list")
    direct = run(*call)
    for _ in range(2):
        run(*program, "wrap", "mcp.json", "books", "-o", "r/{pid}.jsonl")
        assert run(*call) == direct
    files = os.listdir(tmp_path / "r")
    assert len(files) == 2
    for file in files:
        assert any("tools/list" in text for text in of(read_recording(str(tmp_path / "r" / file)), "client"))
    run(*program, "unwrap", "mcp.json")
    assert (tmp_path / "mcp.json").read_text() == text
    assert sorted(os.listdir(tmp_path)) == ["mcp.json", "r"]
