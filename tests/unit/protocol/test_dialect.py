"""Each revision is one row; what the rows say is what the specification says."""

import pytest

from mcp_conductor.protocol.dialect import (
    DIALECTS,
    HANDSHAKE,
    MODERN,
    MODERN_CODES,
    NEWEST_HANDSHAKE,
    NEWEST_MODERN,
    PROTOCOL_CHOICES,
    WITHOUT_VERSION_HEADER,
    named_in,
    newest_common,
    versions_between,
    versions_with,
)

R1, R2, R3, R4, R5 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"


def test_the_five_revisions_are_known_in_order_of_age():
    assert tuple(DIALECTS) == (R1, R2, R3, R4, R5)
    assert HANDSHAKE == (R1, R2, R3, R4)
    assert MODERN == (R5,)
    assert (NEWEST_HANDSHAKE.version, NEWEST_MODERN.version) == (R4, R5)
    assert PROTOCOL_CHOICES == ("handshake", "auto", "modern", R1, R2, R3, R4, R5)


@pytest.mark.parametrize(
    ("method", "versions"),
    [
        ("initialize", {R1, R2, R3, R4}),
        ("ping", {R1, R2, R3, R4}),
        ("logging/setLevel", {R1, R2, R3, R4}),
        ("resources/subscribe", {R1, R2, R3, R4}),
        ("resources/unsubscribe", {R1, R2, R3, R4}),
        ("completion/complete", {R1, R2, R3, R4, R5}),
        ("prompts/get", {R1, R2, R3, R4, R5}),
        ("prompts/list", {R1, R2, R3, R4, R5}),
        ("resources/list", {R1, R2, R3, R4, R5}),
        ("resources/read", {R1, R2, R3, R4, R5}),
        ("resources/templates/list", {R1, R2, R3, R4, R5}),
        ("tools/call", {R1, R2, R3, R4, R5}),
        ("tools/list", {R1, R2, R3, R4, R5}),
        ("tasks/get", {R4, R5}),
        ("tasks/cancel", {R4, R5}),
        ("tasks/list", {R4}),
        ("tasks/result", {R4}),
        ("tasks/update", {R5}),
        ("server/discover", {R5}),
        ("subscriptions/listen", {R5}),
    ],
)
def test_a_method_exists_in_these_revisions(method, versions):
    assert {version for version, dialect in DIALECTS.items() if method in dialect.methods} == versions


@pytest.mark.parametrize(
    ("method", "versions"),
    [
        ("ping", {R1, R2, R3, R4}),
        ("roots/list", {R1, R2, R3, R4, R5}),
        ("sampling/createMessage", {R1, R2, R3, R4, R5}),
        ("elicitation/create", {R3, R4, R5}),
    ],
)
def test_a_server_may_ask_for_this_in_these_revisions(method, versions):
    assert {version for version, dialect in DIALECTS.items() if method in dialect.asks} == versions


def test_only_one_revision_knows_batches():
    assert [version for version, dialect in DIALECTS.items() if dialect.batches] == [R2]


def test_elicitation_is_declared_as_each_revision_wants_it():
    both = {"form": {}, "url": {}}
    assert [dialect.elicitation for dialect in DIALECTS.values()] == [None, None, {}, both, both]


def test_tasks_are_asked_for_in_one_revision_and_an_extension_in_the_next():
    assert [dialect.tasks for dialect in DIALECTS.values()] == [None, None, None, "core", "extension"]


def test_only_in_the_modern_era_may_a_result_ask_back_and_a_cursor_be_empty():
    assert [bool(dialect.input_rounds) for dialect in DIALECTS.values()] == [False] * 4 + [True]
    assert [dialect.empty_cursor for dialect in DIALECTS.values()] == [False] * 4 + [True]
    assert NEWEST_MODERN.input_rounds == {"tools/call", "prompts/get", "resources/read"}


