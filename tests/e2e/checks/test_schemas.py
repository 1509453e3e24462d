"""Checks of JSON Schemas, of the headers that they ask for, and of icons: each is kept, and each reports who breaks it."""

import pytest
from tests.e2e.checks.polite import assert_reported, failed, report, reported

NEW = "2025-11-25"
MODERN = "2026-07-28"
CITY = "schema['properties']['city']"


@pytest.mark.parametrize("version", [NEW, MODERN])
@pytest.mark.parametrize(
    "change",
    [
        "schema['$schema'] = 'http://json-schema.org/draft-07/schema#'; schema['definitions'] = {'a': {'items': [{}]}}",
        "schema['$schema'] = 'https://example.com/dialect'; schema['required'] = ['city']; schema['minItems'] = 'a'",
        "schema['properties']['other'] = {'$ref': 'https://example.com/other.json'}",
        r"schema['properties']['other'] = {'type': 'string', 'pattern': '^[\\w-\\.]+$'}",
        "schema['properties']['other'] = {'$ref': '#/$defs/Other'}; schema['$defs'] = {'Other': {'type': 'string'}}",
        "schema['anyOf'] = [{'required': ['city']}, {'required': ['other']}]",
    ],
)
async def test_schemas_that_are_valid_or_that_nobody_can_judge_are_not_reported(serve, version, change):
    assert reported(await report(serve, version, change)) == set()


async def test_headers_on_plain_properties_are_fine(serve):
    change = f"{CITY}['x-mcp-header'] = 'City'\n"
    change += "schema['properties']['where'] = {'type': 'object', 'properties': {\n"
    change += "    'zip': {'type': ['integer', 'null'], 'x-mcp-header': 'Zip'}, 'x-mcp-header': {'type': 'number'}}}"
    found = await report(serve, MODERN, change)
    assert reported(found) == set()
    assert {found[name].status for name in found if name.startswith("xmcp-annotation")} == {"passed"}


@pytest.mark.parametrize("version", [NEW, MODERN])
async def test_whole_icons_are_fine(serve, version):
    change = "info['icons'] = look['icons'] = prompt['icons'] = template['icons'] = resource['icons'] = [\n"
    change += "    {'src': 'https://example.com/a.png', 'mimeType': 'image/png', 'sizes': ['48x48', 'any'], 'theme': 'dark'},\n"
    change += "    {'src': 'data:image/png;base64,AAAA'}]"
    found = await report(serve, version, change)
    assert reported(found) == set()
    assert found["icons-shape-server"].status == "passed"


@pytest.mark.parametrize(
    ("name", "version", "change"),
    [
        ("schema-valid-in-dialect", NEW, f"{CITY} = {{'type': 'text'}}"),
        ("schema-valid-in-dialect", MODERN, "schema['$defs'] = {'a': {'items': [{}]}}"),
        ("schema-valid-in-dialect", NEW, "schema['properties']['other'] = {'$ref': '#/$defs/nowhere'}"),
        ("schema-valid-in-dialect", MODERN, "look['outputSchema'] = {'type': 'list'}"),
        ("xmcp-annotation-valid-server", MODERN, f"{CITY}['x-mcp-header'] = 'My City'"),
        ("xmcp-annotation-valid-server", MODERN, f"{CITY}['x-mcp-header'] = ''"),
        (
            "xmcp-annotation-valid-server",
            MODERN,
            (
                f"{CITY}['x-mcp-header'] = 'City'\n"
                "schema['properties']['other'] = {'type': 'string', 'x-mcp-header': 'CITY'}"
            ),
        ),
        (
            "xmcp-annotation-primitive-server",
            MODERN,
            "schema['properties']['size'] = {'type': 'number', 'x-mcp-header': 'Size'}",
        ),
        ("xmcp-annotation-primitive-server", MODERN, "schema['properties']['size'] = {'x-mcp-header': 'Size'}"),
        (
            "xmcp-annotation-reachable-server",
            MODERN,
            "schema['properties']['all'] = {'type': 'array', 'items': {'type': 'string', 'x-mcp-header': 'Each'}}",
        ),
        (
            "xmcp-annotation-reachable-server",
            MODERN,
            (
                "schema['$defs'] = {'a': {'type': 'string', 'x-mcp-header': 'A'}}\n"
                "schema['properties']['a'] = {'$ref': '#/$defs/a'}"
            ),
        ),
        (
            "xmcp-not-sensitive",
            MODERN,
            "schema['properties']['apiKey'] = {'type': 'string', 'x-mcp-header': 'Key'}",
        ),
        ("icons-shape-server", NEW, "look['icons'] = [{'mimeType': 'image/png'}]"),
        ("icons-shape-server", NEW, "info['icons'] = {'src': 'https://example.com/a.png'}; info['icons'] = 'a.png'"),
        ("icons-shape-server", MODERN, "info['icons'] = [{'src': 'https://example.com/a', 'theme': 'blue'}]"),
        ("icons-shape-server", MODERN, "resource['icons'] = [{'src': 'https://example.com/a', 'sizes': '48x48'}]"),
        ("icons-safe-scheme-server", NEW, "prompt['icons'] = [{'src': 'http://example.com/a.png'}]"),
        ("icons-safe-scheme-server", MODERN, "template['icons'] = [{'src': 'file:///a.png'}]"),
    ],
)
async def test_schemas_headers_and_icons_are_what_the_specification_says(serve, name, version, change):
    await assert_reported(serve, name, version, change)


PAIR = "schema['properties']['pair'] = {'type': 'array', 'prefixItems': [{'type': 'integer'}]}\n"
CARD = "schema['properties'].update(card={'type': 'string'}, owner={'type': 'string'})\n"
CARD += "schema['dependentRequired'] = {'card': ['owner']}\n"
CLOSED = "schema['unevaluatedProperties'] = False\n"


@pytest.mark.parametrize("change", [PAIR, CARD, CLOSED])
async def test_a_server_that_does_not_know_2020_12_is_reported(serve, change):
    await assert_reported(serve, "schema-default-2020-12-server", NEW, change)


@pytest.mark.parametrize("change", [PAIR, CARD, CLOSED])
async def test_a_server_that_knows_2020_12_is_not_reported(serve, change):
    change += (
        "methods['tools/call'] = lambda params: call(params) if set(params.get('arguments', {})) <= {'city'} else "
    )
    change += "{'content': [], 'isError': True}"
    found = await report(serve, NEW, change)
    assert found["schema-default-2020-12-server"].status == "passed"
    assert failed(found) == set()


async def test_a_composed_schema_without_a_type_is_no_input_schema_either(serve):
    change = "del schema['type']; schema['anyOf'] = [{'type': 'object'}]"
    await assert_reported(serve, "schema-object-root-input", MODERN, change, also={"tools-item-inputschema"})


async def test_a_schema_of_too_many_parts_is_not_judged_and_its_tool_not_called(verdicts_of, serve):
    server = serve("""
        hello(tools={})
        names = [f"p{n}" for n in range(60_000)]
        vast = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
        tool = {"name": "t", "inputSchema": vast, "annotations": {"readOnlyHint": True}}
        serve({"tools/list": {"tools": [tool]}, "ping": {}, "tools/call": lambda _: sys.exit(1)})
    """)
    outcomes = await verdicts_of(server, only={"schema-valid-in-dialect"}, timeout=5)
    outcome = outcomes["schema-valid-in-dialect"]
    assert (outcome.status, outcome.reason) == ("skipped", "tool 't': inputSchema has too many parts to be judged")
