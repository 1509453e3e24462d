"""A bare number is milliseconds; units are understood; a time that is too long to wait for is refused."""

import pytest

from mcp_conductor.protocol.duration import offset, seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (5000, 5.0),
        ("5000", 5.0),
        (1, 0.001),
        (1.5, 0.0015),
        ("0.5", 0.0005),
        ("500ms", 0.5),
        ("2s", 2.0),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("1m", 60.0),
        ("24h", 86400.0),
        (" 2 s ", 2.0),
        (86_400_000, 86400.0),
    ],
)
def test_a_time_is_read_as_people_write_it(written, expected):
    assert seconds(written) == pytest.approx(expected)


@pytest.mark.parametrize(
    "written",
    ["", " ", "s", "abc", "1x", "1 2", "-1", "+1", "1e3", "1.", "1_000", "1,5s", "2S", "inf", "nan", "5s5s"]
    + [0, "0", "0s", -5, True, False, None, [], {}, [1], 1e-9, float("inf"), float("nan")]
    + [86_400_001, "25h", "9" * 400, 10**400],
    ids=lambda written: repr(written)[:12],
)
def test_anything_else_is_no_time(written):
    assert seconds(written) is None


@pytest.mark.parametrize(
    ("written", "expected"),
    [("12.5", 12.5), ("0", 0.0), ("500ms", 0.5), ("2m", 120.0), ("90000", 90000.0), ("-1", None)],
)
def test_a_bare_number_is_seconds_where_recordings_count_them(written, expected):
    assert offset(written) == expected
