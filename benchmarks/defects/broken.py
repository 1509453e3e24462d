# ruff: noqa: ARG002 (a method that does less than the right one)
"""The correct server with one defect: each class overrides one method of `Library`, and that is all that is wrong."""

import json
from typing import Any

from library import COUNT, SEARCH, Json, Library, Refusal, first_page, wanted


class AnyOrigin(Library):
    """It lets in pages of any site: the header Origin is not looked at."""

    def origin_allowed(self, origin: str | None) -> bool:
        return True


class OpenSchema(Library):
    """The inputSchema of a tool has no `"type": "object"`."""

    def list_tools(self, params: Json) -> Json:
        schema = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
        return {"tools": first_page([{**SEARCH, "inputSchema": schema}, COUNT], params)}


class NameTwice(Library):
    """Two tools have one name."""

    def list_tools(self, params: Json) -> Json:
        return {"tools": first_page([SEARCH, COUNT, {**COUNT, "name": "search"}], params)}


class OtherStructure(Library):
    """The structured content does not fit the outputSchema."""

    def found(self, titles: list[str]) -> Json:
        found = {"titles": ", ".join(titles)}
        return {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}


class ContentWithoutType(Library):
    """An item of content has no type."""

    def found(self, titles: list[str]) -> Json:
        return {"content": [{"text": ", ".join(titles)}], "structuredContent": {"titles": titles}}


class TextIds(Library):
    """The id of a reply is text: "1" for 1."""

    def id_of(self, request: Json) -> Any:
        return str(request["id"])


class UnknownMethods(Library):
    """It answers unknown methods with an empty result."""

    def method(self, name: str) -> Any:
        return self.methods.get(name, self.ping)


class BackwardProgress(Library):
    """Progress goes backwards."""

    def steps(self) -> list[int]:
        return [3, 2, 1]


class OtherLevel(Library):
    """A log message has the level "warn", which does not exist."""

    def log(self, text: str) -> None:
        self.notify("notifications/message", level="warn", logger="library", data=text)


class EndlessList(Library):
    """The list of resources gives the same next cursor again and again."""

    def list_resources(self, params: Json) -> Json:
        return {**super().list_resources({}), "nextCursor": "more"}


class MissingResource(Library):
    """It answers for a resource that does not exist: no contents, no error."""

    def read(self, params: Json) -> Json:
        try:
            return super().read(params)
        except Refusal:
            return {"contents": []}


class ContentsWithoutUri(Library):
    """The contents of a resource have no uri."""

    def read(self, params: Json) -> Json:
        return {"contents": [{"text": each["text"]} for each in super().read(params)["contents"]]}


class OtherRole(Library):
    """A message of a prompt has the role "system"."""

    def get_prompt(self, params: Json) -> Json:
        messages = super().get_prompt(params)["messages"]
        return {"messages": [{**each, "role": "system"} for each in messages]}


class UnservedCapability(Library):
    """It declares logging, and does not know logging/setLevel."""

    def set_level(self, params: Json) -> Json:
        raise Refusal(-32601, "method not found: logging/setLevel")


class OtherVersion(Library):
    """It accepts a protocol version that does not exist."""

    def initialize(self, params: Json) -> Json:
        return {**super().initialize(params), "protocolVersion": wanted(params, "protocolVersion")}


DEFECTS: dict[str, type[Library]] = {
    "any-origin": AnyOrigin,
    "open-schema": OpenSchema,
    "name-twice": NameTwice,
    "other-structure": OtherStructure,
    "content-without-type": ContentWithoutType,
    "text-ids": TextIds,
    "unknown-methods": UnknownMethods,
    "backward-progress": BackwardProgress,
    "other-level": OtherLevel,
    "endless-list": EndlessList,
    "missing-resource": MissingResource,
    "contents-without-uri": ContentsWithoutUri,
    "other-role": OtherRole,
    "unserved-capability": UnservedCapability,
    "other-version": OtherVersion,
}
