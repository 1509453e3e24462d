"""A server that never answers one method, or only slowly: that is one fault, told once, and costs three time-outs.

One for the first request, and two for the second: in that time a reply that is only late is told from one that is missing.
"""

import json
import re
import subprocess
import time
from contextlib import contextmanager

import pytest
from tests import prefork
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import READS, broken
from tests.e2e.server.peers import SERVE

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec

H, M = "2025-11-25", "2026-07-28"
ONCE = "base-response-once-server"
EVERYTHING = {
    "serverInfo": {"name": "everything", "version": "1", "title": "Everything"},
    "tools": [
        {"name": name, "inputSchema": {"type": "object"}, "annotations": READS, "result": "nothing"}
        for name in ("look", "see", "watch", "stare")
    ],
    "prompts": [{"preset": "args_prompt", "params": {"completions": {"city": ["Ulm"]}}}],
    "resources": [{"preset": "numbered_resources", "params": {"count": 5}}],
    "resourceTemplates": [{"preset": "file", "params": {"completions": {"path": ["a"]}}}],
    "subscriptions": True,
}
BOTH = (
    "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
    "prompts/get", "completion/complete",
)  # fmt: skip
OF_HANDSHAKES = (*BOTH, "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe")
OF_MODERN = BOTH
KINDS = ("stdio", "streamable-http")
healthy_seconds: dict[object, float] = {}


