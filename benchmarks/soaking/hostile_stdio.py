"""Servers on stdio that do harm, each in its own way, those of tests/servers/rude.py included: hostile_stdio.py WAY

All of them end by themselves after a minute, should everything else fail.
"""

import os
import signal
import subprocess
import sys
import time
from functools import partial

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "servers"))
from raw import answer, hear, hello, json, notify, result, say, serve, shout
from rude import WAYS as RUDE_WAYS

LONGEST_LIFE = 60  # seconds
MEGABYTE = 10**6
LIST = {"tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}}
EVIL_TEXT = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\n::error::owned\n  ##[error]owned\n::set-output name=a::b"
DIGITS = "9" * 100_000
WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


def forever(action) -> None:
    while True:
        action()


def err(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


@way
def endless_stderr():
    hello()
    forever(lambda: err("x" * 1000 + "\n"))


@way
def endless_stderr_before_the_handshake():
    forever(lambda: err("x" * 1000 + "\n"))


@way
def endless_stderr_without_newline():
    hello()
    forever(lambda: err("x" * 100_000))


@way
def endless_large_notifications():
    hello()
    forever(lambda: notify("notifications/message", level="info", data="x" * 8 * MEGABYTE))


@way
def endless_small_notifications():
    hello()
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
    forever(lambda: shout((line + "\n") * 1000))


@way
def batch_of_200_000():
    hello()
    hear()
    one = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
    shout("[" + ",".join([one] * 200_000) + "]\n")
    serve(LIST)


def _long_line(megabytes: int) -> None:
    hello()
    result(hear(), {"tools": [], "x": "y" * megabytes * MEGABYTE})
    serve(LIST)


WAYS |= {f"line_of_{size}_megabytes": partial(_long_line, size) for size in (60, 80)}


@way
def line_of_a_million_values():
    hello()
    values = ",".join(["{}"] * 3 * MEGABYTE)
    shout(f'{{"jsonrpc":"2.0","id":{hear()["id"]},"result":{{"tools":[],"x":[{values}]}}}}\n')
    serve(LIST)


@way
def line_that_never_ends():
    hello()
    hear()
    shout('{"jsonrpc":"2.0","id":2,"result":{"x":"')
    forever(lambda: shout("x" * MEGABYTE))


@way
def deep_nesting():
    hello()
    nested = '{"a":[' * 100_000 + "1" + "]}" * 100_000
    shout(f'{{"jsonrpc":"2.0","id":{hear()["id"]},"result":{nested}}}\n')
    serve(LIST)


@way
def nul_bytes():
    hello()
    hear()
    forever(lambda: (shout("\0" * 1000 + "\n"), time.sleep(0.01)))


@way
def invalid_utf_8():
    hello()
    request = hear()
    sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[],"x":"\xff\xfe\xc0"}}\n' % request["id"])
    sys.stdout.buffer.flush()
    serve(LIST)


@way
def utf_16():
    hello()
    text = json.dumps({"jsonrpc": "2.0", "id": hear()["id"], "result": LIST["tools/list"]}) + "\n"
    sys.stdout.buffer.write(text.encode("utf-16"))
    sys.stdout.buffer.flush()
    serve(LIST)


@way
def wrong_ids():
    hello()
    hear()
    for identity in (None, "2", -2, 2.5, [], {}, True, "x" * MEGABYTE):
        say({"id": identity, "result": LIST["tools/list"]})
    serve({})


@way
def huge_id():
    hello()
    hear()
    shout(f'{{"jsonrpc":"2.0","id":{DIGITS},"result":{{}}}}\n')
    serve(LIST)


@way
def huge_numbers():
    hello()
    shout(f'{{"jsonrpc":"2.0","id":{hear()["id"]},"result":{{"tools":[],"x":{DIGITS},"y":1e999999}}}}\n')
    serve(LIST)


@way
def replies_twice():
    hello()
    while True:
        request = hear()
        answer(request, LIST)
        answer(request, LIST)


@way
def result_and_error():
    hello()
    request = hear()
    say({"id": request["id"], "result": LIST["tools/list"], "error": {"code": 1, "message": "both"}})
    serve(LIST)


@way
def exits_after_the_handshake():
    hello()


@way
def exits_after_half_a_line():
    hello()
    hear()
    shout('{"jsonrpc":"2.0","id":2,"resu')


@way
def closes_stdout_only():
    hello()
    os.close(1)
    forever(hear)


@way
def closes_stdin_only():
    hello()
    os.close(0)
    time.sleep(LONGEST_LIFE)


@way
def closes_everything_and_stays():
    hello()
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    time.sleep(LONGEST_LIFE)


@way
def daemon_holds_the_pipes():
    hello()
    answer(hear(), LIST)
    # In a session of its own, with the pipes of this process.
    subprocess.Popen(["sleep", str(LONGEST_LIFE)], start_new_session=True)


@way
def daemon_twice_removed():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.alarm(LONGEST_LIFE)
            time.sleep(LONGEST_LIFE)
        os._exit(0)
    os.wait()
    hello()
    serve(LIST)


