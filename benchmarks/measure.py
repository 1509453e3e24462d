"""All measurements, and the table of them.

A figure alone says more about the machine than about the program; so everything is measured with something else, in
turns, and the ratio is what counts. usage: measure.py [--quick] [--only clients|servers|tests|checks] [--json FILE]
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import check_times
import one_shot
import suites
import throughput

import servers

SMALL, LARGE = 8, 64  # megabytes in a line
FEW, MANY, PAGE = 1_000, 10_000, 100  # tools, or tests
ONE, SMALL_FILE, MIDDLE_FILE = 1, 20, 100  # tests
FILES, AT_ONCE = 64, 16


@dataclass(frozen=True)
class Rounds:
    """How often each thing is measured."""

    one_shot: int
    throughput: int
    calls: int
    waves: int
    http_calls: int
    http_waves: int
    lines: int
    lists: int
    starts: int
    servers: int
    server_calls: int
    server_waves: int
    small_suites: int
    suites: int
    folders: int
    checks: int


THOROUGH = Rounds(
    one_shot=25,
    throughput=9,
    calls=3_000,
    waves=100,
    http_calls=1_000,
    http_waves=20,
    lines=7,
    lists=9,
    starts=15,
    servers=5,
    server_calls=1_000,
    server_waves=50,
    small_suites=25,
    suites=9,
    folders=3,
    checks=5,
)
QUICK = Rounds(
    one_shot=7,
    throughput=3,
    calls=1_000,
    waves=40,
    http_calls=500,
    http_waves=10,
    lines=3,
    lists=3,
    starts=5,
    servers=1,
    server_calls=500,
    server_waves=25,
    small_suites=7,
    suites=3,
    folders=1,
    checks=1,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison: ours, the other, and what the ratio (or, where ABSOLUTE, our figure itself) should be."""

    what: str
    unit: str
    ours: float
    other: float
    at_most: float | None = None
    at_least: float | None = None
    absolute: bool = False

    @property
    def ratio(self) -> float:
        return self.ours / self.other

    @property
    def met(self) -> bool | None:
        judged = self.ours if self.absolute else self.ratio
        if self.at_most is not None:
            return judged <= self.at_most
        return None if self.at_least is None else judged >= self.at_least

    def target(self) -> str:
        unit = f" {self.unit}" if self.absolute else ""
        if self.at_most is not None:
            return f"<= {self.at_most:g}{unit}"
        return "" if self.at_least is None else f">= {self.at_least:g}{unit}"


def one_shots(rounds: Rounds) -> Iterator[Row]:
    ours, python, inspector = one_shot.mcp_cli(), one_shot.asyncio_alone(), one_shot.inspector()
    one_shot.interleave([runs for runs in (ours, python, inspector) if runs is not None], rounds.one_shot)
    for name, pick in (("median", median), ("best", min)):
        own = pick(ours.seconds) * 1000
        what = f"one-shot tools/list, {name}: mcp-cli / "
        if inspector is not None:
            yield Row(what=what + "Inspector", unit="ms", ours=own, other=pick(inspector.seconds) * 1000, at_most=0.30)
        yield Row(what=what + "python -c 'import asyncio'", unit="ms", ours=own, other=pick(python.seconds) * 1000)
    memory = {"unit": "MB", "ours": max(ours.megabytes), "at_most": 40, "absolute": True}
    if inspector is not None:
        yield Row(what="one-shot peak memory: mcp-cli / Inspector", other=max(inspector.megabytes), **memory)
    yield Row(what="one-shot peak memory: mcp-cli / python -c …", other=max(python.megabytes), **memory)


def helps(rounds: Rounds) -> Iterator[Row]:
    programs, python = one_shot.helps(), one_shot.asyncio_alone()
    one_shot.interleave([python, *programs.values()], rounds.starts)
    for name, runs in programs.items():
        ours, other = median(runs.seconds) * 1000, median(python.seconds) * 1000
        what = f"{name} --help / python -c 'import asyncio'"
        yield Row(what=what, unit="ms", ours=ours, other=other, at_most=1.3)


