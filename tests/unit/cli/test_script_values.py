"""What a script has captured is there for later lines, and costs the same for each, however many there are."""

import io
import time

import pytest

from mcp_conductor.cli.commands.mcp_cli.script_run import ScriptValues
from mcp_conductor.cli.output.terminal import Terminal


def some(count, *, secret=False):
    terminal = Terminal(io.BytesIO(), io.BytesIO(), None, {"HOME": "/home"}, "/")
    values = ScriptValues(terminal)
    for number in range(count):
        values.add(f"name{number}", f"value-{number}-of-many", secret=secret)
        assert f"name{number}" in values.names
    return terminal, values


def test_the_last_value_of_a_name_counts():
    _, values = some(2)
    values.add("name0", [1], secret=False)
    assert values.variables.values == {"name0": [1], "name1": "value-1-of-many"}


@pytest.mark.parametrize("secret", [False, True])
def test_only_secrets_are_redacted(secret):
    terminal, _ = some(1, secret=secret)
    assert terminal.redactor.redact("value-0-of-many") == ("[redacted]" if secret else "value-0-of-many")


@pytest.mark.parametrize("secret", [False, True])
def test_many_values_take_linear_time(secret):
    def seconds(count):
        began = time.process_time()
        some(count, secret=secret)
        return time.process_time() - began

    few = min(seconds(2_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(2)) < 24 * few
