"""What tools and prompts are called on a bridge: the name of their server, a separator, and their own name.

The name of a server is made so that the first separator in a name is always the one behind it: `a` with the tool `b__c`
and `a__b` with the tool `c` have different names. Two tools get one name only by a rename, or where names that are
not legal become the same.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

from mcp_conductor.errors import ConfigError
from mcp_conductor.values import dataclass

SEPARATOR = "__"
_NOT_IN_PREFIX = re.compile(r"[^A-Za-z0-9_-]+")  # many hosts allow no other characters in the names of tools
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_./-]+")  # what the specification allows in the name of a tool
_LEGAL_SEPARATOR = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilter:
    """Which tools of a server are shown, and under which names: patterns as in a shell, with `*`, `?` and `[…]`."""

    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    rename: Mapping[str, str] | None = None

    def shows(self, name: str) -> bool:
        """Whether the tool NAME is shown: what is denied is not, although it may be allowed too."""
        allowed = any(fnmatchcase(name, pattern) for pattern in self.allow)
        return allowed and not any(fnmatchcase(name, pattern) for pattern in self.deny)

    def renamed(self, name: str) -> str | None:
        """The whole name that the settings give to the tool NAME."""
        return None if self.rename is None else self.rename.get(name)

    def unused(self, names: Collection[str]) -> list[str]:
        """What of it fits none of NAMES, the tools of the server: mistakes, most likely."""
        patterns = [("allow", each) for each in self.allow if each != "*"] + [("deny", each) for each in self.deny]
        without = [f"{key} {each!r}" for key, each in patterns if not any(fnmatchcase(name, each) for name in names)]
        return without + [f"rename {each!r}" for each in self.rename or () if each not in names]


EVERYTHING = ToolFilter()


def prefixes(servers: Iterable[str], separator: str = SEPARATOR) -> dict[str, str]:
    """The name of each server as it stands in names; raises ConfigError where two servers have the same."""
    if not _LEGAL_SEPARATOR.fullmatch(separator):
        raise ConfigError(f"the separator {separator!r} is not allowed in names: use letters, digits, _ - . or /")
    found: dict[str, str] = {}
    for server in servers:
        prefix = _prefix(server, separator)
        other = next((name for name, taken in found.items() if taken == prefix), None)
        if other is not None:
            raise ConfigError(f"the servers {other!r} and {server!r} are both called {prefix!r}: rename one of them")
        found[server] = prefix
    return found


def _prefix(server: str, separator: str) -> str:
    prefix = _NOT_IN_PREFIX.sub("_", server).strip("_") or "server"
    if _is_unambiguous(prefix, separator):
        return prefix
    prefix = re.sub("__+", "_", prefix)
    for character in ("-", "_", ""):
        changed = prefix.replace(separator, character).strip("_-") or "server"
        if _is_unambiguous(changed, separator):
            return changed
    raise ConfigError(f"the server {server!r} cannot be told from the separator {separator!r}: rename it")


def _is_unambiguous(prefix: str, separator: str) -> bool:
    """Whether the first separator in any name with PREFIX is the one behind it."""
    return (prefix + separator).find(separator) == len(prefix)


def legal(name: str) -> str:
    """The name of a tool with only the characters that the specification allows."""
    return _NOT_IN_NAME.sub("_", name) or "tool"


class Names:
    """Which tool or prompt of which server has a name. A name once given is not given to another while it is used."""

    def __init__(self, prefixes: Mapping[str, str], separator: str, filters: Mapping[str, ToolFilter]) -> None:
        self._prefixes = prefixes
        self._separator = separator
        self._filters = filters
        self._given: dict[str, tuple[str, str]] = {}

    def tool(self, server: str, name: str) -> str | None:
        """The name of a tool here; None if the settings do not show it."""
        settings = self._filters.get(server, EVERYTHING)
        if not settings.shows(name):
            return None
        return settings.renamed(name) or f"{self._prefixes[server]}{self._separator}{legal(name)}"

    def prompt(self, server: str, name: str) -> str:
        return f"{self._prefixes[server]}{self._separator}{name}"

    def server_of(self, name: str) -> str | None:
        """The server that NAME begins with, whether or not it has something of that name."""
        prefix, found, _ = name.partition(self._separator)
        return next((server for server, known in self._prefixes.items() if found and known == prefix), None)

    def give(self, wanted: Iterable[tuple[str, str, str]]) -> tuple[dict[str, tuple[str, str]], list[str]]:
        """The names of tools: WANTED are names with their servers and tools. Also, in a line each, what is left out.

        Who has a name keeps it; otherwise the first gets it.
        """
        wanted = list(wanted)
        owners = {(server, tool) for _, server, tool in wanted}
        given = {name: owner for name, owner in self._given.items() if owner in owners}
        clashes = []
        for name, server, tool in wanted:
            owner = given.setdefault(name, (server, tool))
            if owner != (server, tool):
                clashes.append(
                    f"the tool {tool!r} of {server} is left out: {name!r} is the tool {owner[1]!r} of {owner[0]}"
                )
        self._given = given
        return {name: given[name] for name, _, _ in wanted}, clashes
