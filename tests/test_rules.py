"""Rules about the code itself: what start-up may import, what the package offers, how long a file may be."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Each of these takes time at every start, or is not ours to import at all; test_startup.py has mcp-cli and all helps.
BANNED = {
    "anyio", "argparse", "click", "difflib", "h11", "httpx", "importlib.metadata", "jsonschema_rs", "mcp",
    "mcp_conductor.protocol.schema", "mcp_conductor.files.settings", "mcp_conductor.files.source", "pathlib", "pydantic", "rich",
    "shutil", "tempfile", "regex", "urllib.request", "xml", "yaml",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    # -S: a .pth file of site-packages may import anything, before we do.
    script = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_a_server_on_stdio_starts_without_any_of_the_slow_modules():
    needed = {"mcp_conductor.protocol.schema", "mcp_conductor.files.source"}
    imports = (
        "import mcp_conductor.cli.commands.serve.run, mcp_conductor.server.config_file, mcp_conductor.server.stdio_host"
    )
    assert loaded_after(imports) & (BANNED - needed) == set()


# What a run of tests needs only when something is wrong, or is asked for.
BANNED_IN_TESTS = (BANNED - {"mcp_conductor.protocol.schema", "mcp_conductor.files.source"}) | {
    "csv", "importlib.resources", "platform", "random", "urllib.parse", "uuid", "zipfile", "mcp_conductor.files.yaml_nodes",
    "mcp_conductor.report.event_log", "mcp_conductor.report.formats.check_console",
    "mcp_conductor.report.formats.github_actions", "mcp_conductor.suites.language.asserts",
    "mcp_conductor.suites.running.server_coverage",
    "mcp_conductor.suites.running.transports",
}  # fmt: skip


def test_a_small_suite_that_passes_imports_only_what_it_needs(tmp_path):
    (tmp_path / "a.test.mcp.yml").write_text(
        "description: A tool\ntests:\n  - it: answers\n    call: {tool: look, args: {}}\n"
        '    expect:\n      result:\n        match:partial:\n          content: "match:type:array"\n'
    )
    server = f"import sys; sys.path[:0] = [{str(ROOT / 'tests' / 'servers')!r}]; import plain; plain.Plain().run()"
    words = ["test", str(tmp_path), "--", sys.executable, "-S", "-E", "-c", server]
    loaded = loaded_after(
        f"sys.path += {sys.path!r}; sys.argv = ['conductor', *{words!r}]; "
        "from mcp_conductor.cli import conductor; assert conductor() == 0"
    )
    assert loaded & BANNED_IN_TESTS == set()
    assert len({name for name in loaded if name.startswith("mcp_conductor")}) <= 230


def test_the_judges_of_a_run_of_tests_need_neither_an_http_client_nor_probes():
    loaded = loaded_after(
        f"sys.path += {sys.path!r}; from mcp_conductor.checks.engine.check import CHECKS, JUDGES; "
        "CHECKS.known_from(JUDGES)"
    )
    assert "mcp_conductor.checks.server.base.judges" in loaded
    assert loaded & {"mcp_conductor.transport.http_client", "mcp_conductor.transport.http_connecting"} == set()
    assert {name for name in loaded if name.endswith("probe") or ".probes" in name} == set()


def test_http_is_spoken_without_any_library():
    loaded = loaded_after("import mcp_conductor.transport.streamable_http, mcp_conductor.transport.http_sse")
    assert loaded & (BANNED | {"httpcore", "httpcore2"}) == set()


# What Windows has not: modules, and names of `os` and `signal`.
POSIX_MODULES = {"_ctypes", "ctypes", "fcntl", "grp", "posix", "pty", "pwd", "resource", "select", "termios", "tty"}
POSIX_NAMES = {
    "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "WNOHANG", "chown", "fchown", "fork", "forkpty", "getegid", "geteuid",
    "getgid", "getpgid", "getpgrp", "getsid", "getuid", "kill", "killpg", "mkfifo", "pidfd_open", "posix_spawn",
    "set_blocking", "setpgid", "setsid", "sysconf", "uname", "waitid", "waitpid", "ITIMER_REAL", "SIGALRM", "SIGCHLD",
    "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "alarm", "pthread_kill", "setitimer",
}  # fmt: skip


def posix_parts_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in POSIX_MODULES)
            case ast.ImportFrom(module=str(module), level=0) if module in POSIX_MODULES:
                yield module
            case ast.Attribute(value=ast.Name(id="os" | "signal"), attr=name) if name in POSIX_NAMES:
                yield name
            case ast.keyword(arg="start_new_session" | "process_group" | "preexec_fn" | "pass_fds" as name):
                yield name


def test_what_only_posix_can_do_stands_in_one_module():
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)) for file in source.rglob("*.py") if set(posix_parts_of(file))}
    assert found == {"posix.py"}


def test_every_module_can_be_imported_where_the_modules_of_posix_are_missing():
    # This shows that nothing of ours needs them to be imported. Windows itself is not tried.
    script = f"""
