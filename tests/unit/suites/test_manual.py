"""Every key and every flag of the manual of `conductor test` is shown in tests/screens at least twice: at work, and refused
or failing. What a key does stands in the cases test-keys-…, in tests that are called after it.
"""

import re

import pytest
from tests.screens.pages import Case, all_cases

from mcp_conductor.cli.commands.test.flags import FLAGS
from mcp_conductor.suites.language.actions import ACTIONS
from mcp_conductor.suites.language.keys import EXPECT_KEYS
from mcp_conductor.suites.language.steps import STEP_KEYS
from mcp_conductor.suites.language.suite import CASE_ONLY_KEYS, SUITE_KEYS

CASES = [case for case in all_cases() if case.name.startswith("test-")]
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


def said(stream: str) -> str:
    return "\n".join(case.expected[stream] for case in CASES if stream in case.expected)


def named(pattern: re.Pattern[str], *, of_file: bool) -> set[str]:
    found = pattern.findall(said("stdout"))
    return {key for prefix, keys in found if bool(prefix) == of_file for key in keys.split(", ")}


def refused() -> set[str]:
    paths = REFUSED.findall(said("stderr"))
    return {re.sub(r"\[\d+\]", "", step) for path in paths for step in path.split(".")}


def words(case: Case) -> list[str]:
    return case.command.partition(" -- ")[0].split()


def exits(case: Case) -> int:
    return int(case.expected["exit"])


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
    told = [case.expected.get("stderr", "") for case in mistakes if exits(case) == 2]
    placed = [text for text in told if re.search(r"^  --> \S+\.yml:\d+:\d+$", text, re.MULTILINE)]
    assert len(mistakes) >= 20
    assert len(placed) >= 20
