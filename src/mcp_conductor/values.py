"""Dataclasses as the standard library makes them, in a tenth of its time.

The standard library writes and compiles six functions for each class; a third of the start of a program was spent on
that. Here all classes share what can be shared, and `__init__` is written when a few objects were made. What is not
simple (InitVar, methods of its own in place of those, options that are rarely used) is left to the standard library.
"""

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass  # for a reader of types there is no difference
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """What `dataclasses.dataclass` is."""
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        fields = _simple_fields(cls, **options)
        return dataclasses.dataclass(cls, **options) if fields is None else _made(cls, fields, **options)


_OPTIONS = {"frozen", "slots", "kw_only", "eq", "repr"}
_OURS = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__post_init__", "__match_args__"}
# Of the standard library, for itself: that a field is neither a ClassVar nor an InitVar.
_KIND: Any = getattr(dataclasses, "_FIELD", None)
_NO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")  # what annotations may be that make no field, or another one


def _simple_fields(cls: type, **options: bool) -> dict[str, Field[Any]] | None:
    """The fields of CLS; None where the standard library has to make the class."""
    known = cls.__dict__
    if _KIND is None or type(cls) is not type or not options.keys() <= _OPTIONS:
        return None
    if not _OURS.isdisjoint(known) or "__slots__" in known:
        return None
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:-1]):
        params = base.__dict__.get("__dataclass_params__")
        if params is not None and not (isinstance(params, _Params) and params.frozen == options.get("frozen", False)):
            return None
        fields |= base.__dict__.get("__dataclass_fields__", {})
    for name, kind in cls.__annotations__.items():
        if _is_class_variable(kind) and name not in fields and not isinstance(known.get(name), Field):
            continue
        if _might_be_no_field(cls, kind):
            return None
        default = known.get(name, MISSING)
        each: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
        if not each.init or not each.compare or each.hash is not None or each.kw_only is not MISSING:
            return None
        each.name, each.type, each.kw_only = name, kind, options.get("kw_only", False)
        each._field_type = _KIND  # noqa: SLF001  # what `dataclasses.replace` and `fields` look at
        fields[name] = each
    optional = [_is_optional(each) for each in fields.values() if not each.kw_only]
    return fields if optional == sorted(optional) else None  # a mistake, which the standard library reports


def _is_class_variable(kind: Any) -> bool:
    return kind is ClassVar or getattr(kind, "__origin__", None) is ClassVar


def _might_be_no_field(cls: type, kind: Any) -> bool:
    """Whether this annotation of CLS is for the standard library. Of a text, that looks up the first name."""
    if isinstance(kind, str):
        name = _first_name(kind)
        if name in _NO_FIELDS:
            return True
        kind = getattr(sys.modules.get(cls.__module__), name, None)
    special = kind is dataclasses.InitVar or kind is dataclasses.KW_ONLY or _is_class_variable(kind)
    return special or isinstance(kind, dataclasses.InitVar)


def _first_name(annotation: str) -> str:
    """`ClassVar` of `typing.ClassVar[int]`."""
    names = annotation.replace("[", " ").replace("|", " ").replace(".", " . ").split()
    return names[2] if names[1:2] == ["."] and names[2:] else "".join(names[:1])


