"""`conductor test` and pytest come to the same outcome, for every test of the files in `two_ways`.

A name that ends with `: failed`, `: skipped` and so on says what the outcome must be. The files of a directory are run together.
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import pytest
from tests import prefork
from tests.conftest import SERVERS
from tests.e2e.suites.conftest import CONDUCTOR

FILES = Path(__file__).parent / "two_ways"
PLUGIN = () if entry_points(group="pytest11", name="mcp_conductor") else ("-p", "mcp_conductor.pytest_plugin")
# It writes down what pytest says of each test, and how it warns.
CONFTEST = """
import json, os

told = open("told.jsonl", "w")

def tell(**members):
    print(json.dumps(members), file=told, flush=True)

def pytest_runtest_logreport(report):
    file, line, name = report.location
    as_expected = hasattr(report, "wasxfail")
    tell(file=file, line=line + 1, name=name, when=report.when, outcome=report.outcome, xfail=as_expected)

def pytest_warning_recorded(warning_message):
    tell(warning=str(warning_message.message))

def pytest_deselected(items):
    tell(deselected=len(items))

def pytest_collectreport(report):
    if report.failed:
        tell(bad=str(report.longrepr))
"""
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\naddopts = --strict-markers --strict-config -p no:cacheprovider\n"
_PROMISE = re.compile(r": (passed|failed|errored|skipped|not-run)\b")
# pytest has no word for a test that was not run: it is an error before the test, or in it.
_WORDS = {"passed": "passed", "warned": "passed", "skipped": "skipped", "failed": "failed", "errored": "error", "not-run": "error"}  # fmt: skip


class Done(NamedTuple):
    """What one way said."""

    out: str
    err: str
    code: int


@pytest.fixture
def both(tmp_path, surroundings, survivors):
    """Run the files of a directory in both ways: the JSON report and what pytest told, with what the two said."""

    def run(name):
        servers = {manner or "book": [str(SERVERS / "many_tools.py"), manner] for manner in ("", "other", "usage", "traceback", "rude")}  # fmt: skip
        settings = {key: {"command": sys.executable, "args": ["-S", *args]} for key, args in servers.items()}
        settings["missing"] = {"command": "no-such-program"}
        environment = {**surroundings, "COLUMNS": "100"}
        ways = {
            "conductor": [*CONDUCTOR, "test", "--server", "book", "--report", "json:report.json"],
            "pytest": [sys.executable, "-m", "pytest", *PLUGIN, "-q", "--conductor-server", "book"],
        }
        runs = []
        for way, command in ways.items():
            place = tmp_path / way
            shutil.copytree(FILES / name, place)
            (place / "conductor.config.json").write_text(json.dumps({"mcpServers": settings}))
            (place / "pytest.ini").write_text(INI)
            (place / "conftest.py").write_text(CONFTEST)
            options = {"cwd": place, "env": environment, "text": True}
            runs.append(prefork.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
        done = [Done(*each.communicate(timeout=60), each.returncode) for each in runs]
        assert survivors() == []
        report = tmp_path / "conductor" / "report.json"
        told = (tmp_path / "pytest" / "told.jsonl").read_text().splitlines()
        return *done, json.loads(report.read_text()) if report.exists() else {}, list(map(json.loads, told))

    return run


def outcomes_of(report):
    """How often a test of a line came to an outcome, in pytest's words; a teardown is told with no name."""
    return Counter(
        (each["file"], "teardown", "failed") if is_teardown(each) else (each["file"], each["line"], in_words(each))
        for each in report["outcomes"]
    )  # fmt: skip


def is_teardown(outcome):
    return outcome["title"].startswith("teardown")


def in_words(outcome):
    return "xfailed" if "xfail" in outcome else _WORDS[outcome["status"]]


def outcomes_of_pytest(told):
    return Counter(
        (each["file"], "teardown" if each["when"] == "teardown" else each["line"], in_words_of_pytest(each))
        for each in told
        if each.get("when") == "call" or each.get("outcome") in ("failed", "skipped")
    )


def in_words_of_pytest(told):
    if told["outcome"] == "skipped" and told["xfail"]:
        return "xfailed"
    return "error" if told["outcome"] == "failed" and told["when"] == "setup" else told["outcome"]


@pytest.mark.parametrize(("name", "files"), [("all", 62), ("only", 10)])
def test_each_test_comes_out_the_same(both, name, files):
    ours, theirs, report, told = both(name)
    assert (ours.code, theirs.code) == (3, 1), theirs.out + ours.err
    assert outcomes_of_pytest(told) == outcomes_of(report)
    cases = [each for each in report["outcomes"] if not is_teardown(each)]
    promised = {each["id"]: found[1] for each in cases if (found := _PROMISE.search(each["title"]))}
    assert {each["id"]: each["status"] for each in cases if each["id"] in promised} == promised
    assert sum(each.get("deselected", 0) for each in told) == report["summary"]["deselected"]
    assert {each["warning"] for each in told if "warning" in each} == warnings_of(report)
    assert len(list((FILES / name).glob("*.test.mcp.yml"))) == files


def warnings_of(report):
    flaky = {f"{each['id']}: it passed, but not at the first try" for each in report["outcomes"] if each.get("flaky")}
    return flaky | {
        (f"{each['file']}:{each['line']}:{each['column']}: " if "file" in each else "") + each["message"]
        for each in report["warnings"]
    }


def test_where_a_file_is_bad_nothing_is_run(both):
    ours, theirs, report, told = both("bad")
    assert (ours.code, theirs.code, report["summary"]["errored"]) == (2, 2, 2)
    assert not [each for each in told if "when" in each]
    said = sorted(each["bad"].strip() for each in told if "bad" in each)
    assert len(said) == 2
    assert all(each in ours.err for each in said)
