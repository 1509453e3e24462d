"""Measure what hello-world servers of frameworks break: src/mcp_conductor/checks/frameworks/bare_servers.json.

usage: .venv/bin/python scripts/bare_servers.py DIRECTORY [NAME …]

Installs every framework into a directory of its own below DIRECTORY, where that was not done before, and checks its
server (scripts/bare_servers/) in every revision. With names, only these packages (mcp, …) or files (fastmcp_pypi.py, …)
are measured. Node is taken from PATH.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

from mcp_conductor.checks.engine.exploration import ALL
from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.checks.frameworks import ANYTHING, Form, endings_of, form_of
from mcp_conductor.errors import MethodError, ProtocolError, TransportError
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.report.model import Outcome

HERE = Path(__file__).parent / "bare_servers"
TABLE = Path(__file__).parents[1] / "src" / "mcp_conductor" / "checks" / "frameworks" / "bare_servers.json"
TIMEOUT = 10.0  # also for a busy machine
RACES = ("cancel-race-server", "base-response-once-server")  # a race is not lost each time, nor in the same way
TIMES = 5  # that they are measured in each revision
# What differs from server to server: what the bare servers chose, what we send, numbers but for the code of an error;
# and types, where a server tells of them. What is left is the framework's.
CHOSEN = re.compile(
    r"""['"]?[\w:/.-]*(?:conductor|greet|hello|world)[\w:/-]*['"]?|['"]name['"]|(?<!^error )(?<!^error -)(?<!\d)\d+""",
    re.IGNORECASE,
)
TYPE = re.compile(r"\b(?:string|str|number|integer|int|object|dict|array|list|boolean|undefined|null|NoneType)\b")
LONGEST = 200  # characters of a form
# No framework shall look for updates of itself, or tell anybody that it runs.
QUIET = {
    "ARCADE_USAGE_TRACKING": "0",
    "DO_NOT_TRACK": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "NO_UPDATE_NOTIFIER": "1",
    "OTEL_SDK_DISABLED": "true",
}


class Base(NamedTuple):
    """The server class of another framework."""

    package: str
    module: str
    name: str


class Bare(NamedTuple):
    """A hello-world server, and the versions of its framework that are measured."""

    name: str
    registry: str
    package: str
    classes: tuple[tuple[str, str], ...]  # modules, and the class in each
    file: str
    versions: tuple[str, ...]
    besides: tuple[str, ...] = ()  # other packages that it imports
    base: Base | None = None  # what the framework is built on

    @property
    def major(self) -> str:
        return self.versions[0].partition(".")[0]

    def words(self, directory: Path, version: str) -> tuple[str, ...]:
        """The command of the server; with npm, its file must be beside the packages."""
        home = self.home(directory, version)
        if self.registry == "pypi":
            return str(home / "bin" / "python"), str(HERE / self.file)
        return "node", str(home / self.file)

    def home(self, directory: Path, version: str) -> Path:
        return directory / f"{self.registry}-{self.package.strip('@').replace('/', '-')}-{version}"

    def major_of_base(self, directory: Path, version: str) -> str | None:
        """The major version of its base that is installed with VERSION."""
        if self.base is None:
            return None
        home = self.home(directory, version)
        if self.registry == "pypi":
            (found,) = home.glob(f"lib/python3*/site-packages/{self.base.package}-*.dist-info")
            return found.name.removeprefix(f"{self.base.package}-").partition(".")[0]
        manifest = home / "node_modules" / self.base.package / "package.json"
        return json.loads(manifest.read_text(encoding="utf-8"))["version"].partition(".")[0]


