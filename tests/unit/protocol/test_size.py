"""Sizes as people write them."""

import pytest

from mcp_conductor.protocol.size import size, size_text


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("1", 1),
        ("1000", 1000),
        ("64MB", 64_000_000),
        ("64 MB", 64_000_000),
        ("64m", 64_000_000),
        ("512kB", 512_000),
        ("1.5kb", 1500),
        ("1KiB", 1024),
        ("2GiB", 2 << 30),
        ("3b", 3),
        ("0", None),
        ("0.1", None),
        ("-1", None),
        ("MB", None),
        ("64XB", None),
        ("", None),
        ("1" * 40, None),
    ],
)
def test_a_size_is_a_number_with_or_without_a_unit(written, count):
    assert size(written) == count


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 byte"),
        (300, "300 bytes"),
        (1500, "1.5 kB"),
        (64_000_000, "64 MB"),
        (64 << 20, "64 MiB"),
        (256_000_000, "256 MB"),
    ],
)
def test_a_size_is_written_for_people(count, text):
    assert size_text(count) == text
