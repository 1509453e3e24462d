"""One step of a test file: what is sent, what is expected of it, and what is kept of the reply for later steps."""

from collections.abc import Collection
from dataclasses import dataclass, field

from mcp_conductor.fields import FREE, Field
from mcp_conductor.suites.actions import ACTIONS, Action, Names, read_action
from mcp_conductor.suites.expectations import EXPECT_KEYS, Expect, read_expect
from mcp_conductor.suites.keys import IN_EXPECT, IN_TEST, Elsewhere, known_members
from mcp_conductor.suites.paths import JsonPath, parse_path
from mcp_conductor.suites.script import NOTHING_SCRIPTED, Script, read_script
from mcp_conductor.suites.variables import Filling, check_name, filling

# What a step may have beside what it sends, and what the manual says of it.
STEP_KEYS = {
    "parallel": "several things to send at once, each with its own `expect`",
    "expect": "what must be the case; `expect: snapshot` keeps the reply",
    "capture": "`{name: path}`: parts of the reply for later steps; `{from, json, secret}` looks into texts",
    "client": "what the client answers: `roots`; `sampling` and `elicitation`, in order, with `expect`",
    "vars": "variables of this step alone",
    "timeout": "how long the reply may take",
    "cancel_after": "cancel the request after this time",
    "retry": "a number, or `{times, interval}`: if it fails, try again; a test that then passes is flaky",
    "until": "a time, or `{within, interval}`: do it again until what is expected is the case",
}


@dataclass(frozen=True, slots=True)
class Capture:
    """A part of the reply that later steps can use by name."""

    given: Field
    path: JsonPath
    inner: JsonPath | None  # within the JSON in a text
    secret: bool


