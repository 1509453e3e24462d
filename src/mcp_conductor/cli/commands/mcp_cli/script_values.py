"""What the lines of a script have captured so far, for the placeholders of later lines."""

from collections.abc import Collection
from typing import Any

from mcp_conductor.cli.output.noted_variables import NotedVariables
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.suites.language.variables import Variables


class ScriptValues:
    """Values that grow with a script; secrets among them are not shown from then on."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        # One dict that grows, and no new Variables for each capture: a script may be long, and has one scope.
        self._values: dict[str, Any] = {}
        self.variables = Variables(values=self._values, environ=NotedVariables(terminal))

    @property
    def names(self) -> Collection[str]:
        return self._values.keys()

    def add(self, name: str, value: Any, *, secret: bool) -> None:
        """Keep VALUE under NAME."""
        self._values[name] = value
        if secret:
            self._terminal.learn(Variables().with_secrets({name: value}).secrets)
