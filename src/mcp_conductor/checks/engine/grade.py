"""The grade: what a check found, as one letter that can be shown in public.

It is the lower of two letters: that of the score, which is how much is kept of what was seen, and the best one that
is left by what is broken. What was not seen counts neither way; what someone expects to fail is as broken as before.
"""

from collections.abc import Mapping, Sequence

from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Outcome
from mcp_conductor.values import dataclass

LETTERS = "ABCDEF"
WEIGHTS = {"critical": 10, "major": 5, "minor": 2}
LEAST = {"A": 95.0, "B": 85.0, "C": 75.0, "D": 60.0, "E": 40.0, "F": 0.0}  # of the score, for each letter
CRITICAL_CAP, MUST_CAP = "D", "C"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Grade:
    """What is said of one revision."""

    letter: str
    cap: str | None  # the best letter that is left by what is broken, if it leaves not all
    reason: str
    score: float
    revision: str

    def to_json(self) -> Json:
        return {"letter": self.letter, "cap": self.cap, "reason": self.reason, "score": self.score}


def in_words(subject: str) -> dict[str, str]:
    """How the grade of a SUBJECT (server or client) comes about, for a person who reads one."""
    weights = ", ".join(f"{severity} {weight}" for severity, weight in WEIGHTS.items())
    least = ", ".join(f"{letter} from {points:g}" for letter, points in LEAST.items())
    return {
        "score": f"It is the share of what is kept, by weights ({weights}). Letters by the score alone: {least}.",
        "caps": f"A broken critical MUST, or a {subject} that goes away, leaves {CRITICAL_CAP} at best; another broken "
        f"MUST leaves {MUST_CAP} at best. The grade is the lower of the two letters.",
    }


def grade(outcomes: Sequence[Outcome], revision: str) -> Grade | None:
    """The grade of one revision, by what came of its requirements; None where nothing was seen."""
    seen = [outcome for outcome in outcomes if outcome.status != "skipped"]
    if not seen:
        return None
    figure = _score(seen)
    cap, reason = _cap([outcome for outcome in seen if outcome.status != "passed"])
    letter = next(letter for letter in LETTERS if figure >= LEAST[letter])
    return Grade(letter if cap is None else max(letter, cap), cap, reason, figure, revision)


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
    worst = min(grades, key=lambda each: (-LETTERS.index(each.letter), each.score))
    if ungraded is not None:
        return {"score": worst.score, "ungraded": ungraded}
    shown = {name: value for name, value in worst.to_json().items() if name != "score"}
    every = {each.revision: each.to_json() for each in grades}
    return {"score": worst.score, "grade": {**shown, "revision": worst.revision, "perRevision": every}}


def _score(seen: Sequence[Outcome]) -> float:
    """0 to 100: the share of what is kept, by the weights of the severities."""
    kept = sum(_weight(outcome) for outcome in seen if outcome.status == "passed")
    return round(100 * kept / sum(map(_weight, seen)), 1)


def _weight(outcome: Outcome) -> int:
    return WEIGHTS[outcome.severity or "minor"]


def _cap(broken: Sequence[Outcome]) -> tuple[str | None, str]:
    """The best letter that is left by what is BROKEN, None if all are; and why."""
    if dead := [outcome for outcome in broken if outcome.cause == "server"]:
        return CRITICAL_CAP, f"the server went away: {_names(dead)}"
    for severity, cap, name in (("critical", CRITICAL_CAP, "critical MUST"), ("major", MUST_CAP, "MUST")):
        if found := [outcome for outcome in broken if outcome.severity == severity]:
            return cap, _reason(found, name)
    return None, _reason(broken, "minor requirement") if broken else "all that was seen is kept"


def _reason(broken: Sequence[Outcome], name: str) -> str:
    one = len(broken) == 1
    return f"{'a' if one else len(broken)} {name}{' is' if one else 's are'} broken: {_names(broken)}"


def _names(broken: Sequence[Outcome]) -> str:
    more = len(broken) - _MOST_NAMED
    names = ", ".join(outcome.id for outcome in broken[:_MOST_NAMED])
    return f"{names} and {more} more" if more > 0 else names
