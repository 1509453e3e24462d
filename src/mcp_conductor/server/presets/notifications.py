"""Tools that say something before they answer: log messages and progress."""

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import LOG_LEVELS
from mcp_conductor.protocol.message import SAFE_INTEGER
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Tool, error_result, text_result
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import string, tool


@preset("tool")
def send_notification() -> Tool:
    """Send a log message to the client; the config must have `logging`."""

    def run(call: Call) -> Json:
        if not call.server.config.logging:
            return error_result("Notification not sent: logging is off in the config of this server")
        words = call.arguments["message"]
        call.log(call.arguments.get("level", "info"), {"message": words}, "test-server")
        return text_result(f"Notification sent: {words}")

    return tool(
        "send_notification",
        "Send a notification message from the server",
        {
            "message": string("Notification message to send"),
            "level": string("Log level for the notification", enum=list(LOG_LEVELS)),
        },
        run,
        required=["message"],
    )


@preset("tool")
def send_progress(name: str = "send_progress") -> Tool:
    """Report progress, `units` times with `delayMs` in between, to a client that sent a progress token."""
    arguments = {
        "units": _count("Number of progress units to send", exclusiveMinimum=0),
        "delayMs": _count("Delay in milliseconds between progress notifications", minimum=0) | {"default": 100},
        "total": _count("Total number of units (for percentage calculation)", exclusiveMinimum=0),
        "message": string("Progress message to include in notifications"),
    }
    return tool(
        name,
        "Send progress notifications during tool execution, then return a result",
        arguments,
        _progress,
        required=["units"],
    )


async def _progress(call: Call) -> Json:
    units, total = int(call.arguments["units"]), call.arguments.get("total")
    delay, words = call.arguments.get("delayMs", 100) / 1000, call.arguments.get("message") or "Processing..."
    sent = 0
    for unit in range(1, units + 1):
        if unit > 1:
            await call.sleep(delay)
        sent += call.progress(unit, total, f"{words} ({unit}/{units})")
    told = units if total is None else total
    return text_result(f"Completed {sent} progress notifications (units: {sent}, total: {told})")


def _count(description: str, **least: int) -> Json:
    return {"type": "integer", "description": description, **least, "maximum": SAFE_INTEGER}
