"""The working tree compared with another commit: each measured with the same tools, in turns, in pairs.

What is compared is the ratio of each pair of rounds, which come right after each other; so what else the machine does
hits both. A row is worse only if the whole 95 % interval of its ratio is on the bad side of 1.05; and where it is a
time or a rate, only if its CPU time is worse, too, because nothing else that the machine does can change that much.
"""

import compileall
import io
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import one_shot
import suites
import throughput

import servers

ROOT = os.path.realpath(os.path.join(one_shot.HERE, ".."))
TOLERATED = 1.05
# Student's t for 95 %, by the number of pairs less one; the last one for all above.
STUDENT = (
    12.71,
    4.30,
    3.18,
    2.78,
    2.57,
    2.45,
    2.36,
    2.31,
    2.26,
    2.23,
    2.20,
    2.18,
    2.16,
    2.14,
    2.13,
    2.12,
    2.11,
    2.10,
    2.09,
)
PAIRS = {"one-shot": 24, "clients": 12, "lines": 9, "lists": 9, "starts": 16, "servers": 8, "suites": 9, "large": 4}
QUICK_PAIRS = dict.fromkeys(PAIRS, 5) | {"one-shot": 9, "starts": 7, "large": 3}


@dataclass(frozen=True)
class Figure:
    """What one measurement gives: its name, whether more of it is better, and which other figure is its CPU time."""

    what: str
    unit: str
    more_is_better: bool = False
    cpu: str | None = None


@dataclass(frozen=True)
class Measurement:
    """One way to run our program, which gives all its FIGURES at once."""

    group: str
    pairs: str  # the key of PAIRS
    figures: tuple[Figure, ...]
    once: Callable[[], Sequence[float]]


@dataclass
class Compared:
    """The rounds of both commits for one figure."""

    figure: Figure
    new: list[float] = field(default_factory=list)
    old: list[float] = field(default_factory=list)

    @property
    def interval(self) -> tuple[float, float, float]:
        """The ratio new / old, and where it lies with 95 %: the mean of the logarithms of the pairs."""
        logs = [math.log(new / old) for new, old in zip(self.new, self.old, strict=True)]
        mean = statistics.fmean(logs)
        factor = STUDENT[min(len(logs) - 2, len(STUDENT) - 1)]
        half = factor * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)

    @property
    def beyond(self) -> bool:
        """The whole interval is on the bad side of what is tolerated."""
        _, low, high = self.interval
        return high < 1 / TOLERATED if self.figure.more_is_better else low > TOLERATED

    @property
    def better(self) -> bool:
        _, low, high = self.interval
        return low > TOLERATED if self.figure.more_is_better else high < 1 / TOLERATED


def verdict(row: Compared, rows: dict[str, Compared]) -> str:
    if not row.beyond:
        return "better" if row.better else ""
    decides = rows.get(row.figure.cpu or "")
    return "worse" if decides is None or decides.beyond else "slower, CPU not worse"


def runs(group: str, what: str, pairs: str, made: one_shot.Runs) -> Measurement:
    """A whole run of a program: its time, its CPU time, its memory."""

    def once() -> list[float]:
        made.once()
        return [made.seconds[-1] * 1000, made.cpu_seconds[-1] * 1000, made.megabytes[-1]]

    cpu = f"{what}, CPU"
    return Measurement(
        group, pairs, (Figure(what, "ms", cpu=cpu), Figure(cpu, "ms"), Figure(f"{what}, memory", "MB")), once
    )


def rates(what: str, of: str, in_flight: int) -> tuple[Figure, ...]:
    """The figures of throughput.rates and servers.measured, in their order."""
    found: list[Figure] = []
    for how in ("one by one", f"{in_flight} in flight"):
        cpu = f"{what}, {how}, CPU of the {of} for each"
        found += [Figure(f"{what}, {how}", "/s", more_is_better=True, cpu=cpu), Figure(cpu, "us")]
    return tuple(found)


def of_clients() -> Iterator[Measurement]:
    for client, what, calls, waves in (("session", "Session", 2_000, 60), ("http_session", "HTTP Session", 500, 10)):
        for place, cores in throughput.placements().items():
            yield Measurement(
                "clients",
                "clients",
                rates(f"{what}, {place}", "client", throughput.IN_FLIGHT),
                lambda client=client, cores=cores, calls=calls, waves=waves: throughput.rates(
                    client, cores, calls, waves
                ),
            )
    cpu = "line of 64 MB, CPU"
    line = (Figure("line of 64 MB", "s", cpu=cpu), Figure(cpu, "s"))
    yield Measurement("clients", "lines", line, lambda: throughput.line_seconds(64))


