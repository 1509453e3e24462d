"""What differs between a recording and a server that its client was played to: one outcome for each request."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mcp_conductor.errors import ConductorError, TransportError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.paging import cursor_in, with_cursor
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Asked, Dialogue, Question, shown_request
from mcp_conductor.report.model import Finding, Outcome, Status
from mcp_conductor.suites.matching.differences import shown
from mcp_conductor.suites.matching.expected import Expected, Plain
from mcp_conductor.suites.matching.paths import parse_path
from mcp_conductor.suites.running.normalization import comparable
from mcp_conductor.suites.verifying.alignment import Alignment, Equalities, Ignored, unfolded
from mcp_conductor.suites.verifying.besides import Ending, besides
from mcp_conductor.suites.verifying.playing import AT_ANY_TIME, HANDSHAKE, Played

# What differs although nothing has changed, or always between two versions of a server.
_NEVER_COMPARED = ("version",)
_ARROWS = {"client": "-->", "server": "<--"}
_LATER = "the server went away before"
_NO_HANDSHAKE = "there was no handshake before it"
_REFUSED = "the server refused it, and the client began otherwise"
_MAX_BROKEN = 10  # warnings
_BESIDES = "besides the answers"
_WHOLE = ("questions", "notifications", "progress", "stdout", "exit")  # what --ignore names besides parts of answers
_CHANGES = ("/list_changed", "/updated")  # how notifications end that no request is the reason of


def read_ignored(texts: Sequence[str]) -> list[Ignored]:
    """The paths of --ignore; raises UsageError."""
    paths = []
    for text in texts:
        try:
            path = parse_path(text)
        except ValueError as error:
            raise UsageError(f"--ignore {text} is not a path: {error}") from error
        if len(path.parts) != 1 or path.parts[0].pipe is not None:
            raise UsageError(f"--ignore {text}: a path with | names no part of an answer")
        paths.append(Ignored(path))
    return paths


def nowhere(ignored: Sequence[Ignored]) -> Iterator[Finding]:
    """Say which of the paths were nothing in any answer, so that they excused nothing."""
    for each in ignored:
        if each.path.text in _WHOLE or each.matched:
            continue
        why = "is nothing in any answer"
        if each.text is not None:
            why = f"leads into a text that is not JSON: {shown(each.text)}"
        yield Finding(message=f"--ignore {each.path.text} {why}", warning=True)


class Verification:
    """A recording, what came of it now, and how the two differ."""

    def __init__(
        self,
        recorded: Dialogue,
        ending: Ending,
        played: Played,
        *,
        alignment: Alignment,
        ignored: Sequence[Ignored],
        group: str,
        over_http: bool = False,
        keeps_all: bool = True,
    ) -> None:
        """KEEPS_ALL: outcomes say what was said also where nothing differs."""
        self._recorded = recorded
        self._ending = ending
        self._played = played
        self._alignment = alignment
        alignment.carry(played.carried)
        self._ignored = ignored
        self._equalities = Equalities()
        self._broken: list[tuple[Asked, str]] = []
        self._group = group
        self._over_http = over_http
        self._keeps_all = keeps_all
        now = Dialogue.of(played.frames)
        self._dialogue = now
        self._notices = now.notices
        self._texts_of_notices = {each.text for each in now.notices}
        self._repeated_methods = {each.method for each in played.repeated.values() if each.method in AT_ANY_TIME}
        self._known_notices = {each.method for each in recorded.notices}
        by_id = {asked.request.id: asked for asked in now.asked}
        self._now = {number: by_id[identity] for number, identity in played.ids.items() if identity in by_id}

    def outcomes(self) -> Iterator[Outcome]:
        """One for each request of the recording, in order; and one for what came besides, where there is anything."""
        gone = unopened = False
        for asked in self._recorded.asked:
            now = self._now.get(asked.number)
            problem = self._played.problems.get(asked.number)
            if asked.number in self._played.left_out:
                yield self._outcome(asked, "skipped", reason=_REFUSED)
            elif now is None and self._played.refused:
                yield self._outcome(asked, "not-run", reason=_NO_HANDSHAKE)
            elif gone or (now is None and self._played.lost is not None):
                yield self._outcome(asked, "not-run", reason=_NO_HANDSHAKE if unopened else _LATER)
            elif not asked.awaited:
                reason = "the client cancelled it" if asked.cancelled else "the recording has no answer to it"
                yield self._outcome(asked, "skipped", reason=reason)
            elif isinstance(problem, TransportError) and problem is self._played.lost:
                gone, unopened = True, asked.method == HANDSHAKE
                yield self._outcome(asked, "errored", (_told(problem),), stderr=problem.stderr, cause="server")
            elif problem is not None:
                yield self._outcome(asked, "failed", (_told(problem),))
            elif now is not None and now.reply is not None:
                found = tuple(self._differences(asked, now))
                yield self._outcome(asked, "failed" if found else "passed", found, now)
            else:
                yield self._outcome(asked, "failed", (Finding(message="no answer came"),))
        if self._played.lost is None and (found := tuple(self._besides())):
            yield Outcome(
                id=f"{self._group}::{_BESIDES}", title=_BESIDES, group=self._group, status="failed", findings=found
            )

    def _besides(self) -> Iterator[Finding]:
        ignored = {each.path.text for each in self._ignored}
        return besides(self._recorded, self._ending, self._dialogue, self._played.frames, ignored)

    def _outcome(
        self, asked: Asked, status: Status, findings: tuple[Finding, ...] = (), now: Asked | None = None, **more: Any
    ) -> Outcome:
        title = f"{asked.number} {shown_request(asked.method, asked.request.params)}"
        frames: tuple[Frame, ...] = ()
        if now is not None and now.reply is not None and (findings or self._keeps_all):
            answered = now.at + now.seconds
            frames = (Frame(now.at, "client", now.request.text), Frame(answered, "server", now.reply.text))
            findings = tuple(replace(each, framed=(0, len(frames))) for each in findings)
        wire = tuple(f"{_ARROWS[each.source]} {each.text}" for each in frames)
        return Outcome(
            id=f"{self._group}::{title}",
            title=title,
            group=self._group,
            status=status,
            findings=findings,
            seconds=0.0 if now is None else now.seconds,
            wire=wire,
            frames=frames,
            **more,
        )

    def warnings(self) -> tuple[Finding, ...]:
        """What is new and belongs to no request, and which values that may differ are equal no longer, or now."""
        placed = {each.message.text for asked in self._now.values() for each in asked.questions}
        new = (
            Finding(message=f"the server asked for {each.method}, which it did not in the recording", warning=True)
            for each in self._played.new
            if each.text not in placed
        )
        broken = (
            Finding(
                message=f"{shown_request(asked.method, asked.request.params)} ({asked.number}): {text}", warning=True
            )
            for asked, text in self._broken[:_MAX_BROKEN]
        )
        return (*new, *broken)

    # One request.

    def _differences(self, asked: Asked, now: Asked) -> Iterator[Finding]:
        assert asked.reply is not None
        assert now.reply is not None
        if _is_under_way(asked):
            return  # how far a task has come at a poll is a matter of time
        if asked.reply.text != now.reply.text:  # most are the same, and need not be read
            was, came = _document(asked.reply), _document(now.reply)
            cursor = cursor_in(asked.method, came)
            if cursor is not None and cursor_in(asked.method, was) is not None:
                was = with_cursor(was, cursor)
            for each in self._ignored:
                was, came = each.without(was), each.without(came)
            self._broken += [(asked, text) for text in self._equalities.broken(*unfolded(was, came))]
            yield from self._of_documents(was, came)
        elif any(not each.matched for each in self._ignored):
            came = _document(now.reply)
            for each in self._ignored:
                came = each.without(came)
        if not self._ignores("questions"):
            yield from self._of_questions(asked.questions, now.questions)
        if not self._ignores("notifications"):
            yield from self._of_notices(asked, now)
        if asked.progress and not now.progress and not self._ignores("progress"):
            count = len(asked.progress)
            yield Finding(message=f"no progress came; the recording has {count} of it", path="progress")

    def _ignores(self, member: str) -> bool:
        return any(each.path.text == member for each in self._ignored)

    def _of_documents(self, was: Any, came: Any, under: str = "") -> Iterator[Finding]:
        was, came = unfolded(was, came)
        aligned = self._alignment.aligned(was, came)
        for each in Expected(Plain(aligned)).check(came):
            path = f"{under}.{each.path}" if under and each.path else under or each.path
            sentence = f"{path} {each.message}" if path else each.message
            yield Finding(
                message=sentence.replace("is not expected", "is new"),
                path=path or None,
                expected=each.expected,
                actual=each.actual,
            )

    def _of_questions(self, was: list[Question], came: list[Question]) -> Iterator[Finding]:
        """Questions that did not come at all, came otherwise, or are new; when they come is up to the server."""
        for index, one in enumerate(was):
            again = self._played.repeated.get(id(one))
            if again is None and one.message.method in self._repeated_methods:
                continue
            if again is None:
                yield Finding(message=f"the server did not ask for {one.message.method}", expected=_asked(one.message))
            else:
                yield from self._of_documents(_asked(one.message), _asked(again), f"questions[{index}]")
        for other in came:
            if any(other.message.text == each.text for each in self._played.new):
                message = f"the server asked for {other.message.method}, which it did not in the recording"
                yield Finding(message=message, actual=_asked(other.message))

    def _of_notices(self, asked: Asked, now: Asked) -> Iterator[Finding]:
        """Notifications that did not come at all, or came otherwise; when they come is up to the server."""
        left = self._notices
        for one in asked.notices:
            # Nearly all come as they did; to compare each with all others would take hours for a long conversation.
            if left is self._notices and one.text in self._texts_of_notices:
                continue
            fitting = [each for each in left if each.method == one.method]
            if any(self._alignment.is_same(one.params, each.params) for each in fitting):
                continue
            mine = [each for each in fitting if any(each is other for other in now.notices)]
            if mine:
                left = [each for each in left if each is not mine[0]]
                yield from self._of_documents(one.params, mine[0].params, f"notifications[method={one.method}].params")
            elif not fitting and not self._may_be_lost(one):
                yield Finding(message=f"{one.method} did not come", expected=one.params)
        for other in now.notices:
            if asked.alone and other.method not in self._known_notices:
                yield Finding(message=f"{other.method} came, which is not in the recording", actual=other.params)

    def _may_be_lost(self, notice: Message) -> bool:
        """Whether no request is the reason of NOTICE: over HTTP, it is lost if the stream for that is not open yet."""
        return self._over_http and notice.method.endswith(_CHANGES)


def _document(reply: Message) -> Any:
    """What is compared of REPLY."""
    if reply.kind not in ("result", "error"):
        return {"invalid": reply.text}
    document = comparable(reply.raw)
    return {member: _without_versions(document[member]) for member in document}


def _without_versions(result: Any) -> Any:
    """RESULT without the version of the server, which is another in every version of it."""
    if not isinstance(result, dict):
        return result
    kept = dict(result)
    for key, member in result.items():
        if key.endswith("serverInfo") and isinstance(member, dict):
            kept[key] = {name: each for name, each in member.items() if name not in _NEVER_COMPARED}
        elif key == "_meta":
            kept[key] = _without_versions(member)
    return kept


def _asked(question: Message) -> Json:
    """What is compared of a question of the server."""
    params = dict(question.params)
    meta = params.get("_meta")
    if isinstance(meta, dict):
        params["_meta"] = {key: each for key, each in meta.items() if key != "progressToken"}
    return {"method": question.method, "params": params}


def _is_under_way(asked: Asked) -> bool:
    """Whether ASKED is a poll of a task that still worked."""
    return asked.method == "tasks/get" and asked.result.get("status") == "working"


def _told(error: ConductorError) -> Finding:
    return Finding(message=error.message, hint=error.hint)
