"""Paths into a JSON document, as people write them.

This is all of the grammar:

    result.tools[0].name     result.content.0.text      members, and elements by number; [-1] is the last
    result.tools[*].name     result.tools.*.name        of every element; each * makes an array
    notifications[method=notifications/progress]        the elements of which this is true; also !=
    result._meta["a.b/c"]    result._meta[a.b/c]        names with dots
    result.content[0].text | json | items               the JSON in a text
    session.serverInfo.name                             what the server said when the conversation was opened
    result.contents[0].blob | base64 | sha256           of bytes: sha256, length, type, text or json; also of a text
    result.tools | count                                how many elements, members or selected values
    result.tools[*].name | length                       how long each of them is: elements, members or characters
    result | size                                       how many bytes it has as compact JSON; a text, as UTF-8
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol.message import compact, kind_of, read, why_not_json
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.blobs import OF_BYTES, from_base64, sha256
from mcp_conductor.suites.matching.differences import described, element_count, same, shown
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.values import dataclass

PIPES = ("json", "count", "length")
# Directly after `| json` these are names of members, which may well be called so.
_PIPES_BUT_AFTER_JSON = ("base64", "sha256", "size")
_MEANT = {"text": "result.content[0].text", "code": "error.code", "message": "error.message", "response": "response"}
ROOTS = ("result", "error", "notifications", "session", "duration", "id", "jsonrpc")

_NAME = compiled_later(r"""[^\s.\[\]|<>=!"']+""")
_BRACKET = compiled_later(
    r"""\[\s*(?:
        (?P<star>\*) | (?P<index>-?[0-9]{1,9}) | (?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')
        | (?P<filter>[^\[\]=!<>"']+?)\s*(?P<operator>==?|!=)\s*(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|[^\[\]"']+?)
        | (?P<name>[^\[\]=!<>"'*]+?)
    )\s*\]""",
    re.VERBOSE,
)
_PLAIN_NAME = compiled_later(r"""[^\s.\[\]|<>=!"'0-9*-][^\s.\[\]|<>=!"'*]*""")


@dataclass(frozen=True, slots=True)
class Every:
    """All elements of an array."""


@dataclass(frozen=True, slots=True)
class Where:
    """The elements of an array whose member at `path` is (or is not) `value`."""

    path: "JsonPath"
    value: Any
    equal: bool

    def accepts(self, item: Any) -> bool:
        if self.path.several:
            found = self.path.values(item)
            return bool(found) and all(self._is_equal(value) == self.equal for value in found)
        return self._is_equal(self.path.find(item)) == self.equal

    def _is_equal(self, found: Any) -> bool:
        # A bare word is a text; but people write numbers without quotes, so its meaning as JSON counts too.
        return any(same(option, found) for option in (self.value, _as_json(self.value)))


