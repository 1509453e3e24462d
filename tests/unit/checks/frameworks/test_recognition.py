"""The framework of a server, from its files; where anything is in doubt, none."""

import json
import os
import time

import pytest

from mcp_conductor.checks.frameworks import recognition
from mcp_conductor.checks.frameworks.recognition import ServerClass, recognise
from mcp_conductor.transport.process_tree import Command

FASTMCP = ServerClass("fastmcp", "fastmcp", "FastMCP", npm=False)
SDK_1 = ServerClass("mcp", "mcp.server.fastmcp", "FastMCP", npm=False)
TYPESCRIPT = ServerClass("@modelcontextprotocol/sdk", "@modelcontextprotocol/sdk/server/mcp.js", "McpServer", npm=True)
CLASSES = (FASTMCP, SDK_1, TYPESCRIPT)
USES_FASTMCP = 'from fastmcp import FastMCP\nFastMCP("x").run()\n'
USES_SDK_1 = 'from mcp.server.fastmcp import FastMCP\nFastMCP("x").run()\n'
# Served by hand, whatever else is in the file.
BY_HAND = "import sys\nfor line in sys.stdin:\n    print(line)\n"
USES_TYPESCRIPT = 'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\nconst server = new McpServer({ name: "x" });\n'


def write(directory, files):
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


@pytest.fixture
def project(tmp_path):
    """A directory with a virtual environment in which both Python frameworks are, and with the TypeScript SDK."""
    packages = "venv/lib/python3.12/site-packages"
    manifest = {"name": "@modelcontextprotocol/sdk", "version": "1.32.2"}
    write(
        tmp_path,
        {
            "venv/pyvenv.cfg": "home = /usr/bin\n",
            "venv/bin/python": "",
            f"{packages}/mcp-1.30.0.dist-info/METADATA": "",
            f"{packages}/fastmcp-2.14.7.dist-info/METADATA": "",
            f"{packages}/fastmcp_slim-2.14.7.dist-info/METADATA": "",
            "node_modules/@modelcontextprotocol/sdk/package.json": json.dumps(manifest),
        },
    )
    return tmp_path


def found(project, *words):
    seen = recognise([Command(words, str(project), os.defpath)], CLASSES)
    return seen and (seen.server_class.package, seen.version)


def test_a_script_is_recognised_by_what_it_uses_and_not_by_what_is_installed(project):
    write(project, {"fast.py": USES_FASTMCP, "one.py": USES_SDK_1, "own.py": "import sys\nimport fastmcp\n"})
    assert found(project, "venv/bin/python", "fast.py") == ("fastmcp", "2.14.7")
    assert found(project, "venv/bin/python", "-u", "-X", "dev", "one.py", "--flag") == ("mcp", "1.30.0")
    assert found(project, "venv/bin/python", "own.py") is None


def test_how_it_was_recognised_is_told(project):
    write(project, {"fast.py": USES_FASTMCP})
    seen = recognise([Command(("venv/bin/python", "fast.py"), str(project), "")], CLASSES)
    assert seen.how == "fast.py uses fastmcp.FastMCP; fastmcp 2.14.7 is installed for its Python"


@pytest.mark.parametrize(
    "code",
    [
        '"""\nfrom fastmcp import FastMCP\n"""\n',
        "# from fastmcp import FastMCP\n",
        'NAME = "FastMCP"\n',
        "from fastmcp import Client\n",
        "from fastmcp import FastMCP as \n",  # no Python
        "from fastmcp import FastMCP\nfrom mcp.server.fastmcp import FastMCP as Other\n",  # which of both?
        "(" * 100_000,
        f"from fastmcp import FastMCP\n{BY_HAND}",
        f"from fastmcp import FastMCP\nserver = FastMCP('x')\n{BY_HAND}",
        "from fastmcp import FastMCP\nserver = FastMCP('x')\nclass Own:\n  def run(self): pass\nOwn().run()\n",
        f"if False:\n    from fastmcp import FastMCP\n    FastMCP('x').run()\n{BY_HAND}",
        f"if 0:\n    pass\nelif not True:\n    from fastmcp import FastMCP\n    FastMCP('x').run()\n{BY_HAND}",
        f"import typing\nif typing.TYPE_CHECKING:\n    from fastmcp import FastMCP\nFastMCP('x').run()\n{BY_HAND}",
        f"try:\n    from fastmcp import FastMCP\n    FastMCP('x').run()\nexcept ImportError:\n    pass\n{BY_HAND}",
        f"def serve():\n    from fastmcp import FastMCP\n    FastMCP('x').run()\n{BY_HAND}",
        f"class Unused:\n    def __init__(self):\n        import fastmcp\n        fastmcp.FastMCP('x').run()\n{BY_HAND}",
        "from fastmcp import FastMCP\nclass FastMCP:\n    def run(self): pass\nFastMCP().run()\n",
        "import fastmcp, asyncio\nserver = fastmcp.FastMCP('x')\nasyncio.run(other())\nasyncio.Runner().run_until(x)\n",
    ],
)
def test_what_does_not_use_exactly_one_framework_is_not_recognised(project, code):
    write(project, {"server.py": code})
    assert found(project, "venv/bin/python", "server.py") is None


