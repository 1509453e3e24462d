"""When a request is one of a recording: what of it is compared, and what is not.

Compared are the method and the params, but for what differs each time: `_meta` as a whole (progress tokens, who the
client is, ids of traces), answers to the questions of an input round, and members that say nothing. A secret that was
left out of the recording fits anything in its place.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits, compact
from mcp_conductor.recording.opening import OPENINGS
from mcp_conductor.text.redaction import REDACTED

_NEVER_COMPARED = ("_meta", "inputResponses")
_DEEPEST = 200  # a secret further down is compared as it is

Forget = Callable[[Json], Json]  # a request without what is not to be compared besides
Place = tuple[str | int, ...]


def compared(method: str, params: Json, forget: Forget | None = None) -> Json:
    """What is compared of a request."""
    if method in OPENINGS:  # which say nothing but who the client is
        return {"method": method}
    if forget is not None:
        params = forget({"method": method, "params": params}).get("params", {})
    kept = {
        name: value
        for name, value in params.items()
        if value is not None and name not in _NEVER_COMPARED and not (name == "arguments" and value == {})
    }
    return {"method": method, **({"params": kept} if kept else {})}


def key_of(request: Json, holes: tuple[Place, ...] = ()) -> bytes:
    """The same for requests that are the same, also where members stand in another order, and 1 is written as 1.0.

    HOLES are places that fit anything.
    """
    try:
        text = compact(_normal(request))
    except RecursionError:
        text = compact(request)
    return blake2b(compact([text, holes]).encode(), digest_size=16).digest()


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _normal(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, float) and not isinstance(value, Digits) and value.is_integer():
        return int(value)
    return value


def secret_places(request: Json) -> tuple[Place, ...]:
    """Where secrets were left out of a recorded request."""
    return tuple(place for place, text in _texts(request) if REDACTED in text)


def _texts(request: Json) -> Iterator[tuple[Place, str]]:
    waiting: list[tuple[Place, Any]] = [((), request)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif len(place) < _DEEPEST and isinstance(value, dict):
            waiting += [((*place, key), member) for key, member in value.items()]
        elif len(place) < _DEEPEST and isinstance(value, list):
            waiting += [((*place, index), item) for index, item in enumerate(value)]


def with_holes(request: Json, holes: tuple[Place, ...]) -> Json | None:
    """REQUEST with nothing in HOLES; None if it has no such places."""
    found: Any = request
    for hole in holes:
        found = _with_hole(found, hole)
        if found is None:
            return None
    with_them: Json = found
    return with_them


def _with_hole(value: Any, hole: Place) -> Any:
    if not hole:
        return REDACTED
    first, rest = hole[0], hole[1:]
    is_there = first in value if isinstance(value, dict) else isinstance(first, int) and _has(value, first)
    if not is_there or (below := _with_hole(value[first], rest)) is None:
        return None
    changed = value.copy()
    changed[first] = below
    return changed


def _has(value: Any, index: int) -> bool:
    return isinstance(value, list) and index < len(value)
