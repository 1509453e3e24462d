"""What a test of mcp-aegis sends: exactly what stands in the file, also where JSON-RPC would not call it a request."""

from mcp_conductor.files.fields import Field
from mcp_conductor.protocol.message import compact
from mcp_conductor.suites.language.actions import Action, Names, Sent, read_action
from mcp_conductor.suites.language.variables import filling


def read_aegis_request(given: Field, known: Names) -> Action:
    """The request of a test; without an id it stays without one."""
    members = given.members()
    params = members.get("params")
    if "id" in members and members["id"].value is not None and (params is None or isinstance(params.value, dict)):
        return read_action("request", given, known)
    if "method" not in members:
        given.refuse("needs a method", "a request has jsonrpc, id, method and params")
    return Action("request", filling(given, known), lambda said: Sent("raw", text=compact(said)), verbatim=True)
