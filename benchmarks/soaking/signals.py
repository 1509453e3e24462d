"""Signals at random moments, to all programs, while servers misbehave."""

import itertools
import random
import signal
import sys
import time
from signal import SIGHUP, SIGINT, SIGTERM

from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.programs import CHECK_CLIENT, PROGRAMS, SERVE, Program
from benchmarks.soaking.watch import ROOT, Running, run

RUNS = 1_400
RUDE = ROOT / "tests" / "servers" / "rude.py"
CHOICES = ((), (SIGINT,), (SIGTERM,), (SIGHUP,), (SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGINT, SIGTERM))
MOMENTS_SECONDS = 1.5  # when the first signal comes, at the latest
GAP_SECONDS = 0.5
APART_SECONDS = 0.25  # a signal that comes again before the first was taken is one signal
# A run on a server that never answers: its time-outs, the ladder for each of its servers, and a busy machine.
RUN_SECONDS = 60.0
LADDER_SECONDS = 8.0
SECOND_SIGNAL_SECONDS = 3.0
# What a program may make of a bad server without any signal.
BAD_SERVER = {0, 1, 2, 3, 124}


def ways() -> list[str]:
    sys.path.insert(0, str(RUDE.parent))
    try:
        from rude import WAYS
    finally:
        sys.path.remove(str(RUDE.parent))
    return list(WAYS)


def _run(name: str, program: Program, way: str, signals: tuple[int, ...], dice: random.Random) -> Result:
    handled, begun = True, False

    def meanwhile(running: Running) -> float:
        nonlocal handled, begun
        for number in signals:
            time.sleep(APART_SECONDS + dice.random() * GAP_SECONDS if running.sent else dice.random() * MOMENTS_SECONDS)
            begun = begun or (running.printed() and not running.sent)
            if running.over():
                break
            handled = handled and running.catches(number) and running.catches(SIGTERM)
            running.send(number)
        if signals and handled:
            return LADDER_SECONDS + 1
        # Without a signal, what serves would do so until its stdin ends.
        return RUN_SECONDS if program.stdin is None or signals else 0

    server = (sys.executable, str(RUDE), way)
    ended = run(
        program.words(server), RUN_SECONDS, stdin=program.stdin, files=program.files(server), meanwhile=meanwhile
    )
    if not signals and program.stdin is not None:
        return Result(name, megabytes=ended.megabytes)
    codes = program.codes_after(signals, begun=begun) | BAD_SERVER
    if not handled:
        codes |= {code for number in signals for code in (-number, 128 + number)}
    bound = {0: RUN_SECONDS, 1: LADDER_SECONDS}.get(len(signals), SECOND_SIGNAL_SECONDS)
    return judged(name, ended, codes, Limits(bound if handled else RUN_SECONDS), early=not handled)


def cases(runs: int, seed: int) -> list[Case]:
    dice = random.Random(seed)
    # `serve` and `check --client` start no such server; and where no signal comes, what serves has nothing to show.
    combined = [
        (program, way, signals)
        for program, way, signals in itertools.product(PROGRAMS, ways(), CHOICES)
        if (signals or program.stdin is None) and (way == "good" or program not in (SERVE, CHECK_CLIENT))
    ]
    dice.shuffle(combined)
    return [_case(number, *combined[number % len(combined)], seed) for number in range(runs)]


def _case(number: int, program: Program, way: str, signals: tuple[int, ...], seed: int) -> Case:
    named = " then ".join(signal.Signals(each).name for each in signals) or "no signal"
    name = f"{number}: {program.name}, a server that {way}, {named}"
    return Case(name, lambda: _run(name, program, way, signals, random.Random(f"{seed} {number}")))
