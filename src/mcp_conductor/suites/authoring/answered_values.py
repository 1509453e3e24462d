"""Values that tools answered with, as arguments of other tools: the `id` of the first note in a list is one for
`get_note`.

They are found by name, in structured content and in texts that are JSON; of each list the first item is looked at.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.recording.flows import Steps, json_in, leaves
from mcp_conductor.suites.authoring.argument_names import words_of
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.suites.matching.paths import spelled
from mcp_conductor.values import dataclass

_MOST_VALUES = 200  # of one answer
_LONGEST = 200
_NAMING = ("id", "name", "key", "uri", "slug")


@dataclass(frozen=True, slots=True)
class Answer:
    """A value, the tool that answered with it, and where it stood."""

    value: str | int
    tool: str
    path: Steps
    inner: Steps | None = None  # within the JSON that the text at PATH is

    @property
    def words(self) -> list[str]:
        """The words of the member that it stood in."""
        return words_of(str(next(step for step in reversed(self._steps) if isinstance(step, str))))

    @property
    def about(self) -> set[str]:
        """What its tool, and the members around it, are about."""
        around = [step for step in self._steps[:-1] if isinstance(step, str)]
        return {word.removesuffix("s") for each in (self.tool, *around) for word in words_of(each)}

    @property
    def capture(self) -> Any:
        """How a suite captures it."""
        path = spelled(self.path)
        return path if self.inner is None else {"from": path, "json": spelled(self.inner)}

    @property
    def _steps(self) -> Steps:
        return self.inner or self.path


class AnsweredValues:
    """All that tools have answered with so far."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []

    def __len__(self) -> int:
        return len(self._answers)

    def learn(self, tool: str, reply: Json) -> None:
        """Take in what TOOL answered."""
        found = (each for each in _answers(tool, reply) if is_writable(each.value))
        self._answers += islice(found, _MOST_VALUES)

    def fitting(self, name: str, tool: str) -> Iterator[Answer]:
        """What could be the argument NAME of TOOL."""
        words = [word.removesuffix("s") for word in words_of(name)]
        own = {word.removesuffix("s") for word in words_of(tool)}
        return (each for each in self._answers if each.tool != tool and words and _fits(words, own, each))

    def source(self, name: str, tool: str, value: Any, *, known: int) -> Answer | None:
        """Where VALUE, the argument NAME of TOOL, came from, when so many answers were KNOWN."""
        found = (each for each in self.fitting(name, tool) if each.value == value)
        return next((each for each in found if self._answers.index(each) < known), None)


def variable_name(argument: str) -> str:
    """What a variable for ARGUMENT is called."""
    name = re.sub(r"\W+", "_", argument, flags=re.ASCII).strip("_") or "value"
    return f"value_{name}" if name[0].isdigit() or name == "env" else name


def _fits(words: list[str], own: set[str], answer: Answer) -> bool:
    said = answer.words
    if words == said:
        # An `id` of anything is not that of everything.
        return words[-1] not in _NAMING or len(words) > 1 or bool(own & answer.about)
    if words[-1] not in _NAMING or said[-1:] != words[-1:]:
        return False
    return (len(said) == 1 and set(words[:-1]) <= answer.about) or (len(words) == 1 and set(said[:-1]) <= own)


def _answers(tool: str, reply: Json) -> Iterator[Answer]:
    result = reply.get("result")
    result = result if isinstance(result, dict) else {}
    for path, value in _first_items(result.get("structuredContent"), ("result", "structuredContent")):
        yield Answer(value, tool, path)
    content = result.get("content")
    for number, block in enumerate(content[:10] if isinstance(content, list) else ()):
        text = block.get("text") if isinstance(block, dict) else None
        inner = json_in(text) if isinstance(text, str) else None
        for path, value in _first_items(inner):
            yield Answer(value, tool, ("result", "content", number, "text"), path)


def _first_items(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, str | int]]:
    """The texts and integers of VALUE that stand in a member, and in a list at its beginning."""
    for steps, leaf in leaves(value, path):
        if any(isinstance(step, int) and step > 0 for step in steps):
            continue
        named = any(isinstance(step, str) for step in steps[len(path) :])
        text = isinstance(leaf, str) and 0 < len(leaf) <= _LONGEST
        if named and (text or (isinstance(leaf, int) and not isinstance(leaf, bool))):
            yield steps, leaf
