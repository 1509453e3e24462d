"""What a server asks and tells on its own, as views: for the functions that a program gives to `connect()`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.views import Content, View


class SamplingMessage(View):
    """One message of the conversation that a server wants continued."""

    __slots__ = ()

    @property
    def role(self) -> str:
        return self._text("role")

    @property
    def content(self) -> list[Content]:
        """The blocks of content; a single one is a list of one."""
        content = self._get("content")
        return Content.each(content if isinstance(content, list) else [content])

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.content if block.type == "text")


class SamplingRequest(View):
    """The params of sampling/createMessage: the server wants a message of a model."""

    __slots__ = ()

    @property
    def messages(self) -> list[SamplingMessage]:
        return SamplingMessage.each(self._get("messages"))

    @property
    def system_prompt(self) -> str:
        return self._text("systemPrompt")

    @property
    def max_tokens(self) -> int | None:
        value = self._get("maxTokens")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def temperature(self) -> float | None:
        value = self._get("temperature")
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    @property
    def stop_sequences(self) -> list[str]:
        found = self._get("stopSequences")
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

    @property
    def model_preferences(self) -> Json:
        return self._object("modelPreferences")

    @property
    def tools(self) -> list[Json]:
        """The tools that the model may use, as the server described them."""
        found = self._get("tools")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    @property
    def tool_choice(self) -> str:
        """Whether the model must use one of them: auto, required or none."""
        mode = self._object("toolChoice").get("mode")
        return mode if isinstance(mode, str) else "auto"


class ElicitationRequest(View):
    """The params of elicitation/create: the server wants a form filled in, or a page visited."""

    __slots__ = ()

    @property
    def message(self) -> str:
        return self._text("message")

    @property
    def mode(self) -> str:
        """`form` or `url`."""
        return self._text("mode") or "form"

    @property
    def schema(self) -> Json:
        """What the content of an answer must be like."""
        return self._object("requestedSchema")

    @property
    def url(self) -> str:
        return self._text("url")


class LogMessage(View):
    """The params of notifications/message."""

    __slots__ = ()

    @property
    def level(self) -> str:
        return self._text("level")

    @property
    def logger(self) -> str:
        return self._text("logger")

    @property
    def data(self) -> Any:
        """Any JSON value; most often a text."""
        return self._get("data")


Action = Literal["accept", "decline", "cancel"]
# Each may be a coroutine function; then other messages go on while it runs.
SamplingFunction = Callable[[SamplingRequest], str | Mapping[str, Any] | Awaitable[str | Mapping[str, Any]]]
ElicitationFunction = Callable[[ElicitationRequest], Action | Mapping[str, Any] | Awaitable[Action | Mapping[str, Any]]]
RootsFunction = Callable[[], Sequence[Mapping[str, Any]] | Awaitable[Sequence[Mapping[str, Any]]]]
LogFunction = Callable[[LogMessage], Awaitable[None] | None]
NotificationFunction = Callable[[Message], Awaitable[None] | None]
