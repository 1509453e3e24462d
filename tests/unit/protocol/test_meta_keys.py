"""Which keys of `_meta` are reserved for MCP differs between revisions."""

import pytest

from mcp_conductor.protocol.dialect import DIALECTS, NEWEST_MODERN
from mcp_conductor.protocol.meta_keys import is_reserved


@pytest.mark.parametrize(
    ("key", "versions"), [("mcp.dev/x", {"2025-06-18"}), ("dev.mcp/x", {*DIALECTS} - {"2025-06-18"})]
)
def test_the_reserved_label_stands_before_another_in_one_revision_and_second_in_the_others(key, versions):
    assert {version for version, dialect in DIALECTS.items() if is_reserved(key, dialect)} == versions


@pytest.mark.parametrize("key", ["x", "com.example/x", "io.modelcontextprotocol/related-task", "no key at all"])
def test_other_keys_and_those_that_mcp_defines_are_free(key):
    assert not is_reserved(key, NEWEST_MODERN)