def http_one_shots(rounds: Rounds) -> Iterator[Row]:
    with one_shot.http_server() as url:
        ours, inspector = one_shot.mcp_cli_at(url), one_shot.inspector_at(url)
        if inspector is None:
            return
        one_shot.interleave([ours, inspector], rounds.one_shot)
    for name, pick in (("median", median), ("best", min)):
        own, other = pick(ours.seconds) * 1000, pick(inspector.seconds) * 1000
        what = f"HTTP one-shot tools/list, {name}: mcp-cli / Inspector"
        yield Row(what=what, unit="ms", ours=own, other=other, at_most=0.36)


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """Who is compared in calls per second: ours, the others by name, and our target against each of them.

    A target may be for one place only: "bare loop, one core".
    """

    over: str
    ours: str
    others: tuple[str, ...]
    cpu_of: str
    in_flight: int
    one_by_one_at_least: dict[str, float]
    in_flight_at_least: dict[str, float]


def calls(rounds: Rounds) -> Iterator[Row]:
    rivals = Rivals(
        over="",
        ours="Session",
        others=("bare loop", "least on asyncio", "SDK"),
        cpu_of="the client's",
        in_flight=throughput.IN_FLIGHT,
        one_by_one_at_least={"bare loop": 0.6, "SDK": 2.5},
        in_flight_at_least={"bare loop, one core": 0.6, "SDK": 12},
    )
    yield from _compared(rivals, _of_clients(throughput.CLIENTS, rounds.throughput, rounds.calls, rounds.waves))


def http_calls(rounds: Rounds) -> Iterator[Row]:
    rivals = Rivals(
        over="HTTP ",
        ours="Session",
        others=("SDK",),
        cpu_of="the client's",
        in_flight=throughput.IN_FLIGHT,
        one_by_one_at_least={"SDK": 3},
        in_flight_at_least={"SDK": 5},
    )
    names = throughput.HTTP_CLIENTS
    yield from _compared(rivals, _of_clients(names, rounds.throughput, rounds.http_calls, rounds.http_waves))


def server_starts(rounds: Rounds) -> Iterator[Row]:
    for way, over, at_most in (("stdio", "stdio", 0.2), ("sse", "HTTP", None)):
        ours, other = [], []
        for number in range(rounds.starts):
            turns = [(ours, "ours"), (other, "sdk")]
            for runs, server in turns if number % 2 else reversed(turns):
                runs.append(servers.measured(server, way, None))
        for name, pick in (("median", median), ("best", min)):
            for what, figure, target in (("initialize", "to_initialize", at_most), ("tools/call", "to_call", None)):
                yield Row(
                    what=f"{over} server, start to {what}, {name}: serve / SDK",
                    unit="ms",
                    ours=pick([getattr(run, figure) for run in ours]),
                    other=pick([getattr(run, figure) for run in other]),
                    at_most=target,
                )


def server_calls(rounds: Rounds) -> Iterator[Row]:
    for way, factor in (("stdio", 4), ("SSE", 2), ("JSON", 2), ("modern", 2)):
        rivals = Rivals(
            over=f"{way} server, ",
            ours="serve",
            others=("SDK",),
            cpu_of="its",
            in_flight=servers.IN_FLIGHT,
            one_by_one_at_least={"SDK": factor},
            in_flight_at_least={"SDK": factor},
        )
        seen = _of_servers(way.lower(), rounds.servers, rounds.server_calls, rounds.server_waves)
        yield from _compared(rivals, seen)
        ours, other = (max(run.megabytes for place in seen.values() for run in place[name]) for name in servers.SERVERS)
        yield Row(what=f"{way} server, peak memory: serve / SDK", unit="MB", ours=ours, other=other, at_most=0.5)


Rates = Callable[[str, throughput.Cores], Sequence[float]]
Seen = dict[str, dict[str, list[Sequence[float]]]]  # what the rounds gave: by place, by who was measured


def _of_clients(names: tuple[str, ...], rounds: int, calls: int, waves: int) -> Seen:
    return _in_turns(names, rounds, lambda name, cores: throughput.rates(name, cores, calls, waves))


def _of_servers(way: str, rounds: int, calls: int, waves: int) -> Seen:
    return _in_turns(servers.SERVERS, rounds, lambda name, cores: servers.measured(name, way, cores, calls, waves))