def _is_optional(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _made(
    cls: type,
    fields: dict[str, Field[Any]],
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,  # noqa: ARG001  # the fields know it
    eq: bool = True,
    repr: bool = True,  # noqa: A002  # its name in the standard library
) -> type:
    members = dict(cls.__dict__) if slots else {}
    for name, each in fields.items():
        if slots:
            members.pop(name, None)
        elif each.default is not MISSING:
            setattr(cls, name, each.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    members |= {
        "__dataclass_fields__": fields,
        "__dataclass_params__": _Params(frozen=frozen),
        "__match_args__": tuple(name for name, each in fields.items() if not each.kw_only),
        "__init__": _init_later,
        "__signature__": _SIGNATURE,
    }
    if repr:
        members["__repr__"] = _repr
    if eq:
        compared = attrgetter(*fields) if len(fields) > 1 else _few(*fields)
        members |= {"__eq__": _eq, "__hash__": _hash if frozen else None, "_compared": staticmethod(compared)}
    if frozen:
        members |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if not slots:
        for name, member in members.items():
            setattr(cls, name, member)
        return cls
    if frozen:
        members |= {"__getstate__": _state, "__setstate__": _set_state}
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    members["__slots__"] = tuple(name for name in fields if name not in inherited)
    members.pop("__dict__", None)
    members.pop("__weakref__", None)
    made = type(cls.__name__, cls.__bases__, members)
    made.__qualname__ = cls.__qualname__
    return made


class _Params:
    """What the standard library asks of a class that another one inherits from."""

    __slots__ = ("frozen",)

    def __init__(self, *, frozen: bool) -> None:
        self.frozen = frozen


class _Factory:
    """The default value of a field that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _few(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of a class that has one or none, as a tuple."""
    return lambda value: tuple(getattr(value, name) for name in names)


def _init_later(self: Any, /, *args: Any, **members: Any) -> None:
    cls = next(each for each in type(self).__mro__ if each.__dict__.get("__init__") is _init_later)
    made = _made_so_far[cls] = _made_so_far.get(cls, 0) + 1
    if made > _FEW_OBJECTS or not _set_fields(cls, self, args, members):
        _settle(cls)(self, *args, **members)


# To write `__init__` takes far longer than to do without it a few times, and of most classes a run makes one object.
_FEW_OBJECTS = 3
_made_so_far: dict[type, int] = {}


def _set_fields(cls: Any, value: Any, args: tuple[Any, ...], members: dict[str, Any]) -> bool:
    """Set the fields of VALUE as `__init__` would: whether what is given fits. If not, that says what is wrong."""
    fields: dict[str, Field[Any]] = cls.__dataclass_fields__
    names = cls.__match_args__  # of the fields that need not be named
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or not members.keys() <= fields.keys() or not given.keys().isdisjoint(members):
        return False
    given.update(members)
    if any(name not in given and not _is_optional(each) for name, each in fields.items()):
        return False
    put = object.__setattr__ if cls.__dataclass_params__.frozen else setattr
    for name, each in fields.items():
        if name in given:
            put(value, name, given[name])
        else:
            factory: Any = each.default_factory
            put(value, name, factory() if each.default is MISSING else each.default)
    return True


def _settle(cls: type) -> Callable[..., None]:
    """Write the `__init__` of CLS now."""
    init = _init_of(cls)
    _made_so_far.pop(cls, None)
    setattr(cls, "__init__", init)  # noqa: B010  # type checkers forbid it in the other way
    return init


class _Signature:
    """What `inspect.signature` and `help` ask a class for: that of its `__init__`, which is written for it."""

    def __get__(self, _: object, owner: type) -> object:
        cls = next(each for each in owner.__mro__ if "__init__" in each.__dict__)
        if cls.__dict__["__init__"] is _init_later:
            _settle(cls)
        raise AttributeError("__signature__")  # now they find it where they look next


def _init_of(cls: Any) -> Callable[..., None]:
    """The function that sets all fields, as a person would write it."""
    fields: dict[str, Field[Any]] = cls.__dataclass_fields__
    frozen = cls.__dataclass_params__.frozen
    names: dict[str, Any] = {"__name__": cls.__module__, "_make": _FACTORY}
    given: dict[bool, list[str]] = {False: [], True: []}  # by whether they have to be named
    lines: list[str] = []
    for name, each in fields.items():
        value = name
        if each.default is not MISSING:
            names[f"_of_{name}"] = each.default
            given[bool(each.kw_only)].append(f"{name}=_of_{name}")
        elif each.default_factory is not MISSING:
            names[f"_of_{name}"] = each.default_factory
            given[bool(each.kw_only)].append(f"{name}=_make")
            value = f"_of_{name}() if {name} is _make else {name}"
        else:
            given[bool(each.kw_only)].append(name)
        if not frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(getattr(cls, name, None), MemberDescriptorType):
            names[f"_set_{name}"] = getattr(cls, name).__set__  # the quickest of the ways to set what is frozen
            lines.append(f"_set_{name}(self, {value})")
        else:
            names["_set"] = object.__setattr__
            lines.append(f"_set(self, {name!r}, {value})")
    order = ["self", *given[False], *(["*", *given[True]] if given[True] else [])]
    exec(f"def __init__({', '.join(order)}):\n " + "\n ".join(lines or ["pass"]), names)  # noqa: S102
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: each.type for name, each in fields.items()} | {"return": None}
    return made


_SIGNATURE = _Signature()


@recursive_repr("...")
def _repr(self: Any) -> str:
    names = [name for name, each in self.__dataclass_fields__.items() if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return self._compared(self) == self._compared(other)


def _hash(self: Any) -> int:
    return hash(self._compared(self))


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    if "__dataclass_fields__" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if "__dataclass_fields__" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)