import sys
for name in {sorted(POSIX_MODULES - {"posix", "select"})!r}:
    sys.modules[name] = None
import os, signal
import asyncio, subprocess  # which need some of what is missing from here on, where they are those of POSIX
for module in (os, signal):
    for name in {sorted(POSIX_NAMES - {"waitpid", "WNOHANG"})!r}:
        module.__dict__.pop(name, None)
import importlib, pkgutil
import mcp_conductor
for found in pkgutil.walk_packages(mcp_conductor.__path__, "mcp_conductor."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
        print(found.name)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 300


def test_what_follows_a_signal_is_set_in_one_place():
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)) for file in source.rglob("*.py") if "signal.signal(" in file.read_text()}
    assert found == {"cli/process/ending.py", "checks/harness/relay.py"}  # the second is a program of its own


def test_installed_plugins_are_looked_for_only_when_a_name_is_unknown():
    reading = (
        f"sys.path += {sys.path!r}; from mcp_conductor.suites.matching.matchers.patterns import read_pattern; "
        "from mcp_conductor.suites.matching.matchers import MATCHERS; MATCHERS.items(); 'none' in MATCHERS; "
        "read_pattern('contains:x'), read_pattern('Hello'), read_pattern('two words')"
    )
    assert "importlib.metadata" not in loaded_after(reading)
    assert "importlib.metadata" in loaded_after(f"{reading}; MATCHERS.find('none')")


def test_patterns_of_others_are_compiled_in_one_place():
    # A call of `re` whose pattern is neither spelled out there nor a constant.
    from_elsewhere = re.compile(r"""\bre\.(?!escape)[a-z]+\(\s*+(?![rbf]{0,2}["']|_?[A-Z_]+\b|re\.escape)""")
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)) for file in source.rglob("*.py") if from_elsewhere.search(file.read_text())}
    assert found == {
        "bounded/regex.py",
        "text/patterns.py",
        "text/secret_search.py",  # of the forms of secrets, which are ours
        "files/yaml_nodes.py",
        "files/yaml_scalars.py",
    }  # with tables


def test_the_manual_names_every_step_fault_and_key_of_a_server_file():
    from mcp_conductor.server.config_file import KEYS
    from mcp_conductor.server.fault_file import WHEN_KEYS
    from mcp_conductor.server.faults import FAULTS
    from mcp_conductor.server.inline import PROMPT_KEYS, RESOURCE_KEYS, TEMPLATE_KEYS, TOOL_KEYS
    from mcp_conductor.server.steps import STEPS
    from mcp_conductor.server.transport_file import TRANSPORT_KEYS

    listed_by_mcp = {"name", "title", "description", "icons", "_meta", "annotations", "execution", "size", "mimeType"}
    listed_by_mcp |= {"inputSchema", "outputSchema", "uri", "uriTemplate", "arguments", "$schema"}
    inline = {*TOOL_KEYS, *RESOURCE_KEYS, *TEMPLATE_KEYS, *PROMPT_KEYS}
    names = {*KEYS, *TRANSPORT_KEYS, *WHEN_KEYS, *FAULTS, *(name for name, _ in STEPS.items()), *inline} - listed_by_mcp
    manual = (ROOT / "docs" / "serve.md").read_text()
    assert {name for name in names if not re.search(rf"\b{name}\b", manual)} == set()


def test_the_reference_is_what_the_code_says():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "docs/reference: up to date\n"), done.stderr


def test_importing_the_package_loads_none_of_its_parts():
    loaded = loaded_after("import mcp_conductor")
    assert {name for name in loaded if name.startswith("mcp_conductor")} == {"mcp_conductor"}


