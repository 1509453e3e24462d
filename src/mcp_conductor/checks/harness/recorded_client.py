"""The client of a recorded conversation, judged by what it said there.

The judges are those that watch clients in scenarios, as far as they need no particular server. A recording says neither
what came later nor how the client ended. Over HTTP without sessions it may mix what several clients said: what is not
shown to be of the client that opened the conversation is left out (`ownership`), and what relates messages of one
client to each other is judged only if nothing shows that there were several.
"""

from collections.abc import Sequence

from mcp_conductor.checks.engine.evidence import Said, said_by_both
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.judging import (
    MOST_FINDINGS,
    ONLY_RECORDED,
    CheckResult,
    Options,
    Verdicts,
    asked_for,
    outcome_of,
    recorded_opening,
    recorded_transport,
    without_consequences,
)
from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord, HttpRequest
from mcp_conductor.checks.harness.ownership import name_in, strangers
from mcp_conductor.checks.harness.scenario import WATCHED, Watched, look_of
from mcp_conductor.checks.requirements import Requirement
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import SIDES, Transcript
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.http_sessions import header_of
from mcp_conductor.report.model import Outcome

_SESSION = "mcp-session-id"
_BOTH_ERAS = "the conversation is of both eras"
_MIXED = "over HTTP without a session, several clients cannot be told apart"


def judge_client(
    entries: Sequence[Entry], options: Options | None = None, *, transcript: Transcript | None = None
) -> Verdicts:
    """Judge the client of a recorded conversation, which is all of ENTRIES; TRANSCRIPT, if it is there already."""
    transcript = transcript or Transcript.read(entry.frame for entry in entries)
    dialect, opened = recorded_opening(transcript)
    transport = recorded_transport(transcript)
    record = _record_of(entries, transcript, dialect, transport, opened)
    unseen = _unseen(record, dialect)
    if transport == "http" and (others := strangers(record.http, dialect, _sessions(entries))):
        entries = [entry for entry in entries if entry.exchange not in others]
        transcript = Transcript.read(entry.frame for entry in entries)
        record = _record_of(entries, transcript, dialect, transport, opened)
    outcomes: list[Outcome] = []
    said: list[Said] = []
    for requirement, each in recorded_checks(options or Options(), dialect.version, transport):
        reason = unseen.get(each.recorded or "")
        seen = CheckResult([], reason) if reason is not None else _judged(each, record)
        if seen.findings:
            said = said or said_by_both(transcript)
            seen.prove_by(said)
        outcomes.append(outcome_of(requirement, seen))
    outcomes = without_consequences(outcomes, look_of)
    return Verdicts(dialect.version, _introduction(record), outcomes, transport=transport, partial=ONLY_RECORDED)


def recorded_checks(options: Options, version: str, transport: str) -> list[tuple[Requirement, Watched]]:
    """The requirements on clients that can be judged by a recording, with how."""
    known = {name: each for name, each in WATCHED.items() if each.recorded is not None}
    return [
        (each, known[each.id])
        for each in asked_for(options, "client")
        if each.id in known and each.holds_for(version, transport)
    ]


def _judged(each: Watched, record: ClientRecord) -> CheckResult:
    seen = CheckResult([])
    try:
        for finding in each.judge(record):
            if len(seen.findings) == MOST_FINDINGS:
                break
            seen.findings.append(finding)  # what was found before there was nothing more to see counts
    except NotSeen as nothing:
        seen.reason = str(nothing)
    return seen


def _record_of(
    entries: Sequence[Entry], transcript: Transcript, dialect: Dialect, transport: str, opened: Json
) -> ClientRecord:
    capabilities = opened.get("capabilities")
    connection = ClientConnection(
        transport,
        transcript,
        dialect,
        declared=capabilities if isinstance(capabilities, dict) else {} if opened else None,
    )
    for request in connection.requests("initialize"):
        connection.initialize = request.params
    http = _http_requests(entries, connection)
    connection.session = next(iter(_sessions(entries)), None)
    posts = [each.path for each in http if each.method == "POST" and each.message is not None]
    record = ClientRecord("recording", [connection], http, recorded=True)
    record.endpoint = posts[0] if posts else record.endpoint
    return record


def _http_requests(entries: Sequence[Entry], connection: ClientConnection) -> list[HttpRequest]:
    """The HTTP requests whose messages are known by their numbers; a head may stand before its message, or after."""
    found: list[HttpRequest] = []
    last: dict[int, HttpRequest] = {}
    said = (each for each in entries if each.frame.source in SIDES)
    messages = zip(said, connection.transcript.decoded(), strict=True)
    bodies = {each.exchange: spoken.message for each, spoken in messages if spoken.source == "client"}
    for entry in entries:
        number, frame = entry.exchange, entry.frame
        if number is None or frame.source != "http":
            continue
        if not frame.text.startswith("HTTP "):  # several of one number: it was sent again, for instance with a token
            last[number] = request = _request(entry, connection)
            found.append(request)
            if (body := bodies.get(number)) is not None:
                request.body = body.text.encode(errors="surrogateescape")
                request.message = body
        elif number in last:
            status = frame.text.split("\n", 1)[0].split()[1:2]
            last[number].status = int(status[0]) if status and status[0].isdecimal() else 0
    return found


def _request(entry: Entry, connection: ClientConnection) -> HttpRequest:
    first, *lines = entry.frame.text.split("\n")
    method, _, target = first.partition(" ")
    path, _, query = target.partition("?")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), []).append(value.strip())
    return HttpRequest(entry.frame.at, method, path, query, headers, connection=connection, exchange=entry.exchange)


def _sessions(entries: Sequence[Entry]) -> dict[str, None]:
    """The session ids that the server gave, the first one first."""
    heads = (entry.frame.text for entry in entries if entry.frame.source == "http")
    given = (header_of(text, _SESSION) for text in heads if text.startswith("HTTP "))
    return dict.fromkeys(each for each in given if each is not None)


def _unseen(record: ClientRecord, dialect: Dialect) -> dict[str, str]:
    """What cannot be judged, messages or the whole conversation, and why."""
    if not dialect.handshake and record.requests("initialize"):
        return {"messages": _BOTH_ERAS, "conversation": _BOTH_ERAS}
    return {"conversation": _MIXED} if _is_mixed(record) else {}


def _is_mixed(record: ClientRecord) -> bool:
    """Whether this may be what several clients said."""
    connection = record.connection
    if connection.transport == "stdio" or connection.session is not None:
        return False
    if connection.transport == "sse":
        return sum(each.method == "GET" for each in record.http) > 1
    agents = {tuple(each.headers.get("user-agent", ())) for each in record.http}
    names = {compact(who) for each in connection.requests() if (who := name_in(each)) is not None}
    return bool(connection.reused_ids) or len(agents) > 1 or len(names) > 1


def _introduction(record: ClientRecord) -> Json:
    """Who the client says it is."""
    found = (name_in(each) for each in record.connection.requests())
    return next((each for each in found if isinstance(each, dict)), {})
