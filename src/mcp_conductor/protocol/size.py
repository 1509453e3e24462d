"""Sizes as people write them: a bare number is bytes, or 512kB, 64MB, 2GB; and KiB, MiB and GiB for powers of two."""

import re

from mcp_conductor.text.patterns import compiled_later

_WRITTEN = compiled_later(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmg]i?)?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def size(written: str) -> int | None:
    """WRITTEN as a number of bytes; None when it is not a size, or none above 0."""
    found = _WRITTEN.fullmatch(written.strip())
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()]) or None if found else None


def size_text(count: int) -> str:
    """COUNT bytes as a person would write them: 64 MB, 64 MiB, 1.5 kB, 300 bytes."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20)):
        if count and count % factor == 0:
            return f"{count // factor} {unit}"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}" if count < 1000 * factor else f"{count // factor} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"