def parts_of(file: Path) -> Iterator[str]:
    """What FILE writes with: streams of the process, `print`, and the methods of a terminal that write text as it is."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield "print"
            case ast.Attribute(
                value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__" as name
            ):
                yield f"sys.{name}"
            case ast.ImportFrom(module="sys", names=names):
                yield from (f"sys.{name.name}" for name in names if name.name in ("stdout", "stderr"))
            case ast.Attribute(value=ast.Name(id="os"), attr="write"):
                yield "os.write"
            case ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr" as name), attr="write" | "buffer"):
                yield f"{name}.write"
            case ast.Attribute(attr="write_result" | "write_report_as_it_is" as name):
                yield name


def test_text_leaves_through_the_terminal_alone_which_makes_it_safe():
    source = ROOT / "src" / "mcp_conductor"
    found = {str(file.relative_to(source)): set(parts_of(file)) for file in source.rglob("*.py")}
    assert {name: parts for name, parts in found.items() if parts} == {
        "cli/output/terminal.py": {"sys.stdout", "sys.stderr", "os.write"},
        # JSON and YAML that was asked for.
        "cli/commands/mcp_cli/call_run.py": {"write_result"},
        "cli/commands/mcp_cli/oauth.py": {"write_result"},
        "cli/commands/mcp_cli/all_servers.py": {"write_result"},
        "cli/commands/mcp_cli/follow.py": {"write_result"},
        "cli/commands/mcp_cli/script_run.py": {"write_result"},
        "cli/commands/discover/suite_output.py": {"write_result"},
        "cli/commands/serve/run.py": {"write_result"},
        "cli/commands/show/lines.py": {"write_result"},
        "cli/commands/mcp_cli/dry_run.py": {"write_report_as_it_is"},
        "cli/output/run_output.py": {"write_report_as_it_is"},
        # Servers that speak: messages on stdout, and stderr because a file asks for it.
        "server/stdio_host.py": {"os.write"},
        "server/presets/tools.py": {"sys.stderr", "stderr.write"},
        "checks/harness/relay.py": {"os.write", "sys.stderr", "stderr.write"},
        # What a client and a server say to each other.
        "proxy/stdio_relay.py": {"os.write"},
        # Lines of a recording, which hold no secrets.
        "recording/writer.py": {"os.write"},
        "recording/continuing.py": {"os.write"},
        # Messages to a server's stdin.
        "transport/processes.py": {"os.write"},
        # Lines of our own, where there may be no memory for a terminal.
        "cli/process/ending.py": {"os.write"},
    }


def test_only_forms_with_escapes_of_their_own_are_not_made_visible_as_a_whole():
    from mcp_conductor.report.formats import REPORTERS

    assert {name for name, each in REPORTERS.items() if each.escapes} == {
        "events",
        "github",
        "html",
        "json",
        "junit",
        "sarif",
    }


def texts_in(code: str) -> Iterator[str]:
    """What CODE says to programs and to people: its strings, but for docstrings."""
    tree = ast.parse(code)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_only_the_table_of_dialects_and_the_requirements_name_the_date_of_a_revision():
    from mcp_conductor.checks.requirements import requirements
    from mcp_conductor.protocol.dialect import DIALECTS

    dated, ids = re.compile("|".join(DIALECTS)), requirements()
    source = ROOT / "src" / "mcp_conductor"
    files = [file for file in source.rglob("*.*") if file.is_file() and "__pycache__" not in file.parts]
    named = {str(file.relative_to(source)): text for file in files if dated.search(text := file.read_text())}
    code = {name: set(texts_in(text)) - set(ids) for name, text in named.items() if name.endswith(".py")}
    found = {name: texts for name, each in code.items() if (texts := set(filter(dated.search, each)))}
    assert found == {"protocol/dialect.py": set(DIALECTS)}
    data = {re.sub(r"^checks/(?:server|client)/\w+/", "checks/TOPIC/", name) for name in named.keys() - code.keys()}
    assert data == {"checks/TOPIC/requirements.json", "checks/TOPIC/examples.txt"}


def test_unit_tests_stand_where_the_code_that_they_test_stands():
    tests, source = ROOT / "tests" / "unit", ROOT / "src" / "mcp_conductor"
    rooms = {file.parent.relative_to(tests) for file in tests.rglob("test_*.py")}
    assert {str(room) for room in rooms if not (source / room / "__init__.py").exists()} == set()
