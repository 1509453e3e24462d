"""What a careful reader notices in a message that is usable. Apart, because no program of ours asks for it."""

import json
from collections import Counter
from contextlib import suppress
from json.encoder import encode_basestring
from typing import Any

from mcp_conductor.protocol import Json


def remarks(text: str, safe: int) -> list[str]:
    """Repeated keys in TEXT, and integers beyond what is SAFE, which is 2^53 - 1."""
    found: list[str] = []

    def pairs(members: list[tuple[str, Any]]) -> Json:
        known = dict(members)
        if len(known) < len(members):
            repeated = [name for name, times in Counter(name for name, _ in members).items() if times > 1]
            found.extend(f"the key {encode_basestring(name)} stands twice in one object" for name in repeated)
        return known

    def integer(text: str) -> int:
        # Python refuses to convert very many digits.
        if len(text) > len(f"-{safe}") or abs(int(text)) > safe:
            found.append(f"{text[:40]} is beyond 2^53 - 1: many peers cannot hold it")
        return 0

    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=pairs, parse_int=integer)
    return found
