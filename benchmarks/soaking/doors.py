"""Forms of requests that `conductor serve` must refuse: other hosts, other origins, other paths, and smuggled requests.

Each form carries a request with the id "intruder". If an answer to that comes back, it was let in. Afterwards a proper
request must be answered as ever, and SIGTERM must end the server with 0.
"""

import json
import re
import signal
import socket
import time
from collections.abc import Iterator

from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.programs import INITIALIZE, SERVED
from benchmarks.soaking.watch import CONDUCTOR, Running, run

START_SECONDS = 8.0
# The server closes what it refuses; it need not close what it has understood to be half a request.
ANSWER_SECONDS = 0.4
END_SECONDS = 8.0
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)")
ON_ONE_SERVER = 12
WORDS = (*CONDUCTOR, "serve", "served.json", "--transport", "streamable-http", "--port", "0")


def message(identity: str) -> str:
    return json.dumps({**INITIALIZE, "id": identity})


INTRUDER, PROPER = message("intruder"), message("proper")
CHUNKED = "Transfer-Encoding: chunked\r\n"
ACCEPT = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"


def post(
    *headers: str, target: str = "/mcp", verb: str = "POST", version: str = "HTTP/1.1", body: str = INTRUDER
) -> str:
    """A request of which everything but the length of the body is given; {port} is the server's."""
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"{verb} {target} {version}\r\n{lines}{ACCEPT}Content-Length: {len(body)}\r\n\r\n{body}"


OWN = "Host: 127.0.0.1:{port}"
HOSTS = (
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "127.0.0.1.evil.example:{port}",
    "localhost.evil.example", "evil.example#127.0.0.1:{port}", "evil.example@127.0.0.1:{port}",
    "127.0.0.1@evil.example", "user@evil.example:{port}", "127.0.0.1:{port}@evil.example",
    "evil.example/127.0.0.1", "evil.example\\127.0.0.1", "evil.example, 127.0.0.1:{port}",
    "127.0.0.1:{port}, evil.example", "127.0.0.1 evil.example", "localhost:{port}.evil.example",
    "xn--lcalhost-4y4c", "l\u043ecalhost", "127.0.0.1%00.evil.example", "127.0.0.1\x00", "[::1].evil.example",
    "[::ffff:7f00:1]evil", "169.254.169.254", "10.0.0.1", "0.0.0.0.evil.example", "2130706433.evil.example",
    "127.1", "0x7f.1", "0x7f000001", "0177.0.0.1", "2130706433", "127.0.0.1.", "localhost.", "[::ffff:127.0.0.1]",
    "[::1%25lo]", "127.0.0.1:99999", "evil.example.", ".localhost.evil", "*", "null", "", "-", "%65vil.example",
)  # fmt: skip
ORIGINS = (
    "http://evil.example", "https://evil.example", "null", "http://127.0.0.1.evil.example",
    "http://localhost.evil.example", "http://evil.example:{port}", "http://127.0.0.1:{port}@evil.example",
    "http://127.0.0.1:{port}.evil.example", "file://", "chrome-extension://abcdef",
    "http://evil.example#http://127.0.0.1:{port}", "http://evil.example, http://127.0.0.1:{port}",
    "http://127.0.0.1:{port} http://evil.example", "http://[::1].evil.example", "data:text/html,x",
    "javascript:alert(1)", "http://", "http://l\u043ecalhost", "evil.example", "//evil.example",
    "ws://evil.example", "http://evil.example\\@127.0.0.1", "http://evil.example/127.0.0.1",
    "http://xn--lcalhost-4y4c", "ftp://localhost", "data://localhost", "file://localhost", "ws://127.0.0.1:{port}",
    "chrome-extension://localhost", "tauri://localhost", "httpx://localhost", "http://localhost.", "http://127.1",
)  # fmt: skip
TARGETS = (
    "/", "/mcp/x", "/mcp/..", "/mcpx", "/MCP", "/x/mcp", "/%6dcp%2f", "/mcp%00", "/mcp;x", "/.well-known/mcp",
    "//evil.example/mcp", "http://evil.example/mcp", "https://evil.example/mcp", "*", "evil.example:80",
    "/mcp\\x", "\\mcp", "mcp", "", "/mcp /mcp",
)  # fmt: skip


