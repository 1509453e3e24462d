"""What is known about arguments: what the person gives, what tools answered so far, what the command line says."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.samples import Suggest
from mcp_conductor.suites.authoring.answered_values import AnsweredValues
from mcp_conductor.suites.authoring.argument_names import suggested_texts
from mcp_conductor.suites.authoring.command_values import CommandValues
from mcp_conductor.suites.authoring.given_arguments import GivenArguments
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """Values for arguments, from all places that have some."""

    given: GivenArguments = field(default_factory=GivenArguments)
    resources: tuple[str, ...] = ()  # URIs that the server lists
    answers: AnsweredValues = field(default_factory=AnsweredValues)
    command: CommandValues = CommandValues()  # it never changes

    def suggest(self, tool: str, about: str = "") -> Suggest:
        """What is suggested for the arguments of TOOL, which ABOUT describes."""

        def suggested(name: str, schema: Json) -> Iterator[Any]:
            described = schema.get("description")
            yield from (each.value for each in self.answers.fitting(name, tool))
            texts = self.texts(name, tool, described if isinstance(described, str) else "", about)
            # A number among them is one for a schema that wants it; the validator leaves the others out.
            yield from map(_number, texts) if _wants_number(schema) else texts

        return suggested

    def texts(self, name: str, owner: str, described: str = "", about: str = "") -> list[str]:
        """Texts for the argument NAME of a tool, a prompt or a template, those that fit best first."""
        found = (*self.command.suggested(name, owner), *suggested_texts(name, described, about))
        return list(dict.fromkeys(found))


def _wants_number(schema: Json) -> bool:
    return schema.get("type") in ("integer", "number")


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
