"""The variables of a run of tests: where they come from, and `{{ … }}` in the files that use them.

From lowest to highest: the config's `vars`, `--vars-file`, `MCP_VAR_name` in the environment, `--var`, `--secret`; then
the `vars` of a file, the `vars` or the row of a test, and what earlier tests have captured, each added with `with_`.

    {{ user.name }}    {{ items[0].id }}    {{ env.HOME }}, {{ env("HOME") }}
    {{ uuid() }}    {{ now() }}    {{ random_int(1, 9) }}    {{ random_text(8) }}
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.placeholders import MISSING, NAME, Draft, Vocabulary, draft, may_have_placeholders
from mcp_conductor.files.settings_file import SettingsFile
from mcp_conductor.files.source import load
from mcp_conductor.protocol.message import compact, read
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from random import Random

PREFIX = "MCP_VAR_"
ENVIRONMENT = "env"  # the root of environment variables, which no variable can be called
_NO_NAME = "cannot be a variable: a name is made of letters, digits and _, and begins with no digit"
_LETTERS = ascii_lowercase + digits
_LONGEST_TEXT = 10_000_000


class Chance:
    """Random values that are the same again for the same seed."""

    __slots__ = ("_random", "seed")

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self._random: Random | None = None

    @property
    def random(self) -> "Random":
        # Made when first used: seeding costs more than most tests need of it, and so does the import.
        if self._random is None:
            from random import Random

            self._random = Random(self.seed)
        return self._random


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)  # no repr: it would show secrets
class Variables:
    """Names and their values. They never change: with more values, a new object is made."""

    values: Mapping[str, Any] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()  # texts that must never be shown
    environ: dict[str, str] = field(default_factory=dict)
    chance: Chance = field(default_factory=lambda: Chance(0))
    clock: Callable[[], float] = time.time

    def with_(self, values: Mapping[str, Any]) -> "Variables":
        """These variables and VALUES, which win."""
        # One dict for all: tens of variables are copied sooner than a chain of scopes is walked for each placeholder.
        return replace(self, values={**self.values, **values}) if values else self

    def defining(self, given: "Mapping[str, Filling]") -> "Variables":
        """These variables and what is GIVEN, filled in one after the other: each may use those before it."""
        variables = self
        for name, value in given.items():
            variables = variables.with_({name: value.filled(variables)})
        return variables

    def with_secrets(self, values: Mapping[str, Any]) -> "Variables":
        """These variables and VALUES, which win, and which are not to be shown."""
        return replace(self.with_(values), secrets=self.secrets.union(*map(_texts, values.values())))

    def seeded_for(self, name: str) -> "Variables":
        """These variables, with random values of their own: what NAME draws does not depend on who drew before."""
        return replace(self, chance=Chance(f"{self.chance.seed}:{name}"))

    def names(self) -> set[str]:
        return set(self.values)


def _texts(value: Any) -> Iterator[str]:
    """Everything in VALUE that a reader could recognise it by."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):  # short texts would hide half of the output
        yield compact(value)


def from_command_line(
    *,
    files: list[str],
    pairs: list[str],
    secrets: list[str],
    environ: Mapping[str, str],
    config: Mapping[str, Any],
    seed: int | str,
    clock: Callable[[], float] = time.time,
) -> Variables:
    """The variables that are there before any file of tests: CONFIG's, FILES, ENVIRON, PAIRS and SECRETS."""
    values = {_valid_name(name, "a variable of the config"): value for name, value in config.items()}
    for file in files:
        values |= _of_file(file, environ)
    for name, text in environ.items():
        if name.startswith(PREFIX):
            values[_valid_name(name.removeprefix(PREFIX), name)] = value_of(text)
    values |= {name: value_of(text) for name, text in _name_value_pairs("--var", pairs)}
    run = Variables(values=values, environ=dict(environ), chance=Chance(seed), clock=clock)
    # Always text: a password of digits is not a number.
    return run.with_secrets(dict(_name_value_pairs("--secret", secrets))) if secrets else run


