"""Signals aimed at every stage in the life of a program: its own start, the start of a server, the answer, the end.

A stage is something that can be seen from outside: the handlers that the kernel knows, a child in /proc, what the
server wrote down. The programs may lose a signal only before they have a handler for it.
"""

import itertools
import random
import signal
import sys
import time
from dataclasses import dataclass
from signal import SIGHUP, SIGINT, SIGTERM

from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.programs import CHECK_CLIENT, PROGRAMS, Program, staged
from benchmarks.soaking.watch import HERE, Running, run

RUNS = 640
STAGE_SECONDS = 15.0  # a program that has not come so far by then is judged as one that no signal met
# Stdin closed, SIGTERM, SIGKILL, two seconds between them; and a busy machine.
LADDER_SECONDS = 8.0
SECOND_SIGNAL_SECONDS = 3.0
APART_SECONDS = 0.25  # no turn of the event loop takes longer
RUN_SECONDS = 60.0
SIGNALS = (
    (SIGINT,), (SIGTERM,), (SIGHUP,), (SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGHUP, SIGHUP), (SIGINT, SIGTERM),
)  # fmt: skip
OWN_STAGES = ("python", "handlers", "printed", "delay")
SERVER_STAGES = (
    "child", "second child", "exec", "up", "heard initialize", "answered initialize", "heard tools/list", "half",
    "answered tools/list", "eof", "term",
)  # fmt: skip
BRIEF = ("child", "second child", "exec")  # stages so short that to sleep would be to miss them
ENDS = ("eof", "term")  # what serves comes to these by a first signal only
CLIENT_STAGES = ("child", "exec", "client up")
# Where a delay is spread: about as long as the program runs on a polite server.
RUN_LENGTHS = {"check": 1.2, "check --client": 4.0}
STUBBORN = ("term", "client up")  # stages that only such a server, or client, writes down
LIBRARY_WAYS = ("timeout", "cancel", "twice")
LIBRARY_MILLISECONDS = 50


@dataclass
class Moment:
    """What could be seen at the moment of a signal."""

    reached: bool = False
    handled: bool = True  # every signal had a handler when it was sent
    begun: bool = False  # something was printed before the first signal
    over: bool = False  # the result was there already


@dataclass(frozen=True)
class Aim:
    """Which signals are sent to a program, and when: so many seconds after a stage; the second one after a GAP."""

    program: Program
    manner: str  # of the server
    stage: str
    signals: tuple[int, ...]
    later: float
    gap: float

    def __str__(self) -> str:
        names = " then ".join(signal.Signals(number).name for number in self.signals)
        again = f", again {self.gap * 1000:.0f} ms later" if len(self.signals) > 1 else ""
        return f"{self.program.name}, {self.manner} server, {names} at {self.stage} + {self.later * 1000:.1f} ms{again}"

    def is_heard_twice(self) -> bool:
        """A signal that comes again before the first was taken is one signal to the kernel and to Python."""
        return len(set(self.signals)) > 1 or (
            len(self.signals) > 1 and (self.gap >= APART_SECONDS or self.ends_by_a_signal())
        )

    def ends_by_a_signal(self) -> bool:
        return self.program.stdin is not None and self.stage in ENDS

    def shoot(self, running: Running, moment: Moment) -> float:
        """Wait for the moment, and send the signals; how long the program may go on then."""
        first = "answered initialize" if self.ends_by_a_signal() else self.stage
        moment.reached = _arrived(running, first)
        if not moment.reached:
            # What serves until its stdin ends would never end.
            return RUN_SECONDS if self.program.stdin is None else 0
        # No sleep for the shortest times: the moment is what is tested.
        end = time.monotonic() + self.later
        while time.monotonic() < end:
            time.sleep(0 if self.later < 0.005 else 0.001)
        moment.begun = running.printed()
        for number in self.signals:
            if running.sent and self.ends_by_a_signal():
                _arrived(running, self.stage)
            elif running.sent:
                time.sleep(self.gap)
            if not running.sent:
                done = self.program.stdin is None and (running.printed() or running.reached("eof"))
                moment.over = running.over() or done
            # SIGINT has a handler of Python's own before it has ours.
            moment.handled = moment.handled and running.catches(number) and running.catches(SIGTERM)
            if running.over():
                break
            running.send(number)
        return LADDER_SECONDS + 1 if moment.handled else RUN_SECONDS