def _in_turns(names: tuple[str, ...], rounds: int, rates: Rates) -> Seen:
    places = throughput.placements()
    pairs = [(place, name) for place in places for name in names]
    seen: Seen = {place: {name: [] for name in names} for place in places}
    for number in range(rounds):
        turn = number % len(pairs)
        for place, name in pairs[turn:] + pairs[:turn]:
            seen[place][name].append(rates(name, places[place]))
    return seen


def _compared(rivals: Rivals, seen: Seen) -> Iterator[Row]:
    """Ours, which are the first, compared with the others: calls per second everywhere, CPU at the last place."""
    last = list(seen)[-1]
    ways = {"one by one": rivals.one_by_one_at_least, f"{rivals.in_flight} in flight": rivals.in_flight_at_least}
    for way, (how, targets) in enumerate(ways.items()):
        for place in seen:
            what = f"{rivals.over}tools/call {how}, {place}: {rivals.ours} / "
            ours, *others = _medians(seen[place], 2 * way)
            for name, other in zip(rivals.others, others, strict=True):
                at_least = targets.get(name, targets.get(f"{name}, {place}"))
                yield Row(what=what + name, unit="/s", ours=ours, other=other, at_least=at_least)
    for way, how in enumerate(ways):
        what = f"{rivals.over}{rivals.cpu_of} CPU for each, {how}: {rivals.ours} / "
        ours, *others = _medians(seen[last], 2 * way + 1)
        for name, other in zip(rivals.others, others, strict=True):
            yield Row(what=what + name, unit="us", ours=ours, other=other)


def _medians(clients: dict[str, list[Sequence[float]]], figure: int) -> list[float]:
    return [median([figures[figure] for figures in rounds]) for rounds in clients.values()]


def long_lines(rounds: Rounds) -> Iterator[Row]:
    seconds = {SMALL: [], LARGE: []}
    for _ in range(rounds.lines):
        for size, taken in seconds.items():
            taken.append(throughput.line_seconds(size)[0])
    large, small = median(seconds[LARGE]) * 1000, median(seconds[SMALL]) * 1000
    yield Row(what=f"one line: {LARGE} MB / {SMALL} MB", unit="ms", ours=large, other=small, at_most=10)


def long_lists(rounds: Rounds) -> Iterator[Row]:
    start = one_shot.mcp_cli()
    paged = [one_shot.mcp_cli(tools, PAGE) for tools in (MANY, FEW)]
    whole = [one_shot.mcp_cli(tools, tools) for tools in (MANY, FEW)]
    one_shot.interleave([start, *paged, *whole], rounds.lists)
    base = min(start.seconds)
    for pages, runs in ((f"pages of {PAGE}", paged), ("one page", whole)):
        many, few = (median(each.seconds) for each in runs)
        what = f"list of tools, {pages}: {MANY:,} / {FEW:,}"
        yield Row(what=what, unit="ms", ours=many * 1000, other=few * 1000, at_most=10)
        # About 1 if the time grows with the tools, and 10 if it grows with their square. Of the best times: a
        # difference of two medians is mostly noise.
        of_many, of_few = ((min(each.seconds) - base) / each.tools * 10**6 for each in runs)
        what = f"  start-up taken off, for each tool, best: {MANY:,} / {FEW:,}"
        yield Row(what=what, unit="us", ours=of_many, other=of_few, at_most=2)


def test_files(rounds: Rounds) -> Iterator[Row]:
    sizes = {size: suites.OneFile() for size in (ONE, SMALL_FILE, MIDDLE_FILE, FEW, MANY)}
    with suites.folder(suites.SERVER) as directory:
        for size, file in sizes.items():
            file.write(directory, size, bare=size == FEW)
            one_shot.interleave(file.runs(), rounds.small_suites if size < FEW else rounds.suites)
    for size, file in sizes.items():
        for name, pick in (("median", median), ("best", min)):
            own, what = pick(file.ours.seconds) * 1000, f"{size:,} test{'s' * (size > 1)}, {name}: conductor test / "
            if file.bare is not None:
                other = pick(file.bare.seconds) * 1000
                yield Row(what=what + "bare script", unit="ms", ours=own, other=other, at_most=1.3)
            if file.aegis is not None:
                other = pick(file.aegis.seconds) * 1000
                yield Row(what=what + "mcp-aegis", unit="ms", ours=own, other=other, at_most=1.0)
    large, small = (median(sizes[size].ours.seconds) * 1000 for size in (MANY, FEW))
    yield Row(what=f"tests in a file: {MANY:,} / {FEW:,}", unit="ms", ours=large, other=small, at_most=11)


