"""One step of a test file: what is sent, what is expected of it, and what is kept of the reply for later steps."""

from collections.abc import Collection
from dataclasses import field, replace

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import FREE, Field
from mcp_conductor.files.mistakes import Mistakes, read_all
from mcp_conductor.suites.language.actions import ACTIONS, ONE_REQUEST, Action, Names, read_action
from mcp_conductor.suites.language.captures import Capture, read_captures
from mcp_conductor.suites.language.expectations import Expect, read_expect
from mcp_conductor.suites.language.keys import EXPECT_KEYS, IN_EXPECT, IN_TEST, Elsewhere, known_members
from mcp_conductor.suites.language.script import NOTHING_SCRIPTED, Script, read_script
from mcp_conductor.suites.language.variables import NO_PLACEHOLDERS, Filling, also, check_name, filling
from mcp_conductor.values import dataclass

# What a step may have in addition to what it sends, and what the manual says about it.
STEP_KEYS = {
    "parallel": "several things to send at once, each with its own `expect`",
    "expect": "what must hold; `expect: snapshot` keeps the reply",
    "capture": "`{name: path}`: parts of the reply for later steps; `{from, json, regex, secret}` looks into texts",
    "client": "what the client answers: `roots`; `sampling` and `elicitation`, in order, with `expect`",
    "vars": "variables of this step alone",
    "delay": "wait this long before anything is sent",
    "timeout": "how long the reply may take",
    "cancel_after": "cancel the request after this time",
    "retry": "a number, or `{times, interval}`: if it fails, try again; a test that then passes is flaky",
    "until": "a time, or `{within, interval}`: do it again until what is expected holds",
}


@dataclass(frozen=True, slots=True)
class Repetition:
    """How a step is repeated: a number of times, or for a time."""

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
    delay: float | None
    retry: Repetition | None
    until: Repetition | None
    steps: tuple["Step", ...] = ()  # what is done one after the other, where it is not one thing
    plain: bool = False  # one request and what is expected of its reply, all of it known when the file is read

    @property
    def each(self) -> tuple["Step", ...]:
        """The steps of which each sends something."""
        return self.steps or (self,)

    @property
    def needs(self) -> frozenset[str]:
        """The variables that what is sent and expected is made of, but for its own."""
        parts = [*(action.given.needs for action in self.actions), *(each.needs for each in self.vars.values())]
        parts += [self.script.needs, *(expect.needs for expect in self.expects if expect is not None)]
        given: set[str] = set()
        for step in self.steps:
            parts.append(step.needs - given)
            given |= step.captures.keys()
        return frozenset().union(*parts) - self.vars.keys()


@dataclass(slots=True)
class Reading:
    """What is known while a file is read."""

    known: set[str] | None  # the variables that there are; None: any
    lenient: bool = False  # as mcp-aegis reads files: unknown keys are warnings, and braces are text
    directory: str = ""  # of the file
    files: list[str] = field(default_factory=list)  # others that it names
    unquoted: set[str] = field(default_factory=set)  # those of them that messages must not quote
    warnings: list[tuple[Field, str]] = field(default_factory=list)

    @property
    def names(self) -> Names:
        return NO_PLACEHOLDERS if self.lenient else self.known

    def learn(self, names: Collection[str]) -> None:
        if self.known is not None:
            self.known.update(names)

    def members(
        self, field: Field, keys: tuple[str, ...], elsewhere: Elsewhere, mistakes: Mistakes | None = None
    ) -> dict[str, Field]:
        """The members of an object; what is not among KEYS is refused, or, where we are lenient, remarked on."""
        if not self.lenient:
            return known_members(field, keys, elsewhere, mistakes)
        found = field.members()
        for key in (key for key in found if key not in keys and not key.startswith(FREE)):
            self.warnings.append((found[key], f"{key!r} is not a known key; it is ignored"))
        return {key: value for key, value in found.items() if key in keys}


