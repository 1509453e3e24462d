"""`--output FILE`: what a result holds as base64, and the text of resources, is written to files.

One goes to FILE, which is replaced if it exists; several go to FILE-1, FILE-2 and so on, before the suffix, where no
file may exist yet. In the printed result, `file` stands in the place of what was written.
"""

import binascii
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from mcp_conductor.cli.commands.mcp_cli.method_result import MethodResult
from mcp_conductor.errors import UsageError
from mcp_conductor.files.writing import write_bytes
from mcp_conductor.protocol import Json


class _Content(NamedTuple):
    """A part of a result that can be a file."""

    path: str  # in the result
    holder: Json
    member: str

    def bytes(self) -> bytes:
        text = self.holder[self.member]
        if self.member == "text":
            return str(text).encode(errors="surrogatepass")
        return binascii.a2b_base64(text, strict_mode=True)

    def replace_by(self, name: str) -> None:
        """Let the name of a file stand in its place, in the result itself."""
        members = [("file", name) if key == self.member else (key, value) for key, value in self.holder.items()]
        self.holder.clear()
        self.holder.update(members)


def save_contents(outcome: MethodResult, file: str, directory: str) -> MethodResult:
    """Write the contents of a result; what is wrong with them becomes a complaint, and nothing is written then."""
    found = [*_contents(outcome.result, "result")]
    if not found and isinstance(outcome.result, dict):
        found = [*_contents(outcome.result.get("result"), "result.result")]  # of a task
    if not found:
        return _with_complaint(outcome, f"the result has nothing that could be written to {file}")
    try:
        names = _names(file, len(found), directory)
        decoded = []
        for content in found:
            try:
                decoded.append(content.bytes())
            except binascii.Error as error:
                return _with_complaint(outcome, f"{content.path}.{content.member} is not base64: {error}")
        for name, data in zip(names, decoded, strict=True):
            write_bytes(os.path.join(directory, name), data, shown=name)
    except UsageError as error:
        return _with_complaint(outcome, error.message)
    for content, name in zip(found, names, strict=True):
        content.replace_by(name)
    return outcome


def _with_complaint(outcome: MethodResult, text: str) -> MethodResult:
    return outcome if outcome.complaint is not None else outcome._replace(complaint=text)


def _contents(value: Any, path: str) -> Iterator[_Content]:
    """The parts of VALUE, a result, that can be files, in their order."""
    if not isinstance(value, dict):
        return
    for index, each in _items(value, "contents"):
        yield from _of_resource(each, f"{path}.contents[{index}]")
    yield from _of_blocks(value, f"{path}.content")
    for index, message in _items(value, "messages"):
        yield from _of_blocks(message, f"{path}.messages[{index}].content")


def _of_blocks(value: Any, path: str) -> Iterator[_Content]:
    """The images, sounds and resources in the content of VALUE, which is one block or a list of them."""
    content = value.get("content") if isinstance(value, dict) else None
    blocks: list[tuple[str, Any]] = [(path, content)] if isinstance(content, dict) else []
    blocks += [(f"{path}[{index}]", each) for index, each in _items(value, "content")]
    for place, block in blocks:
        if not isinstance(block, dict):
            continue
        if block.get("type") in ("image", "audio") and isinstance(block.get("data"), str):
            yield _Content(place, block, "data")
        if block.get("type") == "resource":
            yield from _of_resource(block.get("resource"), f"{place}.resource")


def _of_resource(value: Any, path: str) -> Iterator[_Content]:
    if isinstance(value, dict):
        member = next((member for member in ("blob", "text") if isinstance(value.get(member), str)), None)
        if member is not None:
            yield _Content(path, value, member)


def _items(value: Any, member: str) -> list[tuple[int, Any]]:
    listed = value.get(member) if isinstance(value, dict) else None
    return list(enumerate(listed)) if isinstance(listed, list) else []


def _names(file: str, count: int, directory: str) -> list[str]:
    if count == 1:
        return [file]
    stem, suffix = os.path.splitext(file)
    names = [f"{stem}-{number}{suffix}" for number in range(1, count + 1)]
    for name in names:
        if os.path.lexists(os.path.join(directory, name)):
            raise UsageError(f"the result has {count} contents, and {name} exists already: nothing was written")
    return names