@pytest.mark.parametrize(
    ("trait", "versions"),
    [
        (lambda each: "audio" in each.content, (R2, R3, R4, R5)),
        (lambda each: "resource_link" in each.content, (R3, R4, R5)),
        (lambda each: each.icons, (R4, R5)),
        (lambda each: each.schema_2020, (R4, R5)),
        (lambda each: each.reserved_before_last, (R3,)),
        (lambda each: each.oauth.resource, (R3, R4, R5)),
        (lambda each: each.oauth.resource_metadata, (R3, R4, R5)),
        (lambda each: each.oauth.openid_discovery, (R4, R5)),
        (lambda each: each.oauth.pkce_advertised, (R4, R5)),
        (lambda each: each.oauth.exact_issuer, (R5,)),
        (lambda each: each.oauth.offline_access, (R5,)),
    ],
)
def test_these_revisions_have_a_trait(trait, versions):
    assert versions_with(trait) == versions


@pytest.mark.parametrize(
    ("since", "until", "versions"),
    [
        (R1, None, (R1, R2, R3, R4, R5)),
        (R4, None, (R4, R5)),
        (R5, None, (R5,)),
        (R1, R4, (R1, R2, R3, R4)),
        (R2, R3, (R2, R3)),
        (R3, R3, (R3,)),
        (R3, R2, ()),
    ],
)
def test_what_holds_until_a_revision_holds_in_it_too_and_else_in_all_that_follow(since, until, versions):
    assert versions_between(since, until) == versions


def test_a_span_begins_and_ends_with_a_revision_that_exists():
    for since, until in (("2099-01-01", None), (R1, "2099-01-01")):
        with pytest.raises(ValueError, match="not in tuple"):
            versions_between(since, until)


def test_a_request_over_http_that_names_no_revision_is_of_the_last_one_without_the_header():
    assert WITHOUT_VERSION_HEADER == R2


def test_three_codes_give_a_modern_server_away():
    assert sorted(MODERN_CODES) == [-32022, -32021, -32020]


@pytest.mark.parametrize("params", [None, {}, {"name": "x", "_meta": {"progressToken": 1}}])
@pytest.mark.parametrize("version", HANDSHAKE)
def test_after_a_handshake_params_are_sent_as_they_are(version, params):
    assert DIALECTS[version].stamp(params, {"k": 1}) is params


def test_a_modern_request_introduces_itself():
    client = {"name": "t", "version": "1"}
    context = NEWEST_MODERN.context(client, {"roots": {}})
    assert context == {
        "io.modelcontextprotocol/protocolVersion": R5,
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        "io.modelcontextprotocol/clientInfo": client,
    }
    assert NEWEST_MODERN.stamp(None, context) == {"_meta": context}
    assert NEWEST_MODERN.stamp({}, context) == {"_meta": context}


def test_the_callers_own_meta_wins_and_his_params_stay_untouched():
    params = {"name": "x", "_meta": {"k": "mine", "progressToken": 1}}
    stamped = NEWEST_MODERN.stamp(params, {"k": "ours", "other": 1})
    assert stamped == {"name": "x", "_meta": {"k": "mine", "other": 1, "progressToken": 1}}
    assert params == {"name": "x", "_meta": {"k": "mine", "progressToken": 1}}


@pytest.mark.parametrize(
    ("versions", "known", "newest"),
    [
        ([R5], MODERN, R5),
        ([R1, R2], HANDSHAKE, R2),
        ([R2, R1], HANDSHAKE, R2),
        ([R4, R5], HANDSHAKE, R4),
        (["2099-01-01", R3], HANDSHAKE, R3),
        ([5, None, {}, R1], HANDSHAKE, R1),
    ],
)
def test_the_newest_version_that_both_know_is_taken(versions, known, newest):
    assert newest_common(versions, known) is DIALECTS[newest]


@pytest.mark.parametrize("params", [{}, {"_meta": 5}, {"_meta": {}}, NEWEST_MODERN.stamp({}, {"x": 1})])
def test_a_request_may_name_no_revision(params):
    assert named_in(params) is None


def test_a_request_names_its_revision_in_its_meta():
    assert named_in({"_meta": NEWEST_MODERN.context({}, {})}) is NEWEST_MODERN


@pytest.mark.parametrize("versions", [[], ["2099-01-01"], [R1], None, R5, {R5: 1}, 5])
def test_without_a_common_version_there_is_none(versions):
    assert newest_common(versions, MODERN) is None
