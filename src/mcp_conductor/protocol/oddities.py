"""Complaints about messages that break a rule, and excerpts of messages."""

from collections.abc import Callable

from mcp_conductor.protocol.budgets import TooLarge
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.text.visible import cut

LONGEST_NOTE = 2000
_LONGEST = 120
_MOST = 20_000  # only this much is searched for secrets, since only a little is shown


Redact = Callable[[str], str]


NOT_A_MESSAGE = "the server wrote a line that is not a message"


def complaint(message: Message, redact: Redact) -> str:
    """What is wrong with a message of the server's."""
    if isinstance(message.problem, TooLarge):
        return f"the server sent a message that is too large to be read: {message.problem}: {excerpt(message, redact)}"
    if message.kind == "invalid" and message.raw is None:
        return f"{NOT_A_MESSAGE}: {excerpt(message, redact)} ({message.problem})"
    return f"the server broke a rule of JSON-RPC: {message.problem}: {excerpt(message, redact)}"


def excerpt(message: Message, redact: Redact) -> str:
    """Enough of a message to recognise it by."""
    text = shortened(message.text, redact, _LONGEST)
    return render(text) if message.raw is None else text


def shortened(text: str, redact: Redact, most: int) -> str:
    """At most MOST characters of TEXT; secrets go before the rest is cut, so that no half of one is left."""
    return cut(redact(cut(text, _MOST)), most)
