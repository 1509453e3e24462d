"""Our dataclasses are those of the standard library in everything but the time that they take."""

import copy
import dataclasses
import inspect
import pickle
import typing  # noqa: F401  # for annotations that are texts
from typing import ClassVar, Generic, TypeVar

import pytest

from mcp_conductor import values

T = TypeVar("T")
Shared = ClassVar[int]  # as a class may call it
MAKERS = {"ours": values.dataclass, "the standard library's": dataclasses.dataclass}
OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"kw_only": True},
    {"frozen": True, "slots": True, "kw_only": True},
    {"eq": False, "slots": True},
    {"repr": False},
]


def bodies():
    class Nothing:
        """It has no fields."""

    class One:
        """It has one."""

        x: int

    class Several:
        """It has several, some with defaults."""

        x: int
        y: str = "why"
        z: list[int] = dataclasses.field(default_factory=list)
        secret: str = dataclasses.field(default="hidden", repr=False)

        @property
        def double(self) -> int:
            return 2 * self.x

    class Uncompared:
        x: int
        y: int = dataclasses.field(default=1, compare=False)

    class WithClassVar:
        """It has something that is no field."""

        x: int
        shared: ClassVar[int] = 1

    class WithTexts:
        """Its annotations are texts."""

        x: "int"
        y: "list[WithTexts] | None" = None
        z: "unknown.Name" = 3  # noqa: F821  # known to type checkers only

    class WithClassVarInText:
        x: int
        shared: "ClassVar[int]" = 1
        other: "typing.ClassVar" = 2
        alias: "Shared" = 3

    class WithInitVarInText:
        x: "dataclasses.InitVar[int]"
        y: int = 1

    class WithPostInit:
        x: int

        def __post_init__(self) -> None:
            assert self.x >= 0

    class WithOwnEquality:  # noqa: PLW1641  # as some classes are
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    simple = (Nothing, One, Several, WithClassVar, WithTexts)
    return (*simple, WithClassVarInText, WithInitVarInText, Uncompared, WithPostInit, WithOwnEquality)


NAMES = [body.__name__ for body in bodies()]


def outcome_of(do, *args, **members):
    """What comes of it: a value, or the kind and the text of an error."""
    try:
        return do(*args, **members)
    except Exception as error:  # noqa: BLE001  # any error is a result here
        return type(error).__name__, str(error)


def facts(make, name, options):
    """Everything that can be seen of a class that is made of this body."""
    body = next(each for each in bodies() if each.__name__ == name)
    made = make(**options)(body)
    arguments = [(), (1,), (1, "a"), (2, "a", [3]), (1, 2, 3, 4), (1, 2, 3, 4, 5)]
    named = [{}, {"x": 1}, {"x": 1, "y": 2}, {"x": -1, "z": []}, {"q": 1}]
    objects = []
    for args in arguments:
        for members in named:
            found = outcome_of(made, *args, **members)
            if isinstance(found, tuple):
                yield found[0], found[1].rpartition(".")[2]
            else:
                objects.append(found)
    for one in objects:
        yield repr(one).partition(" at 0x")[0]
        yield outcome_of(hash, one) if options.get("eq", True) else None
        yield [one == other for other in objects], [one != other for other in objects], one == 1
        if hasattr(one, "x"):
            yield outcome_of(setattr, one, "x", 5), outcome_of(delattr, one, "x") if options.get("frozen") else None
        if not options.get("slots"):  # otherwise it is refused in a way that depends on the version of Python
            yield outcome_of(setattr, one, "new", 5), repr(getattr(made, "y", None))
        yield {each.name: getattr(one, each.name, "gone") for each in dataclasses.fields(one)}
        yield repr(outcome_of(dataclasses.replace, one, x=7)).partition(" at 0x")[0]
        yield repr(outcome_of(copy.deepcopy, one)).partition(" at 0x")[0], outcome_of(dataclasses.asdict, one)
        yield hasattr(one, "__dict__"), hasattr(made, "y")
    yield made.__match_args__, made.__doc__, made.__qualname__, made.__module__, dataclasses.is_dataclass(made)
    yield [(each.name, each.type, each.kw_only) for each in dataclasses.fields(made)]
    if objects:
        yield [(each.name, each.kind) for each in inspect.signature(made).parameters.values()]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_as_the_standard_library_makes_it(name, options):
    ours, theirs = (list(facts(make, name, options)) for make in MAKERS.values())
    assert ours == theirs


