"""Which scenarios a client meets: chosen by name, listed, and shown while they run; and what a client never did."""

import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from mcp_conductor.checks.harness.scenario import SCENARIOS

from .conftest import CONDUCTOR, HERE, POLITE


def test_a_scenario_is_played_alone_and_only_what_it_shows_is_judged(check, tmp_path):
    done = check(f"{POLITE} -- {{server}}", "--scenario", "odd-content", "--scenario", "pings", "-v")
    assert done.returncode == 0
    played = re.findall(r"^scenario (\S+): the client ended with exit code 0, after", done.stderr, re.MULTILINE)
    assert (played[0], sorted(played[1:])) == ("plain", ["odd-content", "pings"])
    assert re.search("^ping$", done.stdout, re.MULTILINE)
    assert "no grade: --scenario leaves something out" in done.stdout
    assert not re.search("^elicitation$", done.stdout, re.MULTILINE)


def test_a_scenario_of_another_transport_is_nothing_to_check(check):
    done = check(f"{POLITE} -- {{server}}", "--scenario", "lost-session")
    assert done.returncode == 2
    assert "nothing was checked" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--client", "x {server}", "--scenario", "pngs"), "unknown scenario 'pngs'\n  hint: did you mean 'pings'?"),
        (("--scenario", "pings", "--", "server"), "--scenario is for --client CMD"),
    ],
)
def test_a_scenario_that_cannot_be_meant_is_code_2(words, said, tmp_path):
    done = subprocess.run(
        [*CONDUCTOR, "check", *words], capture_output=True, text=True, cwd=tmp_path, timeout=30, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr


def test_all_scenarios_are_listed_with_what_happens_in_them(tmp_path):
    done = subprocess.run(
        [*CONDUCTOR, "check", "--list-scenarios"], capture_output=True, text=True, timeout=30, check=True
    )
    for name, each in SCENARIOS.items():
        assert re.search(rf"^{name}  +{re.escape(each.doc)}$", done.stdout, re.MULTILINE)
    assert "2025-03-26 to 2025-11-25, http" in done.stdout


def test_a_terminal_shows_which_scenario_runs(tmp_path, environment):
    ours, theirs = pty.openpty()
    words = [*CONDUCTOR, "check", "--client", f"{POLITE} -- {{server}}", "--scenario", "slow-start"]
    env = {**environment, "PYTHONPATH": str(HERE), "TERM": "xterm"}
    env.pop("CI", None)
    with subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=theirs) as checking:
        os.close(theirs)
        shown, deadline = b"", time.monotonic() + 30
        while b"slow-start" not in shown and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 4096)
        checking.wait(30)
    os.close(ours)
    assert re.search(rb"scenario 2 of 2  slow-start  \d+ s", shown), shown


def test_what_a_client_never_did_is_told_once_with_the_number_of_checks(check, script):
    client = script("Client.usable = lambda self, tool: False\nsys.exit(Client(sys.argv).main())")
    done = check(f"{client} -- {{server}}", "--only", "tools", "--only", "tasks-core", "--json")
    report = json.loads(done.stdout)
    reasons = [each["reason"] for each in report["outcomes"] if each["status"] == "skipped"]
    number = reasons.count("the client never called a tool")
    assert number >= 3
    assert f"warning: the client never called a tool: {number} checks could not run\n" in done.stderr
