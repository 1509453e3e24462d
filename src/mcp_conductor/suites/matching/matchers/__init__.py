"""Matchers by name. A matcher is one decorated function: it is given the value that came and its own arguments, and
says what is wrong, or None. The annotations of its arguments are what a file may write there, its docstring is its
manual.

There are two kinds: texts such as `match:contains:x` (`@matcher`), and keys such as `match:anyOf` (`@special_key`).
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
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
_LONGEST = 10_000  # characters of what a plugin says is wrong


@dataclass(frozen=True, slots=True)
class Matcher:
    """What a text after `match:` can ask for by name."""

    name: str
    judge: Judge

    @property
    def params(self) -> list[inspect.Parameter]:
        """What stands in the file."""
        return [param for param in _params(self.judge) if param.kind is not inspect.Parameter.KEYWORD_ONLY]

    @property
    def wants_tools(self) -> bool:
        """Whether it must also know which tool was called."""
        return any(param.name == "tools" for param in _params(self.judge))

    @property
    def usage(self) -> str:
        return manual_entry(self.judge)[0] or ":".join((f"{PREFIX}{self.name}", *(param.name for param in self.params)))


@cache
def _params(judge: Judge) -> list[inspect.Parameter]:
    """All but the value that came; read once, for it takes longer than most of what matchers do."""
    return list(inspect.signature(judge, eval_str=True).parameters.values())[1:]


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