ZOD = ("zod",)
PYTHON_SDK = Base("mcp", "mcp.server.lowlevel", "Server")
TYPESCRIPT_SDK = Base("@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk/server/index.js", "Server")
FASTMCP = (("fastmcp", "FastMCP"), ("fastmcp.server", "FastMCP"))
LOWLEVEL = (("mcp.server.lowlevel", "Server"), ("mcp.server", "Server"))
BARE = (
    Bare(
        "Python SDK", "pypi", "mcp",
        (("mcp.server.fastmcp", "FastMCP"), ("mcp.server.fastmcp.server", "FastMCP"), ("mcp.server", "FastMCP")),
        "python_sdk_1.py", ("1.27.0", "1.30.0"), base=PYTHON_SDK,
    ),
    Bare(
        "Python SDK", "pypi", "mcp",
        (("mcp.server", "MCPServer"), ("mcp.server.mcpserver", "MCPServer")),
        "python_sdk_2.py", ("2.0.0", "2.3.0"), base=PYTHON_SDK,
    ),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("2.13.3", "2.14.7"), base=PYTHON_SDK),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("3.0.0", "3.4.9"), base=PYTHON_SDK),
    Bare("FastMCP", "pypi", "fastmcp", FASTMCP, "fastmcp_pypi.py", ("4.0.0", "4.1.2"), base=PYTHON_SDK),
    Bare("Arcade", "pypi", "arcade-mcp-server", (("arcade_mcp_server", "MCPApp"),), "arcade.py", ("1.32.1",)),
    Bare(
        "CHUK MCP server", "pypi", "chuk-mcp-server",
        (("chuk_mcp_server", "run"), ("chuk_mcp_server", "ChukMCPServer")), "chuk.py", ("0.26.1",),
    ),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/sdk",
        (("@modelcontextprotocol/sdk/server/mcp.js", "McpServer"),),
        "typescript_sdk_1.mjs", ("1.20.0", "1.26.0", "1.32.2"), ZOD, TYPESCRIPT_SDK,
    ),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/server", (("@modelcontextprotocol/server", "McpServer"),),
        "typescript_sdk_2.mjs", ("2.0.0", "2.3.1", "2.4.0"), ZOD,
    ),
    Bare(
        "fastmcp (TypeScript)", "npm", "fastmcp", (("fastmcp", "FastMCP"),),
        "fastmcp_npm.mjs", ("4.20.16",), ZOD, TYPESCRIPT_SDK,
    ),
    Bare(
        "mcp-framework", "npm", "mcp-framework", (("mcp-framework", "MCPServer"),),
        "mcp_framework.mjs", ("0.2.22",), ZOD, TYPESCRIPT_SDK,
    ),
    # Who uses these classes decides much more, so they are frameworks of their own.
    Bare("Python SDK", "pypi", "mcp", LOWLEVEL, "python_sdk_1_lowlevel.py", ("1.27.0", "1.30.0")),
    Bare("Python SDK", "pypi", "mcp", LOWLEVEL, "python_sdk_2_lowlevel.py", ("2.0.0", "2.3.0")),
    Bare(
        "TypeScript SDK", "npm", "@modelcontextprotocol/sdk",
        (("@modelcontextprotocol/sdk/server/index.js", "Server"),),
        "typescript_sdk_1_lowlevel.mjs", ("1.20.0", "1.26.0", "1.32.2"), ZOD,
    ),
)  # fmt: skip


def install(bare: Bare, version: str, directory: Path) -> tuple[str, ...]:
    """Install VERSION with the ordinary client, unless it is there: the command of its server."""
    words = bare.words(directory, version)
    home = bare.home(directory, version)
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


async def measured(words: tuple[str, ...], cwd: str, times: int) -> dict[str, set[Form]]:
    """What the server of WORDS breaks: by id, the forms of the findings in all revisions."""
    found: dict[str, set[Form]] = {}
    spec = StdioSpec(command=words, env=QUIET, cwd=cwd)
    spoken = []
    for revision in DIALECTS:
        try:
            await look(spec, revision, Options(timeout=TIMEOUT, call=ALL), found)
        except (ProtocolError, MethodError, TransportError):
            continue  # it does not speak this revision
        spoken.append(revision)
    if not spoken:
        sys.exit(f"{' '.join(words)} does not work: it speaks no revision")
    for revision in spoken * (times - 1) if not found.keys().isdisjoint(RACES) else ():
        await look(spec, revision, Options(timeout=TIMEOUT, only=RACES), found)
    return found


async def look(spec: StdioSpec, revision: str, options: Options, found: dict[str, set[Form]]) -> None:
    """Add what the server breaks in one REVISION to what was FOUND."""
    verdicts = await check(spec, revision, options)
    for outcome in verdicts.outcomes:
        if outcome.status in ("failed", "warned"):
            found.setdefault(outcome.id, set()).update(forms_of(outcome))


def forms_of(outcome: Outcome) -> set[Form]:
    """The kinds of the findings, without what differs from server to server."""
    found = set()
    for finding in outcome.findings:
        message, shown = form_of(finding, outcome.wire)
        end = message.rpartition(": ")[2]
        if (endings := endings_of(outcome)) and end.startswith("the server "):
            found |= {Form(ANYTHING + blank(end), each) for each in endings}
        else:
            # Any result may have more in it than that of the bare server.
            found.add(
                Form(blank(message), f"result{ANYTHING}" if shown == "result" else TYPE.sub(ANYTHING, blank(shown)))
            )
    return found


def blank(text: str) -> str:
    """TEXT without what differs from server to server."""
    told = CHOSEN.sub(ANYTHING, text)
    return told if len(told) <= LONGEST else told[:LONGEST] + ANYTHING


def row(
    bare: Bare, found: dict[str, dict[str, set[Form]]], major_of_base: str | None, reported: dict[str, str]
) -> dict:
    """A member of the table: what each version breaks."""
    names = sorted({name for each in found.values() for name in each})
    forms = {name: {form for each in found.values() for form in each.get(name, ())} for name in names}
    return {
        "name": bare.name,
        "registry": bare.registry,
        "package": bare.package,
        "major": bare.major,
        "classes": [{"module": module, "name": name} for module, name in bare.classes],
        **({"base": {**bare.base._asdict(), "major": major_of_base}} if bare.base is not None else {}),
        "measured": list(bare.versions),
        "faults": [
            {
                "id": name,
                "versions": [version for version in found if name in found[version]],
                **({"address": reported[name]} if name in reported else {}),
                "forms": [form._asdict() for form in sorted(forms[name])],
            }
            for name in names
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
            found[version] = asyncio.run(measured(words, str(directory), TIMES))
            print(f"{bare.package} {version}: {len(found[version])} faults", file=sys.stderr)
        (major_of_base,) = {bare.major_of_base(directory, version) for version in bare.versions}
        write(row(bare, found, major_of_base, reported.get(f"{bare.package} {bare.major}", {})))


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
