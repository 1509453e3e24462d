"""Ten thousand inputs that nobody would send, on stdio and on HTTP: everything is answered as it should be."""

import json
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from tests.e2e.server import random_input
from tests.e2e.server.wire import PATIENCE, line_of, modern, ping, request, result

TOOLS = ["echo", "add", "numbered_tools", "record_shipment", "add_tool", "update_resource", "get_temp", "list_roots"]
SHAPE = {
    "tools": [*({"preset": name} for name in TOOLS), {"preset": "optional_task", "params": {"delayMs": 0}}],
    "resources": [{"preset": "numbered_resources"}],
    "resourceTemplates": [{"preset": "user"}],
    "prompts": [{"preset": "args_prompt", "params": {"completions": {"city": ["x"]}}}],
    "tasks": {"list": True, "cancel": True},
    "tasksExtension": {},
    "maxPageSize": {"tools": 3},
}
UNREADABLE = "unreadable"
NOTHING = "nothing"


def due(line: bytes):
    """What is due to LINE by the rules of JSON-RPC: nothing, an error for what cannot be read, or a reply under an id."""
    line = line.strip()
    if not line:
        return NOTHING
    try:
        message = json.loads(line.decode(errors="surrogateescape"), parse_constant=int)
    except ValueError:
        return UNREADABLE
    if not isinstance(message, dict):
        return None
    identity = message.get("id")
    identity = identity if isinstance(identity, (str, int, float)) and not isinstance(identity, bool) else None
    if "method" in message:
        if not isinstance(message["method"], str):
            return None
        return identity if "id" in message else NOTHING
    if ("result" in message) == ("error" in message):
        return identity
    return NOTHING if "error" in message or identity is not None else None


def told(reply: dict):
    return UNREADABLE if reply.get("error", {}).get("code") == -32700 else reply.get("id")


def test_every_line_gets_exactly_the_answer_that_it_is_due(stdio):
    random = Random(1)
    lines = [random_input.line(random, number) for number in range(10_000)]
    server = stdio(**SHAPE)
    server.open()
    writing = threading.Thread(target=server.write, args=[b"".join(map(line_of, lines)) + line_of(ping("last"))])
    writing.start()
    heard = [server.hear()]
    while heard[-1].get("id") != "last":
        heard.append(server.hear())
    writing.join(PATIENCE)
    server.close()
    heard += [json.loads(line) for line in iter(server.line, b"")]
    replies = [message for message in heard if "method" not in message]
    assert (server.wait(), server.errors()) == (0, "")
    expected = Counter(repr(answer) for answer in map(due, lines) if answer is not NOTHING)
    assert Counter(repr(told(reply)) for reply in replies) - Counter(["'last'"]) == expected
    assert [reply for reply in replies if reply.get("error", {}).get("code") == -32603] == []


def responses(connection: socket.socket):
    """The status and the body of each response on a connection, until it is closed."""
    with connection.makefile("rb") as answers:
        while line := answers.readline():
            headers = {}
            status = int(line.split()[1])
            while (header := answers.readline().rstrip()) != b"":
                name, _, text = header.partition(b":")
                headers[name.lower()] = text.strip()
            if headers.get(b"transfer-encoding") == b"chunked":
                body = b""
                while size := int(answers.readline(), 16):
                    body += answers.read(size + 2)[:-2]
                answers.readline()
            else:
                body = answers.read(int(headers[b"content-length"]))
            yield status, body


@pytest.mark.parametrize("seed", range(4))
def test_every_request_over_http_gets_a_response(web, seed):
    random = Random(seed)
    server = web(**SHAPE)
    session = server.session()
    requests = [random_input.post(random, number, session.id) for number in range(2_500)]
    with server.socket() as connection:
        writing = threading.Thread(target=connection.sendall, args=[b"".join(requests)])
        writing.start()
        reading = responses(connection)
        got = [next(reading) for _ in requests]
        writing.join(PATIENCE)
    wrong = [(requests[at], got[at]) for at in range(len(got)) if got[at][0] >= 500 or b"-32603" in got[at][1]]
    assert wrong == []
    assert {status for status, _ in got} <= {200, 202, 400, 404, 405, 406, 415, 421}
    assert session.ask(ping("last")) == result("last", {})
    server.process.terminate()
    assert (server.wait(), server.errors) == (0, "")


def test_garbage_ends_its_own_connection_and_nothing_else(web):
    random = Random(5)
    server = web(**SHAPE)

    def throw(garbage: bytes) -> bytes:
        with server.socket() as connection:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            try:
                return b"".join(iter(lambda: connection.recv(1 << 16), b""))
            except ConnectionResetError:
                return b""

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(throw, [random_input.garbage(random) for _ in range(2_000)]))
    statuses = Counter(answer[9:12] for answer in answers)
    # 501 and 505 say what HTTP we do not speak; any other would be a fault of ours.
    assert not [status for status in statuses if status.startswith(b"5") and status not in (b"501", b"505")], statuses
    assert statuses[b"400"] > 500
    assert server.modern(modern(request(1, "tools/list"))).status == 200
    server.process.terminate()
    assert (server.wait(), server.errors) == (0, "")
