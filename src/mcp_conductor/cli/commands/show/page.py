"""A recording as a page: its conversations, and at their messages what the judges of `conductor check` find."""

from collections.abc import Iterator, Sequence
from shlex import join

from mcp_conductor.checks.engine.judging import Verdicts, judge
from mcp_conductor.checks.explain import rules
from mcp_conductor.checks.harness.recorded_client import judge_client
from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import no_collecting
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.reader import Recording
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.report.page import page

_MOST = 100_000_000  # characters of frames on a page: browsers take several times as much memory
_FRAME = 50  # of these for each frame, besides its text
_SOURCES = {"--> ": "client", "<-- ": "server"}


def what_fits(shown: Sequence[Entry], most: int = _MOST) -> tuple[Sequence[Entry], str | None]:
    """The first of the frames that are SHOWN, as many as a browser can open; and what to say of the rest."""
    size = 0
    for count, (frame, *_) in enumerate(shown):
        size += len(frame.text) + _FRAME
        if size > most and count:
            since = f"{frame.at:.6f}".rstrip("0").rstrip(".")
            rest = (
                f"the page has the first {count:,} of {len(shown):,} frames: more would be too much for a browser; "
                f"--since {since} shows those that follow, and --method, --name, --errors and --source choose some"
            )
            return shown[:count], rest
    return shown, None


def recording_page(
    recording: Recording,
    sessions: Sequence[int],
    name: str,
    *,
    judged: bool,
    shown: Sequence[Entry] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The page of SESSIONS of the recording that is called NAME; all frames of it, or only those SHOWN."""
    header = recording.header
    entries = recording.entries if shown is None else shown
    data = {
        "kind": "recording",
        "title": name,
        "started": "" if header is None else header.began,
        "notes": [each for each in (recording.warning, *notes) if each is not None],
        "conversations": [_conversation(recording, each, entries, judged=judged) for each in sessions],
    }
    return page(data)


def _conversation(recording: Recording, session: int, shown: Sequence[Entry], *, judged: bool) -> Json:
    """One conversation. All of it is judged, also what is not shown: a part of it would look wrong."""
    entries = [each for each in recording.entries if each.session == session]
    with no_collecting():
        transcript = Transcript.read(each.frame for each in entries)
    frames, server = [each.frame for each in shown if each.session == session], recording.server(session)
    found: Json = {
        "title": f"session {session}",
        "reach": _reach(server),
        "frames": [{"at": frame.at, "source": frame.source, "text": frame.text} for frame in frames],
    }
    try:
        of_server = judge(transcript)
        of_client = judge_client(entries, transcript=transcript) if judged else None
    except UsageError as error:
        return {**found, "note": f"not judged: {error.message}"}
    found |= {"protocolVersion": of_server.version, "server": of_server.server}
    if of_client is None:
        return found
    pins = [*_pins(of_server, frames, "server"), *_pins(of_client, frames, "client")]
    return {**found, "pins": pins, "note": _told(of_server, of_client)}


def _told(server: Verdicts, client: Verdicts) -> str:
    broken = [sum(bool(each.findings) for each in verdicts.outcomes) for verdicts in (server, client)]
    told = [f"{counted(broken[0], 'broken requirement')} on the server"] if broken[0] else []
    told += [f"{counted(broken[1], 'broken requirement')} on the client"] if broken[1] else []
    return ", ".join(told) or "no broken requirement was found"


def _reach(server: Json) -> str | None:
    """The words by which mcp-cli finds SERVER, as a header names it."""
    words = server.get("command") or ([server["url"]] if "url" in server else [])
    return join(["--", *map(str, words)]) if isinstance(words, list) and words else None


def _pins(verdicts: Verdicts, frames: Sequence[Frame], side: str) -> Iterator[Json]:
    """What is wrong with one SIDE, each with the number of the frame that shows it."""
    places: dict[tuple[str, str], int] = {}
    for number, frame in enumerate(frames):
        places.setdefault((frame.source, frame.text), number)
    broken = [outcome for outcome in verdicts.outcomes if outcome.findings]
    about = {rule.id: rule for rule in rules(outcome.id for outcome in broken)}
    for outcome in broken:
        for finding in outcome.findings:
            place = _place(finding, outcome, places, side)
            if place is not None:
                rule = about[outcome.id]
                yield {
                    "frame": place,
                    "message": finding.message,
                    "path": finding.path,
                    "requirement": outcome.id,
                    "level": f"{outcome.level}, of the {side}",
                    "statement": rule.statement,
                    "remedy": rule.remedy,
                    "hint": finding.hint,
                    "warning": outcome.level != "MUST",
                }


def _place(finding: Finding, outcome: Outcome, places: dict[tuple[str, str], int], side: str) -> int | None:
    """The frame that proves FINDING: what this SIDE said, or else the other."""
    lines = () if finding.said is None else outcome.wire[slice(*finding.said)]
    for line in sorted(lines, key=lambda line: _SOURCES.get(line[:4]) != side):
        place = places.get((_SOURCES.get(line[:4], ""), line[4:]))
        if place is not None:
            return place
    return None
