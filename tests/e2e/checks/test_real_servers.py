"""No false alarm: of servers that people use, a check says what they break, and nothing else.

benchmarks/alarms does the same in every revision.
"""

import subprocess

import pytest
from tests.e2e.checks.real_servers import REAL, checked, expected, node, target

# The same servers on another transport, or others made with the same SDK, are checked quicker.
SLOW = ("everything", "everything-sse", "fastmcp", "fetch", "git", "memory")
MODERN = ("sdk-http", "typescript-http", "composed", "composed-http")
SLOW_MODERN = ("typescript",)


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "version"),
    [
        *(pytest.param(name, "2025-11-25", marks=pytest.mark.slow if name in SLOW else ()) for name in REAL),
        *((name, "2026-07-28") for name in MODERN),
        *(pytest.param(name, "2026-07-28", marks=pytest.mark.slow) for name in SLOW_MODERN),
    ],
)
def test_a_check_reports_exactly_what_a_real_server_breaks(name, version, tmp_path):
    real = REAL[name]
    if "NODE" in real.words and node() is None:
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    with target(real, tmp_path) as words:
        said = checked(version, words)
    assert said.error is None
    assert set(said.broken) == expected(real, version), said.broken
