"""URIs on a bridge: each means one resource of one server, and goes on to mean it."""

import pytest

from mcp_conductor.bridge import uris as module
from mcp_conductor.bridge.uris import Uris, with_uri, with_uris


def uris():
    return Uris({"a": "a", "b": "b", "my server": "my_server"})


def test_a_uri_stays_as_it_is_when_another_server_with_it_comes_later():
    known = uris()
    assert known.listed("b", "x://1") == "x://1"
    assert known.listed("a", "x://1") == "bridge://a/x://1"
    assert known.listed("b", "x://1") == "x://1"
    assert known.find("x://1") == ("b", "x://1")
    assert known.find("bridge://a/x://1") == ("a", "x://1")


def test_any_uri_of_any_server_can_be_named():
    assert uris().find("bridge://my_server/y://2?z=/#1") == ("my server", "y://2?z=/#1")
    assert uris().find("bridge://none/y://2") is None
    assert uris().find("y://2") is None


def test_a_uri_that_only_a_result_names_belongs_to_the_server_of_that_result():
    known = uris()
    assert known.linked("a", "x://new") == "x://new"
    assert known.linked("b", "x://new") == "bridge://b/x://new"
    assert known.find("x://new") == ("a", "x://new")


def test_only_so_many_uris_of_results_are_kept_and_the_others_can_be_named_too(monkeypatch):
    monkeypatch.setattr(module, "MOST_LINKS", 2)
    known = uris()
    assert [known.linked("a", f"x://{n}") for n in range(3)] == ["x://0", "x://1", "bridge://a/x://2"]
    assert known.linked("a", "x://0") == "x://0"


def test_a_uri_that_fits_a_template_belongs_to_the_server_of_the_template():
    known = uris()
    assert known.template("a", "x://{id}") == "x://{id}"
    assert known.find("x://7") == ("a", "x://7")
    assert known.linked("a", "x://7") == "x://7"
    assert known.listed("b", "x://7") == "bridge://b/x://7"


@pytest.mark.parametrize("other", ["x://{id}", "x://{name}", "x://{+path}", "x://logs/{id}", "{+uri}"])
def test_a_template_that_may_make_uris_of_another_is_changed(other):
    known = uris()
    known.template("a", "x://{id}")
    assert known.template("b", other) == f"bridge://b/{other}"
    assert known.own_template(f"bridge://b/{other}") == ("b", other)
    assert known.own_template("x://{id}") == ("a", "x://{id}")


def test_a_template_with_another_beginning_stays_as_it_is():
    known = uris()
    known.template("a", "x://text/{id}")
    assert known.template("b", "x://blob/{id}") == "x://blob/{id}"
    assert known.find("x://blob/1") == ("b", "x://blob/1")


def rename(uri):
    return f"new:{uri}"


def test_uris_are_renamed_in_every_place_where_they_name_a_resource():
    link = {"type": "resource_link", "uri": "u", "name": "n"}
    held = {"type": "resource", "resource": {"uri": "u", "text": "u"}}
    text = {"type": "text", "text": "u"}
    changed = with_uris({"content": [link, held, text], "isError": False}, rename)
    assert changed["content"] == [{**link, "uri": "new:u"}, {**held, "resource": {"uri": "new:u", "text": "u"}}, text]
    assert with_uris({"contents": [{"uri": "u"}]}, rename) == {"contents": [{"uri": "new:u"}]}
    assert with_uris({"messages": [{"content": held}, {"content": [link]}]}, rename)["messages"] == [
        {"content": {**held, "resource": {"uri": "new:u", "text": "u"}}},
        {"content": [{**link, "uri": "new:u"}]},
    ]
    meta = {"ui": {"resourceUri": "u", "x": 1}, "ui/resourceUri": "u"}
    assert with_uris({"_meta": meta}, rename)["_meta"] == {
        "ui": {"resourceUri": "new:u", "x": 1},
        "ui/resourceUri": "new:u",
    }
    assert with_uri({"uri": "u"}, rename) == {"uri": "new:u"}


@pytest.mark.parametrize(
    "odd", [{}, {"content": None}, {"content": [1, None, {"type": "resource"}]}, {"contents": {}}, {"messages": [3]}]
)
def test_what_has_another_shape_is_left_as_it_is(odd):
    assert with_uris(odd, rename) is odd
