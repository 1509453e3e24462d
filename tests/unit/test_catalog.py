"""A catalog finds what the modules of a package register, and says what was meant by a name that it does not know."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from mcp_conductor.catalog import Catalog
from mcp_conductor.errors import Location, UsageError

PACKAGE = "catalog_of_fruit"
OPENING = f"""
from mcp_conductor.catalog import Catalog

FRUIT = Catalog('fruit', {PACKAGE!r})


def make():
    pass


make.__module__ = "mcp_conductor.fruit"  # one of ours
"""
Write = Callable[..., Catalog[str]]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a package of modules with these texts, and gives its catalog."""

    def write(**modules: str) -> Catalog[str]:
        folder = tmp_path / PACKAGE
        folder.mkdir()
        (folder / "__init__.py").write_text(OPENING)
        for name, text in modules.items():
            (folder / f"{name}.py").write_text(f"from {PACKAGE} import FRUIT, make\n{text}\n")
        return import_module(PACKAGE).FRUIT

    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_a_thing_is_found_in_any_module_of_the_package(written):
    fruit = written(a="FRUIT.add('apple', 'red', make)", b="FRUIT.add('banana', 'yellow', make)")
    assert fruit.get("apple") == "red"
    assert fruit.get("banana") == "yellow"


def test_no_module_is_imported_before_the_first_question(written):
    fruit = written(a="FRUIT.add('apple', 'red', make)")
    assert f"{PACKAGE}.a" not in sys.modules
    fruit.items()
    assert f"{PACKAGE}.a" in sys.modules


def test_what_one_package_registers_is_known_without_the_others(written):
    written(a="FRUIT.add('apple', 'red', make)")
    fruit = Catalog("fruit", PACKAGE, "no_such_package")
    assert "apple" not in fruit.known_from(PACKAGE)  # it is in the catalog of the package itself
    with pytest.raises(ModuleNotFoundError):
        fruit.items()


def test_a_name_that_is_known_already_needs_no_other_package(written):
    written()
    fruit = Catalog("fruit", PACKAGE, "no_such_package")
    fruit.add("apple", "red", import_module(PACKAGE).make)
    assert fruit.known_from(PACKAGE) == {"apple": "red"}
    assert fruit.get("apple") == "red"
    with pytest.raises(ModuleNotFoundError):
        fruit.get("banana")


def test_everything_is_listed_by_name(written):
    fruit = written(
        a="FRUIT.add('pear', 'green', make)\nFRUIT.add('fig', 'violet', make)", b="FRUIT.add('kiwi', 'brown', make)"
    )
    assert fruit.items() == [("fig", "violet"), ("kiwi", "brown"), ("pear", "green")]


def test_things_need_not_be_comparable(written):
    fruit = written(a="FRUIT.add('pear', object(), make)\nFRUIT.add('fig', object(), make)")
    assert [name for name, _ in fruit.items()] == ["fig", "pear"]


def test_a_name_can_be_asked_for(written):
    fruit = written(a="FRUIT.add('apple', 'red', make)")
    assert "apple" in fruit
    assert "stone" not in fruit


def test_an_unknown_name_is_answered_with_the_nearest_one(written):
    fruit = written(a="FRUIT.add('apple', 'red', make)")
    place = Location("suite.yaml", 3, 5)
    with pytest.raises(UsageError) as caught:
        fruit.get("aple", place)
    assert caught.value.message == "unknown fruit 'aple'"
    assert caught.value.hint == "did you mean 'apple'?"
    assert caught.value.where == place


@pytest.mark.parametrize(("count", "hint"), [(3, "known: apple0, apple1, apple2"), (13, None)])
def test_a_name_like_no_other_is_told_which_there_are_unless_they_are_many(written, count, hint):
    fruit = written(a="\n".join(f"FRUIT.add('apple{n}', 'red', make)" for n in range(count)))
    with pytest.raises(UsageError) as caught:
        fruit.get("xyz")
    assert (caught.value.hint, caught.value.where) == (hint, None)


def test_a_package_without_modules_has_nothing(written):
    assert written().items() == []


def test_a_name_given_twice_is_a_mistake(written):
    fruit = written()
    make = import_module(PACKAGE).make
    fruit.add("apple", "red", make)
    with pytest.raises(ValueError):  # noqa: PT011
        fruit.add("apple", "green", make)
    assert fruit.get("apple") == "red"


def test_a_module_that_fails_is_not_hidden(written):
    fruit = written(a="1 / 0", b="FRUIT.add('banana', 'yellow', make)")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fruit.get("banana")
