"""Our flags among the server's words.

Flags may stand before or after the server's command. The server's own flags go after `--`; a second `--`, or a first
`--method`, ends them. An unknown flag is an error that names the nearest known one: nothing reaches the server by
accident.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from mcp_conductor.errors import UsageError, nearest


class Flag(NamedTuple):
    """One flag: a switch, or, if it has a METAVAR, a flag with a value."""

    name: str
    help: str
    metavar: str = ""
    many: bool = False
    short: str = ""
    common: bool = False  # shown by --help also where a command has many flags
    alias: bool = False  # another name of a flag, or without effect: it works, and only --help all lists it
    may: tuple[str, ...] = ()  # words that may follow a switch
    choices: tuple[str, ...] = ()  # the values that it takes, where these are few
    requires: str = ""  # the flag that it belongs to; with its METAVAR, if a message is to show that
    excludes: Mapping[str, str] = MappingProxyType({})  # flags that cannot be given with it, and hints


class Given:
    """What stood on a command line: the server's words, and our flags with their values."""

    def __init__(
        self,
        words: tuple[str, ...] = (),
        values: Mapping[str, list[str]] | None = None,
        after: tuple[str, ...] = (),
        program: str = "mcp-cli",
    ) -> None:
        self.words = words
        self.values: Mapping[str, list[str]] = values or {}
        self.after = after  # the server's words, where the others are not
        self.program = program  # what hints begin with
        self.written: Given = self  # with references to secrets, before the secrets were read

    def with_values(self, values: Mapping[str, list[str]]) -> "Given":
        """The same words with other flags."""
        return Given(self.words, values, self.after, self.program)

    def with_secrets(self, values: Mapping[str, list[str]]) -> "Given":
        """The same with the secrets that its flags refer to."""
        given = self.with_values(values)
        given.written = self
        return given

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def one(self, name: str) -> str | None:
        values = self.values.get(name)
        return values[0] if values else None

    def need(self, name: str) -> str:
        return self.values[name][0]

    def all(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def refuse(self, names: Iterable[str], why: str, *, hint: str | None = None) -> None:
        """Raise if one of these flags is given: its name, and WHY it cannot be."""
        for name in names:
            if name in self.values:
                raise UsageError(f"{name} {why}", hint=hint)

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """The KEY=VALUE texts given to a flag."""
        pairs = []
        for text in self.all(name):
            key, equals, value = text.partition("=")
            if not key or not equals:
                # A variable of the environment is often a secret.
                raise UsageError(f"{name} takes KEY=VALUE" + (f", not {text!r}" if name != "--env" else ""))
            pairs.append((key, value))
        return pairs


JSON = Flag("--json", "print the answer as JSON, and nothing else on stdout; also an error")
URL_AS_JSON = Flag("--json", 'over HTTP: print {"url": …} on stdout as soon as clients can connect')
ERRORS = Flag("--errors", "how errors are put on stderr: text (default) or json, one object per line", "FORM")
ERROR_FORMS = ("text", "json")
HELP = Flag("--help", "show this text; all: with all flags", short="-h", common=True, may=("all",))

Groups = Mapping[str, tuple[Flag, ...]]
Examples = Mapping[str, str]  # command lines, and what each is for


def parse(argv: list[str], groups: Groups, *, server_words: bool = True, program: str = "mcp-cli") -> Given:
    """Take ARGV apart; where the words are a server's, they stand together and may have flags of their own."""
    known = {name: flag for flags in groups.values() for flag in flags for name in (flag.name, flag.short) if name}
    words: list[str] = []
    after: list[str] = []
    values: dict[str, list[str]] = {}
    servers_turn = False
    had_servers_turn = False
    previous_was_word = False
    tokens = deque(argv)
    while tokens:
        token = tokens.popleft()
        if servers_turn:
            servers_turn = token != "--" and not (server_words and token.partition("=")[0] == "--method")
            if servers_turn:
                (words if server_words else after).append(token)
                continue
            if token == "--":
                continue
        if token == "--":
            if had_servers_turn:
                raise UsageError("a third -- has no meaning", hint="the server's words stand between the first two")
            servers_turn = had_servers_turn = True
            previous_was_word = False
        elif token.startswith("-") and token != "-":
            _take(token, tokens, known, values, " ".join((program, *(words or ["COMMAND"]))) if server_words else None)
            previous_was_word = False
        elif words and not previous_was_word and server_words:
            hint, last = None, known[next(reversed(values))] if values else None
            if last is not None and last.many:
                hint = f"to give {last.name} several values, repeat it: {last.name} {token!r}"
            if had_servers_turn and not values:
                hint = "the second -- ends the server's words; a command that has -- itself is one word of a shell: "
                hint += f"{program} -- sh -c '{words[0]} … -- {token} …' -- …"
            raise UsageError(f"unexpected word {token!r}: the server's words must stand together", hint=hint)
        else:
            words.append(token)
            previous_was_word = True
    given = Given(tuple(words), values, tuple(after), program)
    if (form := given.one("--errors")) not in (None, *ERROR_FORMS):
        raise UsageError(f"--errors must be one of {', '.join(ERROR_FORMS)}, not {form!r}")
    return given


def check_flags(given: Given, groups: Groups) -> None:
    """Refuse what the flags say of each other, and values that are none of their choices."""
    for flag in (flag for flags in groups.values() for flag in flags if flag.name in given):
        if flag.choices and (value := given.one(flag.name)) not in flag.choices:
            raise UsageError(f"{flag.name} must be one of {', '.join(flag.choices)}, not {value!r}")
        if flag.requires and flag.requires.partition(" ")[0] not in given:
            relation = "is for" if " " in flag.requires else "has no meaning without"
            raise UsageError(f"{flag.name} {relation} {flag.requires}")
        for other, hint in flag.excludes.items():
            if other in given:
                raise UsageError(f"{flag.name} and {other} exclude each other", hint=hint or None)


def _take(
    token: str, tokens: deque[str], known: Mapping[str, Flag], values: dict[str, list[str]], server: str | None
) -> None:
    name, equals, value = token.partition("=") if token.startswith("--") else (token, "", "")
    flag = known.get(name)
    if flag is None:
        raise UsageError(f"unknown flag {name}", hint=_hint(name, known, server))
    if flag.name in values and not flag.many:
        raise UsageError(f"{name} is given twice")
    if not flag.metavar:
        if equals and value not in flag.may:
            raise UsageError(
                f"{name} takes {' or '.join(flag.may) or 'no value'}" + (f", not {value!r}" if flag.may else "")
            )
        follows = tokens.popleft() if tokens and tokens[0] in flag.may and not equals else value
        values[flag.name] = [follows] if follows else []
        return
    if not equals:
        following = tokens.popleft() if tokens else None
        if following is None or following in known or following == "--":
            raise UsageError(f"{name} needs a value: {name} {flag.metavar}")
        value = following
    values.setdefault(flag.name, []).append(value)


def _hint(name: str, known: Mapping[str, Flag], server: str | None) -> str | None:
    """What may have been meant; SERVER is the command line so far, where a server's words may follow it."""
    # Without the dashes, which all flags have in common.
    near = nearest(name.lstrip("-"), [flag.name.lstrip("-") for flag in known.values()])
    if server is None:
        return f"did you mean --{near}?" if near else "--help lists the flags"
    servers = f"the server's own flags go after --: {server} -- {name} …"
    return f"did you mean --{near}? (T{servers[1:]})" if near else servers
