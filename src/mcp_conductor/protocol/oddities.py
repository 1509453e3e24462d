"""How we speak of messages that are not as they should be."""

from mcp_conductor.protocol.message import Message, render

_LONGEST = 120


def complaint(message: Message) -> str:
    """What is wrong with a message of the server's."""
    if message.kind == "invalid" and message.raw is None:
        return f"the server wrote a line that is not a message: {excerpt(message)} ({message.problem})"
    return f"the server broke a rule of JSON-RPC: {message.problem}: {excerpt(message)}"


def excerpt(message: Message) -> str:
    """Enough of a message to recognise it by."""
    text = message.text if len(message.text) <= _LONGEST else message.text[:_LONGEST] + "…"
    return render(text) if message.raw is None else text
