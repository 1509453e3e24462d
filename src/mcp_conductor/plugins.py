"""Plugins: Python files and installed packages that add names of their own: matchers, checks, presets and more.

A plugin is code, so it runs only because a person asked for it. Each way in which it can fail to load is a UsageError
that names the plugin, the line and what to do: a traceback of ours would hide the one line that matters.
"""

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import wraps
from io import TextIOBase
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mcp_conductor.errors import CannotTellError, ConductorError, Location, UsageError, location_in, nearest
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.text.visible import cut, one_line

if TYPE_CHECKING:
    from mcp_conductor.files.fields import Field
    from mcp_conductor.files.settings_file import SettingsFile

P = ParamSpec("P")
R = TypeVar("R")

ENTRY_POINTS = "mcp_conductor.plugins"  # the group that packages name their modules in
_MODULES = "mcp_conductor_plugins"  # what the modules of files are called after
_OURS = "mcp_conductor."
_LONGEST = 500  # characters of what a plugin raises or returns
# What ends the caller of a function, and not only the function.
PASSED_ON = (ConductorError, KeyboardInterrupt, GeneratorExit)

_files: dict[str, str] = {}  # what messages call a file, by its real path
_packages: dict[str, str] = {}  # the packages of installed plugins that were loaded, by their names
_packages_known = False
_broken: list[str] = []  # what installed plugins failed by that were loaded because of an unknown name
_registered = 0  # names, by all plugins
_loading: list[str] = []  # the files that are being loaded: a plugin may load another
_undo: dict[str, list[Callable[[], object]]] = {}  # what takes back the names of a file
_clear_caches: list[Callable[[], object]] = []


class NameTakenError(UsageError):
    """A plugin registers a name that exists already."""


def load(name: str, directory: str, named_in: str = "", where: Location | None = None) -> None:
    """Load the plugin called NAME: a path as seen from DIRECTORY, or an installed plugin.

    NAMED_IN is the file that names it, as messages call that, and WHERE the place in it.
    """
    if not _is_path(name):
        load_package(name, where)
        return
    path = os.path.realpath(os.path.join(directory, os.path.expanduser(name)))
    folder = os.path.dirname(named_in)
    if path not in _files:
        shown = os.path.normpath(os.path.join(folder, name)) if folder else name
        _load_file(path, shown, where, "the file that names it" if named_in else "the current directory")


def load_those_of(given: "Field", directory: str) -> None:
    """Load the plugins that an array in a file names, which is in DIRECTORY."""
    for each in given.items():
        load(each.text(), directory, given.document.file, given.document.locate(each.path))


def load_those_of_settings(settings: "SettingsFile") -> bool:
    """Load the plugins that SETTINGS name: whether there are any."""
    named = settings.plugins()
    if named is not None:
        load_those_of(named, settings.directory)
    return named is not None


def load_package(name: str, where: Location | None = None) -> None:
    """Load the installed plugin called NAME."""
    known = _entry_points()
    if name not in known:
        near = nearest(name, list(known))
        listed = f"installed: {', '.join(sorted(known))}" if known else "no plugin is installed"
        hint = f"did you mean {near!r}?" if near else f"{listed}; the path of a file has a slash or ends with .py"
        raise UsageError(f"unknown plugin {name!r}", hint=hint, where=where)
    if name not in _packages:
        entry = known[name]
        _packages[name] = entry.module.partition(".")[0]
        of = f" of the package {entry.dist.name}" if entry.dist else ""
        try:
            _run(f"the plugin {name!r}{of}", entry.value, where, entry.load)
        except UsageError:
            del _packages[name]  # it was not loaded
            raise


def load_packages() -> None:
    """Load all installed plugins, because a name is not known.

    To find them takes longer than most programs take to start, so there must be no other reason.
    """
    global _packages_known  # noqa: PLW0603  # a process looks once
    if not _packages_known:
        _packages_known = True
        for name in _entry_points():
            try:
                load_package(name)
            except NameTakenError:
                raise  # which of the two is meant is not known
            except UsageError as error:  # it was not asked for: others may have the name
                _broken.append(error.message)


def loaded_files() -> list[str]:
    """The paths of the plugins that are files, for who wants to know whether one changes."""
    return list(_files)


def forget(path: str) -> None:
    """Take back all that the file at PATH registered, so that it can be loaded again."""
    from linecache import checkcache

    for undo in reversed(_undo.pop(path, [])):
        undo()
    _files.pop(path, None)
    for clear in _clear_caches:
        clear()
    checkcache(path)  # messages show its lines


def when_forgotten(undo: Callable[[], object]) -> None:
    """Have UNDO called when the file that is being loaded is forgotten; for what registers a name."""
    if _loading:
        _undo.setdefault(_loading[-1], []).append(undo)


