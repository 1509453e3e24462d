"""`conductor show --follow` in a real process: it shows what comes, and ends when it should."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
SOON = 30.0
HEADER = '{"recording": 1}\n'


def frame(source, text, **more):
    return (
        json.dumps({"at": 1.5, "source": source, **more, "text": text if isinstance(text, str) else json.dumps(text)})
        + "\n"
    )


def call(number, method):
    return frame("client", {"jsonrpc": "2.0", "id": number, "method": method})


def answer(number, **result):
    return frame("server", {"jsonrpc": "2.0", "id": number, **result})


def append(file, text):
    with file.open("a") as out:
        out.write(text)


@contextmanager
def following(directory, *words):
    with subprocess.Popen(
        [*CONDUCTOR, "show", "said.jsonl", "-f", *words],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupt(process):
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON)
    return process.returncode, out, err


def test_frames_are_shown_as_they_are_written_and_ctrl_c_ends_it(tmp_path):
    file = tmp_path / "said.jsonl"
    file.write_text(HEADER + frame("note", "first"))
    with following(tmp_path) as process:
        assert process.stdout.readline() == "   1.500 note: first\n"
        whole = frame("note", "second", session=2)
        append(file, whole[:20])
        append(file, whole[20:])
        assert process.stdout.readline() == "   1.500   2 note: second\n"
        assert interrupt(process) == (130, "", "")


def test_a_file_is_waited_for_and_one_that_is_replaced_is_another_recording(tmp_path):
    file = tmp_path / "said.jsonl"
    with following(tmp_path) as process:
        assert process.stderr.readline() == "waiting for said.jsonl, which is not there yet\n"
        file.write_text(HEADER + frame("note", "one"))
        assert process.stdout.readline() == "   1.500 note: one\n"
        (tmp_path / "new").write_text(HEADER + frame("note", "two", session=3))
        (tmp_path / "new").rename(file)
        assert process.stdout.readline() == "   1.500 note: two\n"
        assert process.stderr.readline() == "note: said.jsonl was replaced; another recording begins\n"
        assert interrupt(process)[0] == 130


def test_filters_hold_back_what_is_not_known_to_be_an_error_yet(tmp_path):
    file = tmp_path / "said.jsonl"
    file.write_text(HEADER + call(1, "ping") + call(2, "tools/list"))
    with following(tmp_path, "--failed", "--json") as process:
        assert process.stdout.readline() == '{"recording":1}\n'
        append(file, answer(1, result={}) + answer(2, error={"code": -32601, "message": "no"}))
        assert [json.loads(process.stdout.readline())["source"] for _ in range(2)] == ["client", "server"]
        assert interrupt(process) == (130, "", "2 of 4 frames shown\n")


def test_it_ends_when_its_reader_is_gone_although_nothing_comes(tmp_path):
    (tmp_path / "said.jsonl").write_text(HEADER + frame("note", "first"))
    with following(tmp_path) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(SOON) == 0


def test_a_line_that_is_no_frame_ends_it_with_its_number(tmp_path):
    file = tmp_path / "said.jsonl"
    file.write_text(HEADER + frame("note", "first"))
    with following(tmp_path) as process:
        process.stdout.readline()
        append(file, "nonsense\n")
        assert process.communicate(timeout=SOON) == ("", "error: line 3 of the recording is not a frame: nonsense\n")
        assert process.returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="its memory is read from /proc")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    """A million frames, of which every tenth request fails, take as much memory as a few."""
    file = tmp_path / "said.jsonl"
    text = "".join(
        call(n, "ping") + answer(n, **({"error": {"code": 1, "message": "x" * 200}} if n % 10 == 0 else {"result": {}}))
        for n in range(10_000)
    )
    with file.open("w") as out:
        out.write(HEADER)
        for _ in range(50):
            out.write(text)
    with following(tmp_path, "--failed") as process:
        for _ in range(50 * 2_000):
            assert re.match(" +1.500 (-->|<--)", process.stdout.readline())
        used = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert int(used[1]) < 80_000
