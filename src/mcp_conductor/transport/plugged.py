"""Transports of plugins: what fails in one is told as its failure, with its line, and not as a bug of ours."""

from asyncio import CancelledError, get_running_loop
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conductor.errors import TransportError
from mcp_conductor.plugins import PASSED_ON, failure, guarded, refuse_wrong_params, wrong_return
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec, is_spec

if TYPE_CHECKING:
    from mcp_conductor.transport import Authorize, Listener, Opener, Transport

R = TypeVar("R")


def guarded_opener(opener: "Opener", kind: str) -> "Opener":
    """OPENER of a plugin, as it can be relied on."""
    what = f"the transport {kind!r}"
    refuse_wrong_params(opener, what, ["spec", "listener", "authorize"])

    @asynccontextmanager
    async def opened(
        spec: Any, listener: "Listener", authorize: "Authorize | None" = None, /
    ) -> AsyncIterator["Transport"]:
        of_session: BaseException | None = None
        try:
            async with opener(spec, listener, authorize) as transport:
                try:
                    yield PluggedTransport(transport, listener, lambda error: failure(opener, what, error).message)
                except BaseException as error:
                    of_session = error
                    raise
        except (CancelledError, *PASSED_ON):
            raise
        except BaseException as error:
            if error is of_session:
                raise
            raise TransportError(failure(opener, what, error).message) from error

    return opened


def guarded_spec(make: Callable[[str], ServerSpec], scheme: str) -> Callable[[str], ServerSpec]:
    """MAKE of a plugin, which reads URLs of this SCHEME, as it can be relied on."""
    what = f"the scheme {scheme!r}"
    read = guarded(make, what, ["url"])

    def spec_at(url: str) -> ServerSpec:
        spec = read(url)
        if not is_spec(spec):
            raise wrong_return(make, what, spec, "a ServerSpec")
        return spec

    return spec_at


class PluggedTransport:
    """A transport of a plugin. Where it fails, the session is told that the server is gone: it does not expect more."""

    def __init__(
        self, transport: "Transport", listener: "Listener", failure_text: Callable[[BaseException], str]
    ) -> None:
        self._transport = transport
        self._listener = listener
        self._failure_text = failure_text
        self.cancels_by_closing = self._told(lambda: transport.cancels_by_closing, otherwise=False)

    def speak(self, dialect: Dialect) -> None:
        self._told(lambda: self._transport.speak(dialect), otherwise=None)

    def send(self, message: Message) -> None:
        self._told(lambda: self._transport.send(message), otherwise=None)

    def abandon(self, request_id: Id) -> None:
        self._told(lambda: self._transport.abandon(request_id), otherwise=None)

    def unsent(self) -> int:
        return self._told(self._transport.unsent, otherwise=0)

    def _told(self, act: Callable[[], R], *, otherwise: R) -> R:
        try:
            return act()
        except PASSED_ON:
            raise
        except BaseException as error:  # noqa: BLE001  # code of users may raise anything; it is reported as theirs
            # Not at once: what is being sent is waited for only after this.
            get_running_loop().call_soon(self._listener.gone, self._failure_text(error))
            return otherwise
