"""The recording format, version 1: JSON lines, a header first, then one frame on each line.

`docs/reference/recording.md` describes it. A line may have members that we do not know: they mean nothing to us, so
that a later tool can say more without another version.
"""

import math
from dataclasses import field
from functools import lru_cache
from typing import Any, NamedTuple, get_args

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

VERSION = 1
CLIENT_LEFT = "the client closed stdin"  # what a frame of the process says then
FIRST_SESSION = 1  # the session of a frame that names none
_SOURCES = frozenset(get_args(Source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a recording says of itself; what is not known is empty."""

    tool: str = ""
    began: str = ""  # RFC 3339
    transport: str = ""  # stdio, http or sse
    server: Json = field(default_factory=dict)  # its command, its url or its name


class Entry(NamedTuple):
    """One frame of a recording, and where it belongs."""

    frame: Frame
    session: int = FIRST_SESSION
    exchange: int | None = None  # of HTTP
    server: Json | None = None  # whom this session is with, where its first frame says so


def server_of(spec: ServerSpec) -> Json:
    """SPEC as a header names it."""
    named = {"name": spec.name} if spec.name else {}
    if (process := spec.as_process()) is not None:
        return {**named, "command": list(process.command)}
    if (web := spec.as_http()) is not None:
        return {**named, "url": web.url}
    return named or {"name": spec.label}


def header_line(header: Header) -> str:
    """HEADER as the first line of a recording."""
    known: Json = {"tool": header.tool, "began": header.began, "transport": header.transport, "server": header.server}
    return compact({"recording": VERSION, **{name: value for name, value in known.items() if value}})


def entry_line(entry: Entry) -> str:
    """ENTRY as one line of a recording. Not made of a dict: a relay writes two lines for each call."""
    frame, session, known, server = entry
    exchange = frame.exchange if known is None else known
    place = "" if session == FIRST_SESSION else f',"session":{session}'
    if exchange is not None:
        place += f',"exchange":{exchange}'
    about = "" if server is None else f',"server":{compact(server)}'
    text = _quoted_head(frame.text) if frame.source == "http" else compact(frame.text)
    return f'{{"at":{frame.at:.6f},"source":"{frame.source}"{place},"text":{text}{about}}}'


@lru_cache(maxsize=128)  # heads of HTTP are the same again and again
def _quoted_head(text: str) -> str:
    return compact(text)


def header_in(fields: Any) -> Header | None:
    """The header that FIELDS, the first line, are; None if they are not one."""
    if not isinstance(fields, dict) or "recording" not in fields:
        return None
    version = fields["recording"]
    if not _is_number(version):
        raise UsageError(f"the recording has no version that we know: {cut(compact(version), 80)}")
    if version > VERSION:
        raise UsageError(
            f"the recording has version {cut(str(version), 80)} of the format; this program reads version {VERSION}",
            hint="a newer version of mcp-conductor reads it",
        )
    texts = {name: fields[name] for name in ("tool", "began", "transport") if isinstance(fields.get(name), str)}
    server = fields.get("server")
    return Header(**texts, server=server if isinstance(server, dict) else {})


def entry_in(fields: Any) -> Entry | None:
    """The frame that FIELDS are; None if they are not one."""
    try:
        at, source, text = fields["at"], fields["source"], fields["text"]
        if not (math.isfinite(float(at)) and source in _SOURCES and isinstance(text, str)):
            return None
        if isinstance(at, bool):
            return None
        session, exchange, server = fields.get("session"), fields.get("exchange"), fields.get("server")
        frame = Frame(float(at), source, text, exchange if _is_number(exchange) else None)
    except (ValueError, OverflowError, KeyError, TypeError):
        return None
    return Entry(
        frame,
        session if _is_number(session) else FIRST_SESSION,
        frame.exchange,
        server if isinstance(server, dict) else None,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