def test_folders(rounds: Rounds) -> Iterator[Row]:
    with suites.folder(suites.SLOW_SERVER) as directory:
        for number in range(FILES):
            suites.write(directory, f"{number:02}", suites.TESTS_PER_FILE)
        one, many = (suites.ours_at_once(directory, FILES, jobs) for jobs in (1, AT_ONCE))
        aegis = suites.aegis(directory, "*", FILES * suites.TESTS_PER_FILE)
        one_shot.interleave([runs for runs in (one, many, aegis) if runs is not None], rounds.folders)
    for name, pick in (("median", median), ("best", min)):
        slow, quick = pick(one.seconds) * 1000, pick(many.seconds) * 1000
        what = f"{FILES} files, {suites.LATENCY} ms a reply, {name}: "
        yield Row(what=f"{what}-j 1 / -j {AT_ONCE}", unit="ms", ours=slow, other=quick, at_least=12)
        if aegis is not None:
            other = pick(aegis.seconds) * 1000
            yield Row(what=f"{what}-j {AT_ONCE} / mcp-aegis", unit="ms", ours=quick, other=other, at_most=0.5)


def checks(rounds: Rounds) -> Iterator[Row]:
    for what, check, other, most in check_times.comparisons(rounds.checks):
        yield Row(what=what, unit="ms", ours=check * 1000, other=other * 1000, at_most=most)


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def shown(value: float, unit: str) -> str:
    return f"{value:,.{0 if value >= 1000 else 1}f}{'' if unit.startswith('/') else ' '}{unit}"


def print_row(row: Row) -> None:
    verdict = {True: "yes", False: "no", None: ""}[row.met]
    figures = f"{shown(row.ours, row.unit):>11} {shown(row.other, row.unit):>11} {row.ratio:>7.2f}"
    print(f"{row.what:<66}{figures}  {row.target():<9}  {verdict}".rstrip(), flush=True)


# One-shots first: their memory can only be told while this process is small.
MEASUREMENTS = {
    "clients": (one_shots, helps, http_one_shots, calls, http_calls, long_lines, long_lists),
    "servers": (server_starts, server_calls) if servers.POSSIBLE else (),
    "tests": (test_files, test_folders),
    "checks": (checks,),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description="Measure our programs and their library.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: quicker, and less sure")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE as well")
    parser.add_argument("--only", choices=MEASUREMENTS, help="leave the others out")
    parser.add_argument("--against", metavar="REV", help="compare the working tree with this commit instead")
    given = parser.parse_args()
    if given.against is not None:
        import against

        sys.exit(against.compare(given.against, quick=given.quick, only=given.only, file=given.json))
    rounds = QUICK if given.quick else THOROUGH
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {sys.platform}"
    print(machine)
    if one_shot.inspector() is None:
        print("the Inspector is not installed in tests/peers; its rows are left out")
    if not suites.AEGIS_IS_THERE:
        print("mcp-aegis is not installed in tests/peers; its rows are left out")
    if not servers.POSSIBLE:
        print("servers are measured on Linux only; their rows are left out")
    print(f"\n{'what: ours / other':<66}{'ours':>11} {'other':>11} {'ratio':>7}  {'target':<9}  met")
    rows = []
    for measure in [each for name in MEASUREMENTS if given.only in (None, name) for each in MEASUREMENTS[name]]:
        for row in measure(rounds):
            print_row(row)
            rows.append({**asdict(row), "ratio": row.ratio, "met": row.met})
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            told = {"machine": machine, "quick": given.quick, "rounds": asdict(rounds), "rows": rows}
            json.dump(told, file, indent=2)


if __name__ == "__main__":
    main()