Step = str | int | Every | Where


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between two pipes: steps, or the name of a pipe."""

    steps: tuple[Step, ...] = ()
    pipe: str | None = None
    of_bytes: str | None = None  # what is wanted of the bytes that `base64` gives

    @property
    def counts(self) -> bool:
        """Whether it is about all values together, not about each."""
        return self.pipe == "count"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A place in a document, or several."""

    text: str
    parts: tuple[Part, ...] = field(repr=False)

    def find(self, value: Any) -> Any:
        """What is there; NOTHING when nothing is. An array made by * or a filter may have NOTHING in it."""
        depth = 0
        for part in self.parts:
            value = _each(value, part, depth)
            depth = 0 if part.counts else depth + _arrays_made(part.steps)
        return value

    def pick(self, value: Any) -> Any:
        """What is there; NOTHING also when a filter selects nothing, or no element has what is looked for.

        That * finds no elements in an array without any is something.
        """
        found = self.find(value)
        depth = self._depth
        if not depth or not isinstance(found, list) or _has_any(found, depth):
            return found
        filtered = any(isinstance(step, Where) for part in self.parts for step in part.steps)
        return found if not found and not filtered else NOTHING

    @property
    def _depth(self) -> int:
        depth = 0
        for part in self.parts:
            depth = 0 if part.counts else depth + _arrays_made(part.steps)
        return depth

    @property
    def several(self) -> bool:
        """Whether it may select any number of values: it has a * or a filter, and does not count them."""
        return self._depth > 0

    @property
    def without_last_pipe(self) -> "JsonPath":
        return JsonPath(self.text.rpartition("|")[0].rstrip(), self.parts[:-1])

    def values(self, value: Any) -> list[Any]:
        """Return all values that it selects, NOTHING where one is missing."""
        return list(_leaves(self.find(value), self._depth))

    def each(self, value: Any) -> list[tuple[str, Any]]:
        """Return these values, each with a path to it alone."""
        found = [("", value)]
        for part in self.parts:
            if part.pipe is not None:
                found = [(f"{at} | {part.pipe}", _apply_pipe(each, part)) for at, each in found]
            else:
                found = [below for at, each in found for below in _selected(at, each, part.steps)]
        return found

    def why(self, value: Any) -> str:
        """Why there is nothing."""
        found = self.find(value)
        if found == [] and not any(isinstance(step, Where) for part in self.parts for step in part.steps):
            return "there are no elements"
        if found is not NOTHING:
            return "no element there fits, or has it"
        before = value
        for part in self.parts:
            if part.pipe is not None:
                found = _apply_pipe(before, part)
                if found is NOTHING:
                    return _why_not_piped(before, part)
                before = found
                continue
            for count, step in enumerate(part.steps, 1):
                found = _walk(before, part.steps[:count])
                if found is NOTHING:
                    return _why_not(_walk(before, part.steps[: count - 1]), step, spelled(part.steps[: count - 1]))
            before = _walk(before, part.steps)
        return "no element there has it"


def _has_any(found: list[Any], depth: int) -> bool:
    """Whether anything is in arrays that are nested so deep."""
    return any(item is not NOTHING for item in _leaves(found, depth))


def _leaves(found: Any, depth: int) -> Iterator[Any]:
    """What is in arrays that are nested so deep."""
    if not depth or not isinstance(found, list):
        yield found
        return
    for item in found:
        yield from _leaves(item, depth - 1)


def _selected(at: str, value: Any, steps: Sequence[Step]) -> Iterator[tuple[str, Any]]:
    """Each value that STEPS select in VALUE, which is at AT, with its own path."""
    if not steps:
        yield at, value
        return
    step, rest = steps[0], steps[1:]
    if not isinstance(step, (Every, Where)):
        yield from _selected(joined(at, spelled((step,))), _step_into(value, step), rest)
        return
    if not isinstance(value, list):
        yield f"{at}{spelled((step,))}", NOTHING
        return
    taken = [
        (f"{at}[{index}]", item) for index, item in enumerate(value) if isinstance(step, Every) or step.accepts(item)
    ]
    if isinstance(step, Where) and rest and isinstance(rest[0], (int, Every)):  # one of them, or all of them
        number, rest = rest[0], rest[1:]
        if isinstance(number, int):
            taken = taken[number : number + 1 or None] or [(f"{at}{spelled(steps[:2])}", NOTHING)]
    for place, item in taken:
        yield from _selected(place, item, rest)


def _arrays_made(steps: Sequence[Step]) -> int:
    """How deep the arrays are nested that * and filters make of one value."""
    made = sum(isinstance(step, (Every, Where)) for step in steps)
    for step, following in pairwise(steps):
        if isinstance(step, Where) and isinstance(following, (int, Every)):
            made -= 1  # picked out of what was filtered, or the same array
    return made


def _each(value: Any, part: Part, depth: int) -> Any:
    if part.counts and depth:
        leaves = list(_leaves(value, depth))
        there = sum(leaf is not NOTHING for leaf in leaves)
        return there if there or not leaves else NOTHING
    if depth and isinstance(value, list):
        return [_each(item, part, depth - 1) for item in value]
    return _apply_pipe(value, part) if part.pipe else _walk(value, part.steps)


def _walk(value: Any, steps: Sequence[Step]) -> Any:
    for place, step in enumerate(steps):
        rest = steps[place + 1 :]
        if isinstance(step, (Every, Where)):
            return _walk_each(value, step, rest)
        value = _step_into(value, step)
        if value is NOTHING:
            return NOTHING
    return value


