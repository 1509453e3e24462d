"""Reports are without secrets before a reporter sees them."""

import pytest

from mcp_conductor.report.model import redacted_value
from mcp_conductor.text.redaction import REDACTED, Redactor

SECRET = "zQ-canary_0f/7"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([[SECRET, "x"], [1, 2, 3, 4]], [[REDACTED, "x"], [1, 2, 3, 4]]),
        ([1, 2, None, True, "a"], [1, 2, None, True, "a"]),
    ],
)
def test_a_secret_is_found_in_a_list(value, shown):
    assert redacted_value(value, Redactor([SECRET]).redact) == shown
