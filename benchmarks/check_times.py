"""`conductor check` compared with what it checks: the start of a server, or one run of a client."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

from one_shot import HERE

from servers import INITIALIZE

ROOT = os.path.realpath(os.path.join(HERE, ".."))
CONDUCTOR = os.path.join(os.path.dirname(sys.executable), "conductor")
SERVERS = {
    "SDK's lowlevel server": (sys.executable, os.path.join(HERE, "sdk_lowlevel_server.py"), "stdio"),
    "SDK's MCPServer": (sys.executable, os.path.join(ROOT, "tests", "servers", "sdk_server.py")),
}
CLIENTS = {
    "a client of a few lines": ("tests/e2e/checks/clients/polite_client.py", "--", "{server}"),
    "SDK's client": ("tests/e2e/checks/clients/sdk_client.py", "auto", "{server}"),
}
LONGEST = 300.0  # seconds, for one check
END_SECONDS = 10.0


def start_seconds(server: tuple[str, ...]) -> float:
    """From the start of SERVER until it has answered `initialize`."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    began = time.perf_counter()
    with subprocess.Popen(
        server, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        seconds = time.perf_counter() - began
        process.stdin.close()
        process.wait(END_SECONDS)
    if b"protocolVersion" not in answer:
        raise SystemExit(f"{' '.join(server)} did not answer")
    return seconds


def check_seconds(*words: str) -> float:
    """How long one check takes, start and end of the program included; what it finds does not matter here."""
    began = time.perf_counter()
    done = subprocess.run(
        [CONDUCTOR, "check", "--quiet", *words], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"conductor check {shlex.join(words)} ended with {done.returncode}: {done.stderr}")
    return time.perf_counter() - began


def in_turns(rounds: int, *measures: Callable[[], float]) -> Iterator[list[float]]:
    """What each of MEASURES gives, in turns: the load of the machine changes."""
    taken: list[list[float]] = [[] for _ in measures]
    for _ in range(rounds):
        for values, measure in zip(taken, measures, strict=True):
            values.append(measure())
    yield from taken


def server_ratios(rounds: int) -> Iterator[tuple[str, float, float]]:
    """For each server: its name, the seconds of a check, and those of its start."""
    for name, command in SERVERS.items():
        before, check, after = in_turns(
            rounds,
            lambda command=command: start_seconds(command),
            lambda command=command: check_seconds("--", *command),
            lambda command=command: start_seconds(command),
        )
        yield name, median(check), median(before + after)


def client_ratios(rounds: int) -> Iterator[tuple[str, float, float]]:
    """For each client: its name, the seconds of a check, and those of its plain scenario alone."""
    for name, words in CLIENTS.items():
        command = shlex.join([sys.executable, *words]).replace("'{server}'", "{server}")
        whole, one = in_turns(
            rounds,
            lambda command=command: check_seconds("--client", command),
            lambda command=command: check_seconds("--client", command, "--scenario", "plain"),
        )
        yield name, median(whole), median(one)


def comparisons(rounds: int) -> Iterator[tuple[str, float, float, float | None]]:
    """What is compared, the seconds of a check, those of what it checks, and the most that the ratio should be."""
    for name, check, start in server_ratios(rounds):
        yield f"check, {name}: check / start to initialize", check, start, 7
    for name, check, one in client_ratios(rounds):
        yield f"check --client, {name}: all / plain scenario alone", check, one, None
