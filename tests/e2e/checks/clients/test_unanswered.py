"""Clients that do not answer, or know nothing of what they are asked: what is reported, and what is not."""

import pytest

from mcp_conductor.checks.engine.run import Options
from mcp_conductor.checks.harness.run import check_client

IGNORES = """
    ignored = {}
    def answers(self, message, request):
        return False if message.get("method") in self.ignored else super().answers(message, request)
"""
# A client that only connects, and then hears what is said to it.
STAYS = """
    def work(self):
        for line in self.link.process.stdout:
            self.answers(json.loads(line), {"id": "none"})
"""
SOON = 5.0  # as the time limit: then we wait for an answer for a second


async def test_a_client_that_declares_roots_and_does_not_list_them_is_reported(broken, verdicts_of):
    client = broken(IGNORES.format(["roots/list", "elicitation/create"]))
    outcomes = await verdicts_of(client, only=("roots", "sampling", "elicitation"), timeout=SOON)
    failed = {name: each.findings[0].message for name, each in outcomes.items() if each.status == "failed"}
    assert failed == {"roots-list-array-client": "roots/list was not answered within 1 s, but roots is declared"}
    assert outcomes["sampling-result-fields-client"].status == "passed", "it was asked nevertheless"
    # A person may have to decide that.
    assert outcomes["elicit-result-action-client"].reason == "elicitation/create was not answered"


async def test_a_client_that_dies_when_it_is_asked_for_roots_is_reported(broken, verdicts_of):
    name = "roots-list-array-client"
    outcomes = await verdicts_of(broken('def roots(self, params): raise Refused("no roots today")'), only=(name,))
    assert outcomes[name].findings[0].message == "the client ended with exit code 1, and did not answer roots/list"


@pytest.mark.slow
@pytest.mark.parametrize("ignored", ["", "roots/list"])
async def test_a_client_that_asks_for_nothing_is_asked_as_well(ignored, broken, verdicts_of):
    name = "roots-list-array-client"
    outcomes = await verdicts_of(broken(STAYS + IGNORES.format([ignored])), only=(name,), timeout=SOON)
    assert outcomes[name].status == ("failed" if ignored else "passed"), outcomes[name]


@pytest.mark.slow
async def test_a_client_that_asks_for_nothing_and_listens_on_a_stream_is_asked_there(broken, verdicts_of):
    change = """
        def work(self):
            reply = self.link.ask("GET", {**self.link.headers(None), "Accept": "text/event-stream"})
            for line in reply:
                if line.startswith(b"data:"):
                    self.answers(json.loads(line[5:]), {"id": "none"})
    """
    outcomes = await verdicts_of(
        broken(change, "http", before="Http.listen = lambda self: None"),
        only=("roots-list-array-client", "ping"),
        timeout=SOON,
    )
    assert {each.status for each in outcomes.values()} == {"passed"}, outcomes


async def test_a_client_that_only_connects_and_goes_is_not_blamed(broken, verdicts_of):
    change = "def work(self): time.sleep(0.7)"
    outcomes = await verdicts_of(broken(change), only=("roots", "sampling", "ping"), timeout=SOON)
    assert "failed" not in {each.status for each in outcomes.values()}


async def test_a_client_that_knows_no_tasks_may_call_every_tool(broken, verdicts_of):
    name = "taskc-client-tool-gating"
    outcomes = await verdicts_of(broken("def usable(self, tool): return True"), only=(name,))
    assert (outcomes[name].status, outcomes[name].reason) == ("skipped", "the client shows no sign of knowing tasks")


async def test_one_id_for_every_request_is_one_finding_and_the_rest_is_checked(broken, verdicts_of):
    outcomes = await verdicts_of(broken("def next_id(self): return 7"), only=("base", "pagination"))
    assert [each.message for each in outcomes["base-request-id-unique-session-client"].findings] == [
        "several requests of one session have the id 7"
    ]
    assert outcomes["pagination-client-opaque"].status == "passed"


async def test_a_client_that_hangs_over_its_own_ids_is_reported_soon(broken):
    change = """
        def work(self):
            self.next_id = lambda: 1
            both = [self.request_of(method, {}) for method in ("tools/list", "prompts/list")]
            self.link.write("\\n".join(json.dumps(each) for each in both))
            for _ in range(3):
                self.link.process.stdout.readline()
    """
    verdicts = await check_client(broken(change), None, Options(timeout=2.0))
    failed = [each.id for each in verdicts.outcomes if each.status == "failed"]
    assert failed == ["base-request-id-unique-session-client"]
    assert verdicts.remarks[0].startswith("the client hung with the polite server, after it had used an id for two")


async def test_a_client_that_is_slow_to_end_only_while_others_run_is_not_blamed(broken, verdicts_of, tmp_path):
    # It hangs at its end the first time that it meets each scenario, but not with the polite server.
    change = f"""
        def work(self):
            super().work()
            import os
            mark = {str(tmp_path)!r} + "/" + os.environ["CONDUCTOR_SCENARIO"]
            if not mark.endswith("/plain") and not os.path.exists(mark):
                open(mark, "w").close()
                time.sleep(60)
    """
    outcomes = await verdicts_of(broken(change), only=("logging", "progress", "icons"), timeout=2.0)
    assert "failed" not in {each.status for each in outcomes.values()}, outcomes
    assert outcomes["icons-unsafe-rejected-client"].status == "passed"


async def test_a_client_that_is_ended_while_it_is_slowly_answering_is_not_blamed(broken, verdicts_of):
    # It reads one question after the other, and takes longer for each than we wait for it.
    change = """
        capabilities = {}
        def answers(self, message, request):
            if "method" in message and "id" in message:
                time.sleep(0.7)
            return super().answers(message, request)
    """
    name = "sampling-unsupported-client"
    outcomes = await verdicts_of(broken(change), only=(name, "ping"), timeout=1.0)
    assert "failed" not in {each.status for each in outcomes.values()}, outcomes


SILENCE = "versioning-client-fallback-on-silence"
FALLS_BACK = """
    def open_modern(self):
        {first}
        try:
            super().open_modern()
        except Refused:
            self.version, self.modern = "2025-11-25", False
            self.open_handshake()
"""


async def silence_judged(broken, verdicts_of, timeout, first):
    client = broken(FALLS_BACK.format(first=first), version="2026-07-28")
    only = (SILENCE, "versioning-client-fallback-not-code-keyed")
    return (await verdicts_of(client, "2026-07-28", only=only, skip=(), timeout=timeout))[SILENCE]


async def test_a_client_that_is_ended_after_a_short_silence_is_not_blamed(broken, verdicts_of):
    outcome = await silence_judged(broken, verdicts_of, 3.0, "pass")
    assert outcome.status == "skipped"
    assert outcome.reason.startswith("inconclusive: the client was ended after ")


async def test_silence_counts_from_the_request_that_is_not_answered(broken, verdicts_of):
    """The client starts slowly, and ends by itself a second after its request."""
    first = "import signal, time; time.sleep(2); signal.alarm(1)"
    outcome = await silence_judged(broken, verdicts_of, 15.0, first)
    told = [f"the client did not send initialize within {seconds} s of silence" for seconds in (1, 2)]
    assert outcome.findings[0].message in told  # with its start, it ran for three seconds at least
