"""What a test sends: a raw request, one of the shorthands for it, a notification, or any text at all.

An action is one decorated function: it is given what stands under its key when the file is read, refuses what cannot
be, and returns how to make a message of it when its time comes.
"""

from collections.abc import Callable, Collection
from typing import Any, Literal

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.suites.language.keys import IN_CALL, known_members
from mcp_conductor.suites.language.variables import Filling, Variables, filling
from mcp_conductor.values import dataclass

Names = Collection[str] | None  # of the variables that a file knows at some place; None: any
Kind = Literal["request", "list", "notification", "raw"]


@dataclass(frozen=True, slots=True)
class Sent:
    """What is to be sent: a request (METHOD, PARAMS and perhaps everything else of it), all pages of a list, …"""

    kind: Kind
    method: str = ""
    params: Json | None = None
    raw: Json | None = None  # a request as the file has it
    text: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a test does to the server."""

    key: str
    given: Filling
    make: Callable[[Any], Sent]
    verbatim: bool = False  # the file says everything, the id included

    def sent(self, variables: Variables) -> Sent:
        return self.make(self.given.filled(variables))


Read = Callable[[Field], Callable[[Any], Sent]]
ACTIONS: dict[str, Read] = {}
ONE_REQUEST = ("request", "call", "read", "prompt", "complete")  # actions that send one, and wait for its reply
_LISTS = {"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"}
_LISTS["templates"] = _LISTS["resourceTemplates"] = "resources/templates/list"
_LISTS["tasks"] = "tasks/list"


def action(read: Read) -> Read:
    """Register an action under its function's name."""
    ACTIONS[read.__name__] = read
    return read


def read_action(key: str, given: Field, known: Names) -> Action:
    make = ACTIONS[key](given)
    return Action(key, filling(given, known), make, verbatim=key == "request")


@action
def request(given: Field) -> Callable[[Any], Sent]:
    """A JSON-RPC request, as it is; `jsonrpc` and `id` are added if they are not there."""
    value = given.value
    if (
        isinstance(value, dict)
        and isinstance(value.get("method"), str)
        and isinstance(value.get("params", ""), (str, dict))
    ):
        return _as_written  # as nearly all are; the rest is there to tell what is wrong
    members = given.members()
    if "method" not in members:
        given.refuse("needs a method", "a request has jsonrpc, id, method and params")
    members["method"].text()
    if "params" in members and not isinstance(members["params"].value, str):
        members["params"].members()
    return _as_written


def _as_written(raw: Any) -> Sent:
    return Sent("request", str(raw["method"]), raw.get("params"), raw)


@action
def call(given: Field) -> Callable[[Any], Sent]:
    """Call a tool: `{tool, args}` (or `arguments`), or its name; `meta` is sent as `_meta`; `task: {}` makes a task."""
    if isinstance(given.value, str):
        return lambda name: Sent("request", "tools/call", {"name": name, "arguments": {}})
    members = known_members(given, ("tool", "args", "arguments", "meta", "task"), IN_CALL)
    if "tool" not in members:
        given.refuse("does not say which tool", "call: {tool: NAME, args: {…}}")
    members["tool"].text()
    args = _args(members)

    def make(said: Any) -> Sent:
        more = {"_meta": said["meta"]} if "meta" in said else {}
        more |= {"task": said["task"]} if "task" in said else {}
        return Sent("request", "tools/call", {"name": said["tool"], "arguments": said.get(args) or {}, **more})

    return make


@action
def read(given: Field) -> Callable[[Any], Sent]:
    """Read a resource: its URI."""
    given.text()
    return lambda uri: Sent("request", "resources/read", {"uri": uri})


@action
def prompt(given: Field) -> Callable[[Any], Sent]:
    """Get a prompt: `{name, args}` (or `arguments`), or its name."""
    if isinstance(given.value, str):
        return lambda name: Sent("request", "prompts/get", {"name": name})
    members = given.members(("name", "args", "arguments"))
    if "name" not in members:
        given.refuse("does not say which prompt", "prompt: {name: NAME, args: {…}}")
    args = _args(members)

    def make(said: Any) -> Sent:
        arguments = {"arguments": said[args]} if said.get(args) else {}
        return Sent("request", "prompts/get", {"name": said["name"], **arguments})

    return make


@action
def complete(given: Field) -> Callable[[Any], Sent]:
    """Complete an argument: `{prompt: NAME, argument, value}` or `{resource: URI TEMPLATE, argument, value}`."""
    members = given.members(("prompt", "resource", "argument", "value", "context"))
    if ("prompt" in members) == ("resource" in members):
        given.refuse("needs either a prompt or a resource")
    for key in ("argument", "value"):
        if key not in members:
            given.refuse(f"has no {key}")

    def make(said: Any) -> Sent:
        ref = {"type": "ref/prompt", "name": said["prompt"]} if "prompt" in said else None
        ref = ref or {"type": "ref/resource", "uri": said["resource"]}
        context = {"context": {"arguments": said["context"]}} if "context" in said else {}
        argument = {"name": said["argument"], "value": said["value"]}
        return Sent("request", "completion/complete", {"ref": ref, "argument": argument, **context})

    return make


@action
def list(given: Field) -> Callable[[Any], Sent]:  # noqa: A001  # its name in the file
    """All pages of a list, as one: tools, resources, templates, prompts or tasks."""
    given.one_of(tuple(_LISTS))
    return lambda kind: Sent("list", _LISTS[kind])


@action
def notify(given: Field) -> Callable[[Any], Sent]:
    """Send a notification: its method, or `{method, params}`."""
    if isinstance(given.value, str):
        return lambda method: Sent("notification", method)
    members = given.members(("method", "params"))
    if "method" not in members:
        given.refuse("needs a method")
    return lambda said: Sent("notification", said["method"], said.get("params"))


@action
def raw(given: Field) -> Callable[[Any], Sent]:
    """Send any text, valid or not; on stdio it is one line."""
    given.text()
    return lambda text: Sent("raw", text=text.replace("\r", " ").replace("\n", " "))


def _args(members: dict[str, Field]) -> str:
    """The key of the arguments: ours, or that of the protocol."""
    if "args" in members and "arguments" in members:
        members["arguments"].refuse("and `args` are the same", "keep one of them")
    key = "arguments" if "arguments" in members else "args"
    # A lone placeholder may stand for an object.
    if key in members and not isinstance(members[key].value, str):
        members[key].members()
    return key


def list_member(method: str) -> str:
    return LIST_MEMBERS[method]
