"""The `faults` of a server file: each entry, and those that could never strike."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from random import Random

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes
from mcp_conductor.plugins import with_plugins
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.server.config import ServerConfig
from mcp_conductor.server.faults import FAULTS, Fault, Side
from mcp_conductor.server.params import checked_params, make_with
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.spoiled_reply import EVENT_STREAM, SpoiledReply

WHEN_KEYS = {
    "method": "the method of the request, or of the notification that the server sends",
    "name": "the name of the tool or prompt, or the URI of the resource",
    "nth": "only this time: 1 is the first request that fits",
    "every": "every so many times",
    "probability": "by chance, from 0 to 1; `seed` makes it the same in each run",
    "direction": (
        "whose reply it is: `server`, or `client`, which only `conductor proxy` can spoil; default: `client` for what "
        "only a server asks (`sampling/createMessage`, `elicitation/create`, `roots/list`), otherwise `server`"
    ),
}
_METHODS: frozenset[str] = frozenset().union(*(dialect.methods for dialect in DIALECTS.values()))
_ASKS: frozenset[str] = frozenset().union(*(dialect.asks for dialect in DIALECTS.values()))
_OF_TASKS = frozenset(method for method in _METHODS if method.startswith("tasks/"))  # of a client, too
_ASKED: Mapping[Side, frozenset[str]] = {"server": _METHODS, "client": _ASKS | _OF_TASKS}
_FOR_CLIENTS = "conductor proxy --faults FILE, before a real server, spoils replies of clients"


def read_fault(entry: Field, sides: tuple[Side, ...] = ("server",)) -> Fault:
    """One entry of `faults` in a file; SIDES are those whose replies can be spoiled."""
    mistakes = Mistakes()
    known = entry.members(("fault", "when", "params"), mistakes=mistakes)
    if "fault" not in known:
        mistakes.tell()  # a key that is not known may be this one
        entry.refuse("does not say which fault", f"fault: one of {', '.join(FAULTS)}")
    name = mistakes.read(known["fault"], _name, "")
    when: dict[str, Field] = mistakes.read(known.get("when"), lambda field: field.members(tuple(WHEN_KEYS)), {})
    act, trial = mistakes.read(
        entry if name else None,
        lambda entry: _act(entry, name, known.get("params")),
        (_nothing, SpoiledReply(Random(0))),
    )
    method = mistakes.read(when.get("method"), _method, None)
    fault = Fault(
        name=name,
        act=act,
        needs=trial.needs,
        method=method,
        replier=mistakes.read(entry, lambda _: _replier(when, method, sides), "server"),
        target=mistakes.read(when.get("name"), Field.text, None),
        nth=mistakes.read(when.get("nth"), _nth, ()),
        every=mistakes.read(when.get("every"), lambda field: field.integer(1), None),
        probability=mistakes.read(when.get("probability"), _probability, None),
    )
    mistakes.tell()
    return fault


def _nothing(_: SpoiledReply) -> None:
    """In the place of a fault that cannot be read."""


def _name(given: Field) -> str:
    name = given.text()
    if FAULTS.find(name) is None:
        near = nearest(name, tuple(FAULTS))
        hint = f"did you mean {near!r}?" if near else f"one of {', '.join(FAULTS)}"
        given.refuse(f"is {name!r}, which is not a fault", with_plugins(hint))
    return name


def _method(given: Field) -> str:
    if given.text().startswith("notifications/"):
        given.refuse("must be the method of a request", "notifications have no replies, which is what faults are about")
    if given.text() not in _METHODS | _ASKS:
        near = nearest(given.text(), tuple(sorted(_METHODS | _ASKS)))
        hint = f"did you mean {near!r}?" if near else "without `method`, a fault is for requests of all methods"
        given.refuse(f"is {given.text()!r}, which is not a method of MCP: the fault would never strike", hint)
    return given.text()


def _replier(when: Mapping[str, Field], method: str | None, sides: tuple[Side, ...]) -> Side:
    """Whose reply it is: what is written, or else the only side that is asked this."""
    direction = when.get("direction")
    if direction is None:
        replier: Side = "server" if method is None or method in _METHODS else "client"
        if replier not in sides:
            when["method"].refuse(f"is {method!r}, which a server asks: the fault would never strike", _FOR_CLIENTS)
        return replier
    replier = "client" if direction.one_of(("server", "client")) == "client" else "server"
    if replier not in sides:
        direction.refuse("is 'client': the fault would never strike, since this is a server", _FOR_CLIENTS)
    if method is not None and method not in _ASKED[replier]:
        direction.refuse(f"never fits: no {replier} is asked for {method}", "leave it out")
    return replier


def _nth(given: Field) -> tuple[int, ...]:
    if not isinstance(given.value, list):
        return (given.integer(1),)
    if not given.value:
        given.refuse("must name at least one request", "nth: 1, or nth: [1, 3]")
    return tuple(item.integer(1) for item in given.items())


def _probability(given: Field) -> float:
    probability = given.number(0.0, 1.0)
    if not probability:
        given.refuse("is 0: the fault would never strike", "leave the fault out")
    return probability


def _act(entry: Field, name: str, params: Field | None) -> tuple[Callable[[SpoiledReply], None], SpoiledReply]:
    """The fault with its params, and what came of it when it was tried out, so that bad values are found now."""
    act = FAULTS.get(name)
    wanted = dict(list(inspect.signature(act).parameters.items())[1:])
    given = checked_params(entry, params, wanted, f"fault {name!r}")
    trial = SpoiledReply(Random(0))
    make_with(partial(act, trial), given)
    values = {key: each.value for key, each in given.items()}
    return lambda spoiled: act(spoiled, **values), trial


# What could never strike.

_NAMED_IN = {  # the methods whose requests name something, and what
    "tools/call": ("tool", "tools"),
    "prompts/get": ("prompt", "prompts"),
    "resources/read": ("resource", "resources"),
    "resources/subscribe": ("resource", "resources"),
    "resources/unsubscribe": ("resource", "resources"),
}


def without_means(given: Field, config: ServerConfig) -> Iterator[UsageError]:
    """Those of the faults GIVEN that have no means to strike on the transport of CONFIG."""
    eras = {DIALECTS[version].handshake for version in config.versions}
    means = frozenset[str]().union(*(means_of(config.transport, handshake=era) for era in eras))
    for entry, fault in zip(given.items(), config.faults, strict=True):
        if not fault.can_strike(means):
            hint = f"leave it out: this server is on {config.transport.type}"
            if fault.needs == {EVENT_STREAM} and config.transport.type != "stdio":
                hint = "leave out transport.json, which answers without event streams"
            yield entry.mistake(f"can never strike: {fault.name} needs {fault.needed}, which is not there", hint)


def unknown_targets(given: Field, config: ServerConfig) -> Iterator[UsageError]:
    """Those of the faults GIVEN that are for something that the server does not have."""
    for entry, fault in zip(given.items(), config.faults, strict=True):
        if fault.target is not None:
            yield from _unknown_target(entry.members()["when"].members()["name"], fault, config)


def nameless(name: Field, fault: Fault) -> UsageError | None:
    """What is wrong with the NAME that FAULT is for, if its requests have none."""
    if fault.method is None or fault.method in _NAMED_IN:
        return None
    return name.mistake(f"never fits: requests of {fault.method} name nothing", "leave it out")


def _unknown_target(name: Field, fault: Fault, config: ServerConfig) -> Iterator[UsageError]:
    if (problem := nameless(name, fault)) is not None:
        yield problem
        return
    known: dict[str, list[str]] = {
        "tools": [each.name for each in config.tools],
        "resources": [each.uri for each in config.resources],
        "prompts": [each.name for each in config.prompts],
    }
    what, member = _NAMED_IN.get(fault.method or "", ("tool, resource or prompt", ""))
    names = known[member] if member else [each for every in known.values() for each in every]
    target = str(fault.target)
    if target in names or (member in ("", "resources") and _fits_template(target, config)):
        return
    near = nearest(target, tuple(names))
    hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(names)}" if names else "leave the fault out"
    yield name.mistake(f"is {target!r}, which is not a {what} of this server: the fault would never strike", hint)


def _fits_template(uri: str, config: ServerConfig) -> bool:
    patterns = [each.pattern for each in config.templates if each.pattern is not None]
    return any(pattern.match(uri) is not None for pattern in patterns)
