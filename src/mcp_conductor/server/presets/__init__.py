"""Definitions by name. A preset is one decorated function: its name, its keyword arguments and its first sentence are
what a config file, `--list-presets` and the schema for editors show of it.
"""

import inspect
from collections.abc import Callable
from typing import Literal

from mcp_conductor.catalog import Catalog
from mcp_conductor.plugins import guarded
from mcp_conductor.protocol import Json
from mcp_conductor.server.definitions import Definition
from mcp_conductor.values import dataclass

Kind = Literal["tool", "resource", "resource template", "prompt"]
Make = Callable[..., Definition | Json | list[Definition] | list[Json]]  # JSON: see `described`

# Where in a config file each kind of definition stands.
MEMBERS: dict[str, Kind] = {
    "tools": "tool",
    "resources": "resource",
    "resourceTemplates": "resource template",
    "prompts": "prompt",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """A definition that a config file can ask for by name."""

    name: str
    kind: Kind
    make: Make

    @property
    def doc(self) -> str:
        return (self.make.__doc__ or "").strip().split("\n")[0]

    @property
    def params(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.make, eval_str=True).parameters)


PRESETS: Catalog[Preset] = Catalog("preset", __name__)


def preset(kind: Kind, *names: str) -> Callable[[Make], Make]:
    """Register a preset under its function's name, or under NAMES where these are not Python's, or several."""

    if kind not in MEMBERS.values():
        raise TypeError(f'a preset makes a thing of one kind, as in @preset("tool"), not {kind!r}')

    def register(make: Make) -> Make:
        for name in names or (make.__name__,):
            PRESETS.add(name, Preset(name, kind, guarded(make, f"the preset {name!r}")), make)
        return make

    return register
