"""Whether several servers gave the same answer to a test: `transports`, and what `ignore` leaves out."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import NOTHING, Finding, Outcome
from mcp_conductor.suites.language.suite import Case, Suite
from mcp_conductor.suites.matching.differences import same
from mcp_conductor.suites.matching.paths import Every, JsonPath, Part, Step, Where, spelled
from mcp_conductor.suites.running.normalization import comparable, longest_first, normal

_Way: TypeAlias = tuple[Step | Part, ...]  # a part is the JSON in a text


def with_comparison(
    outcome: Outcome,
    suite: Suite,
    case: Case,
    mine: Json | None,
    theirs: Json | None,
    *,
    other: str,
    paths: Mapping[str, str],
) -> Outcome:
    """OUTCOME of CASE, which is a failure if the server that OTHER names answered differently.

    PATHS are directories and the names that stand for them, as in snapshots.
    """
    if mine is None or theirs is None or outcome.status == "skipped":  # it is expected to fail, and did
        return outcome
    expected, actual = (_compared_part(reply, case.ignore, paths) for reply in (theirs, mine))
    if same(expected, actual):
        return outcome
    way = _to_first_difference(expected, actual)
    if "steps" in expected:
        way = way[2:]  # a path of `ignore` is about each reply
    given = suite.transports_given
    finding = Finding(
        message=f"the reply differs from that of{other or ' the first server'}",
        expected=expected,
        actual=actual,
        where=None if given is None else given.document.locate(given.path),
        hint=f"`ignore` leaves out what may differ: ignore: ['{spelled(way)}']" if way else None,
    )
    return replace(outcome, status="failed", findings=(*outcome.findings, finding))


def _compared_part(reply: Json, ignore: tuple[JsonPath, ...], paths: Mapping[str, str]) -> Json:
    """The part of REPLY that must be the same on every server."""
    if "steps" in reply:  # of a test that has several
        return {"steps": [_compared_part(each, ignore, paths) for each in reply["steps"]]}
    kept: Any = comparable(reply)
    for path in ignore:
        kept = without(kept, path)
    if kept is NOTHING:
        return {}
    try:
        return {key: normal(value, longest_first(paths.items())) for key, value in kept.items()}
    except RecursionError:  # it is nested too deeply for that, but can be compared as it is
        return dict(kept)


def without(value: Any, path: JsonPath) -> Any:
    """VALUE without what PATH leads to; NOTHING if that is all of it."""
    way: _Way = tuple(each for part in path.parts for each in ((part,) if part.pipe else part.steps))
    while way and isinstance(way[-1], Part):  # the JSON of a text is all of it
        way = way[:-1]
    return _without_way(value, way)


def _without_way(value: Any, way: _Way) -> Any:
    if not way:
        return NOTHING
    step, rest = way[0], way[1:]
    if isinstance(step, Part):
        try:
            return _without_way(read(value), rest) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return value
    if isinstance(value, dict) and isinstance(step, (str, int)):
        return _but(value.items(), {str(step)}, rest)
    if isinstance(value, list):
        chosen, rest = _elements(value, step, rest)
        return list(_but(enumerate(value), chosen, rest).values())
    return value


def _but(members: Iterable[tuple[Any, Any]], chosen: set[Any], rest: _Way) -> dict[Any, Any]:
    """MEMBERS, and of those that are CHOSEN only what the way to what is ignored leaves."""
    left = ((key, _without_way(each, rest) if key in chosen else each) for key, each in members)
    return {key: each for key, each in left if each is not NOTHING}


def _elements(array: list[Any], step: Step, rest: _Way) -> tuple[set[int], _Way]:
    """The numbers of the elements that STEP leads to, and the way on from there."""
    if isinstance(step, Every):
        return set(range(len(array))), rest
    if isinstance(step, Where):
        accepted = [index for index, item in enumerate(array) if step.accepts(item)]
        if rest and isinstance(rest[0], int):  # which picks one of those
            return set(accepted[rest[0] :][:1]), rest[1:]
        return set(accepted), rest[1:] if rest and isinstance(rest[0], Every) else rest
    if isinstance(step, str) and not step.isdecimal():
        return set(), rest
    index = int(step)
    return {index + len(array) if index < 0 else index}, rest


def _to_first_difference(expected: Any, actual: Any) -> tuple[str | int, ...]:
    """The steps to the innermost value that holds the first difference."""
    way: list[str | int] = []
    while True:
        if isinstance(expected, dict) and isinstance(actual, dict):
            keys: Any = dict.fromkeys((*expected, *actual))
            pairs = [(key, expected.get(key, NOTHING), actual.get(key, NOTHING)) for key in keys]
        elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            pairs = list(zip(range(len(expected)), expected, actual, strict=True))
        else:
            return tuple(way)
        step, expected, actual = next(each for each in pairs if each[1] is NOTHING or not same(each[1], each[2]))
        way.append(step)