def read_step(given: Field, members: dict[str, Field], reading: Reading, mistakes: Mistakes | None = None) -> Step:
    """The step that MEMBERS of GIVEN describe; raises what is wrong with it, and the MISTAKES that were made before."""
    mistakes = Mistakes() if mistakes is None else mistakes
    if members.keys() <= USUAL_KEYS:  # as of nearly all tests: there is nothing else to read
        actions, expects = _actions(given, members, reading.names, reading, mistakes)
        mistakes.tell()
        return _usual_step(given, actions, expects)
    own: dict[str, Filling] = mistakes.read(members.get("vars"), lambda field: read_vars(field, reading.names), {})
    names = also(reading.names, names_in(members.get("vars")))
    steps = _steps_of(members, own, reading, mistakes) if "steps" in members else ()
    actions, expects = ((), ()) if "steps" in members else _actions(given, members, names, reading, mistakes)
    captures: dict[str, Capture] = mistakes.read(members.get("capture"), read_captures, {})
    reading.learn(names_in(members.get("capture")))  # also those that are wrong, so that they are not missed later
    step = Step(
        given=given,
        actions=actions,
        expects=expects,
        captures={name: each for step in steps for name, each in step.captures.items()} | captures,
        script=mistakes.read(members.get("client"), lambda field: read_script(field, names), NOTHING_SCRIPTED),
        vars=own,
        timeout=mistakes.read(members.get("timeout"), Field.seconds, None),
        cancel_after=mistakes.read(members.get("cancel_after"), Field.seconds, None),
        delay=mistakes.read(members.get("delay"), Field.seconds, None),
        retry=mistakes.read(members.get("retry"), _retry, None),
        until=mistakes.read(members.get("until"), _until, None),
        steps=steps,
    )
    mistakes.tell()
    return step


USUAL_KEYS = frozenset({"it", "expect", *ACTIONS})
_SENDING = (*ACTIONS, "parallel")


def _usual_step(given: Field, actions: tuple[Action, ...], expects: tuple[Expect | None, ...]) -> Step:
    return Step(
        given=given,
        actions=actions,
        expects=expects,
        captures={},
        script=NOTHING_SCRIPTED,
        vars={},
        timeout=None,
        cancel_after=None,
        delay=None,
        retry=None,
        until=None,
        plain=_is_plain(actions, expects),
    )


def _is_plain(actions: tuple[Action, ...], expects: tuple[Expect | None, ...]) -> bool:
    if len(actions) != 1 or actions[0].key not in ONE_REQUEST or not actions[0].given.is_fixed:
        return False
    return expects[0] is not None and expects[0].is_plain


def read_steps(given: Field, reading: Reading) -> tuple[Step, ...]:
    """Steps that are done one after the other; each may use what those before it capture."""

    def read(item: Field) -> Step:
        mistakes = Mistakes()
        keys = ("it", *ACTIONS, *STEP_KEYS)
        return read_step(item, reading.members(item, keys, IN_TEST, mistakes), reading, mistakes)

    return tuple(read_all(read, given.items()))


def _steps_of(
    members: dict[str, Field], own: Collection[str], reading: Reading, mistakes: Mistakes
) -> tuple[Step, ...]:
    """The steps of a test that has several, which may use its OWN variables."""
    for key in (*ACTIONS, "parallel", "expect", "capture", "cancel_after"):
        if key in members:
            hint = f"put `{key}` in one of the steps"
            mistakes.add(members[key].mistake("has no meaning together with steps", hint))
    if members["steps"].value == []:
        mistakes.add(members["steps"].mistake("has nothing to do", "steps: [{call: …, expect: …}, {call: …}]"))
    new = set() if reading.known is None else set(own) - reading.known
    reading.learn(new)
    steps: tuple[Step, ...] = mistakes.read(members["steps"], lambda field: read_steps(field, reading), ())
    if reading.known is not None:
        reading.known -= new
    timeout = mistakes.read(members.get("timeout"), Field.seconds, None)
    return tuple(step if step.timeout is not None else replace(step, timeout=timeout) for step in steps)


def names_in(given: Field | None) -> set[str]:
    """The names that GIVEN gives, whether their values are right or not."""
    return set(given.value) if given is not None and isinstance(given.value, dict) else set()


_Pairs = tuple[tuple[Action, ...], tuple[Expect | None, ...]]