@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_a_class_can_inherit_from_one(make):
    @make(frozen=True, slots=True)
    class Base:
        x: int
        y: int = 2

    @make(frozen=True, slots=True)
    class Derived(Base):
        z: int = 3

    class Other(Base):
        pass

    assert repr(Derived(1)).endswith("Derived(x=1, y=2, z=3)")
    assert Derived(1) != Base(1)
    other = Other(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        other.x = 5
    assert other != Base(1)
    assert (other.x, other.y) == (1, 2)


@pytest.mark.parametrize("base", [{}, {"kw_only": True}, {"slots": False}], ids=str)
@pytest.mark.parametrize("derived", [{}, {"kw_only": True}, {"slots": False}], ids=str)
def test_what_inherits_is_as_the_standard_library_makes_it(base, derived):
    def made(make):
        @make(**({"frozen": True, "slots": True} | base))
        class Base(Generic[T]):
            x: int
            y: int = 2

        class Derived(Base[T]):
            """It changes a default, and adds one."""

            y: int = 3
            z: list[T] = dataclasses.field(default_factory=list)

        return make(**({"frozen": True, "slots": True} | derived))(Derived)

    def seen(make):
        kind = made(make)
        for given in ({"x": 1}, {"x": 1, "y": 5, "z": [6]}, {}):
            one = outcome_of(kind, **given)
            yield repr(one), dataclasses.asdict(one) if dataclasses.is_dataclass(one) else None
            yield outcome_of(setattr, one, "y", 9)[:1] if dataclasses.is_dataclass(one) else None
        yield outcome_of(kind, 1, 2, [3])
        yield [(each.name, each.kind) for each in inspect.signature(kind).parameters.values()], kind.__match_args__

    assert list(map(str, seen(MAKERS["ours"]))) == list(map(str, seen(MAKERS["the standard library's"])))


@values.dataclass(frozen=True, slots=True)
class Pickled:
    """At the top of a module, where pickle finds it."""

    x: int
    y: list[int] = dataclasses.field(default_factory=list)


def test_an_object_can_be_pickled():
    assert pickle.loads(pickle.dumps(Pickled(1, [2]))) == Pickled(1, [2])


def test_a_field_without_a_default_after_one_with_is_refused():
    class Wrong:
        x: int = 1
        y: int

    with pytest.raises(TypeError):
        values.dataclass(Wrong)
    assert values.dataclass(kw_only=True)(Wrong)(y=2).y == 2


def test_most_classes_are_made_without_the_standard_library(monkeypatch):
    made = []
    monkeypatch.setattr(dataclasses, "dataclass", lambda cls, **_: made.append(cls))
    for options in ({"frozen": True, "slots": True}, {"slots": True}, {"frozen": True, "slots": True, "kw_only": True}):
        for body in bodies()[:5]:
            values.dataclass(**options)(body)
    assert made == []


def test_the_first_objects_of_a_class_are_made_as_all_others():
    @values.dataclass(frozen=True)
    class Made:
        x: int
        y: list[int] = dataclasses.field(default_factory=list)
        z: int = 3

    written_later = values._init_later
    objects = [Made(1, z=2)]
    assert Made.__init__ is written_later
    objects += [Made(x=1, z=2) for _ in range(5)]
    assert Made.__init__ is not written_later
    assert objects == [Made(1, [], 2)] * 6
    assert len({id(each.y) for each in objects}) == 6


@pytest.mark.parametrize("maker", MAKERS)
def test_the_signature_of_a_class_is_known_before_an_object_is_made(maker):
    @MAKERS[maker](frozen=True)
    class Made:
        x: int
        y: list[int] = dataclasses.field(default_factory=list)

    class Own(Made):
        def __init__(self, z: str) -> None:
            super().__init__(len(z))

    assert str(inspect.signature(Made)) == "(x: int, y: list[int] = <factory>) -> None"
    assert str(inspect.signature(Own)) == "(z: str) -> None"
    assert Made.__init__.__module__ == __name__
    assert Own("abc").x == 3
