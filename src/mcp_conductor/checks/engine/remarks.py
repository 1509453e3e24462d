"""What is worth saying of a check besides its verdicts: what could not be seen, and why."""

from collections.abc import Collection, Iterable, Iterator

from mcp_conductor.checks.engine.probe import Found
from mcp_conductor.checks.engine.record import judged_part
from mcp_conductor.checks.engine.sessions import MOST_REFUSALS, NO_OTHER
from mcp_conductor.checks.engine.timing import INCONCLUSIVE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol.message import is_cut_off
from mcp_conductor.report.model import Outcome

_MOST_NAMES = 5
STOPPED = "the server has stopped answering"
UNREAD = "the server's answers are not one line each"
FLOODED = "the server talks without end"
COULD_NOT_LOOK = (
    FLOODED,
    INCONCLUSIVE,
    NO_OTHER,
    STOPPED,
    UNREAD,
)  # how the reasons begin why something was not seen that applies


def on_calls(found: Found, seconds: float) -> Iterator[str]:
    """Tools that were called and did not answer within SECONDS: they may be slow, or broken."""
    if found.unanswered:
        more = ", …" if len(found.unanswered) > _MOST_NAMES else ""
        names = ", ".join(found.unanswered[:_MOST_NAMES]) + more
        count = f"{len(found.unanswered)} of {len(found.called)} tools that were called"
        yield f"{count} did not answer within {seconds:g} s, so that their results were not seen: {names} (--timeout)"


def refuse_unknown_tools(call: Collection[str] | str, found: Found) -> None:
    """Refuse a tool that is to be called, but does not exist: it is a typing error."""
    names = [str(tool.get("name")) for tool in found.tools]
    for name in () if isinstance(call, str) or not names or found.unread_tools else call:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near!r}?" if near else f"it lists {', '.join(sorted(names)[:10])}"
            raise UsageError(f"--call-tools: the server has no tool {name!r}", hint=hint)


def without_sessions(outcomes: Iterable[Outcome]) -> str | None:
    """How many checks could not run because the server lets in no other client, if that is no accident."""
    count = sum((each.reason or "").startswith(NO_OTHER) for each in outcomes)
    return f"{NO_OTHER}, so that {count} of the checks could not run" if count > MOST_REFUSALS else None


def mostly_unseen(outcomes: Collection[Outcome]) -> str | None:
    """Why a check says little: more of it could not be carried out than was. What does not apply is no part of it."""
    left = [each.reason or "" for each in outcomes if each.status == "skipped"]
    left = [reason for reason in left if reason.startswith(COULD_NOT_LOOK)]
    seen = sum(each.status != "skipped" for each in outcomes)
    if len(left) <= seen:
        return None
    return f"only {seen} of {seen + len(left)} checks could be carried out; the others: {max(left, key=left.count)}"


def on_the_rest(session: Session, outcomes: Iterable[Outcome]) -> Iterator[str]:
    """What was forgotten, left open, or not judged."""
    if forgotten := str(session.transcript.forgotten):
        yield forgotten
    reasons = [each.reason or "" for each in outcomes]
    if unsure := sum(reason.startswith(INCONCLUSIVE) for reason in reasons):
        yield (
            f"{unsure} of the checks inconclusive: the server, or this machine, was too slow; "
            "try a longer --timeout, or a machine with less to do"
        )
    if alone := [reason for reason in reasons if reason.startswith(NO_OTHER)]:
        yield f"{len(alone)} of the checks could not run: {alone[0]}"
    frames = [frame for frame in session.transcript.since(0) if frame.source == "server"]
    if left_out := len(frames) - len(judged_part(frames)):
        yield f"{left_out} messages of the server were not judged: it said too much"
    if cut := sum(is_cut_off(frame.text) for frame in frames):
        yield f"{cut} messages of the server were not judged: they were too large to be read"
