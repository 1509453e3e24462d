"""The clients that throughput.py compares, one in a process: clients.py KIND CORES NUMBER …"""

import asyncio
import json
import os
import subprocess
import sys
import time
from itertools import count

from one_shot import SERVER, http_server
from throughput import HTTP_CLIENTS, IN_FLIGHT

WARM_UP = 200
VERSION = "2025-11-25"
CALL = {"name": "tool_0", "arguments": {"place": "Uppsala", "days": 1}}


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), time.process_time()

    def of(self, calls: int) -> list[float]:
        """Calls per second, and CPU microseconds of this process for each call."""
        seconds, cpu = time.perf_counter() - self._began, time.process_time() - self._cpu_began
        return [calls / seconds, cpu / calls * 10**6]


def main(kind: str, cores: str, *numbers: str) -> None:
    """Measure in this process, and print the results as a JSON array."""
    command = SERVER
    server_core = None
    if pinned := json.loads(cores):
        os.sched_setaffinity(0, pinned[:1])
        server_core = pinned[1]
        command = (*SERVER, "1", "100", str(server_core))
    if kind in HTTP_CLIENTS:
        measure = {"http_session": http_session, "http_sdk": http_sdk}[kind]
        with http_server(server_core) as url:
            outcome = asyncio.run(measure(url, *map(int, numbers)))
    else:
        measure = {"bare": bare, "least": least, "session": session, "sdk": sdk, "line": line}[kind]
        outcome = measure(command, *map(int, numbers))
        outcome = asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome
    print(json.dumps(outcome))


def bare(command: tuple[str, ...], calls: int, waves: int) -> list[float]:
    """The least that a client can do: blocking pipes and JSON."""
    ids = count(1)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def write(method: str, params: object) -> None:
            request = {"jsonrpc": "2.0", "id": next(ids), "method": method, "params": params}
            process.stdin.write(json.dumps(request).encode() + b"\n")

        def read() -> object:
            return json.loads(process.stdout.readline())["result"]

        def waves_of(size: int, times: int) -> list[float]:
            """SIZE requests are written, and then as many replies read, so many TIMES."""
            watch = Stopwatch()
            for _ in range(times):
                for _ in range(size):
                    write("tools/call", CALL)
                process.stdin.flush()
                for _ in range(size):
                    read()
            return watch.of(size * times)

        write("initialize", {"protocolVersion": VERSION})
        process.stdin.flush()
        read()
        waves_of(1, WARM_UP)
        return waves_of(1, calls) + waves_of(IN_FLIGHT, waves)


async def least(command: tuple[str, ...], calls: int, waves: int) -> list[float]:
    """The least that a client on asyncio can do: a future for each request, by its id. It checks and keeps nothing."""
    loop, ids = asyncio.get_running_loop(), count(1)
    open_ones: dict[int, asyncio.Future] = {}
    unsent: list[str] = []

    class Replies(asyncio.SubprocessProtocol):
        rest = b""

        def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002  # it is stdout
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                reply = json.loads(line)
                open_ones.pop(reply["id"]).set_result(reply["result"])

    process, _ = await loop.subprocess_exec(Replies, *command, stderr=None)
    stdin = process.get_pipe_transport(0)

    def flush() -> None:
        stdin.write("".join(unsent).encode())
        unsent.clear()

    async def request(method: str, params: object) -> object:
        identity = next(ids)
        reply = open_ones[identity] = loop.create_future()
        if not unsent:
            loop.call_soon(flush)
        unsent.append(json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}) + "\n")
        return await reply

    await request("initialize", {"protocolVersion": VERSION})
    taken = await _rates(lambda: request("tools/call", CALL), calls, waves)
    process.close()
    return taken


async def session(command: tuple[str, ...], calls: int, waves: int) -> list[float]:
    """Session.request of mcp_conductor."""
    from mcp_conductor import StdioSpec, connect

    async with connect(StdioSpec(command=command), protocol=VERSION) as opened:
        return await _rates(lambda: opened.request("tools/call", CALL), calls, waves)


async def sdk(command: tuple[str, ...], calls: int, waves: int) -> list[float]:
    """ClientSession.call_tool of the official SDK, without time limit, and with nothing logged."""
    import logging

    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    logging.disable(logging.CRITICAL)
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as opened:
        return await _sdk_rates(opened, calls, waves)


async def http_session(url: str, calls: int, waves: int) -> list[float]:
    """Session.request of mcp_conductor over Streamable HTTP."""
    from mcp_conductor import HttpSpec, connect

    async with connect(HttpSpec(url=url), protocol=VERSION) as opened:
        return await _rates(lambda: opened.request("tools/call", CALL), calls, waves)


async def http_sdk(url: str, calls: int, waves: int) -> list[float]:
    """ClientSession.call_tool of the official SDK over Streamable HTTP, with the HTTP client that it makes itself."""
    import logging

    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    logging.disable(logging.CRITICAL)
    async with streamable_http_client(url) as (read, write), ClientSession(read, write) as opened:
        return await _sdk_rates(opened, calls, waves)


async def _sdk_rates(opened, calls: int, waves: int) -> list[float]:
    await opened.initialize()
    # It checks results against the tools that it knows; if it knows none, it would list them in the first call.
    await opened.list_tools()
    return await _rates(lambda: opened.call_tool(CALL["name"], CALL["arguments"]), calls, waves)


async def _rates(call, calls: int, waves: int) -> list[float]:
    for _ in range(WARM_UP):
        await call()
    watch = Stopwatch()
    for _ in range(calls):
        await call()
    one_by_one = watch.of(calls)
    watch = Stopwatch()
    for _ in range(waves):
        await asyncio.gather(*(call() for _ in range(IN_FLIGHT)))
    return one_by_one + watch.of(waves * IN_FLIGHT)


async def line(command: tuple[str, ...], megabytes: int) -> list[float]:
    """Seconds, and those of the CPU, that Session.request takes for a result whose text has so many megabytes."""
    from mcp_conductor import StdioSpec, connect

    async with connect(StdioSpec(command=command), protocol=VERSION) as opened:
        began, cpu_began = time.perf_counter(), time.process_time()
        result = await opened.request("tools/call", {**CALL, "arguments": {"megabytes": megabytes}})
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    if len(result["content"][0]["text"]) != megabytes * 10**6:
        raise SystemExit(f"the text of {megabytes} MB did not arrive whole")
    return [seconds, cpu]


if __name__ == "__main__":
    main(*sys.argv[1:])
