"""Run the tests; those that fail get one more try by themselves, and all is well only if each of them is a known flake.

usage: second_try.py COMMAND … (which takes the flags of pytest)

tests/known_flakes.txt has a line for each: DATE | TEST | REASON. A test that fails twice is broken. One that fails and
then passes waits too short somewhere: it is mended, or it is written down there. There is a second try for failed tests
only, not for a run that was interrupted, had an error of its own or could not begin.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

FLAKES = Path("tests/known_flakes.txt")
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED = 1  # the exit code of pytest, and ours


@dataclass(frozen=True)
class Flake:
    """A test that is known to fail now and then, since when, and why."""

    since: date
    test: str
    reason: str


def flakes(text: str) -> list[Flake]:
    """The flakes of a file; a line that begins with # is a comment. Raises ValueError for a line that is none."""
    lines = (line.strip() for line in text.splitlines())
    return [_flake(line) for line in lines if line and not line.startswith("#")]


def _flake(line: str) -> Flake:
    since, _, rest = line.partition(" | ")
    test, _, reason = rest.rpartition(" | ")
    if not test or not reason:
        raise ValueError(f"not DATE | TEST | REASON: {line!r}")
    return Flake(date.fromisoformat(since), test.strip(), reason.strip())


def unknown(failed: list[str], known: list[Flake]) -> list[str]:
    """Those that FAILED and are not KNOWN, by their whole id or by that without parameters."""
    names = {each.test for each in known}
    return [test for test in failed if test not in names and test.partition("[")[0] not in names]


def main(command: list[str]) -> int:
    """Run the tests with COMMAND: the exit code."""
    known = flakes(FLAKES.read_text()) if FLAKES.exists() else []
    code = subprocess.run([*command, "--cache-clear"], check=False).returncode
    if code != TESTS_FAILED:
        return code
    failed = list(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    if not failed:
        print("tests failed, and pytest does not say which: no second try", flush=True)
        return code
    print("once more, by themselves, those that failed:", *failed, sep="\n  ", flush=True)
    again = ["--last-failed", "--last-failed-no-failures", "none", "--numprocesses", "0"]
    code = subprocess.run([*command, *again], check=False).returncode
    if code != 0:
        return code
    new = unknown(failed, known)
    if new:
        print(f"failed and passed, and not in {FLAKES}:", *new, sep="\n  ", flush=True)
        return TESTS_FAILED
    print(f"failed and passed, as {FLAKES} says they may:", *failed, sep="\n  ", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
