"""Messages, lines and HTTP requests that nobody would send: made by chance, but the same ones for the same seed."""

import json
from random import Random
from typing import Any

from tests.e2e.server.http_wire import BOTH, routing
from tests.e2e.server.wire import call, echo, initialize, modern, notification, ping, request, result

WORDS = (
    "id", "method", "params", "result", "error", "jsonrpc", "2.0", "name", "arguments", "uri", "_meta", "cursor", "task",
    "progressToken", "tools/list", "tools/call", "notifications/cancelled", "requestId", "ref", "argument", "level", "ttl",
    "", "\u0000", "é😀", "\ud800", "x" * 300, "io.modelcontextprotocol/protocolVersion", "taskId", "2026-07-28", "null",
)  # fmt: skip
NUMBERS = (0, 1, -1, 1.5, 1e300, 2**53, 2**64, -(10**40), 0.1)


def message(random: Random, number: int) -> Any:
    """A good message, whose id is NUMBER."""
    uri = f"test://resource_{random.randint(1, 4)}"
    made = random.choice(
        [
            ping(number),
            echo(number, random.choice(WORDS)),
            call(number, "add", {"a": random.choice(NUMBERS), "b": 1}),
            call(number, f"tool_{random.randint(0, 3)}", {"message": "x"}),
            call(number, "record_shipment", {"quantity": random.choice(NUMBERS)}),
            call(number, "add_tool", {"name": f"new_{number}", "description": "x", "inputSchema": value(random)}),
            call(number, "update_resource", {"uri": uri, "text": "x"}),
            call(number, "get_temp", {"city": "x", "units": random.choice("CFK")}),
            call(number, "list_roots"),
            call(number, "optional_task", {}, task={"ttl": 1000}),
            request(number, "resources/read", {"uri": random.choice([uri, "user://5", "nothing://"])}),
            request(number, "resources/subscribe", {"uri": uri}),
            request(number, "resources/templates/list"),
            request(number, "prompts/get", {"name": "args_prompt", "arguments": {"city": "x", "state": "y"}}),
            request(number, "prompts/list", {"cursor": random.choice(WORDS)}),
            request(number, "tools/list", {"cursor": None}),
            request(number, "tasks/list"),
            request(number, "tasks/get", {"taskId": random.choice(WORDS)}),
            request(number, "logging/setLevel", {"level": random.choice(["info", *WORDS])}),
            request(
                number,
                "completion/complete",
                {"ref": {"type": "ref/prompt", "name": "args_prompt"}, "argument": {"name": "city", "value": ""}},
            ),
            initialize("2025-11-25", number),
            notification("notifications/initialized"),
            notification("notifications/cancelled", {"requestId": "nobody"}),
            result(f"nobody {number}", {}),
        ]
    )
    is_request = "method" in made and "id" in made and made["method"] != "initialize"
    return modern(made) if is_request and random.random() < 0.4 else made


def value(random: Random, depth: int = 4) -> Any:
    """Any JSON at all."""
    kind = random.randrange(8 if depth else 6)
    if kind < 2:
        return random.choice(WORDS)
    if kind < 4:
        return random.choice([None, True, False])
    if kind < 6:
        return random.choice(NUMBERS)
    if kind == 6:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    return {random.choice(WORDS): value(random, depth - 1) for _ in range(random.randrange(4))}


def changed(random: Random, good: Any) -> Any:
    """GOOD with one part of it replaced, renamed or left out."""
    if not isinstance(good, dict) or not good or random.random() < 0.15:
        return value(random)
    key = random.choice(list(good))
    rest = {name: member for name, member in good.items() if name != key}
    match random.randrange(5):
        case 0:
            return rest
        case 1:
            return {**rest, random.choice(WORDS): good[key]}
        case 2:
            return {**good, random.choice(WORDS): value(random)}
        case _:
            return {**good, key: changed(random, good[key])}


def garbled(random: Random, text: bytes) -> bytes:
    """TEXT with a few bytes changed, added or left out."""
    octets = bytearray(text)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(octets) + 1)
        match random.randrange(4):
            case 0:
                del octets[at : at + random.randint(1, 10)]
            case 1:
                octets[at:at] = random.choice([b'"', b"{", b"}", b"[", b",", b"\\", b"\xff", b"\x00", b"9"])
            case 2:
                octets[at : at + 1] = bytes([random.randrange(256)])
            case _:
                del octets[at:]
    return bytes(octets)


def line(random: Random, number: int) -> bytes:
    """A line without its end, good or bad in one of many ways."""
    good = message(random, number)
    match random.randrange(8):
        case 0:
            text = json.dumps(good).encode()
        case 1 | 2 | 3:
            text = json.dumps(changed(random, good)).encode()
        case 4 | 5:
            text = garbled(random, json.dumps(good).encode())
        case 6:
            text = json.dumps(value(random)).encode()
        case _:
            text = random.randbytes(random.randrange(80))
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def post(random: Random, number: int, session: str) -> bytes:
    """A POST that is good HTTP, whatever stands in its headers and its body."""
    good = message(random, number)
    headers = {"Host": "localhost", "Accept": BOTH, "Content-Type": "application/json", "Mcp-Session-Id": session}
    if "params" in good and "_meta" in good["params"]:
        headers |= {name: text for name, text in routing(good).items() if text.isascii() and text.isprintable()}
    for _ in range(random.randrange(3)):
        name = random.choice(
            ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Accept", "Mcp-Session-Id", "Last-Event-ID"]
        )
        headers[name] = random.choice(["", "x", "2025-06-18", "=?base64?!?=", "\xe9\xff", "*/*", "9" * 500, "1_1"])
    body = line(random, number)
    verb = random.choices(["POST", "DELETE", "PUT", "GET", "PATCH"], [95, 1, 2, 1, 1])[0]
    if verb in ("DELETE", "GET"):
        headers["Mcp-Session-Id"] = "nobody"
    head = [
        f"{verb} /mcp HTTP/1.1",
        *(f"{name}: {text}" for name, text in headers.items()),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def garbage(random: Random) -> bytes:
    """What is no HTTP, or only nearly."""
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
    match random.randrange(6):
        case 0:
            return random.randbytes(random.randrange(200))
        case 1 | 2:
            return garbled(random, head)
        case 3:
            return b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + random.randbytes(20)
        case 4:
            name = bytes([random.randrange(256)])
            return b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nA" + name + b": x\r\nB: " + name + b"\r\n\r\n"
        case _:
            return b"POST " + random.randbytes(10) + b" HTTP/9.9\r\nContent-Length: -5\r\n\r\n"
