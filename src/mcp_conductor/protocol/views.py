"""What servers answer with, as small views: names for what is often needed, and `raw` for everything that was sent.

A view never drops, repairs or refuses anything. Where the server left something out, or sent another type than the
specification wants, the property has its empty value, and `raw` shows what came instead.
"""

from typing import Any, Self, TypeVar

from mcp_conductor.protocol import Json

T = TypeVar("T")


class View:
    """A JSON value as it was sent, seen by names."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __eq__(self, other: object) -> bool:
        # NotImplemented: the other side, such as like(…), may know how to compare.
        return self.raw == other.raw if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # JSON can change

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    @property
    def meta(self) -> Json:
        return self._object("_meta")

    @classmethod
    def each(cls, items: Any) -> list[Self]:
        """A view of every item of an array; nothing, where there is no array."""
        return [cls(item) for item in items] if isinstance(items, list) else []

    def _get(self, key: str) -> Any:
        return self.raw.get(key) if isinstance(self.raw, dict) else None

    def _text(self, key: str) -> str:
        value = self._get(key)
        return value if isinstance(value, str) else ""

    def _object(self, key: str) -> Json:
        value = self._get(key)
        return value if isinstance(value, dict) else {}


class Listed(View):
    """Something that a server lists; SERVER is its name behind a bridge."""

    __slots__ = ("server",)

    def __init__(self, raw: Any, server: str = "") -> None:
        super().__init__(raw)
        self.server = server

    @property
    def name(self) -> str:
        return self._text("name")

    @property
    def title(self) -> str:
        return self._text("title")

    @property
    def description(self) -> str:
        return self._text("description")

    @property
    def annotations(self) -> Json:
        return self._object("annotations")

    @property
    def key(self) -> str:
        """The name or URI that a request for it has."""
        return self.name

    @property
    def full_name(self) -> str:
        """Its name on a bridge: `server/key`, which is unique there."""
        return f"{self.server}/{self.key}" if self.server else self.key


class Tool(Listed):
    """A tool, as tools/list shows it."""

    __slots__ = ()

    @property
    def input_schema(self) -> Json:
        return self._object("inputSchema")

    @property
    def output_schema(self) -> Json | None:
        return self._object("outputSchema") or None

    @property
    def repeatable(self) -> bool:
        """Whether the server declares that calling the tool twice does no more than calling it once."""
        return any(self.annotations.get(hint) is True for hint in ("readOnlyHint", "idempotentHint"))


class Resource(Listed):
    """A resource, as resources/list shows it."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        return self._text("uri")

    @property
    def key(self) -> str:
        return self.uri

    @property
    def mime_type(self) -> str:
        return self._text("mimeType")


class ResourceTemplate(Listed):
    """A template of URIs, as resources/templates/list shows it."""

    __slots__ = ()

    @property
    def uri_template(self) -> str:
        return self._text("uriTemplate")

    @property
    def key(self) -> str:
        return self.uri_template

    @property
    def mime_type(self) -> str:
        return self._text("mimeType")


class Prompt(Listed):
    """A prompt, as prompts/list shows it."""

    __slots__ = ()

    @property
    def arguments(self) -> list[Json]:
        found = self._get("arguments")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


class Content(View):
    """A block of content: text, image, audio, a resource or a link to one."""

    __slots__ = ()

    @property
    def type(self) -> str:
        return self._text("type")

    @property
    def text(self) -> str:
        return self._text("text") or str(self._object("resource").get("text", ""))

    @property
    def mime_type(self) -> str:
        return self._text("mimeType")

    @property
    def data(self) -> bytes:
        """What an image or a sound is made of; nothing where it is not in base64."""
        return _bytes(self._text("data"))


class ToolResult(View):
    """What a tool answered."""

    __slots__ = ()

    @property
    def content(self) -> list[Content]:
        return Content.each(self._get("content"))

    @property
    def structured(self) -> Any:
        """The structuredContent, if there is any."""
        return self._get("structuredContent")

    def typed(self, kind: type[T]) -> T:
        """The structuredContent as a KIND: a model of pydantic, dataclass, TypedDict or plain type, or a list of these.

        It may also be a dict or a union of these, such as `Book | None`. A value that a server had to wrap into an
        object, `{"result": 42}`, is unwrapped for a plain type. Raises ProtocolError where it does not fit, or the tool
        failed; what pydantic finds wrong, pydantic raises.
        """
        from mcp_conductor.protocol.typed_values import as_kind, failure

        if self.is_error and self.structured is None:
            raise failure(self.text)
        return as_kind(self.structured, kind)

    @property
    def is_error(self) -> bool:
        return self._get("isError") is True

    @property
    def text(self) -> str:
        """The texts of the content, one below the other."""
        return "\n".join(block.text for block in self.content if block.type == "text")


class ResourceContents(View):
    """One of the contents of a resource."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        return self._text("uri")

    @property
    def mime_type(self) -> str:
        return self._text("mimeType")

    @property
    def text(self) -> str:
        return self._text("text")

    @property
    def data(self) -> bytes:
        """What a binary resource is made of; nothing where it is not in base64."""
        return _bytes(self._text("blob"))


class ReadResult(View):
    """What a resource holds."""

    __slots__ = ()

    @property
    def contents(self) -> list[ResourceContents]:
        return ResourceContents.each(self._get("contents"))

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.contents if part.text)


class ResourceUpdate(View):
    """The params of notifications/resources/updated: a resource has changed."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        """The resource; it may be a part of the one that was subscribed to."""
        return self._text("uri")


class PromptMessage(View):
    """One message of a prompt."""

    __slots__ = ()

    @property
    def role(self) -> str:
        return self._text("role")

    @property
    def content(self) -> Content:
        return Content(self._object("content"))

    @property
    def text(self) -> str:
        return self.content.text


class PromptResult(View):
    """A prompt with its arguments filled in."""

    __slots__ = ()

    @property
    def description(self) -> str:
        return self._text("description")

    @property
    def messages(self) -> list[PromptMessage]:
        return PromptMessage.each(self._get("messages"))


class Completion(View):
    """What an argument could be."""

    __slots__ = ()

    @property
    def values(self) -> list[str]:
        found = self._object("completion").get("values")
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

    @property
    def has_more(self) -> bool:
        return self._object("completion").get("hasMore") is True


def _bytes(text: str) -> bytes:
    from base64 import b64decode

    try:
        return b64decode(text, validate=True)
    except ValueError:
        return b""