def smuggled() -> dict[str, str]:
    """Two readings of one text: in one of them there is a second request, which comes from elsewhere."""
    start = f"POST /mcp HTTP/1.1\r\n{OWN}\r\n{ACCEPT}"
    hidden = post(OWN)  # would be taken if it was a request, but it is a part of a body
    over = f"0\r\n\r\n{hidden}"
    codings = (
        "chunked, identity", "identity, chunked", "xchunked", "chunked\x0b", "\x0bchunked",
        "chunked\r\nTransfer-Encoding: x", "gzip, chunked", "chunked, chunked", '"chunked"', "chunked;q=1", "chunked,",
        ",chunked",
    )  # fmt: skip
    lengths = (
        "+5",
        "-1",
        "0x10",
        "5, 6",
        "5\r\nContent-Length: 6",
        "5 5",
        "",
        "\u0665",
        "1e3",
        "99999999999999999999999",
        "\t",
    )
    found = {"second request, from elsewhere": post(OWN, body=message("outer")) + post("Host: evil.example")}
    found |= {
        f"Content-Length {value!r}": f"{start}Content-Length: {value}\r\n\r\n{'{' * 5}{hidden}" for value in lengths
    }
    found |= {
        f"Transfer-Encoding {value!r}": f"{start}Transfer-Encoding: {value}\r\nContent-Length: 4\r\n\r\n{over}"
        for value in codings
    }
    found |= {
        "both lengths": f"{start}Content-Length: {len(over)}\r\n{CHUNKED}\r\n{over}",
        "space before the colon": f"{start}Transfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n{over}",
        "folded header": f"{start}Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n{over}",
        "chunk too short": f"{start}{CHUNKED}\r\n1\r\n{{}}{hidden}",
        "chunk size with a sign": f"{start}{CHUNKED}\r\n-1\r\n{hidden}",
        "chunk size that is none": f"{start}{CHUNKED}\r\nx\r\n{hidden}",
        "extension of a megabyte": f"{start}{CHUNKED}\r\n1;{'x' * (1 << 20)}\r\n{{\r\n{over}",
        "trailer of a megabyte": f"{start}{CHUNKED}\r\n2\r\n{{}}\r\n0\r\nX: {'x' * (1 << 20)}\r\n\r\n{hidden}",
        "line feed in an extension": f"{start}{CHUNKED}\r\n2;x\ny\r\n{{}}\r\n{over}",
        "chunks that end with a line feed": f"{start}{CHUNKED}\r\n2\r\n{{}}\r\n0\r\n\n{hidden}",
        "chunk size too large": f"{start}{CHUNKED}\r\n{'f' * 20}\r\n{hidden}",
    }
    return found