def of_servers() -> Iterator[Measurement]:
    for way, over in (("stdio", "stdio"), ("sse", "HTTP")):
        cpu = f"{over} server, CPU from start to call"
        figures = (Figure(f"{over} server, start to initialize", "ms", cpu=cpu),
                   Figure(f"{over} server, start to call", "ms", cpu=cpu), Figure(cpu, "ms"))  # fmt: skip

        def start(way: str = way) -> list[float]:
            run = servers.measured("ours", way, None)
            return [run.to_initialize, run.to_call, run.cpu_to_call]

        yield Measurement("servers", "starts", figures, start)
    for way in ("stdio", "sse", "json", "modern"):
        for place, cores in throughput.placements().items():
            what = f"{way} server, {place}"
            memory = Figure(f"{what}, memory", "MB")

            def calls(way: str = way, cores: throughput.Cores = cores) -> list[float]:
                run = servers.measured("ours", way, cores, 1_000, 50)
                return [*run[:4], run.megabytes]

            yield Measurement("servers", "servers", (*rates(what, "server", servers.IN_FLIGHT), memory), calls)


@contextmanager
def measurements(only: str | None) -> Iterator[list[Measurement]]:
    """All that concern our own programs. One-shots come first: their memory shows only while this process is small."""
    with (
        one_shot.http_server() as url,
        suites.folder(suites.SERVER) as files,
        suites.folder(suites.SLOW_SERVER) as slow,
    ):
        found = [
            runs("clients", "mcp-cli tools/list", "one-shot", one_shot.mcp_cli()),
            runs("clients", "mcp-cli tools/list over HTTP", "one-shot", one_shot.mcp_cli_at(url)),
            runs("clients", "mcp-cli, 10,000 tools on pages of 100", "lists", one_shot.mcp_cli(10_000, 100)),
            runs("clients", "mcp-cli, 10,000 tools on one page", "lists", one_shot.mcp_cli(10_000, 10_000)),
            *of_clients(),
            *(of_servers() if servers.POSSIBLE else ()),
        ]
        if only in (None, "tests"):
            for tests, pairs in ((1_000, "suites"), (10_000, "large")):
                name = suites.write(files, str(tests), tests)
                found.append(runs("tests", f"{tests:,} tests", pairs, suites.ours(files, name, tests)))
            for number in range(64):
                suites.write(slow, f"{number:02}", suites.TESTS_PER_FILE)
            found.append(runs("tests", "64 files with -j 16", "large", suites.ours_at_once(slow, 64, 16)))
            found.append(runs("tests", "check of a bare server", "suites", suites.check_of_a_bare_server()))
        yield [each for each in found if only in (None, each.group)]


@contextmanager
def source_of(revision: str) -> Iterator[str]:
    """The sources of a commit, in a directory that is removed at the end."""
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if archive.returncode != 0:
        raise SystemExit(f"no commit {revision!r}")
    with tempfile.TemporaryDirectory(prefix="conductor-against-") as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="data")
        source = os.path.join(folder, "src")
        compileall.compile_dir(source, quiet=2)  # as an installed package is
        yield source


def measured(measurement: Measurement, sources: tuple[str, str], pairs: int) -> list[Compared]:
    """Both in turns, new old old new …, after one round of each that does not count."""
    new, old = sources
    rows = [Compared(figure) for figure in measurement.figures]
    for number in range(-1, pairs):
        for source in (new, old) if number % 2 else (old, new):
            # It stands before the installed one, in every process that is started from here.
            os.environ["PYTHONPATH"] = source
            given = measurement.once()
            if number >= 0:
                for row, value in zip(rows, given, strict=True):
                    (row.new if source == new else row.old).append(value)
    return rows


def compare(revision: str, *, quick: bool, only: str | None, file: str | None) -> int:
    """Print the table; 1 if anything is worse."""
    counts = QUICK_PAIRS if quick else PAIRS
    worse: list[str] = []
    figures: list[dict[str, object]] = []
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}; new: the working tree, old: {revision}\n")
    print(f"{'what':<62}{'new':>11} {'old':>11}  new / old, 95 % interval  verdict", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as after SIGINT, nothing is left behind
    before = os.environ.get("PYTHONPATH")
    try:
        with source_of(revision) as old, measurements(only) as chosen:
            for measurement in chosen:
                sources = (os.path.join(ROOT, "src"), old)
                rows = {row.figure.what: row for row in measured(measurement, sources, counts[measurement.pairs])}
                for what, row in rows.items():
                    said = verdict(row, rows)
                    print_row(row, said)
                    figures.append({**asdict(row), "interval": row.interval, "verdict": said})
                    worse += [what] if said == "worse" else []
    finally:
        os.environ.pop("PYTHONPATH", None)
        if before is not None:
            os.environ["PYTHONPATH"] = before
    print(f"\nworse: {', '.join(worse) or 'nothing'}")
    if file:
        with open(file, "w", encoding="utf-8") as stream:
            json.dump({"against": revision, "quick": quick, "rows": figures}, stream, indent=2)
    return 1 if worse else 0


def print_row(row: Compared, said: str) -> None:
    unit = row.figure.unit
    new, old = (f"{statistics.median(values):,.1f} {unit}" for values in (row.new, row.old))
    ratio, low, high = row.interval
    print(
        f"{row.figure.what:<62}{new:>11} {old:>11}  {ratio:5.2f}  {low:5.2f} to {high:5.2f}  {said}".rstrip(),
        flush=True,
    )
