"""Servers that behave badly, each in its own way: `python rude.py WAY`. What they have in common is that they must not
get away with it: mcp-cli ends, with a code, and leaves nothing of them behind."""

import random

from raw import answer, hear, hello, json, notify, os, result, serve, shout, signal, subprocess, sys, time

LIST = {"tools/list": {"tools": []}}
WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


@way
def good():
    hello()
    serve(LIST)


@way
def exits_at_once():
    sys.stderr.write("no licence\n")
    sys.exit(3)


@way
def dies_in_the_middle():
    hello()
    hear()
    os.kill(os.getpid(), signal.SIGKILL)


@way
def never_answers():
    while True:
        hear()


@way
def ignores_everything():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hello()
    answer(hear(), LIST)
    while True:
        time.sleep(60)


@way
def leaves_a_grandchild():
    subprocess.Popen(["sleep", "60"])
    hello()
    answer(hear(), LIST)
    sys.exit(0)


@way
def leaves_a_stubborn_grandchild():
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
    subprocess.Popen([sys.executable, "-c", stubborn])
    hello()
    serve(LIST)


@way
def hides_in_a_shell():
    os.execvp("sh", ["sh", "-c", f"{sys.executable} {__file__} good & sleep 60; true"])


@way
def floods_stderr():
    hello()
    for _ in range(500):
        sys.stderr.write("x" * 10_000 + "\n")
    serve(LIST)


@way
def floods_stdout():
    hello()
    request = hear()
    for number in range(20_000):
        notify("notifications/message", level="info", data=number)
    result(request, LIST["tools/list"])
    serve(LIST)


@way
def talks_nonsense():
    shout("Listening…\n{]\n\x00\x01\n" + "[" * 5000 + "\n")
    hello()
    hear()
    shout('{"jsonrpc":"2.0","id":2,"result":{"x":NaN}}\n')
    hear()


@way
def stops_halfway():
    hello()
    hear()
    shout(json.dumps({"jsonrpc": "2.0", "id": 2, "result": LIST["tools/list"]})[:20])
    os.close(1)
    time.sleep(60)


@way
def does_not_read():
    hello()
    time.sleep(60)


if __name__ == "__main__":
    WAYS[sys.argv[1] if sys.argv[1] != "any" else random.choice(list(WAYS))]()