@dataclass(frozen=True, slots=True)
class Again:
    """Doing a step more than once: so often, or for so long."""

    times: int | None
    within: float | None
    interval: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something to do, and what is expected of it."""

    given: Field
    actions: tuple[Action, ...]
    expects: tuple[Expect | None, ...]  # one for each action
    captures: dict[str, Capture]
    script: Script
    vars: dict[str, Filling]
    timeout: float | None
    cancel_after: float | None
    retry: Again | None
    until: Again | None

    @property
    def needs(self) -> frozenset[str]:
        """The variables that what is sent and expected is made of, but for its own."""
        parts = [*(action.given.needs for action in self.actions), *(each.needs for each in self.vars.values())]
        parts += [self.script.needs, *(expect.needs for expect in self.expects if expect is not None)]
        return frozenset().union(*parts) - self.vars.keys()


@dataclass(slots=True)
class Reading:
    """What is known while a file is read."""

    known: set[str] | None  # the variables that there are; None: any
    lenient: bool = False  # unknown keys are warnings
    warnings: list[tuple[Field, str]] = field(default_factory=list)

    @property
    def names(self) -> Names:
        return self.known

    def learn(self, names: Collection[str]) -> None:
        if self.known is not None:
            self.known.update(names)

    def members(self, field: Field, keys: tuple[str, ...], elsewhere: Elsewhere) -> dict[str, Field]:
        """The members of an object; what is not among KEYS is refused, or, where we are lenient, remarked on."""
        if not self.lenient:
            return known_members(field, keys, elsewhere)
        found = field.members()
        for key in (key for key in found if key not in keys and not key.startswith(FREE)):
            self.warnings.append((found[key], f"{key!r} is not a key that is known here; it is ignored"))
        return {key: value for key, value in found.items() if key in keys}


def read_step(given: Field, members: dict[str, Field], reading: Reading) -> Step:
    """The step that MEMBERS of GIVEN describe."""
    own = read_vars(members.get("vars"), reading.names)
    names = None if reading.known is None else reading.known | set(own)
    actions, expects = _actions(given, members, names, reading)
    captures = _captures(members.get("capture"))
    reading.learn(captures)
    return Step(
        given=given,
        actions=actions,
        expects=expects,
        captures=captures,
        script=read_script(members["client"], names) if "client" in members else NOTHING_SCRIPTED,
        vars=own,
        timeout=members["timeout"].seconds() if "timeout" in members else None,
        cancel_after=members["cancel_after"].seconds() if "cancel_after" in members else None,
        retry=_retry(members["retry"]) if "retry" in members else None,
        until=_until(members["until"]) if "until" in members else None,
    )


def _actions(
    given: Field, members: dict[str, Field], names: Names, reading: Reading
) -> tuple[tuple[Action, ...], tuple[Expect | None, ...]]:
    there = [key for key in (*ACTIONS, "parallel") if key in members]
    if not there:
        wanted = "one of " + ", ".join((*ACTIONS, "parallel"))
        given.refuse(f"does not say what to send: {wanted}", "for example: call: {tool: NAME, args: {…}}")
    if len(there) > 1:
        second = max((members[key] for key in there), key=_line)
        second.refuse(
            f"is one of {len(there)} things to send: {', '.join(there)}", "a test sends one; make it two tests"
        )
    if there[0] != "parallel":
        return (read_action(there[0], members[there[0]], names),), (_expect(members.get("expect"), names, reading),)
    if "expect" in members:
        members["expect"].refuse("has no meaning beside parallel", "each of the parallel requests has its own expect")
    actions, expects = [], []
    if not members["parallel"].items():
        members["parallel"].refuse("has nothing to send")
    for item in members["parallel"].items():
        parts = reading.members(item, (*ACTIONS, "expect"), IN_TEST)
        keys = [key for key in ACTIONS if key in parts]
        if len(keys) != 1:
            item.refuse(f"needs exactly one of {', '.join(ACTIONS)}")
        actions.append(read_action(keys[0], parts[keys[0]], names))
        expects.append(_expect(parts.get("expect"), names, reading))
    return tuple(actions), tuple(expects)


def _line(field: Field) -> int:
    where = field.document.locate(field.path)
    return 0 if where is None else where.line


def _expect(given: Field | None, names: Names, reading: Reading) -> Expect | None:
    if given is None or given.value is None:
        return None
    if reading.lenient and isinstance(given.value, dict):
        kept = reading.members(given, tuple(EXPECT_KEYS), IN_EXPECT)
        given = Field(given.document, given.path, {key: field.value for key, field in kept.items()})
    return read_expect(given, names)


def read_vars(given: Field | None, known: Names) -> dict[str, Filling]:
    """Variables, of which each may use those before it."""
    found: dict[str, Filling] = {}
    for name, each in ({} if given is None else given.members()).items():
        check_name(each, name)
        found[name] = filling(each, None if known is None else {*known, *found})
    return found


def _captures(given: Field | None) -> dict[str, Capture]:
    found: dict[str, Capture] = {}
    for name, each in ({} if given is None else given.members()).items():
        check_name(each, name)
        found[name] = _capture(each)
    return found


def _capture(given: Field) -> Capture:
    if isinstance(given.value, str):
        return Capture(given, _path(given), None, secret=False)
    members = given.members(("from", "json", "secret"))
    if "from" not in members:
        given.refuse("does not say where from", "capture: {NAME: result.structuredContent.id}")
    inner = _path(members["json"]) if "json" in members else None
    return Capture(given, _path(members["from"]), inner, secret="secret" in members and members["secret"].boolean())


def _path(given: Field) -> JsonPath:
    try:
        return parse_path(given.text())
    except ValueError as error:
        given.refuse(f"is not a path: {error}")


def _retry(given: Field) -> Again:
    if isinstance(given.value, int):
        return Again(given.integer(1, 1000), None, 0.1)
    members = given.members(("times", "interval"))
    times = members["times"].integer(1, 1000) if "times" in members else 3
    return Again(times, None, members["interval"].seconds() if "interval" in members else 0.1)


def _until(given: Field) -> Again:
    if not isinstance(given.value, dict):
        return Again(None, given.seconds(), 0.1)
    members = given.members(("within", "interval"))
    within = members["within"].seconds() if "within" in members else 5.0
    return Again(None, within, members["interval"].seconds() if "interval" in members else 0.1)
