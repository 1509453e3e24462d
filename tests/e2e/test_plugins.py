"""The plugins of examples/plugins, one of each kind, at work in real programs; and what programs do not load."""

import json
import os
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.servers.plain import Plain

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
DOCS = Path(__file__).parents[2] / "docs" / "plugins.md"
CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
MARKER = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()\n"
SERVER = (sys.executable, "-m", "mcp_conductor", "serve")


def run(*words, cwd, **more):
    return subprocess.run(
        [*CONDUCTOR, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=60, check=False, **more
    )


@pytest.fixture
def project(tmp_path):
    """A copy of the examples, whose settings start our own server."""
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLES, folder)
    settings = folder / "conductor.config.json"
    entry = json.loads(settings.read_text())
    settings.write_text(json.dumps({**entry, "command": SERVER[0], "args": [*SERVER[1:], "server.yaml"]}))
    return folder


def test_matcher_predicate_preset_step_fault_and_report_format_at_work(project):
    preset = project / "preset.py"  # what it prints goes to stderr, and not among the messages
    preset.write_text(preset.read_text().replace("        found = ", "        print('looking')\n        found = "))
    done = run("test", "--report", "csv:outcomes.csv", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "warning" not in done.stdout
    lines = (project / "outcomes.csv").read_text().splitlines()
    assert lines[0] == "id,status,seconds,first finding"
    assert re.fullmatch(r"books.test.mcp.yml::knows an ISBN,passed,\d+\.\d{3},", lines[2])


def test_the_examples_fail_where_they_should(project):
    suite = project / "books.test.mcp.yml"
    suite.write_text(suite.read_text().replace("sortedBy title", "sortedBy pages").replace("isbnOf 978", "isbnOf 979"))
    done = run("test", "--report", "csv", cwd=project)
    assert done.returncode == 1
    assert "is not an array of objects with 'pages'" in done.stdout
    assert "which does not begin with 979" in done.stdout


@pytest.mark.parametrize("name", sorted(file.name for file in EXAMPLES.glob("*.py")))
def test_the_manual_shows_each_example_as_it_is(name):
    assert f"```python\n{(EXAMPLES / name).read_text()}```\n" in DOCS.read_text()


def test_settings_that_do_not_name_the_server_run_nothing(project):
    (project / "matcher.py").write_text(MARKER + (project / "matcher.py").read_text())
    done = run("test", "--", *SERVER, "server.yaml", cwd=project)
    assert done.returncode == 2
    assert "unknown matcher" in done.stderr or "unknown predicate" in done.stderr
    assert not (project / "matcher.ran").exists()


def test_a_table_of_servers_that_is_another_program_s_runs_nothing(tmp_path):
    (tmp_path / "theirs.py").write_text(MARKER)
    table = {"mcpServers": {"a": {"command": sys.executable, "args": ["-c", ""]}}, "plugins": ["./theirs.py"]}
    (tmp_path / "settings.json").write_text(json.dumps(table))
    run("check", "--config", "settings.json", cwd=tmp_path)
    assert not (tmp_path / "theirs.ran").exists()


def test_a_plugin_that_does_not_end_can_be_interrupted(tmp_path):
    (tmp_path / "endless.py").write_text("import sys\nsys.stderr.write('here\\n')\nwhile True:\n    pass\n")
    words = [*CONDUCTOR, "serve", "--list-presets", "--plugin", "./endless.py"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_checks_of_plugins_fail_warn_and_break_like_ours_but_are_not_graded(project):
    broken = (
        "from mcp_conductor import check\n\n\n"
        '@check("broken-check", level="MUST", text="It works.")\n'
        "def looks(record):\n    yield 'found before'\n    1 / 0\n"
    )
    (project / "broken.py").write_text(broken)
    words = ("--plugin", "check.py", "--plugin", "broken.py", "--only", "acme", "--only", "broken", "--json")
    done = run("check", *words, "--", *SERVER, "server.yaml", cwd=project)
    report = json.loads(done.stdout)
    found = {outcome["id"]: (outcome["status"], len(outcome["findings"])) for outcome in report["outcomes"]}
    assert found == {
        "acme-tool-title": ("warned", 3),
        "acme-version-tool": ("failed", 1),
        "broken-check": ("errored", 2),
    }
    assert report["outcomes"][2]["findings"][1]["message"] == (
        "the check 'broken-check' raises ZeroDivisionError: division by zero at broken.py:7"
    )
    assert report["metrics"] == {"ungraded": "only requirements of plugins were checked", "ofPlugins": 3}
    assert done.returncode == 1


def test_checks_of_plugins_are_not_left_out_of_a_check_of_a_client_in_silence(project):
    client = f"{sys.executable} -c 0 {{server}}"
    done = run("check", "--client", client, "--plugin", "check.py", cwd=project)
    assert done.stderr.startswith("warning: checks of plugins are for servers: with --client they do not run\n")


@pytest.fixture
def installed(tmp_path):
    """A package with a plugin, as it would be installed: the environment that finds it."""
    site = tmp_path / "site"
    metadata = site / "acme-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[mcp_conductor.plugins]\nacme = acme_conductor\n")
    (site / "acme_conductor.py").write_text((EXAMPLES / "matcher.py").read_text() + (EXAMPLES / "check.py").read_text())
    return {**os.environ, "PYTHONPATH": str(site)}


def test_a_matcher_of_an_installed_package_need_not_be_named(project, installed):
    settings = json.loads((project / "conductor.config.json").read_text())
    (project / "conductor.config.json").write_text(json.dumps({**settings, "plugins": ["predicate.py"]}))
    done = run("test", cwd=project, env=installed)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_check_of_an_installed_package_is_found_by_its_name(tmp_path, installed):
    done = run("check", "--explain", "acme-tool-title", cwd=tmp_path, env=installed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "acme-tool-title" in done.stdout
    assert "acme_conductor" in done.stdout


def test_an_installed_plugin_that_fails_is_told_by_its_name_and_line(tmp_path, installed):
    module = tmp_path / "site" / "acme_conductor.py"
    module.write_text("import sys\n\n\nraise RuntimeError('not today')\n")
    done = run("serve", "--list-presets", "--plugin", "acme", cwd=tmp_path, env=installed)
    assert done.returncode == 2
    what = "the plugin 'acme' of the package acme raises RuntimeError: not today"
    assert done.stderr.startswith(f"error: {what}\n  --> {module}:4:1\n")


def test_a_broken_package_does_not_hide_the_names_of_others(project, tmp_path, installed):
    names = tmp_path / "site" / "acme-1.0.dist-info" / "entry_points.txt"
    names.write_text("[mcp_conductor.plugins]\na_bad = not_there\nacme = acme_conductor\n")
    settings = json.loads((project / "conductor.config.json").read_text())
    (project / "conductor.config.json").write_text(json.dumps({**settings, "plugins": ["predicate.py"]}))
    done = run("test", cwd=project, env=installed)
    assert (done.returncode, done.stderr) == (0, "")
    unknown = run("check", "--explain", "no-such-check", cwd=tmp_path, env=installed)
    assert unknown.returncode == 2
    assert unknown.stderr == (
        "error: there is no requirement 'no-such-check'\n"
        "  hint: --list shows all (plugins: acme; the plugin 'a_bad' of the package acme raises "
        "ModuleNotFoundError: No module named 'not_there')\n"
    )


class Connection(socketserver.StreamRequestHandler):
    def handle(self):
        server = Plain()
        server.write = self.wfile.write
        for line in self.rfile:
            server.hear(line)


def test_a_transport_of_a_plugin_reaches_its_servers(cli):
    with socketserver.TCPServer(("127.0.0.1", 0), Connection) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        plugin = ("--plugin", str(EXAMPLES / "transport.py"))
        done = cli(f"tcp://127.0.0.1:{server.server_address[1]}", *plugin, "--method", "tools/list")
        thread.join(30)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["tools"][0]["name"] == "look"


@pytest.mark.parametrize("named_by", ["flag", "settings"])
@pytest.mark.parametrize("program", ["bridge", "all servers"])
def test_programs_for_many_servers_take_a_transport_of_a_plugin(cli, tmp_path, program, named_by):
    with socketserver.TCPServer(("127.0.0.1", 0), Connection) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        table = {"mcpServers": {"one": {"url": f"tcp://127.0.0.1:{server.server_address[1]}"}}}
        plugin = str(EXAMPLES / "transport.py")
        named = {"plugins": [plugin]} if named_by == "settings" else {}
        file = tmp_path / "conductor.config.json"
        file.write_text(json.dumps({**table, **named}))
        flag = ("--plugin", plugin) if named_by == "flag" else ()
        if program == "bridge":
            wrapper = tmp_path / "bridge.py"  # flags of the bridge, which mcp-cli has too
            wrapper.write_text(
                f"import os, sys\nos.execv(sys.executable, {[*CONDUCTOR, 'bridge', str(file), *flag]!r})\n"
            )
            done = cli(sys.executable, str(wrapper), "--method", "tools/list")
        else:
            done = cli("--config", str(file), "--server", "all", *flag, "--method", "tools/list")
        thread.join(30)
    assert done.code == 0, done.err
    assert json.loads(done.out)["tools"][0]["name"] == "one__look"


def test_a_url_that_no_transport_knows_is_no_command(cli):
    done = cli("tcp://127.0.0.1:1", "--method", "tools/list")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: no transport for tcp:// is known")
    assert "--plugin FILE" in done.err


def test_a_transport_of_an_installed_package_need_not_be_named(tmp_path, installed):
    (tmp_path / "site" / "acme_conductor.py").write_text((EXAMPLES / "transport.py").read_text())
    done = run("check", "--", "tcp://127.0.0.1:1", cwd=tmp_path, env=installed)
    assert done.returncode == 3
    assert done.stderr.startswith("error: cannot connect to tcp://127.0.0.1:1: ")


def test_a_transport_of_a_plugin_cannot_take_the_place_of_ours(tmp_path):
    (tmp_path / "theirs.py").write_text((EXAMPLES / "transport.py").read_text().replace("tcp=at", "https=at"))
    done = run("discover", "https://127.0.0.1:1/", "--plugin", "./theirs.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the scheme 'https' exists already\n  --> ./theirs.py:")


def test_pytest_loads_the_plugins_of_the_settings_that_name_the_server(project):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "books.test.mcp.yml"]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60, check=False)
    assert "3 passed" in done.stdout, done.stdout