@way
def children_and_more_children():
    for _ in range(50):
        subprocess.Popen(["sleep", str(LONGEST_LIFE)], process_group=0)
    hello()
    serve(LIST)


@way
def stops_itself():
    hello()
    hear()
    os.kill(os.getpid(), signal.SIGSTOP)
    serve(LIST)


@way
def changes_its_session_and_ignores_signals():
    if os.getpid() != os.getsid(0):
        os.setsid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hello()
    answer(hear(), LIST)
    time.sleep(LONGEST_LIFE)


@way
def leaves_its_process_group():
    if os.fork():
        os.wait()
        return
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.alarm(LONGEST_LIFE)
    hello()
    answer(hear(), LIST)
    time.sleep(LONGEST_LIFE)


@way
def drips_one_byte_at_a_time():
    hello()
    for letter in json.dumps({"jsonrpc": "2.0", "id": hear()["id"], "result": LIST["tools/list"]}) * 10:
        shout(letter)
        time.sleep(0.1)
    serve(LIST)


@way
def huge_list():
    hello()
    tool = {"name": "look", "description": "x" * 1000, "inputSchema": {"type": "object"}}
    serve({"tools/list": {"tools": [{**tool, "name": f"look_{number}"} for number in range(20_000)]}})


@way
def cursor_to_itself():
    hello()
    serve({"tools/list": {**LIST["tools/list"], "nextCursor": "again"}})


@way
def always_another_cursor():
    hello()
    numbers = iter(range(10**9))
    serve({"tools/list": lambda _: {"tools": [], "nextCursor": f"{next(numbers)}"}})


@way
def progress_without_end():
    hello()
    token = hear().get("params", {}).get("_meta", {}).get("progressToken", 2)
    forever(lambda: (notify("notifications/progress", progressToken=token, progress=1), time.sleep(0.001)))


def _asks(method: str, **params) -> None:
    hello()
    numbers = iter(range(10**9))
    forever(lambda: (say({"id": f"q{next(numbers)}", "method": method, "params": params}), time.sleep(0.0005)))


@way
def elicitation_without_end():
    _asks("elicitation/create", message=EVIL_TEXT, requestedSchema={"type": "object", "properties": {}})


@way
def sampling_without_end():
    _asks("sampling/createMessage", messages=[], maxTokens=1)


@way
def pings_without_end():
    _asks("ping")


@way
def roots_without_end():
    _asks("roots/list")


def _with_schema(schema: dict, content: object) -> None:
    hello(tools={})
    tool = {"name": "look", "inputSchema": schema, "outputSchema": schema, "annotations": {"readOnlyHint": True}}
    answered = {"content": [{"type": "text", "text": "x"}], "structuredContent": content}
    serve({"tools/list": {"tools": [tool]}, "tools/call": answered})


@way
def schema_that_doubles():
    definitions = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 4} for level in range(14)}
    schema = {"type": "object", "$defs": {**definitions, "d14": {"not": {}}}, "anyOf": [{"$ref": "#/$defs/d0"}]}
    _with_schema(schema, {"a": 1})


@way
def schema_that_is_itself():
    _with_schema({"type": "object", "$ref": "#"}, {"a": 1})


@way
def schema_with_a_slow_pattern():
    slow = {"type": "string", "pattern": "^(a+)+$"}
    _with_schema({"type": "object", "properties": {"a": slow}}, {"a": "a" * 40 + "!"})


@way
def evil_texts():
    err(EVIL_TEXT + "\n")
    request = hear()
    info = {"name": EVIL_TEXT, "version": EVIL_TEXT, "title": EVIL_TEXT}
    version = request["params"].get("protocolVersion", "2025-11-25")
    capabilities = {"tools": {}, "logging": {}}
    said = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info, "instructions": EVIL_TEXT}
    result(request, said)
    while True:
        request = hear()
        if "id" in request and request.get("method") == "tools/list":
            notify("notifications/message", level="info", data=EVIL_TEXT, logger=EVIL_TEXT)
            shout(f"{EVIL_TEXT}\n")
            tool = {"name": EVIL_TEXT, "description": EVIL_TEXT, "inputSchema": {"type": EVIL_TEXT}}
            result(request, {"tools": [tool]})
        elif "id" in request:
            say({"id": request["id"], "error": {"code": -1, "message": EVIL_TEXT, "data": EVIL_TEXT}})


@way
def evil_error():
    err(EVIL_TEXT)
    say({"id": hear().get("id"), "error": {"code": -1, "message": EVIL_TEXT, "data": {EVIL_TEXT: EVIL_TEXT}}})
    serve({})


@way
def evil_version():
    hello(EVIL_TEXT)
    serve(LIST)


WAYS |= {name: function for name, function in RUDE_WAYS.items() if name != "good"}

if __name__ == "__main__":
    signal.alarm(LONGEST_LIFE)
    WAYS[sys.argv[1]]()
