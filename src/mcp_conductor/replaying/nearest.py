"""Why a request is not in a recording: what came nearest, and where it differs."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, parse
from mcp_conductor.recording.dialogue import shown_request
from mcp_conductor.recording.opening import OPENINGS
from mcp_conductor.replaying.matching import Pool, is_modern
from mcp_conductor.text.redaction import REDACTED
from mcp_conductor.text.visible import cut, one_line

_MOST_DIFFERENCES = 3  # that are told
_MOST_COUNTED = 100
_MOST_NAMES = 10
_LONGEST_VALUE = 60
_LONGEST_NAME = 100
_NOTHING = object()

MISSING = "not in the recording"


def why_missing(pool: Pool, method: str, params: Json) -> str:
    """One line: which request the recording does not have, and what it has instead."""
    shown = cut(one_line(shown_request(method, params)), _LONGEST_NAME)
    return f"{MISSING}: {shown}; {_instead(pool, method, params)}"


def _instead(pool: Pool, method: str, params: Json) -> str:
    if method in OPENINGS or not (pool.modern if is_modern(params) else pool.handshake):
        return _other_era(pool, modern=method == "server/discover" or is_modern(params))
    alike = pool.alike(method, params)
    if alike:
        request = pool.compared(method, params)
        found = [_differences(pool.compared(method, parse(call.text).params), request) for call in alike]
        return "the nearest request there differs: " + "; ".join(min(found, key=len)[:_MOST_DIFFERENCES])
    if names := pool.names(method, _MOST_NAMES + 1):
        return f"there, {method} is about {_listed(names)}"
    return f"it has {_methods(pool)}"


def _other_era(pool: Pool, *, modern: bool) -> str:
    if modern and pool.handshake and not pool.modern:
        return "it begins with initialize, and this client speaks the modern era, which does not"
    if pool.modern and not modern and not pool.handshake:
        return "it is of the modern era, which has no initialize, and this client speaks the handshake era"
    return f"it has {_methods(pool)}"


def _methods(pool: Pool) -> str:
    return _listed(list(islice(pool.about, _MOST_NAMES + 1))) or "no requests"


def _listed(names: list[str]) -> str:
    shown = [cut(one_line(name), _LONGEST_NAME) for name in names[:_MOST_NAMES]]
    return ", ".join(shown) + (", …" if len(names) > _MOST_NAMES else "")


def _differences(recorded: Any, given: Any) -> list[str]:
    """Where two requests differ, in words; at most a hundred places."""
    try:
        return [_told(*each) for each in islice(_walk("", recorded, given), _MOST_COUNTED)]
    except RecursionError:
        return ["params are nested too deeply to be compared"]


def _walk(path: str, recorded: Any, given: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(recorded, dict) and isinstance(given, dict):
        for key in {**recorded, **given}:
            below = f"{path}.{key}" if path else str(key)
            yield from _walk(below, recorded.get(key, _NOTHING), given.get(key, _NOTHING))
    elif isinstance(recorded, list) and isinstance(given, list) and len(recorded) == len(given):
        for index, (one, other) in enumerate(zip(recorded, given, strict=True)):
            yield from _walk(f"{path}[{index}]", one, other)
    elif recorded is not given and not _alike(recorded, given):
        yield path, recorded, given


def _alike(recorded: Any, given: Any) -> bool:
    if isinstance(recorded, str) and REDACTED in recorded:
        return given is not _NOTHING
    return isinstance(recorded, bool) == isinstance(given, bool) and bool(recorded == given)


def _told(path: str, recorded: Any, given: Any) -> str:
    where = cut(one_line(path), _LONGEST_NAME)
    if given is _NOTHING:
        return f"{where} is missing, recorded as {_shown(recorded)}"
    if recorded is _NOTHING:
        return f"{where} is {_shown(given)}, which is not recorded"
    return f"{where} is {_shown(given)}, recorded as {_shown(recorded)}"


def _shown(value: Any) -> str:
    return cut(one_line(compact(value)), _LONGEST_VALUE)
