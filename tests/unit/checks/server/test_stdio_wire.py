"""Lines of stdout that are no messages: parts of one that goes on over several lines, or noise."""

import json

import pytest

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.judging import apply_judge
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.transcript import Frame, Transcript

FRAMING, NEWLINE, NOISE = (
    "stdio-newline-framing-server",
    "stdio-embedded-newlines-escaped-server",
    "stdio-stdout-clean-server",
)
ONE = {"jsonrpc": "2.0", "id": 1, "result": {"a": ["s", [1, [], {}], 2, {"id": 1}, None]}}
TWO = {"jsonrpc": "2.0", "id": 2, "result": {"b": ["t"]}}
WHOLE = json.dumps(ONE)


def pretty(message, indent=1):
    return json.dumps(message, indent=indent).replace("1,\n   []", "1,[]")


LOG = '{"level":"info","msg":"up"}'
RAW = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one\n"s"\ntwo"}}'.replace('"s"', "s")


@pytest.mark.parametrize(
    ("said", "broken"),
    [
        (WHOLE, {}),
        (pretty(ONE), {FRAMING: [pretty(ONE)]}),
        (pretty(ONE, 0), {FRAMING: [pretty(ONE, 0)]}),
        (f"{pretty(ONE)}\n{pretty(TWO)}", {FRAMING: [pretty(ONE), pretty(TWO)]}),
        (f"{pretty(ONE)}\n{WHOLE}\n{pretty(TWO)}", {FRAMING: [pretty(ONE), pretty(TWO)]}),
        (f"{LOG}\n{pretty(TWO)}\nready", {FRAMING: [pretty(TWO)], NOISE: [LOG, "ready"]}),
        (f"{WHOLE}{WHOLE}", {FRAMING: [WHOLE + WHOLE]}),
        (RAW, {NEWLINE: [RAW]}),
        (f"{pretty(TWO)}\n{RAW}", {FRAMING: [pretty(TWO)], NEWLINE: [RAW]}),
        ('"s"\n[1]\nnull', {NOISE: ['"s"', "[1]", "null"]}),
        ('{\n"s"\n', {NOISE: ["{", '"s"', ""]}),
        ('{"id":1,"result":{}}', {}),
        (f"[{WHOLE},{WHOLE}]", {}),
    ],
)
def test_lines_that_belong_together_are_one_message(said, broken):
    frames = [Frame(0.0, "server", line) for line in said.split("\n")]
    record = Record(Transcript.of(frames), DIALECTS["2025-11-25"], "stdio", {})
    found = {name: apply_judge(CHECKS.get(name), record).findings for name in (FRAMING, NEWLINE, NOISE)}
    assert {name: [each.actual for each in several] for name, several in found.items() if several} == broken


def test_much_noise_that_begins_like_a_message_is_judged_in_time():
    frames = [Frame(0.0, "server", '{"a": [') for _ in range(20_000)]
    record = Record(Transcript.of(frames), DIALECTS["2025-11-25"], "stdio", {})
    assert len(apply_judge(CHECKS.get(NOISE), record).findings) == 100
