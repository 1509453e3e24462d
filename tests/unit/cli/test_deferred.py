"""A deferred module is there at once, and executed when something of it is asked for."""

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event

import pytest

from mcp_conductor.cli.process import deferred

NAME = "a_module_for_later"
begun, go_on = Event(), Event()


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a module with this text, and imports it while it is deferred."""

    def write(text):
        (tmp_path / f"{NAME}.py").write_text(text)
        monkeypatch.setattr(deferred, "DEFERRED", (NAME,))
        monkeypatch.syspath_prepend(str(tmp_path))
        deferred.defer_modules()
        return import_module(NAME)

    before = list(sys.meta_path)
    yield write
    deferred.defer_no_more()
    assert sys.meta_path == before
    sys.modules.pop(NAME, None)


def test_a_module_is_executed_when_something_of_it_is_asked_for(written):
    module = written("value = 1\nother = value + 1")
    assert "value" not in vars(module)
    assert module.__name__ == NAME
    assert not hasattr(module, "__path__")  # as Python asks any module
    assert "value" not in vars(module)
    assert module.other == 2
    assert (type(module), module.value, sys.modules[NAME]) == (type(sys), 1, module)


def test_names_can_be_imported_from_it(written):
    written("__all__ = ['value']\nvalue = 1\n_hidden = 2")
    found = {}
    exec(f"from {NAME} import *", found)
    assert found["value"] == 1
    assert "_hidden" not in found


def test_what_it_has_not_is_missed_as_of_any_module(written):
    module = written("value = 1")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize(
    "change", [lambda module: setattr(module, "value", 5), lambda module: delattr(module, "value")]
)
def test_what_is_changed_in_it_stays_changed(written, change):
    module = written("value = 1\nother = 2")
    change(module)
    assert module.other == 2
    assert getattr(module, "value", 5) == 5


def test_all_of_it_is_listed(written):
    assert {"value", "other"} <= set(dir(written("value = 1\nother = 2")))


def test_an_error_in_it_is_raised_where_it_is_used_first(written):
    module = written("1 / 0")
    with pytest.raises(ZeroDivisionError):
        _ = module.value


def test_a_thread_waits_while_another_one_executes_it(written):
    module = written(f"from {__name__} import begun, go_on\nbegun.set()\nassert go_on.wait(10)\nvalue = 1")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: module.value)
        assert begun.wait(10)
        second = threads.submit(lambda: module.value)
        go_on.set()
        assert (first.result(10), second.result(10)) == (1, 1)
