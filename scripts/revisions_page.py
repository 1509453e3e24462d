"""The page of docs/reference on revisions: how they differ, from the rows of the table that the code goes by."""

from collections.abc import Callable

from mcp_conductor.protocol.dialect import ROWS, Dialect

# What the page tells of a revision, and how it is read off its row.
TRAITS: dict[str, Callable[[Dialect], str]] = {
    "era": lambda each: "handshake" if each.handshake else "modern",
    "Streamable HTTP": lambda each: "with sessions" if each.http_session else "no" if each.handshake else "stateless",
    "header `MCP-Protocol-Version`": lambda each: _yes(each.version_header or not each.handshake),
    "JSON-RPC batches": lambda each: _yes(each.batches),
    "elicitation": lambda each: "no" if each.elicitation is None else " and ".join(each.elicitation) or "form",
    "input rounds instead of requests to the client": lambda each: _yes(bool(each.input_rounds)),
    "tasks": lambda each: {None: "no", "core": "in the core", "extension": "as an extension"}[each.tasks],
    "types of content": lambda each: ", ".join(sorted(each.content)),
    "icons": lambda each: _yes(each.icons),
    "a resource that does not exist": lambda each: str(each.resource_not_found),
    "arguments that do not fit a tool": lambda each: "`isError`" if each.tool_argument_errors else "-32602",
    "results say how long they may be kept": lambda each: _yes(bool(each.cacheable)),
    "default dialect of JSON Schema": lambda each: "2020-12" if each.schema_2020 else "not said",
}


def page() -> str:
    head = ["| | " + " | ".join(each.version for each in ROWS) + " |", "|---" * (len(ROWS) + 1) + "|"]
    traits = [f"| {name} | {' | '.join(read(each) for each in ROWS)} |" for name, read in TRAITS.items()]
    return "\n\n".join(
        [
            "# Revisions",
            "How the revisions differ, as far as our programs go by it; [eras](../explanation/eras.md) explains it.",
            "\n".join([*head, *traits]),
            "## Methods\n\n" + _methods(lambda each: each.methods),
            "## What a server may ask a client\n\n" + _methods(lambda each: each.asks) + "\n",
        ]
    )


def _methods(read: Callable[[Dialect], frozenset[str]]) -> str:
    names = sorted({name for each in ROWS for name in read(each)})
    head = ["| method | " + " | ".join(each.version for each in ROWS) + " |", "|---" * (len(ROWS) + 1) + "|"]
    return "\n".join(
        [*head, *(f"| `{name}` | {' | '.join(_yes(name in read(each)) for each in ROWS)} |" for name in names)]
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"
