"""Replies without the parts that differ from run to run and have no meaning: ids, times, paths."""

import math
import re
from collections.abc import Iterable
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits
from mcp_conductor.suites.matching.volatile import UUID
from mcp_conductor.text.patterns import compiled_later

_UUID = compiled_later(rf"\b{UUID}\b", re.IGNORECASE)
# Not all times that `volatile` knows: what stands in files of snapshots must go on to mean the same.
_TIME = compiled_later(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


def comparable(reply: Json) -> Json:
    """The result or error in REPLY, without the envelope."""
    return {key: value for key, value in reply.items() if key not in ("jsonrpc", "id")}


def normal(value: Any, paths: Iterable[tuple[str, str]]) -> Any:
    """VALUE with names for times, UUIDs and those directories that PATHS has names for, the longest first."""
    if isinstance(value, dict):
        return {key: normal(member, paths) for key, member in value.items()}
    if isinstance(value, list):
        return [normal(item, paths) for item in value]
    if isinstance(value, Digits) and math.isinf(value):
        return value.text  # so that no YAML reader takes it for a number
    if not isinstance(value, str):
        return value
    value = value.encode(errors="replace").decode()  # half a character is not text
    text = _TIME.sub("<time>", _UUID.sub("<uuid>", value))
    for path, name in paths:
        text = text.replace(path, name)
    return text


def longest_first(paths: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """PATHS, those first that others may be a part of."""
    return sorted(paths, key=lambda item: -len(item[0]))
