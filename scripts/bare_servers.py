"""Measure what hello-world servers of frameworks break: src/mcp_conductor/checks/frameworks/bare_servers.json.

usage: .venv/bin/python scripts/bare_servers.py DIRECTORY [NAME …]

Installs every framework into a directory of its own below DIRECTORY, where that was not done before, and checks its
server (scripts/bare_servers/) in every revision. With names, only these packages (mcp, …) or files (fastmcp_pypi.py, …)
are measured. Node is taken from PATH.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

from mcp_conductor.checks.engine.exploration import ALL
from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.checks.frameworks import forms_of
from mcp_conductor.errors import MethodError, ProtocolError, TransportError
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.server_spec import StdioSpec

HERE = Path(__file__).parent / "bare_servers"
TABLE = Path(__file__).parents[1] / "src" / "mcp_conductor" / "checks" / "frameworks" / "bare_servers.json"
TIMEOUT = 3.0
# No framework shall look for updates of itself, or tell anybody that it runs.
QUIET = {
    "ARCADE_USAGE_TRACKING": "0",
    "DO_NOT_TRACK": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "NO_UPDATE_NOTIFIER": "1",
    "OTEL_SDK_DISABLED": "true",
}


class Bare(NamedTuple):
    """A hello-world server, and the versions of its framework that are measured."""

    name: str
    registry: str
    package: str
    classes: tuple[tuple[str, str], ...]  # modules, and the class in each
    file: str
    versions: tuple[str, ...]
    besides: tuple[str, ...] = ()  # other packages that it imports

    @property
    def major(self) -> str:
        return self.versions[0].partition(".")[0]

    def words(self, directory: Path, version: str) -> tuple[str, ...]:
        """The command of the server; with npm, its file must be beside the packages."""
        home = directory / f"{self.registry}-{self.package.strip('@').replace('/', '-')}-{version}"
        if self.registry == "pypi":
            return str(home / "bin" / "python"), str(HERE / self.file)
        return "node", str(home / self.file)


ZOD = ("zod",)
FASTMCP = (("fastmcp", "FastMCP"), ("fastmcp.server", "FastMCP"))
BARE = (
    Bare(
        "Python SDK", "pypi", "mcp", (("mcp.server.fastmcp", "FastMCP"), ("mcp.server.fastmcp.server", "FastMCP")),
        "python_sdk_1.py", ("1.27.0", "1.30.0"),
    ),
    Bare(
        "Python SDK", "pypi", "mcp",
        (("mcp.server", "MCPServer"), ("mcp.server.mcpserver", "MCPServer")),
        "python_sdk_2.py", ("2.0.0", "2.3.0"),
    ),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("2.13.3", "2.14.7")),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("3.0.0", "3.4.9")),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("4.0.0", "4.1.2")),
    Bare("Arcade", "pypi", "arcade-mcp-server", (("arcade_mcp_server", "MCPApp"),), "arcade.py", ("1.32.1",)),
    Bare("CHUK MCP server", "pypi", "chuk-mcp-server", (("chuk_mcp_server", "tool"),), "chuk.py", ("0.26.1",)),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/sdk",
        (("@modelcontextprotocol/sdk/server/mcp.js", "McpServer"),),
        "typescript_sdk_1.mjs", ("1.20.0", "1.26.0", "1.32.2"), ZOD,
    ),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/server", (("@modelcontextprotocol/server", "McpServer"),),
        "typescript_sdk_2.mjs", ("2.0.0", "2.3.1", "2.4.0"), ZOD,
    ),
    Bare("fastmcp (TypeScript)", "npm", "fastmcp", (("fastmcp", "FastMCP"),), "fastmcp_npm.mjs", ("4.20.16",), ZOD),
    Bare(
        "mcp-framework", "npm", "mcp-framework", (("mcp-framework", "MCPServer"),),
        "mcp_framework.mjs", ("0.2.22",), ZOD,
    ),
    # Who uses these classes decides much more, so they are frameworks of their own.
    Bare(
        "Python SDK", "pypi", "mcp", (("mcp.server.lowlevel", "Server"), ("mcp.server", "Server")),
        "python_sdk_1_lowlevel.py", ("1.27.0", "1.30.0"),
    ),
    Bare(
        "Python SDK", "pypi", "mcp", (("mcp.server.lowlevel", "Server"), ("mcp.server", "Server")),
        "python_sdk_2_lowlevel.py", ("2.0.0", "2.3.0"),
    ),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/sdk",
        (("@modelcontextprotocol/sdk/server/index.js", "Server"),),
        "typescript_sdk_1_lowlevel.mjs", ("1.20.0", "1.26.0", "1.32.2"), ZOD,
    ),
)  # fmt: skip


def install(bare: Bare, version: str, directory: Path) -> tuple[str, ...]:
    """Install VERSION with the ordinary client, unless it is there: the command of its server."""
    words = bare.words(directory, version)
    home = Path(words[0]).parents[1] if bare.registry == "pypi" else Path(words[1]).parent
    done = home / ".installed"
    if not done.exists():
        home.mkdir(parents=True, exist_ok=True)
        if bare.registry == "pypi":
            venv.create(home, with_pip=True)
            client = [words[0], "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            named = [f"{bare.package}=={version}", *bare.besides]
        else:
            (home / "package.json").write_text('{"private": true, "type": "module"}\n')
            client = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            named = [f"{bare.package}@{version}", *bare.besides]
        subprocess.run([*client, *named], cwd=home, check=True, env={**os.environ, **QUIET})
        done.touch()
    if bare.registry == "npm":
        shutil.copy(HERE / bare.file, home)
    return words


async def measured(words: tuple[str, ...], cwd: str) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """What the server of WORDS breaks: by id and revision, the forms of the findings."""
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    spec = StdioSpec(command=words, env=QUIET, cwd=cwd)
    spoken = False
    for revision in DIALECTS:
        try:
            verdicts = await check(spec, revision, Options(timeout=TIMEOUT, call=ALL))
        except (ProtocolError, MethodError, TransportError):
            continue  # it does not speak this revision
        spoken = True
        for outcome in verdicts.outcomes:
            if outcome.status in ("failed", "warned"):
                found[outcome.id, revision] = forms_of(outcome)
    if not spoken:
        sys.exit(f"{' '.join(words)} does not work: it speaks no revision")
    return found


def row(bare: Bare, found: dict[str, dict[tuple[str, str], set[tuple[str, str]]]], reported: dict[str, str]) -> dict:
    """A member of the table: what each version breaks, the same in several revisions once."""
    faults: dict[tuple, list[str]] = {}
    for name, revision in sorted({key for each in found.values() for key in each}):
        versions = tuple(version for version in found if (name, revision) in found[version])
        forms = frozenset(form for version in versions for form in found[version][name, revision])
        faults.setdefault((name, versions, forms), []).append(revision)
    return {
        "name": bare.name,
        "registry": bare.registry,
        "package": bare.package,
        "major": bare.major,
        "classes": [{"module": module, "name": name} for module, name in bare.classes],
        "measured": list(bare.versions),
        "faults": [
            {
                "id": name,
                "versions": list(versions),
                "revisions": revisions,
                "transport": "stdio",
                **({"address": reported[name]} if name in reported else {}),
                "forms": [{"finding": finding, "answer": answer} for finding, answer in sorted(forms)],
            }
            for (name, versions, forms), revisions in faults.items()
        ],
    }


def main(directory: Path, *names: str) -> None:
    """Measure, and write each row of the table as soon as it is known."""
    reported = json.loads((HERE / "reported.json").read_text(encoding="utf-8"))
    for bare in BARE:
        if names and bare.package not in names and bare.file not in names:
            continue
        found = {}
        for version in bare.versions:
            words = install(bare, version, directory)
            found[version] = asyncio.run(measured(words, str(directory)))
            print(f"{bare.package} {version}: {len(found[version])} faults", file=sys.stderr)
        write(row(bare, found, reported.get(f"{bare.package} {bare.major}", {})))


def write(new: dict) -> None:
    """Put a row in its place in the table; rows that BARE does not have are dropped."""
    order = [(bare.registry, bare.package, bare.major, *bare.classes[0]) for bare in BARE]
    rows = {place_of(each): each for each in [*json.loads(TABLE.read_text(encoding="utf-8")), new]}
    kept = [rows[place] for place in order if place in rows]
    TABLE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def place_of(row: dict) -> tuple[str, ...]:
    """What a row is about."""
    return row["registry"], row["package"], row["major"], *row["classes"][0].values()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
