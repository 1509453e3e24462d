"""What belongs to a person or a machine: values of the environment, directories, the names of the user and the host.

A suite is shared with others, so nothing of this is expected of a server, whether it was asked or recorded.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

SHORTEST_VALUE = 6  # of a variable: shorter ones are words that stand anywhere
_SHORTEST_NAME = 3
_SHORTEST_PATH = 4
_LONGEST = 10_000
_MANY = 3  # values of the environment that are no coincidence
_USER_VARIABLES = ("USER", "LOGNAME", "USERNAME")
# They tell nothing of a person, and stand in many texts.
_COMMON_NAMES = frozenset(
    ("admin", "app", "default", "docker", "localhost", "node", "nobody", "root", "runner", "test", "user")
)
_HIDDEN = "…"


class Personal:
    """The values that must not be written, and the names of the variables that have them."""

    def __init__(self, environ: Mapping[str, str], *, paths: Iterable[str] = (), host: str = "") -> None:
        users = (environ.get(name, "") for name in _USER_VARIABLES)
        names = {each for each in (*users, host) if len(each) >= _SHORTEST_NAME} - _COMMON_NAMES
        values = {each for each in environ.values() if SHORTEST_VALUE <= len(each) <= _LONGEST}
        self._environ = environ
        self._values = values - _COMMON_NAMES
        self._paths = {each for each in paths if len(each) >= _SHORTEST_PATH}
        self._words = sorted((self._values | names) - self._paths, key=len, reverse=True)

    @cached_property
    def expression(self) -> str:
        """A regular expression for all of it: parts of paths, and whole words of the rest."""
        paths = sorted(self._paths, key=len, reverse=True)
        words = (rf"(?<!\w){re.escape(each)}(?!\w)" for each in self._words)
        return "|".join((*map(re.escape, paths), *words)) or "(?!)"

    @cached_property
    def longest(self) -> int:
        return max((len(each) for each in (*self._paths, *self._words)), default=0)

    def hidden(self, text: str) -> str:
        """TEXT, for people, without any of it."""
        return re.sub(f"(?:{self.expression})", _HIDDEN, text)

    def is_environment(self, text: str) -> bool:
        """Whether TEXT shows the environment, so that the names in it are those of a machine too."""
        found = 0
        for value in self._values:
            found += value in text
            if found >= _MANY:
                return True
        return False

    def is_environment_object(self, members: Mapping[str, object]) -> bool:
        """The same of an object."""
        return sum(isinstance(each, str) and self._environ.get(key) == each for key, each in members.items()) >= _MANY


NOTHING_PERSONAL = Personal({})
