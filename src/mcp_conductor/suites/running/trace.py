"""What was said in tests, kept for a report to look at: of all tests, or of those that did not simply pass.

A test keeps what happened since the test before it ended: so the first one has the opening of the conversation, and
what a server says between two tests is seen in the second.
"""

from collections.abc import Sequence
from dataclasses import replace

from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.report.model import Finding, Outcome, Remark
from mcp_conductor.suites.running.conversation import Conversation
from mcp_conductor.text.visible import cut

_MOST_FRAMES = 400  # of one test: the first and the last
_LONGEST_TEXT = 200_000  # characters of one frame
_MOST_BYTES = 64_000_000  # of all tests


class Trace:
    """Keeps frames of tests as long as there is room; its budget is that of one run."""

    def __init__(self, when: str, most_bytes: int = _MOST_BYTES) -> None:
        self.when = when
        self.remarks: list[Remark] = []  # what judges say of the servers
        self._most_bytes = self._room = most_bytes

    def begin(self) -> None:
        """Another run begins, which has all the room."""
        self._room = self._most_bytes
        self.remarks = []

    def traced(self, outcome: Outcome, conversation: Conversation, end: int | None) -> Outcome:
        """OUTCOME with its frames, up to END of the transcript, if they are to be kept."""
        start = conversation.untold
        last = conversation.untold = conversation.session.transcript.mark if end is None else end
        if self.when == "off" or (self.when != "on" and not outcome.findings and not outcome.flaky):
            return outcome
        frames = conversation.frames(start, last)
        if conversation.session.how_it_ended is not None:
            frames.append(Frame(conversation.session.transcript.last_at, "process", conversation.session.how_it_ended))
            last += 1
        # The transcript has forgotten some: then it is not known which frame has which number.
        counted = len(frames) == last - start
        kept, gap = abridged(frames)
        size = sum(frame.size for frame in kept)
        if size > self._room:
            return replace(outcome, frames=(_note(kept, "the report has no room for what was said in this test"),))
        self._room -= size
        findings = tuple(_placed(each, start, len(frames), gap) if counted else each for each in outcome.findings)
        return replace(outcome, frames=tuple(kept), findings=findings)

    def unopened(self, outcome: Outcome, error: ConductorError) -> Outcome:
        """OUTCOME of a test for which no conversation could be opened, with what was said until then."""
        if self.when == "off" or not error.frames:
            return outcome
        kept, _ = abridged(error.frames)
        findings = tuple(replace(each, framed=(0, len(kept))) for each in outcome.findings)
        return replace(outcome, frames=tuple(kept), findings=findings)


def abridged(frames: Sequence[Frame]) -> tuple[list[Frame], tuple[int, int]]:
    """FRAMES without their middle, if they are many, and where that begins and ends; long texts are cut."""
    half, count = _MOST_FRAMES // 2, len(frames)
    gap = (half, count - half) if count > _MOST_FRAMES else (count, count)
    head, tail = frames[: gap[0]], frames[gap[1] :]
    between = [_note(tail, f"{gap[1] - gap[0]} frames are left out here")] if tail else []
    kept = [*head, *between, *tail]
    return [each._replace(text=cut(each.text, _LONGEST_TEXT)) for each in kept], gap


def _note(near: Sequence[Frame], text: str) -> Frame:
    return Frame(near[0].at if near else 0.0, "note", text)


def _placed(finding: Finding, start: int, count: int, gap: tuple[int, int]) -> Finding:
    """FINDING with the frames that it is about, of COUNT frames from START on without those of GAP."""
    if finding.said is None:
        return finding
    places = [number - start for number in range(*finding.said) if 0 <= number - start < count]
    left_out = gap[1] - gap[0]
    shown = [each if each < gap[0] else each - left_out + 1 for each in places if not gap[0] <= each < gap[1]]
    return replace(finding, framed=(shown[0], shown[-1] + 1)) if shown else finding
