"""What `{{ … }}` in a server's file is filled in from: one request, and what its client has answered meanwhile."""

from operator import attrgetter
from typing import TypeAlias

from mcp_conductor.files import placeholders
from mcp_conductor.files.fields import Field
from mcp_conductor.files.placeholders import FILTERS, Known, Vocabulary, array, record
from mcp_conductor.protocol import Json
from mcp_conductor.server.call import Call

__all__ = ["FILTERS", "KNOWN", "ROOTS", "Draft", "Fill", "Known", "Scope", "array", "draft", "record", "text_draft"]


class Scope:
    """What placeholders are filled in from: one request, and what its client has answered meanwhile."""

    __slots__ = ("answers", "call")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.answers: Json = {}

    @property
    def client(self) -> Json:
        client = self.call.client
        return {"capabilities": client.capabilities, "info": client.info, "protocolVersion": client.revision.version}

    @property
    def server(self) -> Json:
        return {"info": self.call.server.config.info}

    @property
    def task(self) -> Json:
        return {} if self.call.task is None else {"id": self.call.task.id}


Draft: TypeAlias = placeholders.Draft[Scope]
Fill: TypeAlias = placeholders.Fill[Scope]

ROOTS: dict[str, Fill] = {
    **{name: attrgetter(f"call.{name}") for name in ("arguments", "variables", "meta", "params")},
    **{name: attrgetter(name) for name in ("answers", "client", "server", "task")},
}
KNOWN: Known = {
    **dict.fromkeys(ROOTS),
    "client": ("capabilities", "info", "protocolVersion"),
    "server": ("info",),
    "task": ("id",),
}


def draft(field: Field, known: Known = KNOWN) -> Draft:
    """Read the placeholders in FIELD, however deep; a lone one keeps the type of its value."""
    return placeholders.draft(field, Vocabulary(roots=ROOTS, known=known))


def text_draft(field: Field, known: Known = KNOWN) -> Draft:
    """Read the placeholders in FIELD, a text that must be a text when they are filled in, too."""
    return placeholders.text_draft(field, Vocabulary(roots=ROOTS, known=known))
