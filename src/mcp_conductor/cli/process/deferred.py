"""Modules of Python that others import at the start of our programs, and that are seldom used: they are executed when
something of them is asked for.

`dataclasses` and asyncio import `inspect`, and asyncio imports `ssl`: a tenth of the time of a short run, which needs
neither. `importlib.util.LazyLoader` is not safe among threads in all versions of Python that we support.
"""

import sys
from _thread import RLock  # `threading` takes longer to import than all of this
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

TYPE_CHECKING = False  # as type checkers understand it: `typing` takes longer to import, too
if TYPE_CHECKING:
    from typing import Any

DEFERRED = ("inspect", "ssl", "asyncio.sslproto")


def defer_modules() -> None:
    """Defer those of them that are imported for the first time from now on."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def defer_no_more() -> None:
    """Import every module as Python does, from now on."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)


class _Finder:
    """Finds what Python finds, and defers it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in DEFERRED or (name == "ssl" and PathFinder.find_spec("_ssl") is None):
            return None  # some Pythons have no `_ssl`: those who import `ssl` are to know that at once
        spec: Any = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec  # type: ignore[no-any-return]  # a loader need not inherit from one


_FINDER: "Any" = _Finder()


class _Loader:
    """Does later what another loader would do now."""

    def __init__(self, loader: "Any") -> None:
        self._loader = loader
        self._lock = RLock()
        self._begun = False

    def create_module(self, spec: ModuleSpec) -> "Any":
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Deferred

    def execute(self, module: ModuleType) -> None:
        """Execute MODULE, if that was not begun; another thread waits until it is done."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
            module.__loader__ = self._loader
            self._loader.exec_module(module)
            module.__class__ = ModuleType


class _Deferred(ModuleType):
    """A module that is there, but was not executed."""

    def __getattr__(self, name: str) -> "Any":
        if name.startswith("__") and name != "__all__":  # what is asked of any module
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _execute(self)
        return ModuleType.__getattribute__(self, name)

    def __setattr__(self, name: str, value: "Any") -> None:
        if not name.startswith("__"):
            _execute(self)
        ModuleType.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _execute(self)
        ModuleType.__delattr__(self, name)

    def __dir__(self) -> "Any":
        _execute(self)
        return ModuleType.__dir__(self)


def _execute(module: ModuleType) -> None:
    loader: object = None if module.__spec__ is None else module.__spec__.loader
    if isinstance(loader, _Loader):
        loader.execute(module)
