"""Reports are without secrets before a reporter sees them."""

import pytest

from mcp_conductor.report.model import redacted_value
from mcp_conductor.text.redaction import REDACTED, Redactor

SECRET = "zQ-canary_0f/7"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"data": list(SECRET.encode())}, {"data": f"[{REDACTED}]"}),
        ({"data": [1, *SECRET.encode(), 2]}, {"data": f"[1,{REDACTED},2]"}),
        (list(SECRET), f'["{REDACTED}"]'),
        ([SECRET[:6], SECRET[6:]], f'["{REDACTED}"]'),
        ([[SECRET, "x"], [1, 2, 3, 4]], [[REDACTED, "x"], [1, 2, 3, 4]]),
        ([1, 2, None, True, "a"], [1, 2, None, True, "a"]),
    ],
)
def test_a_secret_is_found_in_a_list_that_is_one_only_as_a_whole(value, shown):
    assert redacted_value(value, Redactor([SECRET]).redact) == shown
