"""Clients that do next to nothing: what they never did does not count for them, and no letter is given for it."""

import pytest

from mcp_conductor.checks.engine.grade import grade, metrics
from mcp_conductor.checks.engine.run import Options
from mcp_conductor.checks.harness.run import check_client

from .conftest import PATIENT

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
# All that a client shows that opens a connection, and closes it: each of these has looked at something that it sent,
# or at how it took what came before its end.
CONNECTS = {
    "base-jsonrpc-envelope-client",
    "base-notification-shape-client",
    "base-params-object-client",
    "base-request-id-type-client",
    "base-request-id-unique-session-client",
    "base-request-method-string-client",
    "base-unknown-capabilities-tolerated-client",
    "base-utf8-client",
    "batch-removed-client",
    "lifecycle-initialize-first-client",
    "lifecycle-initialize-params-client",
    "lifecycle-initialized-sent-client",
    "lifecycle-no-shutdown-message-client",
    "lifecycle-version-client-disconnect",
    "lifecycle-version-client-supported",
}
BARE = {
    "stdio": CONNECTS
    | {
        "logging-client-tolerates",  # a log message comes before the answer to initialize
        "stdio-launch-client",
        "stdio-newline-framing-client",
        "stdio-stdin-clean-client",
        "stdio-support-client",
    },
    "http": CONNECTS
    | {
        "http-accept-header-client",
        "http-both-response-kinds-client",
        "http-content-type-client",
        "http-get-405-tolerated-client",
        "http-get-accept-client",
        "http-post-per-message-client",
        "http-single-message-body-client",
        "http-version-header-client",
        "http-version-header-negotiated-client",
        "resume-priming-event-client",
        "session-delete-client",
        "session-id-sent-client",
    },
}
# The same of a client of the modern era that asks for one page of tools.
LISTS = {
    "base-jsonrpc-envelope-client",
    "base-malformed-input-survival-client",
    "base-meta-key-format-client",
    "base-meta-reserved-prefix-client",
    "base-notification-no-response-client",
    "base-params-object-client",
    "base-request-id-type-client",
    "base-request-id-unique-inflight-client",
    "base-request-method-string-client",
    "base-unknown-capabilities-tolerated-client",
    "base-utf8-client",
    "batch-removed-client",
    "icons-unsafe-rejected-client",
    "meta-client-info-client",
    "meta-required-fields-client",
    "progress-client-sends-none-modern",
    "progress-client-tolerates",
    "roots-modern-no-listchanged-client",
    "schema-bounded-validation-client",
    "schema-default-2020-12-client",
    "schema-no-network-ref-client",
    "schema-unsupported-dialect",
    "stdio-launch-client",
    "stdio-newline-framing-client",
    "stdio-no-client-responses",
    "stdio-stderr-handling-client",
    "stdio-stderr-not-error-client",
    "stdio-stdin-clean-client",
    "stdio-unexpected-exit-client-report",
    "versioning-client-modern-only-probe",
    "versioning-client-no-initialize-after-modern-error",
    "versioning-client-probe-stdio",
    "versioning-client-retries-supported",
    "versioning-removed-methods-client",
    "versioning-resulttype-absent-client",
}
OPENS_ONLY = "def work(self): pass"
LISTS_ONCE = 'def work(self): self.request("tools/list")'


def passed(outcomes):
    return {each.id for each in outcomes if each.status == "passed"}


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_client_that_only_connects_passes_what_it_showed_and_gets_no_grade(transport, broken):
    verdicts = await check_client(broken(OPENS_ONLY, transport), None, Options(skip=PATIENT, timeout=15.0))
    assert passed(verdicts.outcomes) == BARE[transport]
    assert [each.id for each in verdicts.outcomes if each.findings] == []
    reason = "the client never made a request after it was connected"
    assert metrics([grade(verdicts.outcomes, verdicts.version)], verdicts.partial) == {"ungraded": reason}
    reasons = {each.id: each.reason for each in verdicts.outcomes}
    assert reasons["resources-subscribe-gated-client"] == "the client never sent resources/subscribe"
    assert reasons["lifecycle-respect-negotiated-client-strict"] == reason


@pytest.mark.slow
async def test_a_modern_client_that_lists_tools_passes_what_it_showed_and_is_graded(broken):
    verdicts = await check_client(broken(LISTS_ONCE, version=MODERN), None, Options(skip=PATIENT, timeout=15.0))
    assert passed(verdicts.outcomes) == LISTS
    assert verdicts.partial is None
    reasons = {each.id: each.reason for each in verdicts.outcomes}
    assert reasons["versioning-client-caches-era"] == "the client made a single request after server/discover"
    assert reasons["versioning-discover-optional-client"] == "the client begins with server/discover"


@pytest.mark.slow
async def test_a_client_that_waits_for_ever_has_not_shown_that_it_does_not_cancel_initialize(broken, verdicts_of):
    name = "cancel-not-initialize-client"
    outcomes = await verdicts_of(broken(OPENS_ONLY), only=(name,), skip=(), timeout=8.0)
    assert outcomes[name].status == "skipped", outcomes[name]


async def test_a_client_that_connects_and_gives_up_over_what_it_does_not_know_is_reported(broken, verdicts_of):
    name = "base-unknown-capabilities-tolerated-client"
    change = """
        def notify(self, method, **params):
            if "conductor" not in self.server:
                super().notify(method, **params)
        def work(self): pass
    """
    outcomes = await verdicts_of(broken(change), only=(name,))
    message = "after members that it does not know the client did not go on to notifications/initialized"
    assert [each.message for each in outcomes[name].findings] == [message]


async def test_a_client_that_subscribes_where_it_may_and_nowhere_else_passes(broken, verdicts_of):
    name = "resources-subscribe-gated-client"
    change = """
        def more(self):
            if self.server.get("resources", {}).get("subscribe"):
                self.request("resources/subscribe", uri="note:///one")
    """
    assert (await verdicts_of(broken(change), only=(name,)))[name].status == "passed"
