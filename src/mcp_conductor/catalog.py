"""Things with names that the modules of one package register: where they are, and which was meant.

Nothing is imported before somebody asks for a name.
"""

from typing import Generic, TypeVar

from mcp_conductor.errors import Location, UsageError, nearest

T = TypeVar("T")
_FEW = 12  # names that fit into a hint


class Catalog(Generic[T]):
    """All things of one kind; WHAT is the word for one in messages, PACKAGE has the modules that add them."""

    def __init__(self, what: str, package: str) -> None:
        self._what = what
        self._package = package
        self._things: dict[str, T] = {}
        self._complete = False

    def add(self, name: str, thing: T) -> None:
        """Register THING; for the decorators that the modules of the package use."""
        if name in self._things:
            raise ValueError(f"there are two of the {self._what} {name!r}")
        self._things[name] = thing

    def get(self, name: str, where: Location | None = None) -> T:
        """The thing of this name, which was asked for at WHERE."""
        self._import()
        if name not in self._things:
            near = nearest(name, list(self._things))
            known = f"known: {', '.join(sorted(self._things))}" if len(self._things) <= _FEW else None
            hint = f"did you mean {near!r}?" if near else known
            raise UsageError(f"unknown {self._what} {name!r}", hint=hint, where=where)
        return self._things[name]

    def items(self) -> list[tuple[str, T]]:
        """Everything with its name, in the order of the names."""
        self._import()
        return sorted(self._things.items(), key=lambda item: item[0])

    def __contains__(self, name: object) -> bool:
        self._import()
        return name in self._things

    def _import(self) -> None:
        if self._complete:
            return
        from importlib import import_module
        from pkgutil import iter_modules

        for module in iter_modules(import_module(self._package).__path__, f"{self._package}."):
            import_module(module.name)
        self._complete = True
