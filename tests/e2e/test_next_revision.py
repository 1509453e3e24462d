"""A revision that does not exist yet is one row: every program speaks it, to whom has it and to whom has not."""

import json
import os
import shlex
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.conftest import MARK, MCP_CLI, SERVERS

NEXT, NEWEST = "2099-01-01", "2026-07-28"
MAIN = "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())"
PLUG = str(SERVERS / "next_revision")
SERVER = {
    "serverInfo": {"name": "x", "version": "1"},
    "transport": {"type": "stdio", "modern": True},
    "tools": [{"name": "greet", "result": "hello"}],
    "resources": [{"uri": "note://one", "name": "one", "text": "1"}],
    "prompts": [{"name": "ask", "text": "why?"}],
}


@pytest.fixture
def environment(environment):
    return {**environment, "PYTHONPATH": os.pathsep.join((PLUG, str(SERVERS)))}


@pytest.fixture
def server(tmp_path):
    """Our server on stdio; with -I it does not see the plug, and is that of today."""
    (tmp_path / "server.json").write_text(json.dumps(SERVER))
    return {
        "today": (sys.executable, "-I", "-c", MAIN, "serve", "server.json"),
        "both": (sys.executable, "-c", MAIN, "serve", "server.json"),
    }


@contextmanager
def at_url(environment, directory, *flags):
    """Our server over HTTP: its address."""
    (directory / "web.json").write_text(
        json.dumps({**SERVER, "transport": {"type": "streamable-http", "modern": True}})
    )
    command = (sys.executable, *flags, "-c", MAIN, "serve", "web.json", "--port", "0")
    ours = {name: value for name, value in environment.items() if name != MARK}  # it outlives what is counted by that
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=directory, env=ours, text=True) as process:
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture
def conductor(environment, tmp_path):
    """Run `conductor` with the new revision: its exit code, its output, and its report."""

    def run(*words, limit=60):
        report = tmp_path / "report.json"
        command = [sys.executable, "-c", MAIN, words[0], "--report", f"json:{report}", *words[1:]]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=limit, check=False
        )
        told = json.loads(report.read_text()) if report.exists() else {}
        return done.returncode, done.stdout + done.stderr, told

    return run


def spoken(run):
    assert run.code == 0, run.err
    return json.loads(run.out)["protocolVersion"]


@pytest.mark.parametrize(("has", "version"), [("today", NEWEST), ("both", NEXT)])
@pytest.mark.parametrize("choice", ["modern", "auto"])
def test_the_newest_revision_that_both_have_is_spoken(cli, server, choice, has, version):
    assert spoken(cli("--method", "server/info", "--protocol", choice, "--", *server[has])) == version


def test_a_slow_server_that_refuses_the_next_revision_is_asked_for_its_own_before_a_handshake_counts(cli, serve):
    # It answers only when it has heard both openings, as one does that starts slowly.
    slow = serve(f"""
        discover, initialize = hear(), hear()
        error(discover, -32022, "no", data={{"supported": [{NEWEST!r}], "requested": {NEXT!r}}})
        result(initialize, {{"protocolVersion": "2025-11-25", "capabilities": {{}}, "serverInfo": {{}}}})
        while (request := hear()) and "id" not in request:
            pass
        result(request, {{"resultType": "complete", "supportedVersions": [{NEWEST!r}], "capabilities": {{}}}})
        hear()
    """)
    assert spoken(cli("--method", "server/info", "--protocol", "auto", "--", *slow)) == NEWEST


@pytest.mark.parametrize(("flags", "version"), [(("-I",), NEWEST), pytest.param((), NEXT, marks=pytest.mark.slow)])
def test_over_http_too(cli, environment, tmp_path, flags, version):
    with at_url(environment, tmp_path, *flags) as url:
        assert spoken(cli(url, "--method", "server/info", "--protocol", "modern")) == version


