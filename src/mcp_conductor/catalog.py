"""Things with names: those that the modules of some packages register, and those of plugins.

Nothing is imported before a name is asked for. A plugin registers by the same decorators as we do; a name that exists
already is refused, in any order of registration.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from mcp_conductor.errors import Location, UsageError, nearest
from mcp_conductor.plugins import (
    NameTakenError,
    count_registration,
    is_ours,
    load_packages,
    place_of,
    when_forgotten,
    with_plugins,
)

T = TypeVar("T")
_FEW = 12  # names that fit into a hint
_MODULE_ENDINGS = (".py", ".pyc")


class Catalog(Generic[T]):
    """All things of one kind; WHAT is the word for one in messages, PACKAGES have the modules that add them.

    `package.*.name` means the module of that name in each package in `package` that has one.
    """

    def __init__(self, what: str, *packages: str) -> None:
        self._what = what
        self._packages = packages
        self._things: dict[str, T] = {}
        self._makers: dict[str, Callable[..., Any]] = {}
        self._imported: set[str] = set()

    def add(self, name: str, thing: T, made_by: Callable[..., Any]) -> None:
        """Register THING, which the function MADE_BY stands for; for decorators."""
        if count_registration(made_by):
            self._import()  # a name of ours is known only then
        if name in self._things:
            raise self._clash(name, made_by, self._makers[name])
        self._things[name] = thing
        self._makers[name] = made_by
        if not is_ours(made_by):
            when_forgotten(lambda: (self._things.pop(name), self._makers.pop(name)))

    def get(self, name: str, where: Location | None = None) -> T:
        """The thing of this name, which was asked for at WHERE."""
        found = self.find(name)
        if found is None:
            known = f"known: {', '.join(sorted(self._things))}" if len(self._things) <= _FEW else None
            near = nearest(name, list(self._things))
            hint = f"did you mean {near!r}?" if near else known
            raise UsageError(f"unknown {self._what} {name!r}", hint=with_plugins(hint), where=where)
        return found

    def find(self, name: str) -> T | None:
        """The thing of this name, which may be in any installed plugin; None if it is unknown."""
        if name not in self:
            load_packages()
        return self._things.get(name)

    def __iter__(self) -> Iterator[str]:
        """The names in the order in which they were registered."""
        self._import()
        return iter(self._things)

    def items(self) -> list[tuple[str, T]]:
        """Everything with its name, in the order of the names; of plugins, those that were loaded."""
        self._import()
        return sorted(self._things.items(), key=lambda item: item[0])

    def __contains__(self, name: object) -> bool:
        if name not in self._things:
            self._import()
        return name in self._things

    def known_from(self, package: str) -> Mapping[str, T]:
        """All that is known when the modules of this PACKAGE are imported; those of the others may be missing."""
        self._import_from(package)
        return self._things

    def _clash(self, name: str, later: Callable[..., Any], first: Callable[..., Any]) -> Exception:
        if is_ours(later):
            return ValueError(f"there are two of the {self._what} {name!r}")
        place = f"built in ({first.__module__})" if is_ours(first) else f"registered at {place_of(first)}"
        return NameTakenError(
            f"the {self._what} {name!r} exists already: it is {place}",
            hint="choose another name, for example one that begins with the name of your project",
            where=place_of(later),
        )

    def _import(self) -> None:
        for package in self._packages:
            self._import_from(package)

    def _import_from(self, package: str) -> None:
        if package in self._imported:
            return
        from importlib import import_module

        outer, _, name = package.partition(".*.")
        for module in modules_in(getattr(import_module(outer), "__path__", ())):
            if not name:
                import_module(f"{outer}.{module}")
            elif name in modules_in(import_module(f"{outer}.{module}").__path__):
                import_module(f"{outer}.{module}.{name}")
        self._imported.add(package)


def _is_module(folder: str, name: str) -> bool:
    return name.endswith(_MODULE_ENDINGS) or os.path.isfile(os.path.join(folder, name, "__init__.py"))


def modules_in(folders: Iterable[str]) -> Iterator[str]:
    """The names of the modules and packages in a package, sorted."""
    for folder in folders:
        if os.path.isdir(folder):
            names = {name.partition(".")[0] for name in os.listdir(folder) if _is_module(folder, name)}
            yield from sorted(names - {"__init__"})
        else:  # such as a zip file
            from pkgutil import iter_modules  # with `inspect`, which most runs do not need

            yield from (module.name for module in iter_modules([folder]))
