"""Which HTTP requests of a recorded conversation are shown to be of its client.

An address may be asked by anybody: a browser, a program that looks what is there, a client that begins only later. A
recorder has to put what names no session somewhere, so a conversation may have requests of others. The client is who
opened the conversation. The id of its session shows that a request is its own. Without that, one that goes to another
path, or has another User-Agent, or names another client is not; nor is one that has no word of MCP in its headers,
unless all that the client sent is like that.
"""

from collections.abc import Collection, Sequence

from mcp_conductor.checks.harness.client_record import HttpRequest, meta_of
from mcp_conductor.protocol.dialect import META, Dialect, named_in
from mcp_conductor.protocol.message import Message

_SESSION, _VERSION, _AGENT = "mcp-session-id", "mcp-protocol-version", "user-agent"
_EVENTS = "text/event-stream"


def strangers(http: Sequence[HttpRequest], dialect: Dialect, sessions: Collection[str]) -> set[int | None]:
    """The numbers of those exchanges of HTTP that are not shown to be of the client.

    DIALECT is what the conversation was opened in, SESSIONS are the ids that the server gave in it.
    """
    opening = _opening(http, dialect)
    if opening is None:
        return set()
    alike = [each for each in http if _is_alike(each, opening)]
    names_revision = any(each.header(_VERSION) is not None for each in alike)
    own = {each.exchange for each in alike if _is_own(each, opening, names_revision=names_revision)}
    own |= {each.exchange for each in http if each.header(_SESSION) in sessions}
    return {each.exchange for each in http} - own


def name_in(message: Message) -> object:
    """Who a request says that the client is."""
    if not isinstance(message.raw, dict):
        return None
    return message.params.get("clientInfo") or meta_of(message).get(f"{META}clientInfo")


def _opening(http: Sequence[HttpRequest], dialect: Dialect) -> HttpRequest | None:
    """The request that opened the conversation; one that was refused, or sent elsewhere, only if there is no other."""
    found = [each for each in http if each.message is not None and _opens(each.message, dialect)]
    return next((each for each in found if each.status == 200), found[0] if found else None)


def _opens(message: Message, dialect: Dialect) -> bool:
    if message.kind != "request":
        return False
    return message.method == "initialize" if dialect.handshake else named_in(message.params) is dialect


def _is_alike(request: HttpRequest, opening: HttpRequest) -> bool:
    """Whether nothing shows that another program sent it."""
    return request.path == opening.path and request.headers.get(_AGENT) == opening.headers.get(_AGENT)


def _is_own(request: HttpRequest, opening: HttpRequest, *, names_revision: bool) -> bool:
    if request is opening:
        return True
    name = None if request.message is None else name_in(request.message)
    if name is not None:
        return opening.message is not None and name == name_in(opening.message)
    if request.header(_VERSION) is not None:
        return True
    if request.message is not None:
        return not names_revision or request.header(_AGENT) is not None
    # Before it begins, the same client may look what is there, or ask what it can log in with.
    return not names_revision and _EVENTS in (request.header("accept") or "")
