"""A message over its budget is told before it is parsed; what only looks large is not."""

import json

import pytest

from mcp_conductor.protocol.budgets import Budgets, braces_close, excess
from mcp_conductor.protocol.message import decode
from mcp_conductor.text.redaction import Redactor

FEW = Budgets(message_values=10)


@pytest.mark.parametrize(
    "value",
    [
        list(range(9)),
        {str(number): number for number in range(9)},
        [[number] for number in range(4)],
        "a text, with, commas, [brackets] and {braces}, but, it, is, one, value,,,,,,,,,,,,,,,,,",
        ['a quote " and a backslash \\', "\\", '\\"', ",,,,,,,,,,,,,,,,,,,,,,,,,,"],
        {"key, with, commas, and, more,,,,,,,,,,,,,,,": 1},
    ],
)
@pytest.mark.parametrize("indent", [None, 4])
def test_a_message_within_its_budget_is_read(value, indent):
    data = json.dumps(value, indent=indent).encode()
    assert excess(data, FEW) is None
    assert decode(data, FEW).raw == value


@pytest.mark.parametrize(
    "value",
    [
        list(range(10)),
        {str(number): number for number in range(10)},
        ["text"] * 30,
        [['a quote " and a backslash \\'], *range(9)],
        [[[[[[[[[[[1]]]]]]]]]]],
        {"a": {"b": list(range(8))}},
    ],
)
def test_a_message_with_more_values_is_too_large(value):
    assert excess(json.dumps(value).encode(), FEW) == "more than 10 values (Budgets(message_values=…))"


def test_a_message_with_more_bytes_is_too_large():
    assert excess(b"x" * 1001, Budgets(message_bytes=1000)) == "longer than 1 kB (Budgets(message_bytes=…))"
    assert excess(b"x" * 1000, Budgets(message_bytes=1000)) is None


LARGE = "[" + ",".join(["1"] * 100_000) + "]"


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"x":' + LARGE + "}}", 7),
        ('{"jsonrpc":"2.0","result":{"x":' + LARGE + '},"id":"seven"}', "seven"),
        ('{"jsonrpc":"2.0","result":{"x":' + LARGE + ',"id":8}', None),
        ('{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":' + LARGE + "}}", None),
        (LARGE, None),
    ],
)
def test_of_a_message_over_its_budget_the_ends_and_the_id_are_kept(text, identity):
    message = decode(text.encode(), Budgets(message_values=1000))
    assert (message.kind, message.raw, message.id) == ("invalid", None, identity)
    assert message.problem == "more than 1000 values (Budgets(message_values=…))"
    assert message.text.startswith(text[:2000])
    assert message.text.endswith(text[-2000:])
    assert len(message.text) < 5000
    assert "more bytes" in message.text


@pytest.mark.parametrize("size", range(2030, 2049))
def test_a_secret_where_a_message_over_its_budget_was_cut_is_found(size):
    secret = "pässwörtpässwört"
    for text in ("x" * size + secret + "y" * 5000, "y" * 5000 + secret + "x" * size):
        shown = Redactor([secret]).redact(decode(text.encode(), Budgets(message_bytes=1000)).text)
        assert [part for part in ("päss", "sswö", "wört", "pass") if part in shown] == []


def test_braces_within_texts_close_nothing():
    assert braces_close(rb'{"a":"}","b":"\\"}')
    assert not braces_close(rb'{"a":"}"')
    assert not braces_close(rb'{"a":"\"}"')
