"""What is the author's, and what is the framework's: with real frameworks, as they are installed for these tests."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bare_servers import BARE, HERE, RACES, measured
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import broken
from tests.e2e.checks.real_servers import PEERS, node
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.checks.frameworks import frameworks

LIAR = """
    def initialize(self, params):
        found = super().initialize(params)
        found["serverInfo"] = {"name": "FastMCP", "version": "4.1.2"}
        return found

    def list_tools(self, params):
        return {"tools": self.tools}  # also for a cursor that is none
    """


def command(bare, tmp_path):
    """The command of a bare server on what is installed for the tests."""
    if bare.registry == "pypi":
        return (sys.executable, str(HERE / bare.file))
    if node() is None:
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    (tmp_path / "node_modules").symlink_to(PEERS / "node_modules")
    shutil.copy(HERE / bare.file, tmp_path)
    return (str(node()), str(tmp_path / bare.file))


# What an author chooses otherwise than that of a bare server.
OTHERS = {
    "def greeting(name: str)": "def plan_of_the_day(name: str)",
    "def greet(name: str)": "def move_all(count: int)",
    '"greeting"': '"plan-of-the-day"',
    '"greet", "Greet by name.", { name: z.string() }, async ({ name })': '"move-all", "Move.", { to: z.number() }, async ({ to })',
    "Hello, ${name}!": "Moved to ${to}",
    "Hello, {name}!": "Moved {count}",
    "hello": "notes",
    "world": "shelf",
}
QUICK = ("python_sdk_2.py", "typescript_sdk_1.mjs")
INSTALLED = [
    pytest.param(bare, version, id=f"{bare.file}-{version}", marks=() if bare.file in QUICK else pytest.mark.slow)
    for bare in BARE
    for version in bare.versions
    if (bare.package, version)
    in (
        ("mcp", "2.3.0"),
        ("fastmcp", "4.1.2"),
        ("@modelcontextprotocol/sdk", "1.32.2"),
        ("@modelcontextprotocol/server", "2.3.1"),
    )
]


def check(tmp_path, words, *flags, **env):
    done = subprocess.run(
        [*CONDUCTOR, "check", "--timeout", "10s", *flags, "--", *words],  # also on a busy machine
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **env},
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize(("bare", "version"), INSTALLED)
def test_the_table_has_what_a_bare_server_breaks(bare, version, tmp_path):
    of_bare = (*bare.classes[0], bare.major)
    row = next(each for each in frameworks() if (*each.classes[0][1:3], each.major) == of_bare)
    found = asyncio.run(measured(command(bare, tmp_path), str(tmp_path), 1))
    known = {each.id: set(each.forms) for each in row.faults if version in each.versions}
    assert found.keys() - set(RACES) == known.keys() - set(RACES)
    assert {name for name, forms in found.items() if not forms <= known.get(name, set())} == set()


@pytest.mark.peers
@pytest.mark.parametrize(("bare", "version"), INSTALLED)
def test_a_hello_world_server_is_fine_and_with_all_findings_it_is_not_better(bare, version, tmp_path):
    words = command(bare, tmp_path)
    code, text = check(tmp_path, words, "--call-tools", "all", "--json")
    report = json.loads(text)
    assert code == 0
    assert report["metrics"]["grade"]["letter"] == "A"
    assert report["metrics"]["framework"]["version"] == version
    assert bare.file in report["metrics"]["framework"]["how"]
    theirs = [each["id"] for each in report["outcomes"] if "framework" in each]
    assert theirs
    assert [each["id"] for each in report["outcomes"] if each["status"] in ("failed", "warned")] == []
    code, text = check(tmp_path, words, "--call-tools", "all", "--json", "--all-findings")
    every = json.loads(text)
    assert set(theirs) <= {each["id"] for each in every["outcomes"] if each["status"] in ("failed", "warned")}
    assert every["metrics"]["grade"]["letter"] == report["metrics"]["gradeOfAll"]["letter"]
    assert (code == 1) == (every["summary"]["failed"] > 0)


@pytest.mark.peers
@pytest.mark.parametrize(("bare", "version"), [each for each in INSTALLED if not each.marks])
def test_the_names_types_and_texts_of_a_server_do_not_matter(bare, version, tmp_path):
    words = command(bare, tmp_path)
    source = Path(words[1]).read_text(encoding="utf-8")
    for old, new in OTHERS.items():
        source = source.replace(old, new)
    (tmp_path / Path(words[1]).name).unlink(missing_ok=True)
    (tmp_path / Path(words[1]).name).write_text(source, encoding="utf-8")
    _, text = check(tmp_path, (words[0], str(tmp_path / Path(words[1]).name)), "--call-tools", "all", "--json")
    report = json.loads(text)
    assert report["metrics"]["framework"]["version"] == version
    assert [each["id"] for each in report["outcomes"] if each["status"] in ("failed", "warned")] == []


@pytest.mark.peers
def test_a_framework_is_recognised_behind_a_launcher_although_it_moves_its_stdin(tmp_path):
    launcher = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
    words = (sys.executable, "-c", launcher, sys.executable, str(HERE / "python_sdk_2.py"))
    _, text = check(tmp_path, words, "--only", "ping", "--json")
    assert json.loads(text)["metrics"]["framework"]["package"] == "mcp"


def test_a_server_that_only_calls_itself_a_framework_is_not_excused(tmp_path):
    code, text = check(tmp_path, broken(tmp_path, "Plain", LIAR), "--json", PYTHONPATH=str(SERVERS))
    report = json.loads(text)
    assert report["server"]["name"] == "FastMCP"
    assert "framework" not in report["metrics"]
    assert "pagination-invalid-cursor" in [each["id"] for each in report["outcomes"] if each["status"] == "warned"]
    assert code == 0


def test_what_the_author_breaks_on_a_framework_is_the_authors(tmp_path):
    source = (HERE / "python_sdk_2.py").read_text(encoding="utf-8")
    author = source.replace("server.run()", 'print("hello", flush=True)\nserver.run()')
    Path(tmp_path / "server.py").write_text(author, encoding="utf-8")
    code, text = check(tmp_path, (sys.executable, "server.py"), "--only", "stdio")
    assert code == 1
    assert "FAIL  stdio-stdout-clean-server" in text
