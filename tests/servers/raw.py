"""The words that the tests' own servers are written in: no SDK, no help, every byte on purpose."""

import json
import os
import signal
import subprocess
import sys
import time

__all__ = [
    "META", "answer", "ask", "error", "hear", "hello", "json", "notify", "os", "result", "say", "serve", "shout", "signal",
    "subprocess", "sys", "time",
]  # fmt: skip

META = "io.modelcontextprotocol/"


def hear():
    """The next message from the client; ends the server at the end of stdin."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def shout(text):
    """Put exactly this on stdout."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say(message):
    shout(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def result(request, value):
    say({"id": request["id"], "result": value})


def error(request, code, message, **more):
    say({"id": request["id"], "error": {"code": code, "message": message, **more}})


def notify(method, **params):
    say({"method": method, "params": params})


def ask(identity, method, **params):
    """Ask the client something, and return its reply."""
    say({"id": identity, "method": method, "params": params})
    return hear()


def hello(version=None, **capabilities):
    """Take part in the handshake; returns the params of initialize."""
    request = hear()
    assert request["method"] == "initialize", request
    answered = version or request["params"]["protocolVersion"]
    info = {"name": "raw", "version": "1"}
    result(request, {"protocolVersion": answered, "capabilities": capabilities, "serverInfo": info})
    assert hear()["method"] == "notifications/initialized"
    return request["params"]


def answer(request, methods):
    if "id" not in request or "method" not in request:
        return
    if request["method"] not in methods:
        error(request, -32601, "Method not found")
        return
    value = methods[request["method"]]
    result(request, value(request.get("params") or {}) if callable(value) else value)


def serve(methods):
    """Answer all requests, from a table of results or functions of the params."""
    while True:
        answer(hear(), methods)