@pytest.mark.parametrize(
    "code",
    [
        "import fastmcp as f\nserver = f.FastMCP('x')\nserver.run(transport='stdio')\n",
        "import asyncio\nfrom fastmcp import FastMCP as Fast\nasyncio.run(Fast('x').run_stdio_async())\n",
        "import anyio\nfrom fastmcp import FastMCP\nserver = FastMCP('x')\nanyio.run(server.run_async)\n",
        "try:\n    from fastmcp import FastMCP\nexcept ImportError:\n    sys.exit('no')\nFastMCP('x').run()\n",
        "from fastmcp import FastMCP\nclass Notes(FastMCP):\n    pass\nif __name__ == '__main__':\n    Notes('x').run()\n",
        "from fastmcp import FastMCP\ndef made():\n    return FastMCP('x')\ndef main():\n    made().run()\nmain()\n",
        "import click\nfrom fastmcp import FastMCP\n@click.command()\ndef serve():\n    FastMCP('x').run()\ncli()\n",
        "import fastmcp\nclass App:\n    mcp = fastmcp.FastMCP('x')\n    def run(self):\n        self.mcp.run()\nApp().run()\n",
    ],
)
def test_a_server_class_counts_however_it_is_imported_made_and_run(project, code):
    write(project, {"server.py": code})
    assert found(project, "venv/bin/python", "server.py") == ("fastmcp", "2.14.7")


def test_what_another_module_does_only_as_a_program_does_not_count(project):
    write(
        project,
        {"old.py": "LIMIT = 3\nif __name__ == '__main__':\n    from fastmcp import FastMCP\n    FastMCP('x').run()\n"},
    )
    write(project, {"server.py": f"from old import LIMIT\n{BY_HAND}"})
    assert found(project, "venv/bin/python", "server.py") is None
    assert found(project, "venv/bin/python", "old.py") == ("fastmcp", "2.14.7")


def test_modules_beside_a_script_are_read_and_those_that_are_installed_are_not(project):
    packages = "venv/lib/python3.12/site-packages"
    write(
        project,
        {
            "main.py": "from app.server import server\nserver.run()\n",
            "app/__init__.py": "",
            "app/server.py": "import fastmcp\nserver = fastmcp.FastMCP('x')\n",
            "agent.py": "import toolbox\n",
            f"{packages}/toolbox.py": USES_FASTMCP,
        },
    )
    assert found(project, "venv/bin/python", "main.py") == ("fastmcp", "2.14.7")
    assert found(project, "venv/bin/python", "agent.py") is None


@pytest.mark.parametrize("words", [("venv/bin/python", "venv/bin/weather"), ("venv/bin/python", "-m", "weather")])
@pytest.mark.parametrize("editable", [False, True])
def test_the_program_of_a_package_is_read_where_it_is_installed(project, words, editable):
    packages = "venv/lib/python3.12/site-packages"
    home = "src" if editable else packages
    write(
        project,
        {
            "venv/bin/weather": "import sys\nfrom weather import main\nsys.exit(main())\n",
            f"{packages}/_weather.pth": f"{project}/src\n" if editable else "",
            f"{home}/weather/__init__.py": "from .server import main\n",
            f"{home}/weather/__main__.py": "from weather import main\nmain()\n",
            f"{home}/weather/server.py": USES_SDK_1,
        },
    )
    assert found(project, *words) == ("mcp", "1.30.0")


def test_a_node_script_is_recognised_through_its_own_modules(project):
    write(
        project,
        {
            "dist/index.js": 'import { main } from "./server.js";\nmain();\n',
            "dist/server.js": USES_TYPESCRIPT,
            "note.mjs": f"/* {USES_TYPESCRIPT} */\n// {USES_TYPESCRIPT.splitlines()[0]}\n",
            "types.mjs": 'import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n',
            "glob.mjs": f'const all = "src/**/*.js";\n{USES_TYPESCRIPT}const none = `*/`;\n',
        },
    )
    assert found(project, "node", "--no-warnings", "-r", "x", "dist/index.js") == (TYPESCRIPT.package, "1.32.2")
    assert found(project, "node", "glob.mjs") == (TYPESCRIPT.package, "1.32.2")
    assert found(project, "node", "note.mjs") is None
    assert found(project, "node", "types.mjs") is None
    assert found(project, "node", "-e", USES_TYPESCRIPT) is None


