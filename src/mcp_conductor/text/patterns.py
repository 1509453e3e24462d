"""Regular expressions that are compiled when they are first used: a run needs few of those that its modules have."""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["compiled_later"]

_METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")


class _Later:
    """In place of a pattern; after its first use it has the methods of that pattern itself."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._written = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what is asked of any object, such as by copy
            raise AttributeError(name)
        compiled = re.compile(*self._written)
        self.__dict__.update((each, getattr(compiled, each)) for each in _METHODS)
        return getattr(compiled, name)


if TYPE_CHECKING:
    from re import compile as compiled_later
else:
    compiled_later = _Later
