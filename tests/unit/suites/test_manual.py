"""Every key and every flag of the manual of `conductor test` is shown in tests/golden at least twice: at work, and refused
or failing. What a key does stands in the cases test-keys-…, in tests that are called after it.
"""

import re
from pathlib import Path

import pytest

from mcp_conductor.cli.commands.test.flags import FLAGS
from mcp_conductor.suites.language.actions import ACTIONS
from mcp_conductor.suites.language.keys import EXPECT_KEYS
from mcp_conductor.suites.language.steps import STEP_KEYS
from mcp_conductor.suites.language.suite import CASE_ONLY_KEYS, SUITE_KEYS

ROOT = Path(__file__).parent.parent.parent.parent
CASES = sorted((ROOT / "tests" / "golden").glob("test-*"))
KEYS = [*ACTIONS, *CASE_ONLY_KEYS, *STEP_KEYS, *EXPECT_KEYS]
# `  ok   KEY: …`, `FAIL  file:line  KEY: …`; what a file has is called `file KEY, KEY: …`.
AT_WORK = re.compile(r"^  (?:ok|skip) +(file )?([^:(]+): ", re.MULTILINE)
FAILING = re.compile(r"^(?:FAIL|ERROR)  \S+  (file )?([^:(]+): ", re.MULTILINE)
# `error: file: tests[0].expect.KEY.more …`
REFUSED = re.compile(r"^error: [^ :]+(?::| has no)? (\S+) ", re.MULTILINE)
NEVER_SEEN = {
    "--watch": "it goes on until it is interrupted",
    "--cacert": "the cases have no server with a certificate",
}


def said(*files: str) -> str:
    return "\n".join((case / file).read_text() for case in CASES for file in files if (case / file).exists())


def named(pattern: re.Pattern[str], *, of_file: bool) -> set[str]:
    found = pattern.findall(said("stdout"))
    return {key for prefix, keys in found if bool(prefix) == of_file for key in keys.split(", ")}


def refused() -> set[str]:
    paths = REFUSED.findall(said("stderr"))
    return {re.sub(r"\[\d+\]", "", step) for path in paths for step in path.split(".")}


def words(case: Path) -> list[str]:
    return (case / "cmd").read_text().partition(" -- ")[0].split()


def exits(case: Path) -> int:
    return int((case / "exit").read_text())


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_shown_at_work_and_failing(key):
    assert key in named(AT_WORK, of_file=False)
    assert key in named(FAILING, of_file=False) | refused()


@pytest.mark.parametrize("key", SUITE_KEYS)
def test_a_key_of_a_file_is_shown_at_work_and_failing(key):
    assert key in named(AT_WORK, of_file=True)
    assert key.lstrip("$") in named(FAILING, of_file=True) | refused()


@pytest.mark.parametrize("flag", [flag for group in FLAGS.values() for flag in group], ids=lambda flag: flag.name)
def test_a_flag_is_shown_at_work_and_failing(flag):
    with_it = [case for case in CASES if {flag.name, flag.short} & set(words(case))]
    assert [case.name for case in with_it if exits(case) == 0] or flag.name in NEVER_SEEN
    assert [case.name for case in with_it if exits(case) != 0] or flag.name == "--help"


def test_twenty_typical_mistakes_are_shown_with_their_place():
    mistakes = [case for case in CASES if case.name.startswith("test-mistake-")]
    told = {case: said_by(case) for case in mistakes if exits(case) == 2}
    placed = [case for case, text in told.items() if re.search(r"^  --> \S+\.yml:\d+:\d+$", text, re.MULTILINE)]
    assert len(mistakes) >= 20
    assert len(placed) >= 20


def said_by(case: Path) -> str:
    return (case / "stderr").read_text() if (case / "stderr").exists() else ""
