"""Clients that keep the rules: no requirement is reported that they do not break."""

import sys

import pytest
from tests import prefork
from tests.e2e.checks.real_servers import PEERS, node

from mcp_conductor.checks.harness.run_client import Command
from mcp_conductor.checks.harness.scenario import SCENARIOS, WATCHED
from mcp_conductor.checks.requirements import requirements

from .conftest import HERE

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
CLI = (sys.executable, "-c", "import sys; from mcp_conductor.cli import mcp_cli; sys.exit(mcp_cli())")


def failures(outcomes):
    return {each.id: each.findings for each in outcomes.values() if each.status == "failed"}


def test_every_requirement_on_clients_has_a_judge_or_a_reason():
    clients = {name for name, each in requirements().items() if each.subject == "client"}
    judged = {name for name, _ in WATCHED.items()}
    unseen = {name for name in clients if requirements()[name].unseen is not None}
    assert judged | unseen == clients
    assert judged & unseen == set()


def test_every_judge_and_every_scenario_says_what_it_is():
    assert [name for name, each in WATCHED.items() if not each.doc] == []
    assert [name for name, each in SCENARIOS.items() if not each.script.__doc__] == []
    assert {name for _, each in WATCHED.items() for name in each.scenarios} == {name for name, _ in SCENARIOS.items()}


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("version", REVISIONS)
async def test_a_polite_client_breaks_nothing(version, transport, broken, verdicts_of):
    # Those that take long, once in each era.
    slow = (version, transport) in ((REVISIONS[3], "stdio"), (REVISIONS[4], "http"))
    command = broken(version=version, transport=transport)
    outcomes = await verdicts_of(command, **({"skip": (), "timeout": 8.0} if slow else {}))
    assert failures(outcomes) == {}
    expected = {"deprecated-features-client"} if version == REVISIONS[-1] else {"lifecycle-version-client-latest"}
    expected |= {"stdio-unexpected-exit-client-restart"}
    assert {each.id for each in outcomes.values() if each.status == "warned"} <= expected
    assert sum(each.status == "passed" for each in outcomes.values()) > 35


@pytest.mark.parametrize("place", ["{server}", "{url}"])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_our_own_client_breaks_nothing(era, place, verdicts_of, tmp_path):
    words = prefork.command((*CLI, place, "--protocol", era, "--method", "tools/call", "--tool-name", "echo"))
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)))
    assert failures(outcomes) == {}


async def test_our_own_client_speaks_http_sse_as_it_should(verdicts_of, tmp_path):
    words = prefork.command((*CLI, "{url}", "--transport", "sse", "--method", "tools/list"))
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)))
    assert failures(outcomes) == {}
    falling_back = await verdicts_of(
        Command(prefork.command((*CLI, "{url}", "--method", "tools/list")), {}, str(tmp_path)), only=("sse",)
    )
    assert {each.status for each in falling_back.values()} == {"passed"}


# What the official Python SDK (mcp 2.3) does not do; nothing else may be reported.
SDK = {
    ("legacy", "{server}"): {"sampling-tools-rejected-client"},
    ("legacy", "{url}"): {"sampling-tools-rejected-client", "session-404-reinitialize-client"},
    ("auto", "{server}"): {"versioning-resulttype-absent-client", "versioning-resulttype-unknown-client"},
    ("auto", "{url}"): {"versioning-resulttype-absent-client", "versioning-resulttype-unknown-client"},
}


# The same of the official TypeScript SDK (2.3).
TYPESCRIPT = {
    ("legacy", "{server}"): {"sampling-tools-rejected-client"},
    ("legacy", "{url}"): {"sampling-tools-rejected-client", "session-404-reinitialize-client"},
    ("auto", "{server}"): {"versioning-resulttype-absent-client"},
    # Numbers may not be mirrored into headers; there they are.
    ("auto", "{url}"): {"versioning-resulttype-absent-client", "xmcp-invalid-tool-excluded-client"},
}


@pytest.mark.peers
@pytest.mark.parametrize(
    ("mode", "place"),
    # Each takes as long as all broken clients together; the SDK for Python is checked in all four ways below.
    [pytest.param(*way, marks=() if way == ("legacy", "{server}") else pytest.mark.slow) for way in TYPESCRIPT],
)
async def test_the_sdk_for_typescript_breaks_only_what_is_known(mode, place, verdicts_of, tmp_path):
    if node() is None:
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    words = (node(), str(PEERS / "clients" / "typescript.mjs"), mode, place)
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)), timeout=30.0)
    assert set(failures(outcomes)) == TYPESCRIPT[mode, place], failures(outcomes)


@pytest.mark.peers
@pytest.mark.parametrize(("mode", "place"), SDK)
async def test_the_official_sdk_breaks_only_what_is_known(mode, place, verdicts_of, tmp_path):
    words = prefork.command((sys.executable, str(HERE / "sdk_client.py"), mode, place), kind="mcp")
    outcomes = await verdicts_of(Command(words, {}, str(tmp_path)), timeout=30.0)
    assert set(failures(outcomes)) == SDK[mode, place], failures(outcomes)


async def test_a_client_whose_roots_change_tells(broken, verdicts_of):
    change = """
        capabilities = {"roots": {"listChanged": True}}
        def roots(self, params):
            self.rounds += 1
            if self.rounds > 1:
                self.notify("notifications/roots/list_changed")
            return {"result": {"roots": [{"uri": f"file:///home/{self.rounds}"}]}}
    """
    outcomes = await verdicts_of(broken(change), only=("roots",))
    assert failures(outcomes) == {}
    assert outcomes["roots-listchanged-sent-client"].status == "passed"
