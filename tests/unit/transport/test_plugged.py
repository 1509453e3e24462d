"""Transports of plugins that fail: the session is told, with the line of the plugin, and nothing looks like our bug."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from mcp_conductor import connect
from mcp_conductor.errors import CannotTellError, TransportError, UsageError
from mcp_conductor.protocol.server_spec import SCHEMES, ServerSpec, at_url
from mcp_conductor.transport import _OPENERS, opens


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenSpec(ServerSpec):
    """A server whose transport fails as WAY says."""

    way: str

    kind = "broken"
    label = "broken"


class Broken:
    cancels_by_closing = False

    def send(self, message):
        raise KeyError("send")

    def speak(self, dialect): ...

    def abandon(self, request_id): ...

    def unsent(self):
        return 0


@asynccontextmanager
async def open_broken(spec, listener, authorize=None):
    if spec.way == "exits":
        raise SystemExit(3)
    yield Broken()
    if spec.way == "fails at the end":
        raise ValueError("late")


def read_url(url):
    if not url.endswith("none"):
        raise ValueError("not like this")


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr("mcp_conductor.transport._OPENERS", dict(_OPENERS))
    known = dict(SCHEMES)
    opens("broken", broken=read_url)(open_broken)
    yield
    SCHEMES.clear()
    SCHEMES.update(known)


@pytest.mark.parametrize(("way", "told"), [("exits", "raises SystemExit: 3"), ("sends", "raises KeyError: 'send'")])
async def test_a_transport_that_fails_is_told_with_its_line(way, told):
    with pytest.raises(TransportError) as failed:
        async with connect(BrokenSpec(way=way)):
            pass
    assert failed.value.message.startswith(f"the transport 'broken' {told} at {__file__}:")


async def test_what_the_session_raises_is_not_the_fault_of_the_transport():
    from mcp_conductor.transport import open_transport

    with pytest.raises(LookupError):
        async with open_transport(BrokenSpec(way="works"), None):  # type: ignore[arg-type]  # it is not told anything
            raise LookupError
    with pytest.raises(TransportError) as failed:
        async with open_transport(BrokenSpec(way="fails at the end"), None):  # type: ignore[arg-type]
            pass
    assert failed.value.message.startswith("the transport 'broken' raises ValueError: late at ")


@pytest.mark.parametrize(
    ("url", "told"),
    [("broken://x", "raises ValueError: not like this at "), ("broken://none", "returns NoneType, but")],
)
def test_a_url_that_cannot_be_read_is_told_with_the_line(url, told):
    with pytest.raises(CannotTellError) as refused:
        at_url(url)
    assert refused.value.message.startswith(f"the scheme 'broken' {told}")


def test_a_transport_that_cannot_be_opened_as_we_do_is_refused():
    with pytest.raises(UsageError) as refused:
        opens("other")(lambda spec: None)
    assert "it is called with (spec, listener, authorize)" in str(refused.value.hint)
