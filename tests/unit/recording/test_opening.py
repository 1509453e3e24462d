"""How a recorded conversation was opened."""

import pytest

from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import build
from mcp_conductor.recording.opening import opening_of

MODERN = {"_meta": {f"{META}protocolVersion": "2026-07-28"}}
REFUSED = {"error": {"code": -32602, "message": "unknown"}}
AGREED = {"result": {"protocolVersion": "2025-11-25"}}


def asked(method, params, answer):
    request = build({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return request, None if answer is None else build({"jsonrpc": "2.0", "id": 1, **answer})


PROBE, PROBED = asked("server/discover", MODERN, REFUSED), asked("server/discover", MODERN, {"result": {}})
INITIALIZE = asked("initialize", {"protocolVersion": "2026-07-28"}, AGREED)
LIST, MODERN_LIST = asked("tools/list", {}, {"result": {}}), asked("tools/list", MODERN, {"result": {}})


@pytest.mark.parametrize(
    ("said", "version", "by"),
    [
        ([PROBE, INITIALIZE, LIST], "2025-11-25", INITIALIZE),
        ([asked("server/discover", MODERN, None), INITIALIZE], "2025-11-25", INITIALIZE),
        ([PROBED, MODERN_LIST], "2026-07-28", PROBED),
        ([MODERN_LIST], "2026-07-28", MODERN_LIST),
        ([asked("initialize", {}, REFUSED), PROBED, MODERN_LIST], "2026-07-28", PROBED),
        # Both were asked at once, and both were answered.
        ([PROBED, INITIALIZE, LIST], "2025-11-25", INITIALIZE),
        ([PROBED, INITIALIZE, MODERN_LIST], "2026-07-28", PROBED),
        ([PROBED, INITIALIZE], "2026-07-28", PROBED),
    ],
)
def test_the_revision_is_that_of_the_opening_that_succeeded(said, version, by):
    found = opening_of(said)
    assert found is not None
    assert (found.dialect.version, found.request) == (version, by[0])


@pytest.mark.parametrize(
    "said",
    [[LIST], [], [asked("initialize", {}, {"result": {"protocolVersion": "1999-01-01"}})], [asked("initialize", {}, {"result": 5})]],
)  # fmt: skip
def test_nothing_may_say_which_revision_is_spoken(said):
    assert opening_of(said) is None
