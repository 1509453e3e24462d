"""`like()`: the matchers of test files in Python's asserts."""

import re

import pytest

from mcp_conductor import ToolResult, UsageError, like

TOOLS = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}, {"name": "write", "inputSchema": {}}]}


@pytest.mark.parametrize(
    "expected",
    [
        TOOLS,
        {"tools": "match:arrayLength:2"},
        {"match:partial": {"tools": [{"name": "match:startsWith:re"}]}},
        {"tools": ({"name": "read", "inputSchema": "match:type:object"}, {"name": "write", "inputSchema": {}})},
    ],
)
def test_a_value_that_is_as_expected_is_equal_from_both_sides(expected):
    assert like(expected) == TOOLS
    assert dict(TOOLS) == like(expected)
    assert ToolResult(TOOLS) == like(expected)
    assert like([expected]) == [ToolResult(TOOLS)]


def test_every_difference_is_found_with_its_place():
    found = like({"tools": [{"name": "match:contains:x"}, {"name": "write", "inputSchema": {}}]}).findings(TOOLS)
    assert {each.path for each in found} == {"tools[0].name", "tools[0].inputSchema"}


def test_partial_looks_only_at_what_is_listed():
    assert like({"tools": [{"name": "read"}]}) != TOOLS
    assert like({"tools": [{"name": "read"}]}, partial=True) == TOOLS


def test_what_the_modern_era_adds_to_every_result_counts_only_if_it_is_mentioned():
    result = {**TOOLS, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    assert result == like({"tools": "match:any"})
    assert result != like({"tools": "match:any", "resultType": "match:contains:never"})


def test_an_output_schema_is_that_of_the_tool_that_is_given():
    tool = {"name": "add", "outputSchema": {"type": "object", "required": ["sum"]}}
    expected = like({"structuredContent": "match:outputSchema"}, tool=tool)
    assert expected == {"structuredContent": {"sum": 1}}
    assert expected != {"structuredContent": {}}


@pytest.mark.parametrize("expected", ["match:arrayLength:x", {"match:partia": {}}, {"a": object()}, {1, 2}])
def test_a_mistake_in_what_is_expected_is_refused_at_once(expected):
    with pytest.raises(UsageError):
        like(expected)


def test_a_failing_assert_shows_what_is_different(run, write):
    write(
        "test_python.py",
        """
        from mcp_conductor import like

        def test_it():
            reply = {"content": [{"type": "text", "text": "Hello, Ada"}]}
            assert reply == like({"content": [{"type": "text", "text": "Hello, Bob"}], "isError": False})

        def test_not():
            assert {"a": 1} != like({"a": "match:type:number"})
        """,
    )
    done = run("-vv")
    told = [line[8:] for line in done.out.splitlines() if re.match("E  ", line)]
    assert told == [
        'assert it is not like({"content":[{"type":"text","text":"Hello, Bob"}],"isError":…), in 2 places',
        "  isError is missing",
        "      expected  false",
        "  content[0].text is 'Hello, Ada', not 'Hello, Bob' (differs at character 8)",
        '      expected  "Hello, Bob"',
        '      actual    "Hello, Ada"',
        'assert it is like({"a":"match:type:number"})',
    ]
