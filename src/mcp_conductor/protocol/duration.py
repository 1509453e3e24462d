"""Times as people write them: a bare number is milliseconds (as in all MCP settings files), or 500ms, 2s, 1m."""

import math
import re
from typing import Any

_WRITTEN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|h)?")
_UNITS = {None: 0.001, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
# asyncio cannot wait longer than this on every platform; no user needs to.
_LONGEST = 24 * 3600.0


def seconds(written: Any) -> float | None:
    """WRITTEN as seconds; None when it is not a time that we could wait for."""
    if isinstance(written, bool) or (isinstance(written, int) and written > _LONGEST * 1000):
        return None
    found = _WRITTEN.fullmatch(written.strip() if isinstance(written, str) else str(written))
    value = float(found[1]) * _UNITS[found[2]] if found else math.nan
    return value if 0 < value <= _LONGEST else None


def offset(written: str) -> float | None:
    """WRITTEN as seconds after something began: a bare number is seconds, as in recordings; None when it is no time."""
    found = _WRITTEN.fullmatch(written.strip())
    return float(found[1]) * (_UNITS[found[2]] if found[2] else 1.0) if found else None
