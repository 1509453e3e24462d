"""The headers of 2026-07-28: how values are written, which request has which, and which annotations of tools count."""

import base64

import pytest

from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.http_headers import annotations_of, decoded, encoded, mismatch, routing_headers
from mcp_conductor.protocol.message import read

VERSION = "2026-07-28"
OPENING = [("MCP-Protocol-Version", VERSION)]


def wrapped(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def request(method: str, **params: object) -> dict:
    meta = {f"{META}protocolVersion": VERSION, f"{META}clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("a  b   c", "a  b   c"),
        ("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        ("x", "x"),
        ("true", "true"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1, "1"),
        (-42, "-42"),
        (2**70, "1180591620717411303424"),
        ("=?base64?", "=?base64?"),
        ("?=", "?="),
        ("=?utf-8?q?a?=", "=?utf-8?q?a?="),
        ("x=?base64?YQ==?=", "x=?base64?YQ==?="),
    ],
)
def test_visible_ascii_stands_as_it_is(value, text):
    assert encoded(value) == text


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        " a",
        "a ",
        "\ta",
        "a\tb",
        "a\nb",
        "a\r\nX-Evil: 1",
        "a\0b",
        "a\x7fb",
        "é",
        "Zürich 🏔",
        "\u00a0",
        "=?base64?YQ==?=",
        "=?base64??=",
        "=?base64?not base64 at all?=",
        "=?base64?\n?=",
    ],
)
def test_everything_else_is_base64_behind_the_sentinel(value):
    assert encoded(value) == wrapped(value)


def test_the_encoding_of_an_encoding_is_another_encoding():
    assert encoded(encoded("é")) == wrapped(wrapped("é"))


def test_a_lone_surrogate_is_no_failure():
    assert encoded("\ud800").startswith("=?base64?")


@pytest.mark.parametrize("value", ["é" * 1000, "\x00" * 100])
def test_an_encoding_is_one_line(value):
    assert "\n" not in encoded(value)


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "add", "arguments": {}}, "add"),
        ("prompts/get", {"name": "greet"}, "greet"),
        ("resources/read", {"uri": "file:///a b"}, "file:///a b"),
        ("resources/read", {"uri": "file:///é"}, wrapped("file:///é")),
        ("tools/call", {"name": " add"}, wrapped(" add")),
        ("tasks/get", {"taskId": "t1"}, "t1"),
        ("tasks/cancel", {"taskId": "t1"}, "t1"),
        ("tasks/update", {"taskId": "t1"}, "t1"),
    ],
)
def test_a_request_for_one_thing_names_it(method, params, name):
    headers = routing_headers(request(method, **params), {})
    assert headers == [*OPENING, ("Mcp-Method", method), ("Mcp-Name", name)]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/list", {"name": "not mine"}),
        ("resources/list", {"uri": "not mine"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ("subscriptions/listen", {"notifications": {}}),
        ("tools/call", {}),
        ("tools/call", {"name": 7}),
        ("resources/read", {"name": "not a uri"}),
    ],
)
def test_other_requests_have_no_name(method, params):
    assert routing_headers(request(method, **params), {}) == [*OPENING, ("Mcp-Method", method)]


@pytest.mark.parametrize(
    "raw",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": 1}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": []}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [1]},
        {"jsonrpc": "2.0", "id": 1, "method": 7, "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {},
    ],
)
def test_messages_of_other_eras_have_no_such_headers(raw):
    assert routing_headers(raw, {}) == []


def test_the_version_in_the_header_is_the_one_in_the_body():
    raw = request("tools/list")
    raw["params"]["_meta"][f"{META}protocolVersion"] = "2099-01-01"
    assert routing_headers(raw, {})[0] == ("MCP-Protocol-Version", "2099-01-01")


@pytest.mark.parametrize(
    ("value", "text"),
    [("eu", "eu"), ("é", wrapped("é")), (True, "true"), (False, "false"), (0, "0"), (-7, "-7"), ("", wrapped(""))],
)
def test_an_annotated_argument_is_a_header(value, text):
    raw = request("tools/call", name="t", arguments={"region": value})
    assert routing_headers(raw, {("region",): "Region"})[-1] == ("Mcp-Param-Region", text)


