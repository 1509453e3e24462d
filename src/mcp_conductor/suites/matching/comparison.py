"""A comparison of what is expected with what came, under way: where it is, and what it has found."""

from typing import Any, Final, NamedTuple, NoReturn

from mcp_conductor.bounded.worker import checkpoint
from mcp_conductor.errors import UsageError
from mcp_conductor.files.source import Path
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.differences import without_nothing
from mcp_conductor.suites.matching.matchers import Tools
from mcp_conductor.suites.matching.paths import Step, joined, spelled
from mcp_conductor.values import dataclass

MOST_MISMATCHES: Final = 1000
MOST_TRIALS: Final = 1_000_000  # of one part of what came by one pattern: some seconds
_TRIALS_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference between what is expected and what came."""

    path: str  # in what came: result.content[0].text; "" is all of it
    message: str
    expected: Any = NOTHING
    actual: Any = NOTHING
    at: Path = ()  # in the file, below the value that was compiled: what to point at
    hint: str | None = None
    undecided: bool = False  # whether there is a difference at all could not be found out

    @property
    def sentence(self) -> str:
        """What is wrong, with what it is said of in front."""
        return f"{self.path} {self.message}" if self.path else self.message


class Place(NamedTuple):  # of which a large document makes many
    """Where we are: in what came, and in the file."""

    steps: tuple[Step, ...] = ()
    at: Path = ()
    source: str = ""  # what the steps start from, when that is not a step itself: "result.text | json"

    def to(self, step: str | int, *, at: Path) -> "Place":
        # As `Place(…)`, in a third of the time.
        return tuple.__new__(Place, ((*self.steps, step), (*self.at, *at), self.source))

    def below(self, *at: str | int) -> "Place":
        """The same value, seen from further below in the file."""
        return tuple.__new__(Place, (self.steps, (*self.at, *at), self.source))

    def within(self, source: str, *at: str | int) -> "Place":
        """A value that was made from the one here."""
        return Place((), (*self.at, *at), source)

    @property
    def path(self) -> str:
        steps = spelled(self.steps)
        if not self.source or not steps:
            return self.source or steps
        if self.source.endswith("| json"):
            return f"{self.source} | {'$' if steps[0] == '[' else ''}{steps}"
        return joined(self.source, steps)


class Comparison:
    """One comparison under way: what was found so far, up to a number that a person reads."""

    def __init__(self, tools: Tools | None, trials: "Trials | None" = None) -> None:
        self.tools = tools
        self._trials = trials
        self.found: list[tuple[int, Mismatch]] = []
        self._shown: tuple[Any, Any] = (NOTHING, NOTHING)  # the last value that was reported, as it is shown

    @property
    def trials(self) -> "Trials":
        if self._trials is None:
            self._trials = Trials()
        return self._trials

    def add(
        self, place: Place, message: str, expected: Any = NOTHING, actual: Any = NOTHING, hint: str | None = None
    ) -> None:
        depth = len(place.steps) + (place.source.count(".") + 1 if place.source else 0)
        if actual is not self._shown[0]:  # a long array may have a thousand mismatches
            self._shown = (actual, without_nothing(actual))
        shown = NOTHING if actual is NOTHING else self._shown[1]
        mismatch = Mismatch(place.path, message, expected, shown, place.at, hint)
        self.found.append((depth, mismatch))
        if len(self.found) >= MOST_MISMATCHES:
            raise EnoughError

    def mismatches(self) -> list[Mismatch]:
        """Shortest path first."""
        if not self.found:
            return []
        return [mismatch for _, mismatch in sorted(self.found, key=lambda each: each[0])]


class Trials:
    """How often one comparison may still try whether a part of the actual value matches a pattern.

    Many patterns, each of which may be any of many elements, are more work than any time-out leaves room for.
    """

    def __init__(self) -> None:
        self.left = MOST_TRIALS

    def use_one(self, place: Place) -> None:
        self.left -= 1
        if not self.left % _TRIALS_AT_ONCE:
            checkpoint()
        if self.left < 0:
            reason = (
                f"after {MOST_TRIALS} trials it is still unknown which of its parts match which of the expected ones"
            )
            raise UndecidedError(place, UsageError(reason, hint="values without patterns need no trials"))


class Glance(Comparison):
    """A comparison of which only the outcome matters: the first mismatch ends it, and is not even written down."""

    def add(self, *_: Any, **__: Any) -> NoReturn:
        raise EnoughError


class EnoughError(Exception):
    """More need not be known."""


class UndecidedError(Exception):
    """It is unknown whether a value is as expected; under `match:not` it would otherwise count as success."""

    def __init__(self, place: Place, reason: UsageError) -> None:
        super().__init__(reason.message)
        message = f"cannot be compared: {reason.message}"
        self.mismatch = Mismatch(place.path, message, at=place.at, hint=reason.hint, undecided=True)
