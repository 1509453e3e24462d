"""Checks of plugins: each brings its requirement along, and what goes wrong in it is not the fault of the server."""

import re
from asyncio import CancelledError
from collections.abc import AsyncIterator, Callable, Iterable
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction
from os.path import basename, splitext
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conductor.checks.engine.check import CHECKS, Act, Check, Judge
from mcp_conductor.checks.engine.findings import FailedCheck, NotSeen
from mcp_conductor.checks.requirements import require
from mcp_conductor.errors import CannotTellError, UsageError
from mcp_conductor.plugins import PASSED_ON, failure, name_of, place_of, refuse_wrong_params, wrong_return
from mcp_conductor.report.model import Finding

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe
    from mcp_conductor.checks.engine.record import Record

# What a plugin may write: its findings may be texts.
PluginJudge = Callable[["Record"], Iterable[Finding | str]]
PluginAct = Callable[["Probe"], AsyncIterator[Finding | str]]
Look = TypeVar("Look", bound=PluginJudge | PluginAct)
_MOST = 10_000  # findings of one check: one that never ends must not fill the memory
_ID = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")


def check(
    name: str,
    *,
    level: str,
    text: str,
    since: str | None = None,
    group: str | None = None,
    severity: str | None = None,
    remedy: str | None = None,
    needs: str | None = None,
    alone: bool = False,
    last: bool = False,
) -> Callable[[Look], Look]:
    """Register a check of a plugin together with its requirement, which is called NAME and says TEXT.

    A generator of findings judges what was said in a conversation; an async generator probes the server. A finding may
    be a text. `since` is the first revision in which the requirement holds, `needs` a capability that the server must
    declare; `alone` and `last` are for probes that disturb others or change the server.
    """
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise TypeError(f"a requirement has an id of small letters, digits and dashes, not {name!r}")

    def register(function: Look) -> Look:
        what, plugin = f"the check {name!r}", name_of(function)
        _refuse_wrong_shape(function, what)
        if isasyncgenfunction(function):
            registered = Check(name, probe=_guarded_probe(function, what), needs=needs, alone=alone, last=last)
        else:
            registered = Check(name, judge=_guarded_judge(function, what), needs=needs)
        CHECKS.add(name, registered, function)
        require(
            name,
            level=level,
            text=text,
            since=since,
            group=group or splitext(basename(plugin))[0],
            severity=severity,
            plugin=plugin,
            remedy=remedy,
        )
        return function

    return register


def _refuse_wrong_shape(function: Callable[..., Any], what: str) -> None:
    if iscoroutinefunction(function):
        hint = "a probe yields what is wrong: an async function without yield finds nothing"
        raise UsageError(f"{what} is not an async generator", hint=hint, where=place_of(function))
    refuse_wrong_params(function, what, ["probe" if isasyncgenfunction(function) else "record"])


def _guarded_judge(judge: Callable[..., Any], what: str) -> Judge:
    @wraps(judge)
    def look(record: "Record") -> Iterable[Finding]:
        # A list is asked for many times in a check, and what is wrong with it is wrong each time.
        told: set[tuple[str, str | None]] = set()
        try:
            for number, found in enumerate(_iterable(judge(record), judge, what)):
                _stop_at_many(number, what)
                each = _finding(found, judge, what)
                if (each.message, each.path) not in told:
                    told.add((each.message, each.path))
                    yield each
        except BaseException as error:  # noqa: BLE001  # code of users may raise anything; it is reported as theirs
            yield _failed(judge, what, error)

    return look


def _guarded_probe(act: Callable[..., Any], what: str) -> Act:
    @wraps(act)
    async def look(probe: "Probe") -> AsyncIterator[Finding]:
        number = 0
        try:
            async for each in act(probe):
                _stop_at_many(number, what)
                number += 1
                yield _finding(each, act, what)
        except BaseException as error:  # noqa: BLE001  # code of users may raise anything; it is reported as theirs
            yield _failed(act, what, error)

    return look


def _failed(made_by: Callable[..., Any], what: str, error: BaseException) -> FailedCheck:
    """What ERROR says of the check; raises what ends more than the check."""
    if isinstance(error, CannotTellError):
        return FailedCheck(message=error.message)
    if isinstance(error, (NotSeen, CancelledError, *PASSED_ON)):
        raise error
    return FailedCheck(message=failure(made_by, what, error).message)


def _stop_at_many(number: int, what: str) -> None:
    if number == _MOST:
        raise CannotTellError(f"{what} found {_MOST} things, and was stopped there")


def _iterable(found: Any, made_by: Callable[..., Any], what: str) -> Iterable[Any]:
    if isinstance(found, Iterable):
        return found
    raise wrong_return(made_by, what, found, "findings, for example by yield")


def _finding(found: Any, made_by: Callable[..., Any], what: str) -> Finding:
    if isinstance(found, str):
        return Finding(message=found)
    if not isinstance(found, Finding):
        raise wrong_return(made_by, what, found, "a Finding or a text")
    return found