def cleared_with_plugins(clear: Callable[[], object]) -> None:
    """Have CLEAR called whenever a plugin is forgotten; for what keeps what names mean."""
    _clear_caches.append(clear)


def loaded_plugins_text() -> str:
    """The plugins that were loaded, and those that could not be, for the end of a hint; nothing, if there are none."""
    names = [*_files.values(), *sorted(_packages)]
    return "; ".join([f"plugins: {', '.join(names)}"] * bool(names) + _broken)


def with_plugins(hint: str | None) -> str | None:
    """HINT, and which plugins were looked at."""
    told = loaded_plugins_text()
    return f"{hint} ({told})" if hint and told else hint or told or None


def count_registration(made_by: Callable[..., Any]) -> bool:
    """Count a name that MADE_BY was registered under, if it belongs to a plugin: whether it does."""
    global _registered  # noqa: PLW0603  # `load` compares it before and after a plugin
    if is_ours(made_by):
        return False
    _registered += 1
    return True


def is_ours(made_by: Callable[..., Any]) -> bool:
    return made_by.__module__.startswith(_OURS)


def place_of(made_by: Callable[..., Any]) -> Location | None:
    """Where MADE_BY is written; None if that is not known."""
    code = getattr(inspect.unwrap(made_by), "__code__", None)
    return _place(code, code.co_firstlineno) if isinstance(code, CodeType) else None


def name_of(made_by: Callable[..., Any]) -> str:
    """The plugin that MADE_BY belongs to, as it can stand in a report."""
    where = place_of(made_by)
    return made_by.__module__ if where is None or not made_by.__module__.startswith(_MODULES) else where.file


def guarded(
    made_by: Callable[P, R], what: str, takes: Sequence[str] | None = None, *, exactly: bool = True
) -> Callable[P, R]:
    """MADE_BY; what it raises, if it belongs to a plugin, is reported as a failure of WHAT, not as a bug of ours.

    TAKES names what it is called with, if nothing in a file decides on that; unless EXACTLY, more may follow.
    """
    if is_ours(made_by):
        return made_by
    if inspect.iscoroutinefunction(made_by):
        raise UsageError(f"{what} is an async function", hint="write def, without async", where=place_of(made_by))
    if takes is not None:
        refuse_wrong_params(made_by, what, takes, exactly=exactly)

    @wraps(made_by)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return made_by(*args, **kwargs)
        except PASSED_ON:
            raise
        except BaseException as error:  # SystemExit too: one function must not end the whole run in silence
            raise failure(made_by, what, error) from error

    return call


def refuse_wrong_params(made_by: Callable[..., Any], what: str, takes: Sequence[str], *, exactly: bool = True) -> None:
    """Refuse a function of a plugin that cannot be called with what TAKES names."""
    try:
        params = inspect.signature(made_by)
    except ValueError:  # some functions written in C do not tell
        return
    try:
        (params.bind if exactly else params.bind_partial)(*takes)
    except TypeError:
        wanted = f"({', '.join(takes)}{'' if exactly else ', …'})"
        raise UsageError(
            f"{what} cannot be called: its function has the parameters {cut(str(params), _LONGEST)}",
            hint=f"it is called with {wanted}",
            where=place_of(made_by),
        ) from None


def failure(made_by: Callable[..., Any], what: str, error: BaseException) -> CannotTellError:
    """The error about WHAT, whose function MADE_BY raised ERROR."""
    return CannotTellError(f"{what} raises {error_text(error)}{_at(_origin(error, made_by) or place_of(made_by))}")


def wrong_return(made_by: Callable[..., Any], what: str, returned: object, wanted: str) -> CannotTellError:
    """The error about WHAT, whose function MADE_BY RETURNED something else than WANTED."""
    shown = repr(returned) if isinstance(returned, (str, int, float)) else type(returned).__name__
    text = cut(one_line(shown), _LONGEST)
    place = place_of(made_by)
    at = "" if place is None else f" ({place.file}:{place.line})"
    return CannotTellError(f"{what} returns {text}, but must return {wanted}{at}")


def error_text(error: BaseException) -> str:
    """ERROR on one line that is not too long."""
    text = cut(one_line(str(error)), _LONGEST)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def told_with_place(error: BaseException) -> str:
    """ERROR on one line, with its place if it comes from a plugin."""
    return f"{error_text(error)}{_at(_origin(error))}"


def _at(place: Location | None) -> str:
    return "" if place is None else f" at {place.file}:{place.line}"


def _is_path(name: str) -> bool:
    return name.endswith(".py") or "/" in name or os.sep in name


