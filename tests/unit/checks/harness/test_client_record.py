"""What a client printed, as judges see it."""

import pytest

from mcp_conductor.checks.harness.client_record import ClientRecord


@pytest.mark.parametrize("lines", [["so: a long text."], ["so: a", "long text"], ["a long", "   text"]])
def test_a_text_is_printed_in_one_line_or_in_several(lines):
    assert ClientRecord("plain", out=lines).printed("a long text")
    assert ClientRecord("plain", err=lines).printed("a long text")
    assert not ClientRecord("plain", out=lines).printed("another text")
