"""The events of a bridge and the ends of processes, for tests that wait for one."""

import asyncio
import os
import select

import pytest

from mcp_conductor import Backoff

QUICK = Backoff(first=0.02, cap=0.1)
LIMIT = 20.0


class Events:
    """The events of a bridge, and a way to wait for one."""

    def __init__(self):
        self.seen = []
        self._news = asyncio.Event()

    def __call__(self, event):
        self.seen.append(event)
        self._news.set()

    async def until(self, kind, server, times=1):
        async with asyncio.timeout(LIMIT):
            while len(found := [each for each in self.seen if (each.kind, each.server) == (kind, server)]) < times:
                self._news.clear()
                await self._news.wait()
        return found[times - 1]


def wait_for_end(pid):
    """Wait until the process has ended; another process may be its parent."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("this platform has no descriptors of processes")
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], LIMIT)[0], f"process {pid} goes on"
    finally:
        os.close(descriptor)
