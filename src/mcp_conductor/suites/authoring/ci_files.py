"""The file that has a CI service run the tests of a project, for GitHub and GitLab."""

import re
from collections.abc import Callable

from mcp_conductor.protocol import Json
from mcp_conductor.values import dataclass

REPORTS = "mcp-reports"
_PYTHON = "3.12"
_NODE = "22"
_NODE_PROGRAMS = ("node", "npm", "npx", "tsx", "bun", "deno")
_TEST = f"conductor test --report junit:{REPORTS}/test.xml --report html:{REPORTS}/test.html"
_CHECK = (
    f"conductor check --report junit:{REPORTS}/check.xml --report html:{REPORTS}/check.html --badge {REPORTS}/grade.svg"
)


@dataclass(frozen=True, slots=True)
class CiJob:
    """What a CI file has to know of a project."""

    entry: Json  # the server, as the settings describe it
    requirement: str  # what pip installs us by
    variables: tuple[str, ...]  # which the settings take from the environment
    has: Callable[[str], bool]  # whether the project has a file

    @property
    def needs_node(self) -> bool:
        return self.entry.get("command") in _NODE_PROGRAMS

    @property
    def preparation(self) -> list[str]:
        """How the server gets what it needs."""
        command = str(self.entry.get("command", ""))
        if not command:
            return []
        if self.needs_node:
            if not self.has("package.json"):
                return []
            return ["npm ci" if self.has("package-lock.json") else "npm install", "npm run build --if-present"]
        if command == "uv":
            return ["pip install uv", "uv sync"]
        if command == "poetry":
            return ["pip install poetry", "poetry install"]
        in_venv = command.startswith(".venv/")
        pip = ".venv/bin/pip" if in_venv else "pip"
        begin = ["python -m venv .venv"] if in_venv else []
        if self.has("pyproject.toml"):
            return [*begin, f"{pip} install -e ."]
        return [*begin, *([f"{pip} install -r requirements.txt"] if self.has("requirements.txt") else [])]


def github(job: CiJob) -> str:
    """A workflow of GitHub Actions."""
    lines = [
        "# Written by `conductor init --ci github`. Make it your own.",
        "name: MCP",
        "on: [push, pull_request]",
        "permissions:",
        "  contents: read",
        "jobs:",
        "  conductor:",
        "    runs-on: ubuntu-latest",
        "    timeout-minutes: 15",
        *_environment(job),
        "    steps:",
        "      - uses: actions/checkout@v4",
        "      - uses: actions/setup-python@v5",
        "        with:",
        f'          python-version: "{_PYTHON}"',
    ]
    if job.needs_node:
        lines += ["      - uses: actions/setup-node@v4", "        with:", f'          node-version: "{_NODE}"']
    if job.preparation:
        lines += [
            "      - name: Install the server",
            "        run: |",
            *(f"          {line}" for line in job.preparation),
        ]
    lines += [
        "      - name: Install MCP Conductor",
        f"        run: pip install {_quoted(job.requirement)}",
        "      - name: Run the tests",
        f"        run: {_TEST} --report github",
        "      - name: Check whether the server follows the specification",
        "        if: ${{ !cancelled() }}",
        "        continue-on-error: true  # without this line, a MUST that is broken is a failure",
        f"        run: {_CHECK} --report github",
        "      - uses: actions/upload-artifact@v4",
        "        if: ${{ !cancelled() }}",
        "        with:",
        f"          name: {REPORTS}",
        f"          path: {REPORTS}",
    ]
    return "\n".join(lines) + "\n"


def _environment(job: CiJob) -> list[str]:
    if not job.variables:
        return []
    return ["    env:", *(f"      {name}: ${{{{ secrets.{name} }}}}" for name in job.variables)]


def gitlab(job: CiJob) -> str:
    """A pipeline of GitLab."""
    node = ["apt-get update -q", "apt-get install -qy nodejs npm"] if job.needs_node else []
    begin = [*node, *job.preparation, f"pip install {_quoted(job.requirement)}"]
    lines = [
        "# Written by `conductor init --ci gitlab`. Make it your own.",
        *([f"# Variables to set in the settings of the project: {', '.join(job.variables)}"] if job.variables else []),
        ".conductor:",
        f"  image: python:{_PYTHON}",
        "  timeout: 15 minutes",
        "  before_script:",
        *(f"    - {line}" for line in begin),
        "  artifacts:",
        "    when: always",
        f"    paths: [{REPORTS}/]",
        "    reports:",
        f"      junit: {REPORTS}/*.xml",
        "",
        "mcp-test:",
        "  extends: .conductor",
        "  script:",
        f"    - {_TEST}",
        "",
        "mcp-check:",
        "  extends: .conductor",
        "  allow_failure: true  # without this line, a MUST that is broken is a failure",
        "  script:",
        f"    - {_CHECK}",
    ]
    return "\n".join(lines) + "\n"


def _quoted(requirement: str) -> str:
    """REQUIREMENT for a shell, in a line of YAML."""
    return requirement if re.fullmatch(r"[\w.=-]+", requirement) else f"'{requirement}'"


CI_FILES: dict[str, Callable[[CiJob], str]] = {"github": github, "gitlab": gitlab}
