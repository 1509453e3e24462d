"""A recording, read back: all of it, or what there is of one that was cut."""

import json
import re
from collections.abc import Iterable
from contextlib import closing

from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.recording.format import FIRST_SESSION, Entry, Header, entry_in, header_in
from mcp_conductor.recording.opening import OPENINGS
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

_MARK = "\ufeff"
_BEFORE_WORK = (*OPENINGS, "ping")
_CUT = "the last line of the recording is not whole, and was left out: what wrote it was ended in the middle"
_HALVES = "[\ud800-\udc7f\udd00-\udfff]"  # of characters; the others are bytes, as `surrogateescape` keeps them


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is in a recording."""

    header: Header | None  # None: it has only frames, as earlier versions wrote it
    entries: tuple[Entry, ...]
    warning: str | None = None  # what a person should know who relies on it

    def sessions(self) -> list[int]:
        """The numbers of the conversations in it, in the order in which they began."""
        return list(dict.fromkeys(entry.session for entry in self.entries))

    def server(self, session: int = FIRST_SESSION) -> Json:
        """Whom SESSION was with, as far as that is known."""
        said = (entry.server for entry in self.entries if entry.session == session and entry.server is not None)
        return next(said, {} if self.header is None else self.header.server)

    def transcript(self, session: int | None = None) -> Transcript:
        """The frames of SESSION; without that, all frames."""
        return Transcript.of(entry.frame for entry in self.entries if session in (None, entry.session))


def meant_session(recording: Recording) -> int:
    """The conversation that is meant where none is named: the first in which a request beyond the opening had a result.

    Without one: the first with such a request, then the first with a result, then the first of all. A client that tries
    another era, or whether there is a server at all, leaves conversations that are nothing but an opening.
    """
    known = recording.sessions()
    ranks = dict.fromkeys(known, 3)
    asked: set[tuple[int, object]] = set()
    for frame, session, *_ in recording.entries:
        if ranks[session] == 0 or frame.source not in ("client", "server"):
            continue
        for message in frame.messages():
            key = session, compact(message.id)
            if frame.source == "client" and message.kind == "request" and message.method not in _BEFORE_WORK:
                asked.add(key)
                ranks[session] = min(ranks[session], 1)
            elif frame.source == "server" and message.kind == "result":
                ranks[session] = min(ranks[session], 0 if key in asked else 2)
        if ranks[known[0]] == 0:
            break
    return min(known, key=lambda session: ranks[session])


def began(recording: Recording) -> float | None:
    """When RECORDING began, as Unix time, if it says so."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(recording.header.began).timestamp() if recording.header else None
    except ValueError:
        return None


def read_recording(path: str, *, shown: str | None = None) -> Recording:
    """Read the recording at PATH, which messages call SHOWN."""
    name = shown or path
    try:
        with closing(open_file(path)) as lines:
            return recording_of(lines)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {str(error.strerror).lower()}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not a recording: it is not UTF-8") from error


def recording_of(lines: Iterable[bytes | str]) -> Recording:
    """The recording that LINES are."""
    header: Header | None = None
    entries: list[Entry] = []
    warning = None
    reader = LineReader()
    for line in lines:
        found = reader.take(line)
        if isinstance(found, Entry):
            entries.append(found)
        elif isinstance(found, Header):
            header = found
        elif found is not None:
            warning = found
    return Recording(header=header, entries=tuple(entries), warning=warning)


class LineReader:
    """The lines of a recording, one after the other."""

    def __init__(self) -> None:
        self._number = 0
        self._begun = False

    def take(self, line: bytes | str) -> Header | Entry | str | None:
        """What LINE is: the header, a frame, nothing, or, if it is cut, what to say about that."""
        self._number += 1
        if self._number == 1:
            line = _without_mark(line)
        if not line.strip():
            return None
        fields = _fields(line)
        if not self._begun and (header := header_in(fields)) is not None:
            self._begun = True
            return header
        entry = entry_in(fields)
        if entry is not None:
            self._begun = True
            return entry
        if _is_cut(line, fields) and self._begun:
            return _CUT
        raise UsageError(f"line {self._number} of the recording is not a frame: {_shown(line)}")


def _without_mark(line: bytes | str) -> bytes | str:
    """LINE without the byte order mark that some editors put before a text."""
    return line.removeprefix(_MARK) if isinstance(line, str) else line.removeprefix(_MARK.encode())


def _fields(line: bytes | str) -> object:
    """The JSON on LINE; None if it is none."""
    text = line if isinstance(line, str) else _text(line)
    try:
        fields: object = json.loads(text)
        return _writable(fields) if "\\ud" in text or "\\uD" in text else fields
    except (ValueError, RecursionError):
        return None


def _writable(fields: object) -> object:
    """FIELDS, in which half a character is its escape: it cannot be written as UTF-8, and stands for no byte.

    In a message of JSON, the escape means the same. Bytes that are not UTF-8 stay the halves that stand for them.
    """
    text = json.dumps(fields, ensure_ascii=False)
    found = re.sub(_HALVES, lambda half: f"\\\\u{ord(half[0]):04x}", text)
    return fields if found == text else json.loads(found)


def _text(line: bytes) -> str:
    """LINE as text; raises UnicodeDecodeError unless it is only cut within a character."""
    return line.decode(errors="strict" if line.endswith(b"\n") else "replace")


def _is_cut(line: bytes | str, fields: object) -> bool:
    """Whether LINE is the beginning of one. Only the last line of a file can have no end."""
    whole, brace = ("\n", "{") if isinstance(line, str) else (b"\n", b"{")
    return fields is None and line.startswith(brace) and not line.endswith(whole)  # type: ignore[arg-type]


def _shown(line: bytes | str) -> str:
    return cut((line if isinstance(line, str) else line[:1000].decode(errors="replace")).strip(), 80)