def _arrived(running: Running, stage: str) -> bool:
    """Wait until a stage is reached; False if the program ends before, or never comes so far."""
    end = time.monotonic() + STAGE_SECONDS
    while not _is_there(running, stage):
        if running.over() or time.monotonic() > end:
            return False
        if stage not in BRIEF:
            time.sleep(0.0005)
    return True


def _is_there(running: Running, stage: str) -> bool:
    match stage:
        case "delay":
            return True
        case "python":
            return running.catches(SIGINT)
        case "handlers":
            return running.catches(SIGTERM)
        case "printed":
            return running.printed()
        case "child":
            return bool(running.children())
        case "second child":
            return len(running.children()) > 1
        case "exec":
            return running.has_executed()
        case _:
            return running.reached(stage)


def _shot(name: str, aim: Aim) -> Result:
    moment = Moment()
    server = staged(aim.manner)
    ended = run(
        aim.program.words(server),
        RUN_SECONDS,
        stdin=aim.program.stdin,
        files=aim.program.files(server),
        environ={"CONDUCTOR_SOAK_PAUSE": aim.stage},
        meanwhile=lambda running: aim.shoot(running, moment),
    )
    if not moment.reached and aim.program.stdin is not None and ended.why_killed == "time":
        # It serves until its stdin ends, and the stage is not one of its own: nothing was tested.
        return Result(name, megabytes=ended.megabytes)
    codes = aim.program.codes_after(aim.signals, begun=moment.begun)
    if not moment.handled:
        # Python itself may end by the signal, or fail in its own start.
        codes |= {code for number in aim.signals for code in (-number, 128 + number)} | {1} | aim.program.ordinary
    if moment.over or not moment.reached:
        codes |= aim.program.ordinary
    bound = RUN_SECONDS
    if moment.reached and not moment.over and moment.handled:
        bound = SECOND_SIGNAL_SECONDS if aim.is_heard_twice() else LADDER_SECONDS
    return judged(name, ended, codes, Limits(bound), early=not moment.handled)


def _aims(dice: random.Random) -> list[Aim]:
    """All of them, in an order that mixes them well."""
    aims = []
    for program, signals in itertools.product(PROGRAMS, SIGNALS):
        stages = OWN_STAGES + {"serve": (), "check --client": CLIENT_STAGES}.get(program.name, SERVER_STAGES)
        length = RUN_LENGTHS.get(program.name, 0.5)
        for stage in stages:
            manner = (
                "stubborn" if stage in STUBBORN or (program is not CHECK_CLIENT and dice.random() < 0.25) else "polite"
            )
            later = dice.random() * length if stage == "delay" else dice.choice([0, 0, dice.random() * 0.02])
            aims.append(
                Aim(
                    program,
                    manner,
                    stage,
                    signals,
                    later,
                    dice.choice([0, 0.02 * dice.random(), APART_SECONDS + dice.random() / 4]),
                )
            )
    dice.shuffle(aims)
    return aims


def _cancelled(name: str, way: str, milliseconds: float, manner: str) -> Result:
    words = (sys.executable, str(HERE / "library_cancel.py"), way, f"{milliseconds:.1f}", *staged(manner))
    ended = run(words, RUN_SECONDS)
    return judged(name, ended, {0}, Limits(LADDER_SECONDS))


def _cancel(dice: random.Random, number: int) -> Case:
    way, manner = dice.choice(LIBRARY_WAYS), dice.choice(["polite", "polite", "stubborn"])
    milliseconds = dice.random() * LIBRARY_MILLISECONDS
    name = f"{number}: connect(), {manner} server, {way} after {milliseconds:.1f} ms"
    return Case(name, lambda: _cancelled(name, way, milliseconds, manner))


def cases(runs: int, seed: int) -> list[Case]:
    """One in eight is a cancel of the library's own."""
    dice = random.Random(seed)
    aims = itertools.chain.from_iterable(_aims(dice) for _ in itertools.count())
    return [_cancel(dice, number) if number % 8 == 7 else _aimed(number, next(aims)) for number in range(runs)]


def _aimed(number: int, aim: Aim) -> Case:
    name = f"{number}: {aim}"
    return Case(name, lambda: _shot(name, aim))
