"""Matchers by name. A matcher is one decorated function: it is given the value that came and its own arguments, and
says what is wrong, or None. The annotations of its arguments are what a file may write there, its docstring is its
manual.

There are two kinds: texts such as `match:contains:x` (`@matcher`), and keys such as `match:anyOf` (`@special_key`).
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeAlias

from mcp_conductor.catalog import Catalog
from mcp_conductor.plugins import guarded, is_ours, wrong_return
from mcp_conductor.protocol import Json
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

PREFIX = "match:"
_NAME = re.compile(r"[A-Za-z]\w*")
# Instead of anything else, it leaves that open: what is not known yet can be read like the rest.
ANYTHING = "match:any"
# What tools/list says of the tool that was called, under its name.
Tools: TypeAlias = Mapping[str, Json]
Judge = Callable[..., str | None]
_VARIABLE = 0x04 | 0x08  # `inspect.CO_VARARGS` and `CO_VARKEYWORDS`: *args, **kwargs
_LONGEST = 10_000  # characters of what a plugin says is wrong


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a matcher's function."""

    name: str
    annotation: Any
    needed: bool
    by_name: bool = False  # such as `tools`, which does not stand in a file


@dataclass(frozen=True, slots=True)
class Matcher:
    """What a text after `match:` can ask for by name."""

    name: str
    judge: Judge

    @property
    def params(self) -> list[Param]:
        """What stands in the file."""
        return [param for param in params_of(self.judge) if not param.by_name]

    @property
    def wants_tools(self) -> bool:
        """Whether it must also know which tool was called."""
        return any(param.name == "tools" for param in params_of(self.judge))

    @property
    def usage(self) -> str:
        return manual_entry(self.judge)[0] or ":".join((f"{PREFIX}{self.name}", *(param.name for param in self.params)))


@cache
def params_of(judge: Judge) -> list[Param]:
    """All but the value that came; read once, for it takes longer than most of what matchers do."""
    if _is_simple(judge):
        code, notes, optional = judge.__code__, judge.__annotations__, len(judge.__defaults__ or ())
        placed, named = code.co_argcount, code.co_kwonlyargcount
        return [
            Param(name, notes.get(name, str), not placed - optional <= number < placed, by_name=number >= placed)
            for number, name in enumerate(code.co_varnames[: placed + named])
        ][1:]
    params = list(inspect.signature(judge, eval_str=True).parameters.values())[1:]
    empty, by_name = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    return [
        Param(
            each.name, str if each.annotation is empty else each.annotation, each.default is empty, each.kind is by_name
        )
        for each in params
    ]


def _is_simple(judge: Judge) -> bool:
    """Whether it can be read without `inspect`, which most runs do not need otherwise; all of ours are simple."""
    if type(judge) is not FunctionType or hasattr(judge, "__wrapped__") or judge.__kwdefaults__:
        return False
    texts = any(isinstance(each, str) for each in judge.__annotations__.values())
    return not texts and not judge.__code__.co_flags & (_VARIABLE)


MATCHERS: Catalog[Matcher] = Catalog("matcher", __name__)
SPECIAL_KEYS: Catalog[Callable[..., Any]] = Catalog("special key", __name__)


def matcher(name: str) -> Callable[[Judge], Judge]:
    """Register a matcher that stands in a text."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TypeError(f'a matcher has a name of letters and digits, as in @matcher("isOdd"), not {name!r}')

    def register(judge: Judge) -> Judge:
        MATCHERS.add(name, Matcher(name, judging(judge, f"the matcher {name!r}")), judge)
        return judge

    return register


def judging(judge: Judge, what: str) -> Judge:
    """JUDGE, as it can be relied on: of a plugin, a mistake in it must not look like an answer."""
    if is_ours(judge):
        return judge
    call = guarded(judge, what, ["actual"], exactly=False)

    @wraps(judge)
    def checked(*args: Any, **kwargs: Any) -> str | None:
        found = call(*args, **kwargs)
        if found is not None and not isinstance(found, str):
            raise wrong_return(judge, what, found, "None, or a text that says what is wrong")
        return None if found is None else cut(found, _LONGEST)

    return checked


def special_key(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a matcher that is a key of a mapping; its function compiles what stands below the key."""

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        SPECIAL_KEYS.add(name, make, make)
        return make

    return register


def manual_entry(function: Callable[..., Any]) -> tuple[str, str]:
    """How what FUNCTION judges is written, and what it means: the first paragraph of its docstring."""
    usage, _, doc = " ".join((function.__doc__ or "").split("\n\n")[0].split()).partition(" — ")
    return usage, doc