@pytest.mark.parametrize(
    "arguments", [{}, {"region": None}, {"at": "x"}, {"at": {"other": 1}}, {"at": None}, None, [1], "x"]
)
def test_an_argument_that_is_null_or_missing_has_no_header(arguments):
    raw = request("tools/call", name="t", arguments=arguments)
    headers = routing_headers(raw, {("region",): "Region", ("at", "zone"): "Zone"})
    assert [name for name, _ in headers] == ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]


def test_a_nested_argument_is_a_header():
    raw = request("tools/call", name="t", arguments={"at": {"zone": 3}})
    assert routing_headers(raw, {("at", "zone"): "Zone"})[-1] == ("Mcp-Param-Zone", "3")


def annotated(header: object = "Region", kind: object = "string") -> dict:
    return {"type": kind, "x-mcp-header": header}


def with_properties(**properties: object) -> dict:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "annotations"),
    [
        ({"type": "object"}, {}),
        ({}, {}),
        (None, {}),
        (True, {}),
        ("nonsense", {}),
        (with_properties(a={"type": "number"}), {}),
        (with_properties(a=annotated()), {("a",): "Region"}),
        (with_properties(a=annotated(kind="integer")), {("a",): "Region"}),
        (with_properties(a=annotated(kind="boolean")), {("a",): "Region"}),
        (with_properties(a=annotated("X-1_2.3~!#$%&'*+^`|")), {("a",): "X-1_2.3~!#$%&'*+^`|"}),
        (with_properties(a=annotated("A"), b=annotated("B")), {("a",): "A", ("b",): "B"}),
        (with_properties(a=with_properties(b=with_properties(c=annotated()))), {("a", "b", "c"): "Region"}),
        (with_properties(a=annotated("A"), b=with_properties(a=annotated("B"))), {("a",): "A", ("b", "a"): "B"}),
        (with_properties(**{"x-mcp-header": {"type": "string"}}), {}),
        (with_properties(properties=annotated()), {("properties",): "Region"}),
        (with_properties(items=annotated()), {("items",): "Region"}),
    ],
)
def test_annotations_are_found_through_properties(schema, annotations):
    assert annotations_of(schema) == annotations


@pytest.mark.parametrize(
    "schema",
    [
        with_properties(a=annotated(kind="number")),
        with_properties(a=annotated(kind="object")),
        with_properties(a=annotated(kind="array")),
        with_properties(a=annotated(kind="null")),
        with_properties(a=annotated(kind=["string", "null"])),
        with_properties(a={"x-mcp-header": "Region"}),
        with_properties(a=annotated("")),
        with_properties(a=annotated("two words")),
        with_properties(a=annotated("a:b")),
        with_properties(a=annotated("a\r\nb")),
        with_properties(a=annotated("Region\n")),
        with_properties(a=annotated("é")),
        with_properties(a=annotated("a/b")),
        with_properties(a=annotated(7)),
        with_properties(a=annotated(None)),
        with_properties(a=annotated(True)),
        with_properties(a=annotated(["Region"])),
        with_properties(a=annotated("Region"), b=annotated("Region")),
        with_properties(a=annotated("Region"), b=annotated("REGION")),
        with_properties(a=annotated("Region"), b=with_properties(c=annotated("region"))),
        {**with_properties(), "x-mcp-header": "Region"},
        {**annotated(), "properties": {}},
        with_properties(a={"type": "array", "items": annotated()}),
        with_properties(a={"type": "array", "items": with_properties(b=annotated())}),
        with_properties(a={"type": "array", "prefixItems": [annotated()]}),
        with_properties(a={"anyOf": [annotated(), {"type": "null"}]}),
        with_properties(a={"oneOf": [with_properties(b=annotated())]}),
        {"type": "object", "allOf": [with_properties(a=annotated())]},
        {**with_properties(a={"$ref": "#/$defs/a"}), "$defs": {"a": annotated()}},
        {**with_properties(), "definitions": {"a": annotated()}},
        {**with_properties(), "additionalProperties": annotated()},
        {**with_properties(), "patternProperties": {"^a": annotated()}},
        {**with_properties(), "if": with_properties(a=annotated())},
        {**with_properties(), "not": annotated()},
        with_properties(a={**with_properties(), "x-mcp-header": "Region"}),
    ],
)
def test_annotations_that_are_not_allowed_spoil_the_tool(schema):
    assert annotations_of(schema) is None


