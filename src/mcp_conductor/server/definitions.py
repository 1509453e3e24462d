"""What a server can have: tools, resources, resource templates and prompts, and the words to make them with.

A definition is what it shows in its list, and what it does when it is used. Presets make definitions by name, a config
file may write them out, and both look the same from here on.
"""

from collections.abc import Awaitable, Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mcp_conductor.errors import MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from mcp_conductor.protocol.http_headers import Annotations, annotations_of
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.schema import checker
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.protocol.uri_template import UriTemplate

# What a definition does when it is used: the whole result, at once or in time. What is given at once is answered
# within the same turn of the event loop. It is given a `Call`, which knows its server, which has definitions: that is
# a circle, and it is open here.
Act = Callable[[Any], Json | Awaitable[Json]]
TaskSupport = Literal["required", "optional"]
# Is told of everything that crosses the wire: a message of a client or of the server, or a head of HTTP.
Observe = Callable[[Literal["client", "server", "http"], str], None]


class Observer(Protocol):
    """Told what crosses the wire in one HTTP exchange."""

    def observe(self, source: Literal["client", "server", "http"], text: str, /) -> None: ...

    def join(self, name: str, /) -> None:
        """The exchange belongs to the conversation with NAME."""


class Refusal(Exception):  # noqa: N818  # the answer to one request; nothing is wrong with the server
    """A request is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def of(cls, error: BaseException) -> "Refusal":
        """Return the answer for what a definition raised: a MethodError has the code of its own."""
        match error:
            case MethodError(error={"code": int(code), "message": str(message)}):
                return cls(code, message, error.error.get("data"))
        return cls(INTERNAL_ERROR, f"Internal error: {type(error).__name__}")

    def error(self) -> Json:
        return {"code": self.code, "message": self.message, **({} if self.data is None else {"data": self.data})}


def unreadable(message: Message, otherwise: str) -> Refusal:
    """The answer to what is not a message; OTHERWISE is what to say is wrong if the message does not say it."""
    is_json = message.raw is not None or message.text.strip() == "null"
    return Refusal(INVALID_REQUEST if is_json else PARSE_ERROR, message.problem or otherwise)


class AskFailed(Exception):  # noqa: N818
    """The client was asked, and did not answer: it cannot, it refused, or it took too long."""

    def __init__(self, message: str, error: Json | None = None) -> None:
        super().__init__(message)
        self.error = error  # that the client answered with


class InputRequired(Exception):  # noqa: N818
    """A request of the modern era cannot be completed before the client has answered (basic/patterns/mrtr)."""

    def __init__(self, requests: Json | None, state: str | None) -> None:
        super().__init__("input required")
        self.requests = requests
        self.state = state

    def result(self) -> Json:
        asked = {} if self.requests is None else {"inputRequests": self.requests}
        return {"resultType": "input_required", **asked, **({} if self.state is None else {"requestState": self.state})}


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: LISTED is its member of tools/list."""

    listed: Json
    run: Act
    task: TaskSupport | None = None
    before: Act | None = None  # done in the request itself, before a task is made of the rest
    arguments_checked: bool = True  # whether arguments that do not fit the inputSchema are refused
    output_checked: bool = True  # whether structured output that does not fit the outputSchema is held back
    shows_environment: bool = False  # to every client

    @property
    def name(self) -> str:
        return str(self.listed["name"])

    @cached_property
    def promises_output(self) -> bool:
        """Whether its structured output has to fit a schema."""
        return self.output_checked and "outputSchema" in self.listed

    @cached_property
    def argument_complaints(self) -> Callable[[Any], list[str]]:
        return checker(self.listed["inputSchema"])

    @cached_property
    def output_complaints(self) -> Callable[[Any], list[str]]:
        return checker(self.listed["outputSchema"])

    @cached_property
    def annotations(self) -> Annotations:
        """Which arguments must be repeated in HTTP headers; a tool that asks for it wrongly gets none."""
        return annotations_of(self.listed["inputSchema"]) or {}


Completions = dict[str, list[str]]  # what may be filled in for each argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource: LISTED is its member of resources/list."""

    listed: Json
    read: Act
    shows_environment: bool = False  # to every client

    @property
    def uri(self) -> str:
        return str(self.listed["uri"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A resource template; `read` finds the variables of the URI in `call.variables`."""

    listed: Json
    read: Act
    pattern: "UriTemplate | None"  # None: a template that is wrong on purpose, and matches nothing
    completions: Completions = field(default_factory=dict)
    complete: Act | None = None  # in place of completions: the values are found out when a client asks

    @property
    def uri_template(self) -> str:
        return str(self.listed["uriTemplate"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt: LISTED is its member of prompts/list."""

    listed: Json
    get: Act
    completions: Completions = field(default_factory=dict)
    complete: Act | None = None  # in place of completions: the values are found out when a client asks

    @property
    def name(self) -> str:
        return str(self.listed["name"])


Definition = Tool | Resource | Template | Prompt

SCHEMA_2020_12 = "https://json-schema.org/draft/2020-12/schema"


def text(words: str) -> Json:
    """A text content block."""
    return {"type": "text", "text": words}


def text_result(words: str) -> Json:
    """A tool result that is one text."""
    return {"content": [text(words)]}


def error_result(words: str) -> Json:
    """A tool result that tells of a failure."""
    return {"content": [text(words)], "isError": True}


def object_schema(properties: Json | None = None, required: list[str] | None = None) -> Json:
    """The schema of a tool's arguments; without REQUIRED all of them are."""
    wanted = list(properties or {}) if required is None else required
    return {
        "type": "object",
        "$schema": SCHEMA_2020_12,
        "properties": properties or {},
        **({"required": wanted} if wanted else {}),
    }
