"""What a run did wrong, by kind; and the line that sums a class of runs up."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from benchmarks.soaking.watch import TERMINAL, WORKFLOW, Ended

# At the start of a line: what a server wrote is quoted with something before it.
TRACEBACK = re.compile(rb"(?m)^(Traceback|Exception ignored)")
KINDS = ("hung", "orphans", "tracebacks", "wrong exit", "let in")


@dataclass(frozen=True)
class Complaint:
    """One thing that went wrong, and in which run."""

    kind: str
    case: str
    what: str

    def __str__(self) -> str:
        return f"  {self.kind}: {self.case}: {self.what}"


@dataclass
class Result:
    """What came of one run."""

    case: str
    complaints: list[Complaint] = field(default_factory=list)
    megabytes: float = 0.0

    def complain(self, kind: str, what: str) -> None:
        self.complaints.append(Complaint(kind, self.case, what))


@dataclass(frozen=True)
class Case:
    """One run that can be done: its name, which says all that is needed to do it again, and the run itself."""

    name: str
    run: Callable[[], Result]
    count: int = 1  # of the things that are tried in it


@dataclass(frozen=True)
class Limits:
    """What a run may take."""

    seconds: float
    megabytes: float | None = None


def judged(
    case: str, ended: Ended, codes: set[int], limits: Limits, *, shown: bytes | None = None, early: bool = False
) -> Result:
    """What is wrong with a run in any class. SHOWN is what a terminal or a CI log gets; stderr unless told.

    EARLY: it was interrupted before it had a handler for signals. A traceback of Python's own start is none of ours.
    """
    result = Result(case, megabytes=ended.megabytes)
    tail = ended.tail()
    if ended.why_killed == "time":
        result.complain("hung", f"still there after {ended.seconds:.1f} s: {tail}")
    elif ended.why_killed:
        result.complain("memory", f"{ended.megabytes:.0f} MB after {ended.seconds:.1f} s, and growing: {tail}")
    else:
        if ended.seconds > limits.seconds:
            result.complain("hung", f"ended after {ended.seconds:.1f} s, more than {limits.seconds:g} s: {tail}")
        if ended.code not in codes:
            expected = ", ".join(map(str, sorted(codes)))
            result.complain("wrong exit", f"{ended.code}, not {expected}, after {ended.seconds:.1f} s: {tail}")
    if limits.megabytes is not None and ended.megabytes > limits.megabytes and ended.why_killed != "memory":
        result.complain("memory", f"{ended.megabytes:.0f} MB, more than {limits.megabytes:g} MB")
    if TRACEBACK.search(ended.err) and (not early or b"mcp_conductor/" in ended.err):
        result.complain("tracebacks", tail)
    if ended.left and not ended.why_killed:
        result.complain("orphans", f"{len(ended.left)} left, the first is {ended.left[0]}")
    text = ended.err if shown is None else shown
    for pattern in (TERMINAL, WORKFLOW):
        if found := pattern.search(text):
            around = text[max(found.start() - 40, 0) : found.end() + 40]
            result.complain("shown raw", repr(around))
    return result


def report(name: str, cases: list[Case], jobs: int, *, say: Callable[[str], None] = print) -> bool:
    """Run all cases, print the complaints as they come and the line at the end: whether all was well."""
    began = time.monotonic()
    counted: Counter[str] = Counter()
    largest = 0.0
    for result in _done(cases, jobs):
        largest = max(largest, result.megabytes)
        for complaint in result.complaints:
            counted[complaint.kind] += 1
            say(str(complaint))
    kinds = [*KINDS, *sorted(set(counted) - set(KINDS))]
    found = ", ".join(f"{kind} {counted[kind]}" for kind in kinds)
    runs = sum(case.count for case in cases)
    say(f"{name}: {runs} runs, {found}, largest RSS {largest:.0f} MB, {time.monotonic() - began:.0f} s")
    return not counted


def _done(cases: list[Case], jobs: int) -> Iterator[Result]:
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(_safely, cases)
    finally:
        # When we are stopped, what runs may end, and clean up after itself; the rest is not begun.
        pool.shutdown(cancel_futures=True)


def _safely(case: Case) -> Result:
    """The result of a case; a mistake of the harness itself is a complaint, too, and the other runs go on."""
    try:
        return case.run()
    except Exception as error:  # noqa: BLE001
        result = Result(case.name)
        result.complain("harness", f"{type(error).__name__}: {error}")
        return result
