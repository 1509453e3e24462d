"""What a server says is judged in every session of a check, whatever was said to it there."""

import pytest
from tests.e2e.checks.plain_servers import broken

NOISE = 'self.write(b"debug: it came\\n")'
NOISY = {
    "at a cancellation": f"""
    def notified(self, notification):
        if notification["method"] == "notifications/cancelled":
            {NOISE}
    """,
    "at a ping before notifications/initialized": f"""
    begun = False

    def notified(self, notification):
        self.begun = True

    def ping(self, params):
        if not self.begun:
            {NOISE}
        return {{}}
    """,
    "at a version that does not exist": f"""
    def initialize(self, params):
        if params["protocolVersion"] not in self.versions:
            {NOISE}
        return super().initialize(params)
    """,
    "at a long line": f"""
    def hear(self, line):
        if len(line) > 20_000:
            {NOISE}
        super().hear(line)
    """,
    "at garbage": f"""
    def hear(self, line):
        if line.startswith(b"garbage"):
            {NOISE}
        super().hear(line)
    """,
}


@pytest.mark.parametrize("body", NOISY.values(), ids=NOISY)
async def test_noise_in_any_session_is_found(verdicts_of, failed, tmp_path, body):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", body), timeout=0.5)
    assert failed(outcomes) == {"stdio-stdout-clean-server"}
    assert outcomes["stdio-stdout-clean-server"].findings[0].actual == "debug: it came"


def refusing(message):
    """A server that says MESSAGE in place of an error, before it is initialized."""
    return f"""
    def reply(self, request):
        if self.version is None and request["method"] not in ("initialize", "ping"):
            return {message}
        return super().reply(request)
    """


ERROR = '"error": {"code": -32600, "message": "not yet"}'
EARLY = {
    "base-response-result-xor-error-server": f'{{"jsonrpc": "2.0", "id": request["id"], "result": {{}}, {ERROR}}}',
    "base-jsonrpc-envelope-server": f'{{"jsonrpc": "2.0", "id": True, {ERROR}}}',
    "base-response-id-echo-server": f'{{"jsonrpc": "2.0", "id": 4711, {ERROR}}}',
    "stdio-stdout-clean-server": '"not yet"',
    "base-error-shape-server": '{"jsonrpc": "2.0", "id": request["id"], "error": "not yet"}',
    "base-result-is-object-server": '{"jsonrpc": "2.0", "id": request["id"], "result": []}',
}


@pytest.mark.parametrize(("name", "message"), EARLY.items())
async def test_a_wrong_answer_before_initialize_is_found(verdicts_of, failed, tmp_path, name, message):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", refusing(message)), timeout=0.5)
    assert failed(outcomes) == {name}
    assert not any("not answered" in each.message for each in outcomes["lifecycle-server-rejects-preinit"].findings)


LENIENT = {
    "the version of the request": """
    def take(self, message):
        if isinstance(message, dict) and message.get("jsonrpc") == "1.0":
            self.say({"id": message["id"], "result": None, "error": {"code": 1, "message": "1.0"}})
        else:
            super().take(message)
    """,
    "the id null": """
    def take(self, message):
        if isinstance(message, dict) and message.get("id", 0) is None:
            self.say({"jsonrpc": "2.0", "id": None, "result": {}})
        else:
            super().take(message)
    """,
    "a fraction as id": """
    def take(self, message):
        if isinstance(message, dict) and isinstance(message.get("id"), float):
            self.say(error(message["id"], -32600, "Invalid request"))
        else:
            super().take(message)
    """,
    "an empty batch": """
    def take_batch(self, batch):
        self.say([error(None, -32600, "Invalid request")])
    """,
    "an id for what cannot be read": """
    def hear(self, line):
        try:
            json.loads(line)
        except ValueError:
            self.say(error("no-id", -32700, "Parse error"))
        else:
            super().hear(line)
    """,
}


@pytest.mark.parametrize("body", LENIENT.values(), ids=LENIENT)
async def test_what_odd_messages_excuse_breaks_no_must(verdicts_of, failed, tmp_path, body):
    outcomes = await verdicts_of(broken(tmp_path, "Plain", body), timeout=0.5)
    assert failed(outcomes) <= {"base-error-unreadable-id"}