@pytest.mark.parametrize("keyword", ["default", "const", "examples", "enum"])
def test_values_that_look_like_annotations_are_none(keyword):
    value = {"x-mcp-header": "Region"}
    schema = with_properties(a={"type": "object", keyword: [value] if keyword in ("examples", "enum") else value})
    assert annotations_of(schema) == {}


def test_a_schema_of_any_depth_is_no_failure():
    schema: dict = {"type": "string"}
    for _ in range(5000):
        schema = {"allOf": [schema]}
    assert annotations_of(schema) in ({}, None)


@pytest.mark.parametrize(
    "value", ["", "x", " a ", "two words", "Zürich 🏔", "a\r\nb", "\0", "=?base64?YQ==?=", "=?base64?="]
)
def test_what_was_encoded_is_decoded(value):
    assert decoded(encoded(value)) == value


@pytest.mark.parametrize(
    "value", ["=?base64?", "x=?base64?YQ==?=", "=?base64?YQ==?= ", "=?BASE64?YQ==?=", "=?utf-8?q?a?="]
)
def test_what_only_resembles_the_sentinel_stands_for_itself(value):
    assert decoded(value) == value


@pytest.mark.parametrize("inner", ["YQ", "YQ=", "YQ===", "YR==", "Y", "YQ==\n", " YQ==", "Y Q==", "YQ==YQ==", "?"])
@pytest.mark.parametrize("before", ["", "YWFh"])
def test_what_stands_behind_the_sentinel_must_be_canonical_base64(before, inner):
    assert decoded(f"=?base64?{before}{inner}?=") is None


@pytest.mark.parametrize("inner", ["-_-_", "not base64", "é", "/w==", "7aCA"])
def test_what_stands_behind_the_sentinel_must_be_base64_of_utf_8(inner):
    assert decoded(f"=?base64?{inner}?=") is None


ZONED = {("region",): "Region", ("at", "zone"): "Zone"}


def received(raw: dict, annotations: dict, changes: dict[str, list[str] | None]) -> dict[str, list[str]]:
    """The headers that a client sends with RAW, but for the changes; None takes one away."""
    headers = {name.lower(): [value] for name, value in routing_headers(raw, annotations)}
    headers |= {name.lower(): values for name, values in changes.items()}
    return {name: values for name, values in headers.items() if values is not None}


@pytest.mark.parametrize(
    "raw",
    [
        request("server/discover"),
        request("tools/list", name="not a name"),
        request("tools/call", name="add", arguments={"region": "eu", "at": {"zone": 3}}),
        request("tools/call", name="é", arguments={"region": " é", "at": {"zone": True}}),
        request("tools/call", name="add", arguments={"region": "", "at": {"zone": False}}),
        request("tools/call", name="add", arguments={"region": None, "at": {}}),
        request("tools/call", name="add", arguments={"at": read('{"zone":42.00}')}),
        request("tools/call", name="add"),
        request("tools/call", name=7),
        request("resources/read", uri="file:///a b"),
        request("prompts/get", name="greet"),
        request("tasks/get", taskId="t1"),
    ],
    ids=str,
)
def test_the_headers_that_we_send_agree_with_the_body(raw):
    assert mismatch(raw, received(raw, ZONED, {}), ZONED) is None


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("Mcp-Method", [" tools/call\t"]),
        ("Mcp-Name", [" add "]),
        ("Mcp-Name", [wrapped("add")]),
        ("Mcp-Name", [f" {wrapped('add')} "]),
        ("Mcp-Param-Region", [wrapped("eu")]),
        ("Mcp-Param-Zone", ["42.0"]),
        ("Mcp-Param-Zone", ["42.000"]),
        ("Mcp-Param-Zone", ["4.2e1"]),
        ("Mcp-Param-Zone", ["420E-1"]),
        ("Mcp-Param-Zone", [wrapped("42")]),
        ("Mcp-Param-Other", ["not ours"]),
        ("Accept", ["a", "b"]),
    ],
)
def test_the_same_may_be_said_in_other_ways(header, values):
    raw = request("tools/call", name="add", arguments={"region": "eu", "at": {"zone": 42}})
    assert mismatch(raw, received(raw, ZONED, {header: values}), ZONED) is None