def _of_file(file: str, environ: Mapping[str, str]) -> dict[str, Any]:
    return _values_by_name(Field.root(load(file), environ))


def _values_by_name(given: Field) -> dict[str, Any]:
    members = given.members()
    for name, member in members.items():
        check_name(member, name)
    return {name: member.value for name, member in members.items()}


def of_settings(settings: SettingsFile) -> dict[str, Any]:
    """The `vars` of a settings file."""
    given = settings.member("vars")
    return {} if given is None else _values_by_name(given)


def _name_value_pairs(flag: str, pairs: list[str]) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            # What a secret is must not be shown, not even when it is given in the wrong way.
            raise UsageError(f"{flag} takes NAME=VALUE" + (f", not {pair!r}" if flag != "--secret" else ""))
        yield _valid_name(name, flag), text


def value_of(text: str) -> Any:
    """The JSON value of TEXT; TEXT itself where it is not JSON."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        return text


def _valid_name(name: str, what: str) -> str:
    if problem := problem_with(name):
        raise UsageError(f"{what}: {name!r} {problem}")
    return name


def check_name(field: Field, name: str) -> None:
    """Refuse FIELD, which gives a variable its value, when no placeholder can use NAME."""
    if problem := problem_with(name):
        field.refuse(problem)


def problem_with(name: str) -> str | None:
    """Why no placeholder can use NAME."""
    if name == ENVIRONMENT:
        return "cannot be a variable: it stands for the environment"
    return None if NAME.fullmatch(name) else _NO_NAME


# Placeholders.

Filling: TypeAlias = Draft[Variables]
Fill: TypeAlias = Callable[[Variables], Any]


# In place of the names that are known: braces are text, as in the files of other programs.
NO_PLACEHOLDERS: Final[Collection[str]] = frozenset({"{{"})


def also(known: Collection[str] | None, names: Collection[str]) -> Collection[str] | None:
    """What is KNOWN, and NAMES."""
    return known if not names or known is None or known is NO_PLACEHOLDERS else {*known, *names}


def filling(field: Field, known: Collection[str] | None) -> Filling:
    """Read the placeholders in FIELD, where the variables KNOWN will be there; None: any.

    A variable that is not known is refused, unless it has a default; the others are what the Filling `needs`.
    """
    # Most values of a long suite have none: one look at each text, or at the whole file, and nothing else is made.
    if known is NO_PLACEHOLDERS or field.document.lacks("{{") or not may_have_placeholders(field.value):
        return Draft(field.value)
    words = Vocabulary(roots=_ROOTS, functions=FUNCTIONS, variable=_variable, variables=known, strict=True)
    return draft(field, words)


def _variable(name: str) -> Fill:
    return lambda variables: variables.values.get(name, MISSING)


def uuid() -> Fill:
    """A random UUID."""
    from uuid import UUID  # it imports much, and few files need it

    return lambda variables: str(UUID(int=variables.chance.random.getrandbits(128), version=4))


def now() -> Fill:
    """The time, in UTC, as 2026-01-31T12:00:00.000Z."""

    from datetime import UTC, datetime

    def fill(variables: Variables) -> str:
        moment = datetime.fromtimestamp(variables.clock(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return fill


def random_int(least: int, most: int) -> Fill:
    """A random integer, `least` and `most` included."""
    if least > most:
        raise ValueError(f"write the smaller number first: random_int({most}, {least})")
    return lambda variables: variables.chance.random.randint(least, most)


def random_text(length: int) -> Fill:
    """Random letters and digits."""
    if not 0 <= length <= _LONGEST_TEXT:
        raise ValueError(f"the length must be from 0 to {_LONGEST_TEXT}")
    return lambda variables: "".join(variables.chance.random.choices(_LETTERS, k=length))


def env(name: str) -> Fill:
    """A variable of the environment, as `env.HOME`."""
    return lambda variables: variables.environ.get(name, MISSING)


FUNCTIONS: dict[str, Callable[..., Fill]] = {each.__name__: each for each in (uuid, now, random_int, random_text, env)}
_ROOTS: dict[str, Fill] = {ENVIRONMENT: lambda variables: variables.environ}
