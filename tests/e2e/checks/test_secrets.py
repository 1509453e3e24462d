"""What a check writes holds no secret of the command line, although the server says it aloud."""

import subprocess
import sys

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
KINDS = ("json", "junit", "tap", "github", "markdown")


def written_by(*flags, server, environment, folder):
    """Everything that a check puts on stdout and stderr, and into files."""
    reports = [f"--report={kind}:{folder / kind}" for kind in KINDS]
    # A few requirements are enough to have findings with evidence; the whole check takes seconds.
    done = subprocess.run(
        [*CONDUCTOR, "check", *flags, *reports, "-vv", "--only=tools", "--only=lifecycle", "--", *server],
        capture_output=True, text=True, timeout=60, env=environment, cwd=folder, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return {"stdout": done.stdout, "stderr": done.stderr} | {kind: (folder / kind).read_text() for kind in KINDS}


def test_an_environment_variable_that_the_server_tells_is_in_no_report(serve, environment, tmp_path):
    server = serve(
        """
        key = os.environ["API_KEY"]
        hello(tools={})
        serve({"tools/list": {"tools": [{"name": key, "description": key, "inputSchema": {"type": key}}]}})
        """
    )
    written = written_by("-e", "API_KEY=canary-of-env", server=server, environment=environment, folder=tmp_path)
    assert {name for name, text in written.items() if "canary-of-env" in text} == set()
    assert "[redacted]" in written["json"]


def test_a_token_that_the_server_tells_is_in_no_report(http, environment, tmp_path):
    def tell(call):
        key = call.headers["authorization"].partition(" ")[2]
        call.result({"tools": [{"name": key, "description": key, "inputSchema": {"type": key}}]})

    flags = ("--token", "canary-of-token", "--protocol", "2025-11-25")
    url = http({"tools/list": tell}).url
    written = written_by(*flags, server=[url], environment=environment, folder=tmp_path)
    assert {name for name, text in written.items() if "canary-of-token" in text} == set()
    assert "[redacted]" in written["json"]
