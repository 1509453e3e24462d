"""The grade: what a check found, as one letter that can be shown in public.

It follows from what is broken, and how much of what was seen that is. What was not seen counts neither way; what
someone expects to fail is as broken as before.
"""

from collections.abc import Mapping, Sequence

from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Outcome
from mcp_conductor.values import dataclass

LETTERS: dict[str, str] = {  # of a server, or of a client: the last that is true
    "A": "no MUST is broken",
    "B": "no MUST is broken, but more than a quarter of the recommendations (SHOULD, MAY) that were seen",
    "C": "a MUST is broken",
    "D": "a critical MUST is broken, or the {subject} goes away",
    "E": "more than a quarter of the MUSTs that were seen are broken",
    "F": "more than half of the MUSTs that were seen are broken",
}
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Grade:
    """What is said of one revision."""

    letter: str
    reason: str
    musts: int  # that are broken
    recommendations: int  # that are not followed
    revision: str

    def to_json(self) -> Json:
        broken = {"musts": self.musts, "recommendations": self.recommendations}
        return {"letter": self.letter, "reason": self.reason, "broken": broken}


def in_words(subject: str) -> dict[str, str]:
    """The meaning of each letter for a SUBJECT (server or client)."""
    return {letter: meaning.format(subject=subject) for letter, meaning in LETTERS.items()}


def grade(outcomes: Sequence[Outcome], revision: str) -> Grade | None:
    """The grade of one revision, by what came of its requirements; None where nothing was seen."""
    seen = [outcome for outcome in outcomes if outcome.status != "skipped"]
    if not seen:
        return None
    # A recommendation is minor, unless the peer went away.
    musts = [outcome for outcome in seen if outcome.severity in ("critical", "major")]
    broken = [outcome for outcome in musts if outcome.status != "passed"]
    minor = [outcome for outcome in seen if outcome.severity not in ("critical", "major")]
    unfollowed = [outcome for outcome in minor if outcome.status != "passed"]
    dead = [outcome for outcome in broken if outcome.cause == "server"]
    critical = [outcome for outcome in broken if outcome.severity == "critical"]
    if not broken:
        letter = "B" if 4 * len(unfollowed) > len(minor) else "A"
        reason = _unfollowed(len(unfollowed), len(minor))
    else:
        shares = ((2, "F"), (4, "E"))
        by_share = next((letter for parts, letter in shares if parts * len(broken) > len(musts)), None)
        letter = by_share or ("D" if critical else "C")
        if dead:
            reason = f"the server went away: {_names(dead)}"
        elif by_share is not None and len(broken) > 1:
            reason = f"{len(broken)} of {len(musts)} MUSTs are broken: {_names([*critical, *broken])}"
        else:
            reason = _broken(critical, "critical MUST") if critical else _broken(broken, "MUST")
    return Grade(letter, reason, len(broken), len(unfollowed), revision)


def unseen(grades: Mapping[str, Grade | None]) -> str | None:
    """Why there is no letter for all of these revisions, if one of them has none: what was not run is not in order."""
    without = [version for version, each in grades.items() if each is None]
    return f"nothing was checked in {', '.join(without)}" if without else None


def metrics(grades: Sequence[Grade], ungraded: str | None = None) -> Json:
    """What a report says: the worst of the revisions, because who uses the peer may meet that one, and all of them.

    UNGRADED is why there is no letter: a check of a part says nothing about the whole.
    """
    if not grades:
        return {}
    if ungraded is not None:
        return {"ungraded": ungraded}
    worst = max(grades, key=lambda each: (each.letter, each.musts, each.recommendations))
    every = {each.revision: each.to_json() for each in grades}
    return {"grade": {**worst.to_json(), "revision": worst.revision, "perRevision": every}}


def _broken(broken: Sequence[Outcome], name: str) -> str:
    one = len(broken) == 1
    return f"{'a' if one else len(broken)} {name}{' is' if one else 's are'} broken: {_names(broken)}"


def _unfollowed(count: int, seen: int) -> str:
    if not count:
        return "all that was seen is kept"
    return f"no MUST is broken; {count} of {seen} recommendations {'is' if count == 1 else 'are'} not followed"


def _names(broken: Sequence[Outcome]) -> str:
    names = list(dict.fromkeys(outcome.id for outcome in broken))
    more = f" and {len(names) - _MOST_NAMED} more" if names[_MOST_NAMED:] else ""
    return ", ".join(names[:_MOST_NAMED]) + more
