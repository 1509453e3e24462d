"""Paths find what they say, and explain why they do not."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.paths import parse_path, scan_path

REPLY = {
    "result": {
        "tools": [
            {"name": "read", "tags": ["a", "b"], "meta": {"n": 1}},
            {"name": "write", "tags": [], "meta": {"n": 2}},
            {"tags": ["c"]},
        ],
        "content": [{"type": "text", "text": '{"items": [{"id": 1}, {"id": 2}]}'}, {"type": "text", "text": "plain"}],
        "_meta": {"a.b/c": "dotted", "0": "digit", "it's": "quote", "x y": "space"},
        "empty": [],
        "nothing": None,
        "by name": {"one": {"v": 1}},
    },
    "notifications": [
        {"method": "notifications/progress", "params": {"progress": 1}},
        {"method": "notifications/message", "params": {"level": "info"}},
        {"method": "notifications/progress", "params": {"progress": 2}},
    ],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("result.tools[0].name", "read"),
        ("result.tools.0.name", "read"),
        ("result.tools[-1].tags[0]", "c"),
        ("result.tools[-3].name", "read"),
        ("result.tools.*.name", ["read", "write", NOTHING]),
        ("result.tools[*].name", ["read", "write", NOTHING]),
        ("result.tools[*].tags[*]", [["a", "b"], [], ["c"]]),
        ("result.tools[*].tags[0]", ["a", NOTHING, "c"]),
        ("result.empty[*].name", []),
        ("result.tools.length", 3),
        ('result._meta["a.b/c"]', "dotted"),
        ("result._meta['a.b/c']", "dotted"),
        ("result._meta[a.b/c]", "dotted"),
        ("result._meta.0", "digit"),
        ("result._meta[0]", "digit"),
        ('result._meta["it\'s"]', "quote"),
        ('result._meta["x y"]', "space"),
        ("result.nothing", None),
        ("$.result.tools[1].name", "write"),
        ("$", REPLY),
        ("notifications[method=notifications/progress].params.progress", [1, 2]),
        ("notifications[method=notifications/progress][-1].params.progress", 2),
        ("notifications[method=notifications/progress][*].params.progress", [1, 2]),
        ("notifications[method == 'notifications/message'].params.level", ["info"]),
        ("notifications[method!=notifications/progress].params.level", ["info"]),
        ("notifications[params.progress=2].method", ["notifications/progress"]),
        ("notifications[method=none]", []),
        ("notifications[method=none][0]", NOTHING),
        ("result.content[0].text | json", {"items": [{"id": 1}, {"id": 2}]}),
        ("result.content[0].text | json | items[1].id", 2),
        ("result.content[0].text|json|items[*].id", [1, 2]),
        ("result.content[0].text | json | items | count", 2),
        ("result.content[*].text | json", [{"items": [{"id": 1}, {"id": 2}]}, NOTHING]),
        ("result.content[*].text | json | items[0].id", [1, NOTHING]),
        ("result.tools | count", 3),
        ("result.tools[*].tags | count", 3),
        ("notifications[method=notifications/progress] | count", 2),
        ("result.tools[*].name | length", [4, 5, NOTHING]),
        ("result._meta | count", 4),
        ("result.content[1].text | length", 5),
        ("result.content[1].text | count", NOTHING),
        ("result.content[1].text | json", NOTHING),
        ("result.tools[3]", NOTHING),
        ("result.tools[-4]", NOTHING),
        ("result.tools.name", NOTHING),
        ("result.tools[0].name.first", NOTHING),
        ("result['by name'].*.v", NOTHING),
        ("result.missing[*].x", NOTHING),
        ("nothing.at.all", NOTHING),
    ],
)
def test_a_path_finds_what_is_there(path, found):
    assert parse_path(path).find(REPLY) == found


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "should begin with a name"),
        ("a..b", "a name is missing after the dot at character 2"),
        (".a", "should begin with a name"),
        ("a.", "a name is missing after the dot"),
        ("a[", "cannot read the bracket at character 2"),
        ("a[]", "cannot read the bracket"),
        ("a[b", "cannot read the bracket"),
        ("a b", "unexpected 'b'"),
        ("a ==", "unexpected '=='"),
        ("a |", "should begin with a name"),
        ("a[0]b", "unexpected 'b'"),
    ],
)
def test_what_is_no_path_is_explained(path, part):
    with pytest.raises(ValueError, match=re.escape(part)):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("resul.tools", "the document has no 'resul'; it has 'result'"),
        ("result.tools[7]", "result.tools is an array of 3 elements, without [7]"),
        ("result.tools.name", "result.tools is an array of 3 elements"),
        ("result.empty[0]", "result.empty is an array of no elements, without [0]"),
        ("result.tools[0].name.x", "result.tools[0].name is the string 'read', without 'x'"),
        ("result._meta[*].x", "result._meta is an object, not an array"),
        ("result.content[1].text | json", "'plain' is not JSON: expecting value at character 1"),
        ("result.content[0].text | json | item", "the document has no 'item'; it has 'items'"),
        ("result.tools | json", "an array is not a text with JSON"),
        ("result.nothing | count", "null cannot be counted"),
        ("notifications[method=x][0]", "notifications[method=x] is an array of no elements, without [0]"),
    ],
)
def test_a_path_says_why_there_is_nothing(path, reason):
    assert parse_path(path).find(REPLY) is NOTHING
    assert parse_path(path).why(REPLY) == reason


def test_a_path_keeps_its_text():
    assert parse_path("  result.tools[*] | count ").text == "result.tools[*] | count"


def test_names_that_python_knows_are_not_there_unless_the_document_has_them():
    assert parse_path("constructor").find({}) is NOTHING
    assert parse_path("result.keys").find(REPLY) is NOTHING


PNG = b"\x89PNG\r\n\x1a\n and more"
BLOBS = {
    "png": b64encode(PNG).decode(),
    "note": b64encode("é".encode()).decode(),
    "data": b64encode(b'{"a": [1]}').decode(),
    "odd": b64encode(b"\xff\xfe").decode(),
    "text": "no base64!",
    "n": 5,
    "all": [{"blob": "YQ=="}, {"blob": "YWI="}],
    "inner": '{"sha256": "s", "base64": "b", "blob": "YQ=="}',
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("png | base64 | sha256", sha256(PNG).hexdigest()),
        ("png | base64 | length", len(PNG)),
        ("png | base64 | type", "image/png"),
        ("note|base64|text", "é"),
        ("note | base64 | type", "unknown"),
        ("data | base64 | json | a[0]", 1),
        ("all[*].blob | base64 | length", [1, 2]),
        ("all[*].blob | base64 | text | count", 2),
        ("text | sha256", sha256(b"no base64!").hexdigest()),
        ("inner | json | sha256", "s"),
        ("inner | json | base64", "b"),
        ("inner | json | blob | base64 | text", "a"),
        ("inner | json | blob | sha256", sha256(b"YQ==").hexdigest()),
    ],
)
def test_filters_look_into_bytes_that_are_written_as_base64(path, value):
    assert parse_path(path).find(BLOBS) == value


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("text | base64 | sha256", "'no base64!' is not base64"),
        ("n | base64 | length", "the number 5 is not base64"),
        ("n | sha256", "the number 5 is not a text"),
        ("odd | base64 | text", "of '//4=', its bytes are not UTF-8"),
        ("note | base64 | json", "of 'w6k=', its bytes are not JSON"),
    ],
)
def test_what_is_no_base64_or_not_as_wanted_is_nothing(path, why):
    found = parse_path(path)
    assert found.find(BLOBS) is NOTHING
    assert found.why(BLOBS) == why


@pytest.mark.parametrize("path", ["png | base64", "png | base64 | name", "png | base64 | sha2567", "png | base64 == x"])
def test_what_is_wanted_of_bytes_must_be_said(path):
    with pytest.raises(ValueError, match="after | base64 comes"):
        scan_path(path)
