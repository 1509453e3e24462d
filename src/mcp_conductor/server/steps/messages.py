"""Steps that tell the client something meanwhile: log messages, progress, any notification."""

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol.dialect import LOG_LEVELS
from mcp_conductor.server.placeholders import Draft, Scope
from mcp_conductor.server.steps import Script, Step, one_of, step


@step
def log(given: Field, script: Script) -> Step:
    """Send a log message: a text (of level info), or `{level, data, logger}`."""
    known = {"data": given} if isinstance(given.value, str) else given.members(("level", "data", "logger"))
    one_of(given, known, "data")
    level = known["level"].one_of(LOG_LEVELS) if "level" in known else "info"
    data = script.draft(known["data"])
    logger = script.text(known["logger"]) if "logger" in known else Draft(None)

    async def act(scope: Scope) -> None:
        scope.call.log(level, data.filled(scope), logger.filled(scope))

    return act


@step
def progress(given: Field, script: Script) -> Step:
    """Report progress to a client that asked for it: a number, or `{progress, total, message}`."""
    known = given.members(("progress", "total", "message")) if isinstance(given.value, dict) else {"progress": given}
    one_of(given, known, "progress")
    for key in ("progress", "total"):
        if key in known and not isinstance(known[key].value, str):
            known[key].number()
    parts = {key: script.draft(known[key]) if key in known else Draft(None) for key in ("progress", "total", "message")}

    async def act(scope: Scope) -> None:
        scope.call.progress(**{key: part.filled(scope) for key, part in parts.items()})

    return act


@step
def notify(given: Field, script: Script) -> Step:
    """Send any notification, as part of this request: `{method, params}`."""
    known = given.members(("method", "params"))
    one_of(given, known, "method")
    if "params" in known:
        known["params"].members()
    method = script.text(known["method"])
    params = script.draft(known["params"]) if "params" in known else Draft(None)

    async def act(scope: Scope) -> None:
        scope.call.notify(method.filled(scope), params.filled(scope))

    return act