@pytest.mark.parametrize(
    ("header", "values", "fault"),
    [
        ("MCP-Protocol-Version", None, "is missing"),
        ("MCP-Protocol-Version", [], "is missing"),
        ("MCP-Protocol-Version", ["2025-11-25"], "says '2025-11-25', but the body says '2026-07-28'"),
        ("MCP-Protocol-Version", [VERSION, VERSION], "occurs 2 times"),
        ("Mcp-Method", None, "is missing"),
        ("Mcp-Method", ["Tools/Call"], "says 'Tools/Call', but the body says 'tools/call'"),
        ("Mcp-Method", ["tools/call"] * 3, "occurs 3 times"),
        ("Mcp-Method", [wrapped("tools/call")], f"says {wrapped('tools/call')!r}, but the body says 'tools/call'"),
        ("Mcp-Name", None, "is missing"),
        ("Mcp-Name", [""], "says '', but the body says 'add'"),
        ("Mcp-Name", ["sub"], "says 'sub', but the body says 'add'"),
        ("Mcp-Name", [wrapped("sub")], "says 'sub', but the body says 'add'"),
        ("Mcp-Name", ["add", "sub"], "occurs 2 times"),
        ("Mcp-Name", ["=?base64?Y?="], "is marked as base64, but is not UTF-8 in base64: '=?base64?Y?='"),
        ("Mcp-Param-Region", None, "is missing"),
        ("Mcp-Param-Region", ["us"], "says 'us', but the body says 'eu'"),
        ("Mcp-Param-Region", ["eu", "eu"], "occurs 2 times"),
        ("Mcp-Param-Region", ["=?base64??="], "says '', but the body says 'eu'"),
        ("Mcp-Param-Zone", ["42.5"], "says '42.5', but the body says '42'"),
        ("Mcp-Param-Zone", ["NaN"], "says 'NaN', but the body says '42'"),
        ("Mcp-Param-Zone", ["4_2"], "says '4_2', but the body says '42'"),
        ("Mcp-Param-Zone", ["٤٢"], "says '٤٢', but the body says '42'"),
        ("Mcp-Param-Zone", ["1e99999999999999999999"], "says '1e99999999999999999999', but the body says '42'"),
        ("Mcp-Param-None", ["x"], "says 'x', but the body says nothing"),
        ("Mcp-Param-Missing", ["", ""], "says '', but the body says nothing"),
        ("Mcp-Param-Text", ["42.0"], "says '42.0', but the body says '42'"),
        ("Mcp-Param-Truth", ["True"], "says 'True', but the body says 'true'"),
        ("Mcp-Param-Truth", ["1"], "says '1', but the body says 'true'"),
    ],
)
def test_what_a_header_says_differently_is_told_in_a_sentence(header, values, fault):
    annotations = {**ZONED, ("none",): "None", ("missing",): "Missing", ("text",): "Text", ("truth",): "Truth"}
    arguments = {"region": "eu", "at": {"zone": 42}, "none": None, "text": "42", "truth": True}
    raw = request("tools/call", name="add", arguments=arguments)
    headers = received(raw, annotations, {header: values})
    assert mismatch(raw, headers, annotations) == f"the header {header} {fault}"


def test_large_integers_are_compared_to_the_last_digit():
    raw = request("tools/call", name="t", arguments={"region": 2**70})
    assert mismatch(raw, received(raw, ZONED, {"Mcp-Param-Region": [f"{2**70}.0"]}), ZONED) is None
    assert mismatch(raw, received(raw, ZONED, {"Mcp-Param-Region": [f"{2**70 + 1}"]}), ZONED) is not None


@pytest.mark.parametrize("params", [{}, None, [], {"_meta": None}, {"_meta": {f"{META}protocolVersion": None}}])
def test_a_body_without_a_version_agrees_with_no_header(params):
    raw = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    headers = {"mcp-protocol-version": [VERSION], "mcp-method": ["tools/list"]}
    assert mismatch(raw, headers, {}) == f"the header MCP-Protocol-Version says {VERSION!r}, but the body says nothing"


@pytest.mark.parametrize("method", [7, None, [], {}])
def test_a_method_that_is_no_text_is_no_failure(method):
    raw = {**request("x"), "method": method}
    assert mismatch(raw, {"mcp-protocol-version": [VERSION], "mcp-method": ["x"]}, {}) is not None
