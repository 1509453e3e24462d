"""Every requirement says where it stands in the specification, and what its author should change."""

import pytest

from mcp_conductor.checks.requirements import requirement, requirements
from mcp_conductor.checks.requirements.addresses import address_of

SITE = "https://modelcontextprotocol.io"
# The pages of the official specification that we refer to, in each of its revisions.
ALWAYS = {
    *(f"server/{name}" for name in ("tools", "resources", "prompts")),
    *(f"server/utilities/{name}" for name in ("completion", "logging", "pagination")),
    *(f"client/{name}" for name in ("roots", "sampling")),
    "basic/transports",
}
HANDSHAKE = {"basic/lifecycle", *(f"basic/utilities/{name}" for name in ("cancellation", "progress", "ping"))}
SINCE_MARCH = {"basic", "basic/authorization", "changelog"}
SINCE_JUNE = {"client/elicitation", "schema"}
PAGES = {
    "2024-11-05": {*ALWAYS, *HANDSHAKE, "basic/messages"},
    "2025-03-26": {*ALWAYS, *HANDSHAKE, *SINCE_MARCH},
    "2025-06-18": {*ALWAYS, *HANDSHAKE, *SINCE_MARCH, *SINCE_JUNE},
    "2025-11-25": {*ALWAYS, *HANDSHAKE, *SINCE_MARCH, *SINCE_JUNE, "basic/utilities/tasks"},
    "2026-07-28": {
        *ALWAYS,
        *SINCE_MARCH,
        *SINCE_JUNE,
        *(f"basic/patterns/{name}" for name in ("cancellation", "progress", "mrtr", "subscriptions")),
        *(f"basic/transports/{name}" for name in ("stdio", "streamable-http")),
        "basic/versioning",
        "server/discover",
        "server/utilities/caching",
        "deprecated",
    },
}


def test_every_requirement_has_a_short_remedy_that_does_not_repeat_it():
    for name, each in requirements().items():
        assert each.remedy.endswith("."), name
        assert 20 <= len(each.remedy) <= 260, name
        assert each.remedy not in each.statement, name


@pytest.mark.parametrize("version", PAGES)
def test_the_address_of_every_requirement_is_a_page_that_its_revision_has(version):
    for each in requirements().values():
        if version in each.revisions and each.group != "tasks-ext":
            page, _, heading = address_of(each, version).removeprefix(f"{SITE}/specification/{version}/").partition("#")
            assert page in PAGES[version], each.id
            assert heading == heading.lower().replace(" ", "-"), each.id


@pytest.mark.parametrize(
    ("name", "version", "page"),
    [
        ("base-utf8-server", "2025-11-25", "basic/transports"),
        ("base-jsonrpc-envelope-server", "2024-11-05", "basic/messages"),
        ("base-jsonrpc-envelope-server", "2025-11-25", "basic"),
        ("base-meta-key-format-server", "2025-11-25", "basic#meta"),
        ("progress-increases", "2025-11-25", "basic/utilities/progress#progress-flow"),
        ("progress-increases", "2026-07-28", "basic/patterns/progress#progress-flow"),
        ("tools-list-array", "2026-07-28", "server/tools#listing-tools"),
        ("stdio-stdout-clean-server", "2025-11-25", "basic/transports#stdio"),
        ("stdio-stdout-clean-server", "2026-07-28", "basic/transports/stdio"),
        ("base-method-not-found-server", "2024-11-05", "basic/messages"),
        ("base-method-not-found-server", "2025-06-18", "schema"),
        ("lifecycle-client-request-timeout", "2026-07-28", "basic/patterns/cancellation#timeouts"),
    ],
)
def test_pages_that_were_moved_are_found_where_they_are_in_each_revision(name, version, page):
    assert address_of(requirement(name), version) == f"{SITE}/specification/{version}/{page}"


def test_the_tasks_extension_has_a_page_outside_the_revisions():
    assert address_of(requirement("taske-advertised"), "2026-07-28") == f"{SITE}/extensions/tasks/overview"
