"""The texts after `match:` in a file, read: which matcher, with which arguments, or what the mistake is."""

import re
from functools import cache
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.plugins import cleared_with_plugins, with_plugins
from mcp_conductor.suites.matching.matchers import MATCHERS, PREFIX, SPECIAL_KEYS, Judge, Matcher, Tools
from mcp_conductor.suites.matching.matchers.arguments import needed, read_arguments
from mcp_conductor.suites.matching.matchers.regexes import read_regex
from mcp_conductor.suites.matching.matchers.text import has_part, resembles
from mcp_conductor.values import dataclass

_NAME = re.compile(r"[A-Za-z]\w*(?=:|\Z)")
# What makes a text that begins with no name a regular expression.
_REGEX_SIGNS = re.compile(r"\.\*|\.\+|\\[dwsb]|[\^$\[(|?*+{]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A matcher with its arguments."""

    text: str  # as it stands in the file after `match:`
    judge: Judge
    arguments: tuple[Any, ...]
    negated: bool
    optional: bool = False  # whether the value may be missing altogether
    wants_tools: bool = False

    def complaint(self, actual: Any, tools: Tools | None = None) -> str | None:
        """What is wrong with ACTUAL, if anything is."""
        known = {"tools": tools} if self.wants_tools else {}
        found = self.judge(actual, *self.arguments, **known)
        if not self.negated:
            return found
        return f"matches {self.text.removeprefix('not:')!r}, but must not" if found is None else None


@cache  # a suite says the same a thousand times
def read_pattern(text: str) -> Pattern:
    """The pattern that TEXT is, `match:` taken off; raises UsageError for what can only be a mistake."""
    asked = text.removeprefix("not:")
    negated = asked != text
    name, colon, rest = asked.partition(":")
    # What begins with a small letter may be a name that an installed plugin knows; other texts are looked for.
    if name not in MATCHERS and not (name[:1].islower() and _NAME.fullmatch(name) and MATCHERS.find(name)):
        _refuse_mistakes(asked, negated=negated)
        return _pattern_without_name(text, asked, negated=negated)
    found = MATCHERS.get(name)
    params = found.params
    if not colon and needed(params):
        raise UsageError(f"has nothing after {name!r}", hint=_advice(found.usage, text))
    if colon and not params:
        raise UsageError(f"has {rest!r} after {name!r}, which takes no argument", hint=_advice(found.usage, text))
    try:
        arguments = read_arguments(rest, params) if colon else ()
    except ValueError as error:
        raise UsageError(f"cannot be used: {error}", hint=f"it is written {found.usage}") from None
    optional = negated and name == "exists"
    return Pattern(text, found.judge, arguments, negated, optional, found.wants_tools)


cleared_with_plugins(read_pattern.cache_clear)


def _pattern_without_name(text: str, asked: str, *, negated: bool) -> Pattern:
    """A regular expression, if it looks like one; else a part of the text."""
    if not _REGEX_SIGNS.search(asked):
        return Pattern(text, has_part, (asked,), negated)
    try:
        return Pattern(text, resembles, (read_regex(asked),), negated)
    except ValueError as error:
        hint = _as_text(text)
        raise UsageError(f"cannot be used: {error}", hint=hint) from None


def _refuse_mistakes(asked: str, *, negated: bool) -> None:
    """A text without the name of a matcher is searched for as it is; but a misspelled name is refused."""
    text = f"{'not:' * negated}{asked}"
    if not asked.strip():
        raise UsageError("matches everything", hint=f"{PREFIX}any says so; an empty text is {PREFIX}stringEmpty")
    if asked != asked.lstrip() and (found := _NAME.match(asked.lstrip())) and found[0] in MATCHERS:
        raise UsageError(
            f"has white space before {found[0]!r}", hint=f"write {PREFIX}{text.replace(asked, asked.lstrip())}"
        )
    found = _NAME.match(asked)
    if found is None or asked[found.end() :].startswith(": "):
        return
    word, has_colon = found[0], found.end() < len(asked)
    if word in SPECIAL_KEYS:
        hint = f"write `{PREFIX}{word}: …`, a mapping; {_as_text(text)}"
        raise UsageError(f"has {word!r} in a text, which is a key", hint=hint)
    if near := _near(word, has_colon=has_colon):
        meant = text.replace(word, near.name, 1) if near.params else f"{'not:' * negated}{near.name}"
        hint = f"did you mean {PREFIX + meant!r}? F{_as_text(text)[1:]}"
        raise UsageError(f"asks for the unknown matcher {word!r}", hint=with_plugins(hint))
    # Under `not:` it would pass for every value, and the mistake would not be noticed.
    if has_colon and (negated or (word[0].islower() and not asked.startswith("://", len(word)))):
        hint = _as_text(text)
        raise UsageError(f"asks for the unknown matcher {word!r}", hint=with_plugins(hint))


def _near(word: str, *, has_colon: bool) -> Matcher | None:
    names = {name.lower(): each for name, each in MATCHERS.items() if has_colon or not each.params}
    return names.get(nearest(word.lower(), list(names)) or "")


def _advice(usage: str, text: str) -> str:
    return f"it is written {usage}; {_as_text(text)}"


def _as_text(text: str) -> str:
    """The two ways to expect what stands after `match:` as it is."""
    asked = text.removeprefix("not:")
    prefix = PREFIX + text.removesuffix(asked)
    return f"for exactly this text, write {prefix}literal:{asked}; to find it in another, {prefix}contains:{asked}"


def forgotten_prefix(text: str) -> str | None:
    """What TEXT was probably meant to be, if it is a pattern but for `match:`."""
    asked = text.removeprefix("not:")
    name, colon, _ = asked.partition(":")
    if name in MATCHERS and bool(colon) == bool(MATCHERS.get(name).params):
        return f"did you mean {PREFIX + text!r}?"
    return None
