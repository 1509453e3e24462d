"""Whether the condition of a `skip_if` is true of a server, and of where the tests are run."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.suites.running.conversation import Conversation


def holds(condition: Mapping[str, Any], conversation: Conversation, environ: Mapping[str, str]) -> bool:
    """Whether every part of a condition is true here."""
    session = conversation.session
    facts: dict[str, Callable[[str], bool]] = {
        "capability": lambda name: _has(session.capabilities, name),
        "no_capability": lambda name: not _has(session.capabilities, name),
        "platform": sys.platform.startswith,
        "env": lambda name: bool(environ.get(name)),
        "no_env": lambda name: not environ.get(name),
        "protocol": lambda version: session.dialect.version == version,
    }
    return all(any(facts[key](value) for value in values) for key, values in condition.items())


def _has(capabilities: Json, name: str) -> bool:
    """Whether a capability is declared: `tools`, or `resources.subscribe`."""
    found: Any = capabilities
    for step in name.split("."):
        if not isinstance(found, dict) or step not in found:
            return False
        found = found[step]
    return found is not False