def _load_file(path: str, shown: str, where: Location | None, seen_from: str) -> None:
    try:
        source = read_bytes(path)
    except OSError as error:
        hint = f"is the path right? It is relative to {seen_from}"
        if os.path.isdir(path):
            hint = "name one Python file; a plugin of several modules is a package that is installed"
        what = str(error.strerror).lower()
        raise UsageError(f"cannot read the plugin {shown}: {what}", hint=hint, where=where) from error
    _files[path] = shown
    _loading.append(path)
    try:
        code = _compile(source, path, shown, where)
        module = ModuleType(f"{_MODULES}.{os.path.basename(path).removesuffix('.py')}_{len(_files)}")
        module.__file__ = path
        sys.modules[module.__name__] = module  # where dataclasses, pickle and inspect look for it
        _run(f"the plugin {shown}", path, where, lambda: exec(code, module.__dict__))  # noqa: S102  # it was asked for
    except UsageError:
        forget(path)  # the half of a plugin is none
        raise
    finally:
        _loading.remove(path)


def _compile(source: bytes, path: str, shown: str, where: Location | None) -> CodeType:
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        text = source.decode(errors="replace")
        place = location_in(text, shown, error.lineno, error.offset or 1) if error.lineno else where
        hint = f"it is read by Python {'.'.join(map(str, sys.version_info[:2]))}"
        raise UsageError(f"the plugin {shown} is not Python: {error.msg}", hint=hint, where=place) from error
    except ValueError as error:  # a NUL
        raise UsageError(f"the plugin {shown} is not Python: {error}", where=where) from error


class _PrintedError(Exception):
    """A plugin printed something while it was loaded."""


class _Stdout(TextIOBase):
    """Stands in for stdout while a plugin is loaded: results and messages stand there, and nothing else may."""

    def writable(self) -> bool:
        return True

    def write(self, _: str) -> int:
        raise _PrintedError


def _run(plugin: str, path: str, where: Location | None, act: Callable[[], object]) -> None:
    """Load PLUGIN by ACT."""
    before = _registered
    try:
        with redirect_stdout(_Stdout()):
            act()
    except UsageError:
        raise  # a name that exists already, which was reported with its place
    except _PrintedError as error:
        hint = "stdout is for results: print to sys.stderr, or not while the plugin is loaded"
        raise UsageError(f"{plugin} prints to stdout", hint=hint, where=_last(error, path) or where) from None
    except SystemExit as error:
        code = "" if error.code is None else cut(one_line(repr(error.code)), _LONGEST)
        raise UsageError(
            f"{plugin} ends the program: sys.exit({code})",
            hint="a plugin registers names and returns; what runs alone belongs below if __name__ == '__main__'",
            where=_last(error, path) or where,
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        place = _last(error, path) or where
        raise UsageError(f"{plugin} raises {error_text(error)}", hint=_hint(error, path), where=place) from error
    if _registered == before and path in _files:  # a package may have been imported before
        hint = "use a decorator: from mcp_conductor import matcher, check, preset, step, reporter"
        raise UsageError(f"{plugin} registers nothing", hint=hint, where=where)


def _hint(error: BaseException, path: str) -> str | None:
    if isinstance(error, ModuleNotFoundError) and path not in _files and path.partition(":")[0] == error.name:
        return f"the package is not whole: its entry point is {path}"
    if isinstance(error, ModuleNotFoundError):
        return f"install it where we are installed ({sys.executable}); a plugin cannot import files next to it"
    return f"python {_files[path]} shows all of the traceback" if path in _files else None


def _last(error: BaseException, path: str) -> Location | None:
    """The innermost place in the plugin that ERROR came through; of a package, where it came from."""
    if path in _files:
        return _innermost(error, lambda trace: trace.tb_frame.f_code.co_filename == path)
    return _innermost(error, lambda trace: not _is_machinery(trace))


def _origin(error: BaseException, made_by: Callable[..., Any] | None = None) -> Location | None:
    """The innermost place in a plugin, or in the file of MADE_BY, that ERROR came through."""
    code = getattr(inspect.unwrap(made_by), "__code__", None) if made_by is not None else None
    own = code.co_filename if isinstance(code, CodeType) else ""
    return _innermost(error, lambda trace: trace.tb_frame.f_code.co_filename in (own, *_files) or _is_packaged(trace))


def _innermost(error: BaseException, is_meant: Callable[[TracebackType], bool]) -> Location | None:
    place: Location | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if is_meant(trace):
            place = _place(trace.tb_frame.f_code, trace.tb_lineno)
        trace = trace.tb_next
    return place


def _module(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", ""))


def _is_machinery(trace: TracebackType) -> bool:
    return _module(trace).startswith((_OURS, "importlib", "_frozen_importlib"))


def _is_packaged(trace: TracebackType) -> bool:
    return _module(trace).partition(".")[0] in _packages.values()


def _place(code: CodeType, line: int) -> Location:
    from linecache import getline

    file = _files.get(code.co_filename, code.co_filename)
    source = getline(code.co_filename, line).rstrip()
    column = len(source) - len(source.lstrip()) + 1
    return Location(file, line, column, source, (column, max(column, len(source)) + 1))


def _entry_points() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=ENTRY_POINTS)}
