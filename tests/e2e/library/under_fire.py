"""Many callers on one bridge while its servers are killed, one after the other: what came of it, in numbers."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.e2e.library.ten_servers import Peer

from mcp_conductor import Backoff, Bridge, BridgeEvent, ConductorError, ConnectionLost

CALLERS = 16
BACK_SECONDS = 60.0  # for a server to be up again: its delay, its start, and a machine that does other things


@dataclass
class Outcome:
    """What the callers saw, and what the killer did."""

    right: Counter[str] = field(default_factory=Counter)
    interrupted: Counter[str] = field(default_factory=Counter)  # calls that were reported as such
    wrong: list[str] = field(default_factory=list)  # answers and errors that should not be
    kills: Counter[str] = field(default_factory=Counter)
    back: list[float] = field(default_factory=list)  # seconds from each kill to the next right answer


async def under_fire(peers: list[Peer], rounds: int, seed: int) -> Outcome:
    """Kill each of PEERS in turn, ROUNDS times, while sixteen callers work."""
    outcome, stop = Outcome(), asyncio.Event()
    backoff = Backoff(first=0.1, cap=1.0)
    servers = {peer.name: peer.config for peer in peers}
    events: list[BridgeEvent] = []
    bridge = Bridge(
        servers, connect_timeout=60, patience=60, backoff=backoff, on_event=events.append, health_interval=2
    )
    async with bridge:
        states = {name: health.state for name, health in bridge.health().items()}
        assert set(states.values()) == {"up"}, {name: each.last_error for name, each in bridge.health().items()}
        callers = [
            asyncio.create_task(_call(bridge, peers, random.Random(f"{seed}{n}"), stop, outcome))
            for n in range(CALLERS)
        ]
        try:
            for _ in range(rounds):
                for peer in peers:
                    await _kill(bridge, peer, outcome)
        finally:
            stop.set()
            await asyncio.gather(*callers)
        states = {name: health.state for name, health in bridge.health().items()}
        assert set(states.values()) == {"up"}, states
    return outcome


async def _call(bridge: Bridge, peers: list[Peer], dice: random.Random, stop: asyncio.Event, outcome: Outcome) -> None:
    while not stop.is_set():
        peer, n = dice.choice(peers), dice.randrange(1000)
        try:
            told = await bridge.call_tool(f"{peer.name}/{peer.tool}", peer.arguments(n))
            if peer.right(told, n):
                outcome.right[peer.name] += 1
            else:
                outcome.wrong.append(f"{peer.name} {n}: {told.raw}"[:500])
        except ConnectionLost:
            outcome.interrupted[peer.name] += 1
        except ConductorError as error:
            outcome.wrong.append(f"{peer.name}: {error.kind}: {error.message}")


async def _kill(bridge: Bridge, peer: Peer, outcome: Outcome) -> None:
    loop = asyncio.get_running_loop()
    killed = await asyncio.to_thread(peer.kill)
    assert killed, f"{peer.name} was not running"
    outcome.kills[peer.name] += 1
    began = loop.time()
    async with asyncio.timeout(BACK_SECONDS):
        while True:
            try:
                told = await bridge.call_tool(f"{peer.name}/{peer.tool}", peer.arguments(7))
            except ConnectionLost:
                continue
            if peer.right(told, 7):
                break
    outcome.back.append(loop.time() - began)
