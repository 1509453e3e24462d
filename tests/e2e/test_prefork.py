"""What the tests fork instead of starting it behaves like a program that was started."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests import prefork
from tests.conftest import MCP_CLI

SCRIPT = """
import os, signal, sys
words = sys.argv[1:]
if words[0] == "echo":
    print(sys.stdin.read(), words[1:], os.environ["MARKED"], os.getcwd())
    print("and this", file=sys.stderr)
elif words[0] == "exit":
    sys.exit(int(words[1]) if words[1].isdigit() else words[1])
elif words[0] == "die":
    os.kill(os.getpid(), signal.SIGTERM)
elif words[0] == "raise":
    1 / 0
elif words[0] == "close":
    sys.stdout = open(1, "w")
    print("too late")
    os.close(1)
else:
    print(os.getpid(), flush=True)
    signal.pause()
"""


@pytest.fixture(params=["forked", "launched", "started"])
def script(request, tmp_path, monkeypatch):
    """The command line of a script: as a fork, as one that another process asks for, and as a new process."""
    if request.param == "started":
        monkeypatch.setenv("CONDUCTOR_TESTS_WITHOUT_FORK", "1")
    elif request.param == "launched":
        monkeypatch.setattr(subprocess, "_fork_exec", prefork._fork_exec)
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return lambda *words: prefork.command((sys.executable, str(file), *words), kind="script")


def test_it_has_its_own_streams_words_environment_and_directory(script, tmp_path):
    env = {**os.environ, "MARKED": "é"}
    done = subprocess.run(
        script("echo", "a b", ""), input=b"in\n", capture_output=True, env=env, cwd=tmp_path, timeout=20, check=True
    )
    assert done.stdout.decode() == f"in\n ['a b', ''] é {tmp_path}\n"
    assert done.stderr == b"and this\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("exit", "0"), 0, b""),
        (("exit", "70"), 70, b""),
        (("exit", "so what"), 1, b"so what\n"),
        (("die",), -signal.SIGTERM, b""),
        (("raise",), 1, b"ZeroDivisionError: division by zero\n"),
        (("close",), 120, b""),
    ],
)
def test_it_ends_as_a_program_does(script, words, code, said):
    done = subprocess.run(script(*words), capture_output=True, timeout=20, check=False)
    assert done.returncode == code
    assert done.stderr.endswith(said)


def test_many_start_and_end_at_the_same_time(script):
    def one(number):
        return subprocess.run(script("exit", str(number)), capture_output=True, timeout=30, check=False)

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(40)))
    assert [(each.returncode, each.stderr) for each in done] == [(number, b"") for number in range(40)]


def test_it_does_not_outlive_who_started_it(script):
    with subprocess.Popen(script("wait"), stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 10
    while alive(pid):
        assert time.monotonic() < deadline


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_our_program_is_forked_and_can_be_told_to_end(tmp_path):
    silent = tmp_path / "silent.py"
    silent.write_text("import sys; sys.stdin.read()")
    server = prefork.command((sys.executable, str(silent)), kind="script")
    words = [*MCP_CLI, "--method", "tools/list", "--", *server]
    process = prefork.start(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.args[3] == prefork.LAUNCH
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.kill()
        assert process.wait(20) == -signal.SIGKILL


def test_a_fork_is_a_child_of_who_starts_it(tmp_path):
    file = tmp_path / "script.py"
    file.write_text("import os; print(os.getpid(), os.getppid(), os.getsid(0))")
    command = prefork.command((sys.executable, str(file)), kind="script")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        told = process.stdout.read().split()
    assert told == [str(process.pid), str(os.getpid()), str(process.pid)]
    assert process.returncode == 0


def test_where_a_fork_cannot_be_a_child_another_process_asks_for_it(tmp_path, monkeypatch):
    file = tmp_path / "script.py"
    file.write_text("print('forked')")
    command = prefork.command((sys.executable, str(file)), kind="script")
    monkeypatch.setattr(prefork, "CHILD", "impossible")
    assert subprocess.run(command, capture_output=True, timeout=20, check=True).stdout == b"forked\n"


def test_what_an_interpreter_reads_when_it_starts_is_not_left_to_a_fork():
    env = {**os.environ, "PYTHONOPTIMIZE": "1"}
    with prefork.start([*MCP_CLI, "--help"], stdout=subprocess.PIPE, env=env) as process:
        assert prefork.LAUNCH not in process.args
        assert process.communicate(timeout=20)[0].startswith(b"usage: ")
