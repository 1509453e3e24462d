"""The file that says what goes wrong between a client and a server: `faults` and `seed`, as in a server file.

A whole server file does too: its faults are taken, and the rest of it is left alone.
"""

import os
from collections.abc import Mapping

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.files.source import load as load_source
from mcp_conductor.plugins import load_those_of
from mcp_conductor.server.config_file import KEYS, insist_on_a_known_format
from mcp_conductor.server.fault_file import nameless, read_fault
from mcp_conductor.server.faults import Fault
from mcp_conductor.server.spoiled_reply import CONTENT_TYPE, EVENT_STREAM, SESSION, STATUS, STDOUT, Means
from mcp_conductor.values import dataclass

OVER_STDIO: Means = frozenset({STDOUT})
OVER_HTTP: Means = frozenset({STATUS, CONTENT_TYPE, EVENT_STREAM, SESSION})
FROM_CLIENTS_OVER_HTTP: Means = frozenset({CONTENT_TYPE})  # their replies are requests of HTTP
_KEYS = ("$schema", "faults", "seed", "plugins")


@dataclass(frozen=True, slots=True)
class FaultFile:
    """What a file says of faults."""

    faults: tuple[Fault, ...]
    seed: int = 0
    warnings: tuple[UsageError, ...] = ()  # of faults that cannot strike here


def load(path: str, shown: str, environ: Mapping[str, str], *, http: bool) -> FaultFile:
    """Read the file at PATH, which messages call SHOWN, for a server that is reached over HTTP or stdio."""
    insist_on_a_known_format(shown, "call it .json, .yaml or .yml")
    mistakes = Mistakes()
    root = Field.root(load_source(path, shown), environ, mistakes)
    if root.value is None:
        root.refuse("is empty", "faults: [{fault: delay, params: {time: 1s}}]")
    if isinstance(root.value, dict) and "plugins" in root.value:
        load_those_of(root.member("plugins", root.value["plugins"]), os.path.dirname(path))  # before it is read
    of_server = isinstance(root.value, dict) and "serverInfo" in root.value
    given = root.members(tuple(KEYS) if of_server else _KEYS, mistakes=mistakes)
    if "faults" not in given:
        mistakes.tell()  # a key that is not known may be this one
        root.refuse("has no faults", "faults: [{fault: delay, params: {time: 1s}}]")
    entries = mistakes.read(given["faults"], Field.items, [])
    faults = mistakes.read(entries, lambda entries: tuple(read_all(_read, entries)), ())
    seed = mistakes.read(given.get("seed"), Field.integer, 0)
    mistakes.tell()
    if not faults:
        given["faults"].refuse("has nothing in it", "faults: [{fault: delay, params: {time: 1s}}]")
    told = _without_means(entries, faults, http=http)
    if len(told) == len(faults):
        raise told[0]
    return FaultFile(faults, seed, tuple(told))


def _read(entry: Field) -> Fault:
    fault = read_fault(entry, ("server", "client"))
    if fault.target is not None and (problem := nameless(entry.members()["when"].members()["name"], fault)):
        raise problem
    return fault


def _without_means(entries: list[Field], faults: tuple[Fault, ...], *, http: bool) -> list[UsageError]:
    """Those of the faults that have no means to strike here."""
    found = []
    for entry, fault in zip(entries, faults, strict=True):
        means = OVER_STDIO if not http else OVER_HTTP if fault.replier == "server" else FROM_CLIENTS_OVER_HTTP
        if not fault.can_strike(means):
            of = "replies of clients over HTTP" if http and fault.replier == "client" else "HTTP" if http else "stdio"
            problem = f"can never strike: {fault.name} needs {fault.needed}, which is not there"
            found.append(entry.mistake(problem, f"leave it out: this is for {of}"))
    return found