@contextmanager
def served(directory, kind, version, silent):
    file = directory / f"{str(silent).replace('/', '-')}.json"
    transport = {"type": kind, "modern": version == M, **({} if kind == "stdio" else {"port": 0})}
    faults = [{"fault": "never_answer", "when": {"method": silent}}] if silent else []
    config = {**EVERYTHING, "logging": version == H, "transport": transport, "faults": faults}
    file.write_text(json.dumps(config))
    command = prefork.command((*SERVE, str(file)))
    if kind == "stdio":
        yield StdioSpec(command=command)
        return
    with prefork.start(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            port = re.search(r":(\d+)/", process.stderr.readline())[1]
            yield HttpSpec(url=f"http://127.0.0.1:{port}/mcp")
        finally:
            process.terminate()


async def checked(spec, version, timeout):
    began = time.monotonic()
    verdicts = await check(spec, version, Options(timeout=timeout, call="all"))
    return time.monotonic() - began, {each.id: each for each in verdicts.outcomes}


async def silent_in(directory, kind, version, method, timeout):
    """The outcomes of a server that does not answer METHOD, in no more time than its fault may cost."""
    if (kind, version) not in healthy_seconds:
        healthy_seconds[kind, version] = await healthy(directory, kind, version, timeout)
    with served(directory, kind, version, method) as spec:
        seconds, outcomes = await checked(spec, version, timeout)
    allowed = 4 * max(timeout, 1)  # three, and what the machine needs
    if seconds > 2 * healthy_seconds[kind, version] + allowed:  # the machine may be busier than it was then
        assert seconds <= 2 * await healthy(directory, kind, version, timeout) + allowed
    return outcomes


async def healthy(directory, kind, version, timeout):
    """The seconds of a check of the same server that answers everything."""
    with served(directory, kind, version, None) as spec:
        seconds, outcomes = await checked(spec, version, timeout)
    assert {name for name, each in outcomes.items() if each.status == "failed"} == set()
    return seconds


def assert_told_once(outcomes, method, timeout):
    bad = {name: each for name, each in outcomes.items() if each.status in ("failed", "warned")}
    if unsure := [each for each in outcomes.values() if (each.reason or "").startswith("inconclusive")]:
        assert ONCE not in bad, unsure
        return
    assert set(bad) == {ONCE}
    finding, *others = bad[ONCE].findings
    assert (finding.message, others) == (f"no answer to {method} within {timeout:g} s", [])
    [request] = bad[ONCE].wire
    assert json.loads(request.removeprefix("--> "))["method"] == method


@pytest.mark.parametrize(("kind", "method"), [("stdio", "ping"), ("streamable-http", "resources/read")])
async def test_a_method_that_is_never_answered_is_one_fault(tmp_path, kind, method):
    outcomes = await silent_in(tmp_path, kind, H, method, timeout=0.5)
    assert_told_once(outcomes, method, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("version", "method"), [*((H, each) for each in OF_HANDSHAKES), *((M, each) for each in OF_MODERN)]
)
async def test_whatever_method_is_never_answered_it_costs_three_timeouts(tmp_path, kind, version, method):
    outcomes = await silent_in(tmp_path, kind, version, method, timeout=2)
    assert_told_once(outcomes, method, 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("version", "method"), [(H, "initialize"), (M, "server/discover")])
async def test_an_opening_that_is_never_answered_ends_the_check(tmp_path, kind, version, method):
    with served(tmp_path, kind, version, method) as spec, pytest.raises(ConductorError):
        await checked(spec, version, 0.3)


async def test_a_tool_that_asks_the_client_and_is_never_answered_is_one_fault(tmp_path):
    body = """
    def take(self, message):
        if isinstance(message, dict) and message.get("method") == "tools/call":
            self.ask("roots/list", "question")
        else:
            super().take(message)
    """
    spec = StdioSpec(command=broken(tmp_path, "Plain", body), env={"PYTHONPATH": str(SERVERS)})
    _, outcomes = await checked(spec, H, 0.5)
    assert_told_once(outcomes, "tools/call", 0.5)


DEAF_AFTER_CANCELLATIONS = """
    deaf = False

    def notified(self, notification):
        self.deaf = self.deaf or notification["method"] == "notifications/cancelled"

    def say(self, message):
        if not self.deaf:
            super().say(message)
    """


@pytest.mark.parametrize("base", ["Plain", "Modern"])
async def test_a_server_that_answers_nothing_after_a_cancellation_has_one_fault(tmp_path, base):
    seconds, found = [], []
    for body in ("pass", DEAF_AFTER_CANCELLATIONS):
        spec = StdioSpec(command=broken(tmp_path, base, body), env={"PYTHONPATH": str(SERVERS)})
        took, outcomes = await checked(spec, H if base == "Plain" else M, 1)
        seconds.append(took)
        found.append({name for name, each in outcomes.items() if each.status in ("failed", "warned")})
    unsure = [each for each in outcomes.values() if (each.reason or "").startswith("inconclusive")]
    assert found[0] == set()
    assert found[1] == {"cancel-race-server"} or (unsure and found[1] <= {"cancel-race-server"})
    assert seconds[1] <= 2 * seconds[0] + 5  # the machine may be twice as busy as it was then


DROPS = """
    def say(self, message):
        if message.get("error", {{}}).get("code") not in {}:
            super().say(message)
    """
UNKNOWN, PARAMS = -32601, -32602
SLOW_PING = """
    def ping(self, params):
        __import__("time").sleep(0.7)
        return {}
    """
SLOW_LIST = """
    def list_tools(self, params):
        __import__("time").sleep(0.7)
        return super().list_tools(params)
    """


async def compared(directory, body):
    """The outcomes of a server with BODY; and how many seconds longer than twice those of a healthy one it was checked."""
    seconds = []
    for each in ("pass", body):
        spec = StdioSpec(command=broken(directory, "Plain", each), env={"PYTHONPATH": str(SERVERS)})
        took, outcomes = await checked(spec, H, 1)
        seconds.append(took)
    return outcomes, seconds[1] - 2 * seconds[0]


@pytest.mark.parametrize(
    ("codes", "name", "method"),
    [([PARAMS], ONCE, "tools/call"), ([UNKNOWN, PARAMS], "base-method-not-found-server", "conductor/no-such-method")],
)
async def test_a_server_that_drops_what_it_must_refuse_has_one_fault_that_costs_few_timeouts(
    tmp_path, codes, name, method
):
    outcomes, longer = await compared(tmp_path, DROPS.format(codes))
    bad = {each.id for each in outcomes.values() if each.status in ("failed", "warned")}
    if not any((each.reason or "").startswith("inconclusive") for each in outcomes.values()):
        assert bad == {name}
        assert f'"method":"{method}"' in outcomes[name].wire[0]
        assert outcomes["tools-call-missing-name"].reason.endswith(f": see {name}")
    assert longer <= 6


@pytest.mark.parametrize("body", [SLOW_PING, SLOW_LIST])
async def test_a_method_that_is_slow_each_time_is_not_used_where_another_will_do(tmp_path, body):
    outcomes, longer = await compared(tmp_path, body)
    assert {name for name, each in outcomes.items() if each.status in ("failed", "warned")} == set()
    assert longer <= 20 * 0.7
