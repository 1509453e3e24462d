"""The environment, for a file or a script that names variables: what it takes from there is not shown any more."""

from collections.abc import ItemsView
from typing import Any

from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.text.redaction import secrets_of_environment


class NotedVariables(dict[str, str]):
    """The variables of a terminal, which learns the secrets among those that are looked up."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal.environ)
        self._terminal = terminal

    def __getitem__(self, name: str) -> str:
        value = super().__getitem__(name)
        self._terminal.learn(secrets_of_environment({name: value}))
        return value

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]  # as JSON is made of all of them
        self._terminal.learn(secrets_of_environment(dict(self)))
        return super().items()