def _actions(given: Field, members: dict[str, Field], names: Names, reading: Reading, mistakes: Mistakes) -> _Pairs:
    """What is sent, and what is expected of each."""
    there = [key for key in _SENDING if key in members]
    if there == ["parallel"]:
        return mistakes.read(members, lambda _: _parallel(members, names, reading), ((), ()))
    if not there and not mistakes:  # a key that is not known may be one of these
        wanted = "one of " + ", ".join(_SENDING)
        hint = "for example: call: {tool: NAME, args: {…}}"
        mistakes.add(given.mistake(f"does not say what to send: {wanted}", hint))
    if len(there) > 1:
        second = max((members[key] for key in there), key=_line)
        problem = f"is one of {len(there)} things to send: {', '.join(there)}"
        mistakes.add(second.mistake(problem, "a test sends one; make it two tests"))
    of_aegis = reading.lenient and there == ["request"]  # with any other way to send something it is a test of ours
    read = _read_aegis_request if of_aegis else read_action
    actions: list[Action] = []
    expect = None
    for key in there:
        if key != "parallel":
            try:
                actions.append(read(key, members[key], names))
            except UsageError as error:
                mistakes.add(error)
    try:
        expect = _expect(members.get("expect"), names, reading, of_aegis=of_aegis)
    except UsageError as error:
        mistakes.add(error)
    return tuple(actions), (expect,)


def _read_aegis_request(_: str, given: Field, known: Names) -> Action:
    from mcp_conductor.suites.language.aegis.request import read_aegis_request  # few files are of mcp-aegis

    return read_aegis_request(given, known)


def _parallel(members: dict[str, Field], names: Names, reading: Reading) -> _Pairs:
    if "expect" in members:
        members["expect"].refuse(
            "has no meaning together with parallel", "each of the parallel requests has its own expect"
        )
    if not members["parallel"].items():
        members["parallel"].refuse("has nothing to send")

    def read(item: Field) -> tuple[Action, Expect | None]:
        parts = reading.members(item, (*ACTIONS, "expect"), IN_TEST)
        keys = [key for key in ACTIONS if key in parts]
        if len(keys) != 1:
            item.refuse(f"needs exactly one of {', '.join(ACTIONS)}")
        return read_action(keys[0], parts[keys[0]], names), _expect(parts.get("expect"), names, reading)

    actions, expects = zip(*read_all(read, members["parallel"].items()), strict=True)
    return actions, expects


def _line(field: Field) -> int:
    where = field.document.locate(field.path)
    return 0 if where is None else where.line


def _expect(given: Field | None, names: Names, reading: Reading, *, of_aegis: bool = False) -> Expect | None:
    if given is None or given.value is None:
        return None
    if reading.lenient and isinstance(given.value, dict):
        kept = reading.members(given, tuple(EXPECT_KEYS), IN_EXPECT)
        given = Field(given.document, given.path, {key: field.value for key, field in kept.items()})
        if of_aegis:
            from mcp_conductor.suites.language.aegis.expectation import read_aegis_expect

            return read_aegis_expect(given, names)
    return read_expect(given, names)


def read_vars(given: Field, known: Names) -> dict[str, Filling]:
    """Variables, of which each may use those before it."""
    before: set[str] = set()

    def read(member: tuple[str, Field]) -> tuple[str, Filling]:
        name, each = member
        check_name(each, name)
        visible = also(known, before)
        before.add(name)
        return name, filling(each, visible)

    return dict(read_all(read, given.members().items()))


def _retry(given: Field) -> Repetition:
    if isinstance(given.value, int):
        return Repetition(given.integer(1, 1000), None, 0.1)
    members = given.members(("times", "interval"))
    times = members["times"].integer(1, 1000) if "times" in members else 3
    return Repetition(times, None, members["interval"].seconds() if "interval" in members else 0.1)


def _until(given: Field) -> Repetition:
    if not isinstance(given.value, dict):
        return Repetition(None, given.seconds(), 0.1)
    members = given.members(("within", "interval"))
    within = members["within"].seconds() if "within" in members else 5.0
    return Repetition(None, within, members["interval"].seconds() if "interval" in members else 0.1)