def forms() -> dict[str, str]:
    found = {f"Host {value!r}": post(f"Host: {value}") for value in HOSTS}
    found |= {
        "no Host": post(),
        "two Hosts": post(OWN, "Host: evil.example"),
        "two Hosts, the other first": post("Host: evil.example", OWN),
        "the same Host twice": post(OWN, OWN),
        "Host in a folded line": post("X: y", " Host: 127.0.0.1:{port}"),
        "Host with a space before the colon": post("Host : 127.0.0.1:{port}"),
        "Host of another, ours forwarded": post("Host: evil.example", "X-Forwarded-Host: 127.0.0.1:{port}"),
    }
    found |= {f"Origin {value!r}": post(OWN, f"Origin: {value}") for value in ORIGINS}
    found |= {
        "two Origins": post(OWN, "Origin: http://127.0.0.1:{port}", "Origin: http://evil.example"),
        "Origin and Host of the same other": post("Host: evil.example", "Origin: http://evil.example"),
    }
    found |= {f"target {value!r}": post(OWN, target=value) for value in TARGETS}
    found |= {f"verb {verb}": post(OWN, verb=verb) for verb in ("PUT", "PATCH", "post", "TRACE", "CONNECT", "POST\0")}
    found |= {
        f"before the request {text!r}": text + post(OWN) for text in ("\n", "\r", "\r\n\n", "\r\n\r\n", " ", "\0")
    }
    found |= {
        f"request line {line!r}": post(OWN).replace("POST /mcp HTTP/1.1", line, 1)
        for line in (
            "POST  /mcp HTTP/1.1", "POST /mcp  HTTP/1.1", "POST /mcp HTTP/1.1 ", "POST\t/mcp HTTP/1.1",
            "POST /mcp\tHTTP/1.1", "POST /mcp\x0b HTTP/1.1", "POST /mcp\r HTTP/1.1", "POST /mcp HTTP/1.1\r",
        )
    }  # fmt: skip
    found |= {
        f"value {text!r}": post(OWN, f"X: {text}") for text in ("\x01", "a\0b", "\x1b[31m", "\x7f", "a\rb", "a\nb")
    }
    found |= {f"head of {size} bytes": post(OWN, "X: " + "x" * size) for size in (64 << 10, 100_000, 1 << 20)}
    found |= {f"version {text}": post(OWN, version=text) for text in ("HTTP/9.9", "http/1.1", "", "HTTP/1.1 x")}
    return found | smuggled()


FORMS = forms()
RUNS = len(FORMS)


def _talked(port: int, text: str) -> bytes:
    """Everything that comes back, until the connection is closed or nothing comes any more."""
    with socket.create_connection(("127.0.0.1", port), START_SECONDS) as connection:
        connection.sendall(text.replace("{port}", str(port)).encode())
        connection.settimeout(ANSWER_SECONDS)
        heard = b""
        try:
            while data := connection.recv(65536):
                heard += data
                if b"intruder" in data or b"proper" in data:
                    break
        except (TimeoutError, ConnectionError):
            pass
    return heard


def _port(running: Running) -> int | None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and not running.over():
        if found := ADDRESS.search(running.err.read_bytes() + running.out.read_bytes()):
            return int(found[1])
        time.sleep(0.005)
    return None


def _knocked(name: str, some: list[tuple[str, str]]) -> Result:
    """Try some forms on one server, each on a connection of its own."""
    complaints: list[tuple[str, str]] = []

    def meanwhile(running: Running) -> float:
        port = _port(running)
        if port is not None:
            for form, text in some:
                complaints.extend((kind, f"{form}: {what}") for kind, what in _tried(port, text))
            running.send(signal.SIGTERM)
        return END_SECONDS

    ended = run(WORDS, END_SECONDS, files={"served.json": SERVED}, meanwhile=meanwhile)
    result = judged(name, ended, {0}, Limits(END_SECONDS))
    for complaint in complaints:
        result.complain(*complaint)
    return result


def _tried(port: int, text: str) -> Iterator[tuple[str, str]]:
    heard = _talked(port, text)
    if b"intruder" in heard and b'"result"' in heard:
        yield "let in", repr(heard[:40])
    heard = _talked(port, post(OWN, body=PROPER))
    if b'"result"' not in heard:
        yield "shut", f"a proper request was not answered afterwards: {heard[:300]!r}"


def cases(runs: int, _seed: int) -> list[Case]:
    every = list(FORMS.items())
    chosen = [every[number * len(every) // runs] for number in range(runs)] if runs < len(every) else every
    batches = [chosen[first : first + ON_ONE_SERVER] for first in range(0, len(chosen), ON_ONE_SERVER)]
    return [_case(number, batch) for number, batch in enumerate(batches)]


def _case(number: int, some: list[tuple[str, str]]) -> Case:
    name = f"{number}: serve, {some[0][0]} and {len(some) - 1} more" if some[1:] else f"{number}: serve, {some[0][0]}"
    return Case(name, lambda: _knocked(name, some), len(some))
