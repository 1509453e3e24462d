"""Steps that decide how a request goes on: later, on another stream, or not at all."""

import re
from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol import duration
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.definitions import Refusal
from mcp_conductor.server.placeholders import Draft, Scope
from mcp_conductor.server.steps import Script, Step, StepFailedError, one_of, step

_NO_TIME = re.compile(r"0+(\.0+)?\s*(ms|s|m|h)?")


@step
def sleep(given: Field, script: Script) -> Step:
    """Let time pass: `500` (milliseconds), `500ms`, `2s`, or a text with placeholders that becomes one of these."""
    written = script.draft(given)
    fixed = given.seconds() if written.fill is None else None

    async def act(scope: Scope) -> None:
        await scope.call.sleep(_seconds(written.filled(scope)) if fixed is None else fixed)

    return act


def _seconds(written: Any) -> float:
    found = duration.seconds(written)
    if found is not None:
        return found
    if _NO_TIME.fullmatch(written if isinstance(written, str) else compact(written)):
        return 0.0
    raise StepFailedError(f"cannot sleep for {written!r}: a time is written 500 (milliseconds), 500ms or 2s")


@step
def close_stream(given: Field, _: Script) -> Step:
    """Close the HTTP event stream of this request, so that the client must resume it for the rest."""
    if given.value not in (None, {}, True):
        given.refuse("takes nothing")

    async def act(scope: Scope) -> None:
        scope.call.close_stream()

    return act


@step
def fail(given: Field, script: Script) -> Step:
    """End here: with a text as a tool result that is an error, or with `{code, message, data}` as a JSON-RPC error."""
    if isinstance(given.value, str):
        words = script.text(given)

        async def give_up(scope: Scope) -> None:
            raise StepFailedError(words.filled(scope))

        return give_up
    known = given.members(("code", "message", "data"))
    one_of(given, known, "code")
    one_of(given, known, "message")
    code = known["code"].integer(-(2**53), 2**53)
    message, data = script.text(known["message"]), script.draft(known["data"]) if "data" in known else Draft(None)

    async def refuse(scope: Scope) -> None:
        raise Refusal(code, message.filled(scope), data.filled(scope))

    return refuse
