"""Calls per second of several clients on the same server, and how long a very long line takes.

Each measurement is a process of its own (clients.py), so that no client carries the memory of another, and this one
stays small. Client and server are put on fixed cores: a call one by one takes twice as long when it has to wake a
sleeping core, and if the cores are not fixed, the scheduler may decide differently for each client.
"""

import json
import os
import subprocess
import sys

from one_shot import HERE, RUN_SECONDS

CLIENTS = ("session", "bare", "least", "sdk")
HTTP_CLIENTS = ("http_session", "http_sdk")
IN_FLIGHT = 50
Cores = tuple[int, int] | None  # of the one who asks, and of the server


def placements() -> dict[str, Cores]:
    """On which cores client and server can be put, by what to call it."""
    if not hasattr(os, "sched_setaffinity"):
        return {"any cores": None}
    cores = sorted(os.sched_getaffinity(0))
    one = {"one core": (cores[-1], cores[-1])}
    both = {"any cores": None, "two cores": (cores[0], cores[-1])}
    return one if len(cores) == 1 else {**both, **one}


def rates(client: str, cores: Cores, calls: int, waves: int) -> list[float]:
    """Calls per second and the client's CPU microseconds for each: one by one, then so many in flight."""
    return _apart(client, cores, (calls, waves))


def line_seconds(megabytes: int) -> tuple[float, float]:
    """Seconds, and CPU seconds, of Session.request for a result of this size, the first one in its process."""
    seconds, cpu = _apart("line", None, (megabytes,))
    return seconds, cpu


def _apart(kind: str, cores: Cores, numbers: tuple[int, ...]) -> list[float]:
    command = [sys.executable, os.path.join(HERE, "clients.py"), kind, json.dumps(cores), *map(str, numbers)]
    # Not through a proxy that the environment may name.
    environ = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=RUN_SECONDS, check=True, env=environ)
    return json.loads(done.stdout)
