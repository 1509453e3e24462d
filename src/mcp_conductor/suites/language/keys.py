"""The keys of `expect`; and advice for keys of test files that are at the wrong place, or have the name that other
formats give them.

An unknown key is refused with the nearest name; what is listed here is better advice than that.
"""

from collections.abc import Mapping

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes

# What may stand under `expect`, and what the manual says of it.
EXPECT_KEYS = {
    "response": "the whole reply, matched strictly; for shorthands `jsonrpc` and `id` may be left out",
    "result": "the result of the reply, matched strictly",
    "ok": "true: the reply is a result and not an error; false: it is an error of either kind",
    "error": "the message of a JSON-RPC error or of a tool result that is an error, or `{code, message, data}`",
    "asserts": "an array of lines such as `any result.tools[*].name == read_file`, `session.serverInfo.name == NAME`",
    "notifications": "an array, in this order with others in between; `none`; or `{exactly: …}`, `{unordered: …}`",
    "stderr": "what the server wrote to stderr meanwhile: `toBeEmpty`, `match:…`, or the text",
    "stdout": "`any` allows lines on stdout that are not messages; `clean`, the default, does not",
    "exitCode": "the server ends by this request, with this code",
    "shutdown": "`{within, exitCode}`: the server ends when its stdin is closed, and leaves nothing running",
    "performance": "`{maxResponseTime, minResponseTime}`",
    "snapshot": "true: the reply is as it was the first time; `expect: snapshot` is short for it",
    "no_response_within": "no reply comes within this time; with `cancel_after`, after the cancellation",
}
_CALL = "call: {tool: NAME, args: {…}}"
_REQUEST = "request: {method: NAME, params: {…}}"
_OF_EXPECT = (
    "response",
    "result",
    "ok",
    "error",
    "asserts",
    "notifications",
    "stderr",
    "stdout",
    "exitCode",
    "snapshot",
)
_OF_FILE = ("setup", "teardown", "before_each", "after_each", "transports", "isolation", "server", "protocol", "tests")
_OF_TEST = (
    "it",
    "expect",
    "capture",
    "call",
    "request",
    "read",
    "prompt",
    "complete",
    "list",
    "notify",
    "raw",
    "until",
)
_OF_RESULT = ("content", "isError", "structuredContent", "contents", "messages", "tools", "resources", "prompts")

Elsewhere = Mapping[str, str]  # what to do about a key that does not belong here

IN_FILE: Elsewhere = {
    **{key: f"`{key}` is part of a test, below `tests`: is the indentation right?" for key in _OF_TEST},
    **{key: f"`{key}` is part of what a test expects, below its `expect`" for key in _OF_EXPECT},
    **dict.fromkeys(("name", "title", "suite"), "the subject of a file goes in `description`"),
}
IN_TEST: Elsewhere = {
    **{key: f"`{key}` belongs below `expect`: is the indentation right?" for key in _OF_EXPECT},
    **{key: f"`{key}` is for the whole file: put it next to `tests`" for key in _OF_FILE},
    **dict.fromkeys(("name", "title", "test", "description"), "the name of a test goes in `it`"),
    **dict.fromkeys(("tool", "args", "arguments"), f"it belongs below `call`: {_CALL}"),
    **dict.fromkeys(("method", "params", "jsonrpc", "id"), f"it belongs below `request`: {_REQUEST}"),
    "uri": "read: URI",
    "assert": "`asserts` belongs below `expect`",
    "assertions": "`asserts` belongs below `expect`",
}
IN_CALL: Elsewhere = {
    **{key: f"`{key}` is part of the test, not of what it sends: is the indentation right?" for key in _OF_TEST},
    **dict.fromkeys(("name", "toolName"), f"the name of a tool goes in `tool`: {_CALL}"),
    **dict.fromkeys(("params", "input"), f"the arguments of a tool go in `args`: {_CALL}"),
}
IN_EXPECT: Elsewhere = {
    **{key: f"`{key}` is part of the result: result: {{match:partial: {{{key}: …}}}}" for key in _OF_RESULT},
    **{key: f"`{key}` is part of the test, next to `expect`: is the indentation right?" for key in _OF_TEST},
    **dict.fromkeys(("jsonrpc", "id"), "the whole reply goes below `response`"),
    **dict.fromkeys(("success", "passes"), "ok: true"),
}


def known_members(
    field: Field, known: tuple[str, ...], elsewhere: Elsewhere, mistakes: Mistakes | None = None
) -> dict[str, Field]:
    """The members of an object; those that are not KNOWN are refused, with what ELSEWHERE has to say of them."""
    return field.members(known, advice=lambda key: elsewhere.get(key) or _missing_space(key, known), mistakes=mistakes)


def _missing_space(key: str, known: tuple[str, ...]) -> str | None:
    name, colon, _ = key.partition(":")
    return f"a space is missing after {name}:" if colon and name in known else None