@pytest.mark.slow
def test_a_server_that_has_it_not_is_told_so_when_it_must_be_this_one(cli, server):
    run = cli("--method", "tools/list", "--protocol", NEXT, "--", *server["today"])
    assert run.code == 2
    assert json.loads(run.out)["error"]["data"]["supported"] == [NEWEST]


def test_tests_run_in_it_and_in_the_one_before(conductor, server, tmp_path):
    test = {"it": "greets", "call": {"tool": "greet"}, "expect": {"ok": True}}
    suite = {"description": "greeting", "protocol": [NEXT, NEWEST], "tests": [test]}
    (tmp_path / "greet.test.mcp.yml").write_text(json.dumps(suite))
    code, told, report = conductor("test", "greet.test.mcp.yml", "--", *server["both"])
    assert code == 0, told
    assert [outcome["title"] for outcome in report["outcomes"]] == [f"greets [{NEXT}]", f"greets [{NEWEST}]"]


def test_all_that_holds_in_the_newest_revision_holds_in_the_next(environment):
    code = f"""
from mcp_conductor.checks.harness.scenario import EVERYWHERE, SCENARIOS
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.checks.requirements.addresses import address_of
from mcp_conductor.protocol.dialect import DIALECTS, MODERN
from mcp_conductor.protocol.oauth import rules_of

newest, following = {NEWEST!r}, {NEXT!r}
assert MODERN[-2:] == (newest, following)
assert rules_of(following) == rules_of(newest)
for each in requirements().values():
    for transport in EVERYWHERE:
        assert each.holds_for(newest, transport) == each.holds_for(following, transport), each.id
    if newest in each.revisions:
        assert address_of(each, following) == address_of(each, newest).replace(newest, following), each.id
for name, scenario in SCENARIOS.items():
    for transport in EVERYWHERE:
        assert scenario.fits(newest, transport) == scenario.fits(following, transport), name
"""
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def by_id(report):
    return {outcome["id"]: outcome["status"] for outcome in report["outcomes"]}


def test_a_server_is_checked_in_it(conductor, server):
    lists = "versioning-discover-lists-served-version"
    code, told, report = conductor("check", "--protocol", "modern", "--only", lists, "--", *server["both"])
    assert code == 0, told
    assert (report["protocolVersion"], by_id(report)) == (NEXT, {lists: "passed"})


@pytest.mark.parametrize("version", [NEXT, pytest.param(NEWEST, marks=pytest.mark.slow)])
def test_a_client_that_has_it_is_checked_in_it_and_in_the_one_before(conductor, version):
    once = "versioning-client-caches-era"  # to ask again for the revision that a server has is not to ask twice
    client = shlex.join((*MCP_CLI, "--protocol", "modern", "--method", "tools/list", "--")) + " {server}"
    code, told, report = conductor("check", "--client", client, "--protocol", version, "--only", once)
    assert code == 0, told
    assert (report["protocolVersion"], by_id(report)) == (version, {once: "passed"})


@pytest.mark.slow
def test_a_check_of_a_server_comes_to_the_same_in_both_revisions(conductor, environment, tmp_path, server):
    with at_url(environment, tmp_path) as url:
        for target in (("--", *server["both"]), (url,)):
            code, told, following = conductor("check", "--protocol", NEXT, *target)
            assert code == 0, told
            _, _, newest = conductor("check", "--protocol", NEWEST, *target)
            assert by_id(following) == by_id(newest)
            assert sum(status == "passed" for status in by_id(following).values()) > 50


@pytest.mark.slow
@pytest.mark.parametrize("place", ["-- {server}", "{url}"])
def test_a_check_of_a_client_comes_to_the_same_in_both_revisions(conductor, place):
    client = shlex.join((*MCP_CLI, "--protocol", "modern", "--method", "tools/list")) + f" {place}"
    _, told, following = conductor("check", "--client", client, "--protocol", NEXT, limit=300)
    assert following["protocolVersion"] == NEXT, told
    _, _, newest = conductor("check", "--client", client, "--protocol", NEWEST, limit=300)
    assert by_id(following) == by_id(newest)
    assert sum(status == "passed" for status in by_id(following).values()) > 20