def _walk_each(value: Any, step: Every | Where, rest: Sequence[Step]) -> Any:
    if not isinstance(value, list):
        return NOTHING
    if isinstance(step, Every):
        return [_walk(item, rest) for item in value]
    accepted = [item for item in value if step.accepts(item)]
    # What follows a filter is looked for in each element, but for a number: that picks one of them.
    if not rest or isinstance(rest[0], (int, Every)):
        return _walk(accepted, rest)
    return [_walk(item, rest) for item in accepted]


def _step_into(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(str(step), NOTHING)
    if not isinstance(value, list):
        return NOTHING
    if step == "length":
        return len(value)
    if isinstance(step, str):
        if not step.isdecimal():
            return NOTHING
        step = int(step)
    return value[step] if -len(value) <= step < len(value) else NOTHING


def _apply_pipe(value: Any, part: Part) -> Any:
    if part.pipe == "sha256":
        return sha256(value)
    if part.of_bytes is not None:
        data = from_base64(value)
        return data if data is NOTHING else OF_BYTES[part.of_bytes][0](data)
    if part.pipe == "json":
        try:
            return read(value) if isinstance(value, str) else NOTHING
        except (ValueError, RecursionError):
            return NOTHING
    if part.pipe == "size":
        return NOTHING if value is NOTHING else size(value)
    countable = (list, dict, str) if part.pipe == "length" else (list, dict)
    return len(value) if isinstance(value, countable) else NOTHING


def size(value: Any) -> int:
    """How many bytes VALUE has in UTF-8: a text as it is, anything else as compact JSON."""
    return len((value if isinstance(value, str) else compact(value)).encode(errors="surrogatepass"))


def _why_not(value: Any, step: Step, before: str) -> str:
    here = before or "the document"
    if isinstance(step, (Every, Where)):
        return f"{here} is {kind_of(value)}, not an array"
    if isinstance(value, dict):
        near = nearest(str(step), [str(key) for key in value])
        has = f"; it has {near!r}" if near else f"; it has {_member_names(value)}"
        return f"{here} has no {str(step)!r}{has}"
    if isinstance(value, list):
        return f"{here} is an array of {element_count(value)}" + (
            "" if isinstance(step, str) and not step.isdecimal() else f", without [{step}]"
        )
    return f"{here} is {described(value)}, without {spelled((step,))!r}"


def _member_names(value: dict[str, Any]) -> str:
    names = [repr(key) for key in value][:8]
    return ", ".join(names) + (", …" if len(value) > 8 else "") if names else "no members at all"


def _why_not_piped(value: Any, part: Part) -> str:
    if part.of_bytes is not None and isinstance(value, str) and from_base64(value) is not NOTHING:
        return f"of {shown(value)}, {OF_BYTES[part.of_bytes][1]}"
    if part.of_bytes is not None:
        return f"{shown(value) if isinstance(value, str) else described(value)} is not base64"
    if part.pipe == "sha256":
        return f"{described(value)} is not a text"
    if part.pipe != "json":
        return f"{described(value)} cannot be counted"
    if not isinstance(value, str):
        return f"{described(value)} is not a text with JSON"
    try:
        read(value)
    except (ValueError, RecursionError) as error:
        return f"{shown(value)} is not JSON: {why_not_json(error)}"
    return "it is there"


def spelled(steps: Sequence[Step]) -> str:
    """STEPS as a path is written."""
    out = ""
    for step in steps:
        match step:
            case Every():
                out += "[*]"
            case Where(path, value, equal):
                out += f"[{path.text}{'=' if equal else '!='}{value}]"
            case int():
                out += f"[{step}]"
            case _ if _PLAIN_NAME.fullmatch(step) or step.isdecimal():
                out += f".{step}" if out else step
            case _:
                out += f"[{_quoted(step)}]"
    return out


def joined(path: str, below: str) -> str:
    """The path to what is BELOW something at PATH."""
    return f"{path}.{below}" if path and below and not below.startswith("[") else f"{path}{below}"


def _quoted(name: str) -> str:
    from json import dumps

    return dumps(name, ensure_ascii=False)


def parse_path(text: str) -> JsonPath:
    """Read a path; raises ValueError that says what is wrong, and where."""
    path, end = scan_path(text)
    if end < len(text.rstrip()):
        raise ValueError(f"{text!r} is not a path: unexpected {text[end:].strip()[:20]!r} at character {end + 1}")
    return path


def scan_path(text: str) -> tuple[JsonPath, int]:
    """The path that TEXT begins with, and where it ends; raises ValueError."""
    end = len(text) - len(text.lstrip())
    steps, end = _scan_steps(text, end)
    parts = [Part(steps)]
    while found := _PIPE.match(text, end):
        end = found.end()
        pipe = _PIPE_NAME.match(text, end)
        after_json = parts[-1].pipe == "json"
        if pipe and pipe[0] == "base64" and not after_json:
            found = _OF_BYTES.match(text, pipe.end())
            if found is None:
                words = ", ".join(OF_BYTES)
                raise ValueError(f"{text!r} is not a path: after | base64 comes what is wanted of the bytes: | {words}")
            parts.append(Part(pipe="base64", of_bytes=found[1]))
            end = found.end()
        elif pipe and (pipe[0] in PIPES or (pipe[0] in _PIPES_BUT_AFTER_JSON and not after_json)):
            parts.append(Part(pipe=pipe[0]))
            end = pipe.end()
        else:
            steps, end = _scan_steps(text, end)
            parts.append(Part(steps))
    return JsonPath(text[:end].strip(), tuple(parts)), end


_PIPE = compiled_later(r"\s*\|\s*")
_PIPE_NAME = compiled_later(r"[a-z][a-z0-9]*(?![^\s|<>=!])")
_OF_BYTES = compiled_later(rf"\s*\|\s*({'|'.join(OF_BYTES)})(?![^\s|<>=!])")


def _scan_steps(text: str, at: int) -> tuple[tuple[Step, ...], int]:
    start = at
    steps: list[Step] = []
    if text.startswith("$", at) and (at + 1 == len(text) or text[at + 1] in ".[ |"):
        at += 1  # the whole document, as JSONPath has it
    while at < len(text):
        if text[at] == "[":
            found = _BRACKET.match(text, at)
            if found is None:
                raise ValueError(f"{text!r} is not a path: cannot read the bracket at character {at + 1}")
            steps.append(_bracket(found))
        else:
            after_dot = at + (text[at] == "." and at > start)
            found = _NAME.match(text, after_dot)
            if found is None or (after_dot == at and at > start):
                if after_dot > at:
                    raise ValueError(f"{text!r} is not a path: a name is missing after the dot at character {at + 1}")
                break
            steps.append(Every() if found[0] == "*" else found[0])
        at = found.end()
    if at == start:
        raise ValueError(f"{text!r} is not a path: it should begin with a name, as in result.tools[0].name")
    return tuple(steps), at


def _bracket(found: re.Match[str]) -> Step:
    if found["star"]:
        return Every()
    if found["index"]:
        return int(found["index"])
    if found["filter"]:
        return Where(parse_path(found["filter"]), _unquoted(found["value"]), found["operator"] != "!=")
    return _unquoted(found["quoted"] or found["name"])


def _unquoted(text: str) -> str:
    if text[0] == '"':
        return str(read(text))
    return text[1:-1] if text[0] == "'" else text


def _as_json(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text


def refuse_unknown_root(path: JsonPath) -> None:
    """A root that no document has is a mistake, and would make `not exists` true. `$.name` is for unusual replies."""
    root = path.parts[0].steps[0] if path.parts[0].steps else None
    if isinstance(root, str) and root not in ROOTS and not path.text.startswith("$"):
        near = nearest(root, list(ROOTS))
        meant = path.text.replace(root, near or _MEANT.get(root, f"result.{root}"), 1).removeprefix("response.")
        hint = f"did you mean {meant!r}? A path begins with {', '.join(ROOTS[:-1])} or {ROOTS[-1]}"
        raise UsageError(f"begins with {root!r}, which is not a root of a path", hint=hint)
