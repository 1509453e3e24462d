"""Which faults have the means to strike, on each transport and in each era."""

from random import Random

import pytest

from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.faults import FAULTS, Fault
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.spoiled_reply import SpoiledReply

PARAMS = {"delay": {"time": 1}, "drop_field": {"path": "result"}}
STDIO_ONLY = {"stdout_noise"}
HTTP_ONLY = {"http_status", "wrong_content_type", "cut_stream", "expire_session"}
WAYS = {
    "stdio": (TransportConfig(type="stdio"), True, HTTP_ONLY),
    "sessions": (TransportConfig(type="streamable-http"), True, STDIO_ONLY),
    "json": (TransportConfig(type="streamable-http", json=True), True, STDIO_ONLY | {"cut_stream"}),
    "modern": (TransportConfig(type="streamable-http"), False, STDIO_ONLY | {"expire_session"}),
    "sse": (TransportConfig(type="sse"), True, STDIO_ONLY | {"wrong_content_type"}),
}


def needs_of(name: str) -> frozenset[str]:
    trial = SpoiledReply(Random(0))
    FAULTS.get(name)(trial, **PARAMS.get(name, {}))
    return trial.needs


@pytest.mark.parametrize("way", WAYS)
def test_fault_strikes_where_its_host_has_the_means(way):
    transport, handshake, missing = WAYS[way]
    means = means_of(transport, handshake=handshake)
    faults = [Fault(name=name, act=FAULTS.get(name), needs=needs_of(name)) for name in FAULTS]
    assert {fault.name for fault in faults if not fault.can_strike(means)} == missing


def test_fault_that_does_two_things_strikes_where_one_of_them_can_be_done():
    trial = SpoiledReply(Random(0), noise=[b"x"], status=500)
    fault = Fault(name="both", act=lambda _: None, needs=trial.needs)
    assert all(fault.can_strike(means_of(transport, handshake=True)) for transport, _, _ in WAYS.values())
    trial.silent = True  # which can be done everywhere
    assert trial.needs == frozenset()
