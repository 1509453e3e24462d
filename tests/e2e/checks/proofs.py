"""A property of every finding: its proof shows what it blames, and nothing that belongs to another exchange."""

import json


def assert_proven(outcome):
    """Assert that each finding of OUTCOME is proven by the message that it blames, and by no stranger to it."""
    for finding in outcome.findings:
        assert finding.said is not None, (outcome.id, finding)
        proof = outcome.wire[slice(*finding.said)]
        assert proof, (outcome.id, finding)
        said = [(line[:4], _read(line[4:])) for line in proof]
        assert {arrow for arrow, _ in said} <= {"--> ", "<-- "}, (outcome.id, proof)
        if outcome.group == "auth-client":  # it blames requests for a token
            assert any(line[4:].startswith(("GET /", "POST /")) for line in proof), proof
        blamed = finding.actual
        if isinstance(blamed, dict) and "jsonrpc" in blamed:
            assert any(_holds(message, blamed) for _, message in said), (outcome.id, finding, proof)
        asked = [message["id"] for _, message in said if isinstance(message, dict) and {"id", "method"} <= set(message)]
        for _, message in said:
            answers = isinstance(message, dict) and "method" not in message and message.get("id") is not None
            if answers and asked:
                assert message["id"] in asked or message == blamed, (outcome.id, finding, proof)


def _holds(message, blamed):
    return message == blamed or (isinstance(message, list) and blamed in message)


def _read(text):
    try:
        return json.loads(text)
    except ValueError:
        return text