@pytest.mark.parametrize(
    "manifest",
    ["", "{", "[]", '{"name": "other", "version": "1.0.0"}', '{"name": "@modelcontextprotocol/sdk"}', "[" * 100_000],
)
def test_a_package_that_is_not_clear_is_none(project, manifest):
    write(project, {"x.mjs": USES_TYPESCRIPT, "node_modules/@modelcontextprotocol/sdk/package.json": manifest})
    assert found(project, "node", "x.mjs") is None


def test_a_package_that_is_installed_twice_or_not_at_all_is_none(project):
    write(project, {"fast.py": USES_FASTMCP})
    packages = project / "venv/lib/python3.12/site-packages"
    (packages / "fastmcp-4.1.2.dist-info").mkdir()
    assert found(project, "venv/bin/python", "fast.py") is None
    for each in packages.glob("fastmcp-*"):
        os.rename(each, packages / f"x{each.name}")
    assert found(project, "venv/bin/python", "fast.py") is None


def test_files_that_are_huge_unreadable_or_no_files_are_passed_over(project, monkeypatch):
    monkeypatch.setattr(recognition, "MAX_FILE_BYTES", 1000)
    write(project, {"huge.py": USES_FASTMCP + "#" * 1000, "main.py": "import pipe, loop, hidden, a_directory\n"})
    os.mkfifo(project / "pipe.py")
    (project / "loop.py").symlink_to("loop.py")
    (project / "a_directory.py").mkdir()
    write(project, {"hidden.py": USES_FASTMCP})
    (project / "hidden.py").chmod(0)
    assert found(project, "venv/bin/python", "huge.py") is None
    if os.geteuid() != 0:  # who may read everything
        assert found(project, "venv/bin/python", "main.py") is None
    assert found(project, "venv/bin/python", "pipe.py") is None
    assert found(project, "venv/bin/python", "loop.py") is None


def test_modules_that_import_each_other_in_a_ring_and_directories_that_contain_themselves_end(project):
    write(project, {"a.py": "import b\n", "b.py": "import a\nfrom here.here.here.here import a\n"})
    (project / "here").symlink_to(".")
    assert found(project, "venv/bin/python", "a.py") is None


def test_no_more_files_are_read_than_the_limit(project, monkeypatch):
    monkeypatch.setattr(recognition, "MAX_FILES", 5)
    write(project, {f"m{number}.py": f"import m{number + 1}\n" for number in range(6)})
    write(project, {"m3.py": USES_FASTMCP})
    assert found(project, "venv/bin/python", "m0.py") == ("fastmcp", "2.14.7")
    write(project, {"m3.py": "import m4\n", "m5.py": USES_FASTMCP})
    assert found(project, "venv/bin/python", "m0.py") is None


@pytest.mark.parametrize("words", [(), ("",), ("python",), ("cat", "fast.py"), ("venv/bin/python", "no\0such")])
def test_other_commands_are_no_framework(project, words):
    write(project, {"fast.py": USES_FASTMCP})
    assert found(project, *words) is None


def test_two_servers_in_one_command_line_are_none(project):
    write(project, {"fast.py": USES_FASTMCP, "one.py": USES_SDK_1})
    commands = [Command(("venv/bin/python", name), str(project), "") for name in ("fast.py", "one.py")]
    assert recognise(commands, CLASSES) is None
    assert recognise([commands[0], commands[0]], CLASSES) is not None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("x.mjs", "/*" * 100_000),
        ("x.mjs", "\n" * 200_000),
        ("x.mjs", 'import "' * 30_000),
        ("x.py", "import a\n" * 3_000 + "b.c\n" * 6_000),
        ("x.py", "".join(f"import m{number}\n" for number in range(5_000))),
        ("x.py", "a" + ".b" * 100_000),
        ("x.py", "-" * 200_000 + "1"),
    ],
)
def test_a_file_that_is_made_to_take_long_does_not(project, name, code):
    write(project, {name: code})
    began = time.monotonic()
    assert found(project, "node" if name.endswith("mjs") else "venv/bin/python", name) is None
    assert time.monotonic() - began < 30
