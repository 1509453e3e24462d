"""Checks of plugins: each brings its requirement along, and what goes wrong in it is not the fault of the server."""

import re
from collections.abc import AsyncIterator, Callable, Iterable
from functools import wraps
from inspect import isasyncgenfunction
from os.path import basename, splitext
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conductor.checks.engine.check import CHECKS, Act, Check, Judge
from mcp_conductor.checks.engine.findings import FailedCheck, NotSeen
from mcp_conductor.checks.requirements import require
from mcp_conductor.errors import ConductorError
from mcp_conductor.plugins import failure, name_of
from mcp_conductor.report.model import Finding

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe
    from mcp_conductor.checks.engine.record import Record

# What a plugin may write: its findings may be texts.
PluginJudge = Callable[["Record"], Iterable[Finding | str]]
PluginAct = Callable[["Probe"], AsyncIterator[Finding | str]]
Look = TypeVar("Look", bound=PluginJudge | PluginAct)
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


def _guarded_judge(judge: Callable[..., Any], what: str) -> Judge:
    @wraps(judge)
    def look(record: "Record") -> Iterable[Finding]:
        # A list is asked for many times in a check, and what is wrong with it is wrong each time.
        told: set[tuple[str, str | None]] = set()
        try:
            for each in map(_finding, judge(record)):
                if (each.message, each.path) not in told:
                    told.add((each.message, each.path))
                    yield each
        except (NotSeen, ConductorError):
            raise
        except Exception as error:  # noqa: BLE001  # code of users may raise anything; it is reported as theirs
            yield FailedCheck(message=failure(judge, what, error).message)

    return look


def _guarded_probe(act: Callable[..., Any], what: str) -> Act:
    @wraps(act)
    async def look(probe: "Probe") -> AsyncIterator[Finding]:
        try:
            async for each in act(probe):
                yield _finding(each)
        except (NotSeen, ConductorError):
            raise
        except Exception as error:  # noqa: BLE001  # code of users may raise anything; it is reported as theirs
            yield FailedCheck(message=failure(act, what, error).message)

    return look


def _finding(found: Any) -> Finding:
    return found if isinstance(found, Finding) else Finding(message=str(found))
