"""The suites of examples/recordings: made from real recordings, and true of the servers that were recorded."""

import os
import subprocess
import sys

import pytest
from tests import prefork
from tests.conftest import ROOT
from tests.e2e.recordings.conftest import node
from tests.e2e.suites.conftest import CONDUCTOR

FOLDER = ROOT / "examples" / "recordings"
DATA = "examples/filesystem/test-data"
NAMES = ("everything", "filesystem", "memory")
RECORD = ("-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())", "record")


def server(name):
    return node(name, *((DATA,) if name == "filesystem" else ()))


def run(words, tmp_path, **options):
    environment = {**os.environ, "MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    done = prefork.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("name", NAMES)
def test_the_suite_passes_on_the_server_that_was_recorded(tmp_path, name):
    done = run([*CONDUCTOR, "test", str(FOLDER / f"{name}.test.mcp.yml"), "--", *server(name)], tmp_path)
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_suite_passes_twenty_times(tmp_path, name):
    for _ in range(20):
        test_the_suite_passes_on_the_server_that_was_recorded(tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_suite_is_what_its_first_lines_say(tmp_path, name):
    said, suite = tmp_path / "said.jsonl", tmp_path / "made.test.mcp.yml"
    words = [sys.executable, *RECORD, "-o", str(said), "--", *server(name)]
    environment = {**os.environ, "MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    client = [sys.executable, str(FOLDER / "client.py"), name, *words]
    subprocess.run(client, cwd=ROOT, env=environment, check=True, timeout=120, stderr=subprocess.DEVNULL)
    run([*CONDUCTOR, "discover", "--from", str(said), "-o", str(suite)], tmp_path)
    made, kept = (file.read_text() for file in (suite, FOLDER / f"{name}.test.mcp.yml"))
    assert made.partition("description:")[2] == kept.partition("description:")[2]
