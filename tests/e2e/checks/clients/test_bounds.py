"""Clients that misbehave in every scenario: the check of all requirements ends in time, leaves nothing, and says so."""

import json
import shlex
import sys

import pytest

from .conftest import HERE

ENDLESS = """
def work(self):
    {}
Client.work = work
sys.exit(Client(sys.argv).main())
"""
SIGNALS = "for each in (signal.SIGTERM, signal.SIGINT): signal.signal(each, signal.SIG_IGN)\n"
FLOOD = "while True: self.link.send({'jsonrpc': '2.0', 'id': self.next_id(), 'method': 'ping'})"
# What the client does, and what the check says of it.
MISBEHAVING = {
    "floods the server": (ENDLESS.format(FLOOD), "the client said too much with the polite server"),
    "writes 100 MB without a newline": (
        ENDLESS.format("for _ in range(100): self.link.process.stdin.write(b'x' * (1 << 20))"),
        "the client said too much with the polite server",
    ),
    "keeps reconnecting": (
        """
while True:
    try:
        client = Client(sys.argv)
        client.open()
        client.link.process.kill()
        client.link.process.wait()
    except (Refused, OSError, ValueError):
        pass
""",
        "with the polite server, and in",
    ),
    "ignores SIGTERM, and is never quiet": (
        SIGNALS + ENDLESS.format("while True: self.request('ping'), time.sleep(0.05)"),
        "the client was still busy after 3 s with the polite server",
    ),
}
SLOW = {
    "never ends": (ENDLESS.format("time.sleep(600)"), "the client never called a tool"),
    "leaves children in sessions of their own": (
        "for _ in range(3): subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        + ENDLESS.format("time.sleep(600)"),
        "the client never made a request after it was connected",
    ),
    "ignores SIGTERM": (SIGNALS + ENDLESS.format("time.sleep(600)"), "the client never called a tool"),
    "sends garbage": (
        ENDLESS.format("[self.link.process.stdin.write(os.urandom(50).replace(b'\\n', b'') + b'\\n') for _ in range(3000)]"),
        "the client never called a tool",
    ),
    "writes 100 MB to stdout": (
        "for _ in range(100): print('x' * (1 << 20))\nsys.exit(Client(sys.argv).main())", "",
    ),
}  # fmt: skip
LIMIT = 3  # seconds for each start
BOUND = 12 * LIMIT + 20  # of the whole, as the manual says; and some for a busy machine to start and to judge


def _look(how, check, script, said):
    done = check(f"{script(how)} -- {{server}}", "--timeout", f"{LIMIT}s", "--json", limit=2 * BOUND)
    assert done.seconds < BOUND, done.stderr
    assert said in done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("how", [*MISBEHAVING, *SLOW])
def test_the_check_of_a_client_that_misbehaves_ends_in_time_and_says_why(how, check, script):
    code, said = {**MISBEHAVING, **SLOW}[how]
    report = _look(code, check, script, said)
    if how in MISBEHAVING:
        reasons = [each["reason"] for each in report["outcomes"] if each["status"] == "skipped"]
        assert sum(said in str(reason) for reason in reasons) > 10
        assert any(each["status"] == "passed" for each in report["outcomes"]), "what was seen is judged"


@pytest.mark.slow
def test_a_client_that_connects_over_http_again_and_again_is_given_up(check, tmp_path):
    file = tmp_path / "again.py"
    file.write_text("""
from polite_client import *
while True:
    try:
        Client(sys.argv).open()
    except (Refused, OSError, ValueError):
        pass
""")
    client = f"{shlex.join([sys.executable, str(file)])} --url {{url}}"
    done = check(client, "--timeout", f"{LIMIT}s", limit=2 * BOUND, PYTHONPATH=str(HERE))
    assert done.seconds < BOUND
    assert "with the polite server, and in" in done.stderr


@pytest.mark.slow
def test_a_client_that_begins_again_and_again_and_never_goes_on_is_told_that_it_is_too_much(check, script):
    code = """
while True:
    client = Client(sys.argv)
    client.initialize()
    client.link.close()
"""
    done = check(f"{script(code)} -- {{server}}", "--timeout", "10s", limit=2 * BOUND)
    assert done.returncode == 3
    assert "the client said too much, or connected too often, before it agreed on a revision" in done.stderr
