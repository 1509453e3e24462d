"""What a settings file says to a bridge: `tools` of each server, and `bridge` for all of them.

`tools` is a list of patterns, or `{allow, deny, rename}`; `bridge` is `{sessions, separator, wait, startTimeout}`.
"""

from typing import TYPE_CHECKING, get_args

from mcp_conductor.bridge.names import ToolFilter
from mcp_conductor.bridge.plan import BridgeOptions, Sessions
from mcp_conductor.protocol import Json

if TYPE_CHECKING:
    from mcp_conductor.files.fields import Field
    from mcp_conductor.files.settings_file import SettingsFile

_TOOL_KEYS = ("allow", "deny", "rename")
_BRIDGE_KEYS = ("sessions", "separator", "wait", "startTimeout")


def filters_in(file: "SettingsFile") -> dict[str, ToolFilter]:
    """Which tools of each server are shown."""
    return {server: _filter(field) for server, field in file.of_servers("tools").items()}


def _filter(field: "Field") -> ToolFilter:
    if isinstance(field.value, list):
        return ToolFilter(allow=_texts(field))
    members = field.members(_TOOL_KEYS)
    allow = _texts(members["allow"]) if "allow" in members else ("*",)
    deny = _texts(members["deny"]) if "deny" in members else ()
    renamed = members["rename"].members() if "rename" in members else {}
    return ToolFilter(allow=allow, deny=deny, rename={name: _name(each) for name, each in renamed.items()})


def _texts(field: "Field") -> tuple[str, ...]:
    return tuple(item.text() for item in field.items())


def _name(field: "Field") -> str:
    from mcp_conductor.bridge.names import legal

    name = field.text()
    if legal(name) != name:
        field.refuse(f"is {name!r}, which is no name for a tool: use letters, digits, _ - . or /")
    return name


def options_in(file: "SettingsFile", given: Json) -> BridgeOptions:
    """How the servers are served: as GIVEN, or else as the file says."""
    field = file.member("bridge")
    members = {} if field is None else field.members(_BRIDGE_KEYS)
    found: Json = {}
    if "sessions" in members:
        found["sessions"] = members["sessions"].one_of(get_args(Sessions))
    if "separator" in members:
        found["separator"] = members["separator"].text()
    if "wait" in members:
        found["wait"] = members["wait"].boolean()
    if "startTimeout" in members:
        found["start_timeout"] = members["startTimeout"].seconds()
    return BridgeOptions(**{**found, **{key: value for key, value in given.items() if value is not None}})
