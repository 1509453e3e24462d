"""Which replies that pass are to be spoiled: a fault is chosen by the request, and carried out on its reply.

Either side may ask and reply. A request is known by who asked, by its conversation (SCOPE) and by its id.
"""

from collections.abc import Callable, Iterator

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.message import Message, compact, members, render
from mcp_conductor.server.faults import Faults, Side
from mcp_conductor.server.spoiled_reply import Means, SpoiledReply
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

OTHER: dict[Side, Side] = {"client": "server", "server": "client"}
_MOST_OPEN = 10_000  # requests whose replies are to be spoiled, the newest
_LONGEST = 80  # of what is shown of a request
_MOST_TOLD = 1000  # lines

Scope = object


@dataclass(slots=True)
class PlannedFault:
    """What is to go wrong with one reply, and which request it answers."""

    spoiled: SpoiledReply
    request: str  # as people are told of it
    replier: Side
    key: tuple[Scope, Id]
    is_told: bool = False


class Spoiling:
    """The faults between two sides."""

    def __init__(self, faults: Faults, tell: Callable[[str], None]) -> None:
        self._faults = faults
        self._tell = tell
        self._told = 0
        self._open: dict[Side, dict[tuple[Scope, Id], PlannedFault]] = {
            "client": {},
            "server": {},
        }  # by who is to reply

    def listens_to(self, speaker: Side) -> bool:
        """Whether what SPEAKER says has to be looked at: it may be a request, or a reply that is to be spoiled."""
        return bool(self._open[speaker]) or self._faults.concern(OTHER[speaker])

    def asked(self, request: Message, speaker: Side, means: Means, scope: Scope = None) -> PlannedFault | None:
        """SPEAKER asks: what is to go wrong with the reply, where there are these MEANS."""
        replier = OTHER[speaker]
        spoiled = self._faults.spoiled_reply(request, means, replier)
        if spoiled is None or request.id is None:
            return None
        plan = PlannedFault(spoiled, _shown(request, replier), replier, (scope, request.id))
        waiting = self._open[replier]
        waiting[plan.key] = plan
        if len(waiting) > _MOST_OPEN:
            del waiting[next(iter(waiting))]
        return plan

    def replied(self, reply: Message, speaker: Side, scope: Scope = None) -> PlannedFault | None:
        """SPEAKER replies: what is to go wrong with that, if anything is."""
        if reply.kind not in ("result", "error") or reply.id is None:
            return None
        plan = self._open[speaker].pop((scope, reply.id), None)
        if plan is not None and plan.spoiled.leaves(reply.raw):
            self._faults.missed(plan.spoiled)
            return None
        return plan

    def forget(self, plan: PlannedFault) -> None:
        """No reply comes that it would be for."""
        if self._open[plan.replier].get(plan.key) is plan:
            del self._open[plan.replier][plan.key]

    def without(self, plan: PlannedFault, means: Means) -> None:
        """There are only these MEANS to carry PLAN out, as is known now."""
        self._faults.take_back(plan.spoiled, means)

    def strike(self, plan: PlannedFault, note: Callable[[str], None]) -> SpoiledReply:
        """Say, once, that PLAN is carried out now, also in a NOTE of the recording: how the reply is to differ."""
        if not plan.is_told:
            plan.is_told = True
            for _, name in plan.spoiled.struck:
                text = f"fault {name} strikes {plan.request}"
                note(text)
                self._say(text)
        return plan.spoiled

    def report(self) -> list[str]:
        """How often each fault has struck, in lines for people."""
        return self._faults.report()

    def _say(self, text: str) -> None:
        self._told += 1
        if self._told < _MOST_TOLD:
            self._tell(text)
        elif self._told == _MOST_TOLD:
            self._tell(f"{text}; what strikes from here on is not told any more")


def parts_of(message: Message) -> Iterator[Message]:
    """MESSAGE itself, or the messages in it."""
    if message.kind == "batch":
        yield from members(message)
    else:
        yield message


def spoiled_text(spoiled: SpoiledReply, reply: Json, text: bytes) -> bytes:
    """What is sent in place of REPLY, whose TEXT came; not yet how often."""
    if spoiled.changes:
        text = compact(spoiled.changed(reply)).encode()
    return spoiled.garbled(text)


def _shown(request: Message, replier: Side) -> str:
    """REQUEST in a line for people."""
    named = next((request.params[key] for key in ("name", "uri") if isinstance(request.params.get(key), str)), None)
    name = "" if named is None else f" {cut(named, _LONGEST)!r}"
    who = ", which the client answers" if replier == "client" else ""
    return f"{cut(request.method, _LONGEST)}{name} (id {cut(render(request.id), _LONGEST)}){who}"
