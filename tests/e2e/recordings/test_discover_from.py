"""`conductor discover --from`: what was recorded becomes a suite that passes at once."""

import json

import pytest
from tests import prefork
from tests.e2e.recordings.conftest import NOTES, REAL, everything, filesystem
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.files.source import load

SUITE = "said.test.mcp.yml"


@pytest.fixture
def conductor(verify):
    def run(*words, **variables):
        return prefork.run(
            [*CONDUCTOR, *words], cwd=verify.folder, env=verify.environment | variables, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip

    return run


@pytest.fixture
def suite(conductor, verify):
    """Write the suite: its tests by their names, and the run."""

    def write(*flags):
        done = conductor("discover", "--from", "said.jsonl", "-o", SUITE, *flags)
        assert done.returncode == 0, done.stderr
        return {test["it"]: test for test in load(str(verify.folder / SUITE)).data["tests"]}, done

    return write


def passes(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["summary"]


def test_flows_become_captures_and_the_suite_passes_on_a_server_with_other_ids(conductor, notes, suite):
    tests, _ = suite()
    assert tests["calls add"]["capture"] == {"id": "result.structuredContent.id"}
    assert tests["calls get"]["call"] == {"tool": "get", "args": {"id": "{{ id }}"}}
    assert tests["answers resources/list"]["capture"] == {"nextCursor": "result.nextCursor"}
    assert tests["answers resources/list (2)"]["request"]["params"] == {"cursor": "{{ nextCursor }}"}
    assert tests["calls rename"]["client"] == {
        "elicitation": [{"reply": {"action": "accept", "content": {"name": "Ada"}}}]
    }


def test_the_suite_finds_a_change(conductor, suite, verify, serve, said):
    (verify.folder / "said.jsonl").write_text(said)
    tests, _ = suite()
    assert tests["calls get"]["expect"] == {
        "result": {"content": [{"type": "text", "text": "buy milk"}], "isError": False}
    }
    file = verify.folder / SUITE
    # A number that is another in each process and was not sent: one recording does not show that it changes.
    number = next(line for line in file.read_text().splitlines() if "number:" in line)
    changing = number.partition("number: ")[2].partition(",")[0].strip("} ")
    file.write_text(file.read_text().replace(f"number: {changing}", "number: match:type:number"))
    assert passes(conductor("test", SUITE, "--json", "--", *serve(NOTES)))["passed"] == 7
    upper = NOTES.replace('notes[note] = arguments["text"]', 'notes[note] = arguments["text"].upper()')
    done = conductor("test", SUITE, "--json", "--", *serve(upper))
    assert done.returncode == 1
    failed = [each["title"] for each in json.loads(done.stdout)["outcomes"] if each["status"] == "failed"]
    assert failed == ["calls get"]


def test_a_secret_becomes_a_variable_of_the_environment(suite, notes, verify):
    file = verify.folder / "said.jsonl"
    file.write_text(file.read_text().replace("buy milk", "[redacted]"))
    tests, done = suite()
    assert tests["calls add"]["call"]["args"] == {"text": "{{ env.TEXT }}"}
    assert "set TEXT in the environment: it stands for a secret" in done.stderr
    assert "[redacted]" not in (verify.folder / SUITE).read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "none.jsonl"), "cannot read none.jsonl"),
        (("--from", "said.jsonl", "--", "python"), "both a recording and a server ('python') are given"),
        (("--from", "said.jsonl", "--include-writes"), "--include-writes has no meaning with --from"),
        (("--session", "2"), "--session is for --from FILE"),
    ],
)
def test_wrong_use_is_told(conductor, notes, words, message):
    done = conductor("discover", *words)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize("peer", [everything, filesystem])
def test_the_suite_of_a_real_server_passes_at_once(conductor, recorded, suite, peer):
    server, flags, requests = recorded(peer)
    suite()
    assert passes(conductor("test", SUITE, "--json", *flags, "--", *server))["passed"] == requests - 1


@pytest.mark.slow
@pytest.mark.parametrize("peer", REAL)
def test_the_suite_of_a_real_server_passes_twenty_times(conductor, recorded, suite, peer):
    server, flags, requests = recorded(peer)
    suite()
    for _ in range(20):
        assert passes(conductor("test", SUITE, "--json", *flags, "--", *server))["passed"] == requests - 1
