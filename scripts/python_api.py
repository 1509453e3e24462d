"""The page on the Python API: what tests/e2e/library/public_api.txt promises, with the docstrings of the code."""

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import mcp_conductor

PROMISED = Path(__file__).parent.parent / "tests" / "e2e" / "library" / "public_api.txt"
HEAD = """# Python API

What `import mcp_conductor` offers, by what it is for. [library.md](../library.md) explains it with examples.
Names that are not here may change at any time.
"""
GROUPS = {
    "Connecting": "connect connect_sync OAuth Answers Budgets Transcript",
    "Sessions": "Session SyncSession Subscription SyncSubscription Exchange Message Incoming",
    "Many servers": "Bridge BridgeEvent Backoff Health",
    "What a server asks and tells": "SamplingRequest SamplingMessage ElicitationRequest LogMessage ResourceUpdate",
    "What a server answers": "Tool ToolResult Content Resource ResourceTemplate ReadResult ResourceContents Prompt "
    "PromptResult PromptMessage Completion",
    "Servers": "ServerSpec StdioSpec HttpSpec AsgiSpec StreamsSpec",
    "Errors": "ConductorError UsageError ConfigError TransportError StdioNotSupported ConnectionLost ServerDown "
    "HttpStatusError ProtocolError MethodError RequestTimeout Refused",
    "Tests": "like",
}
REST = "Plugins"  # see docs/plugins.md


class Entry(NamedTuple):
    """A public name: its own line of the promise, and those of its members."""

    line: str
    members: list[str]


def entries() -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    name = ""
    for line in PROMISED.read_text().splitlines():
        if line.startswith(" "):
            found[name].members.append(line.strip())
        else:
            name = line.removeprefix("class ").partition("(")[0]
            found[name] = Entry(line, [])
    return {name: entry for name, entry in found.items() if not name.startswith("__")}


def page() -> str:
    left = entries()
    parts = [HEAD]
    for group, names in GROUPS.items():
        parts += [f"\n## {group}\n", *(part for name in names.split() for part in described(name, left.pop(name)))]
    parts += [f"\n## {REST}\n", *(part for name in sorted(left) for part in described(name, left[name]))]
    return "".join(parts)


def described(name: str, entry: Entry) -> Iterator[str]:
    thing = getattr(mcp_conductor, name)
    yield f"\n### {name}\n\n"
    if not entry.line.startswith("class "):
        yield f"```python\n{wrapped(entry.line)}\n```\n\n"
    if text := inspect.getdoc(thing):
        yield f"{text}\n"
    own = [line for line in entry.members if own_member(thing, member_of(line))]
    if own:
        yield "\n"
    for line in own:
        documented = inspect.getdoc(inspect.getattr_static(thing, member_of(line), None)) or ""
        if member_of(line) == "__init__":
            yield f"```python\n{wrapped(line.replace('.__init__', '', 1).removesuffix(' -> None'))}\n```\n\n"
            continue
        what = " ".join(documented.split("\n\n")[0].split())
        yield f"- `{line.partition('.')[2]}`" + (f": {what}" if what else "") + "\n"
    inherited = [base.__name__ for base in getattr(thing, "__mro__", ())[1:] if base.__name__ in mcp_conductor.__all__]
    if inherited:
        yield f"\nAlso what `{inherited[0]}` has.\n"


def member_of(line: str) -> str:
    """The name of the member that LINE is about: `Session.ping(…)` is about ping."""
    return line.partition(".")[2].partition("(")[0].partition(":")[0]


def own_member(thing: object, member: str) -> bool:
    """Whether MEMBER is not inherited from another public class, which has its own entry."""
    bases = [base for base in getattr(thing, "__mro__", ())[1:] if base.__name__ in mcp_conductor.__all__]
    return member == "__init__" or not any(hasattr(base, member) for base in bases) or member in vars(thing)


def wrapped(line: str) -> str:
    """A signature in lines that can be read: one for each parameter, where it is long."""
    if len(line) <= 120:
        return line
    head, _, rest = line.partition("(")
    depth, begin, parameters = 0, 0, []
    for at, character in enumerate(rest):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            parameters.append(rest[begin:at])
            return (
                f"{head}(\n"
                + textwrap.indent(",\n".join(each.strip() for each in parameters), "    ")
                + f"\n{rest[at:]}"
            )
        if character == "," and depth == 0:
            parameters.append(rest[begin:at])
            begin = at + 1
    return line
