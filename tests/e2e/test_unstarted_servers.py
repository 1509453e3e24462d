"""A server that cannot be used: each command still writes its reports, and they say what happened."""

import json
import re
import sys

import pytest
from tests import prefork

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
DIES = [sys.executable, "-c", "import sys; print('no config.toml', file=sys.stderr); sys.exit(4)"]
LIES = [sys.executable, "-c", "import sys; sys.stdin.readline(); print('usage: server FILE', flush=True)"]
MISSING = ["no-such-program"]
SUITE = "description: One\ntests:\n  - {it: lists, list: tools, expect: {ok: true}}\n"
SAID = (
    '{"at":0.0,"source":"client","text":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"ping\\"}"}\n'
    '{"at":0.1,"source":"server","text":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"}\n'
)


@pytest.fixture
def reports(tmp_path):
    """Run a command: its exit code, its stderr, and its JSON report and page as data."""
    (tmp_path / "one.test.mcp.yml").write_text(SUITE)
    (tmp_path / "said.jsonl").write_text(SAID)

    def run(*words, server):
        wanted = ["--report", "json:report.json", "--report", "html:page.html", "--report", "junit:report.xml"]
        done = prefork.run(
            [*CONDUCTOR, *words, *wanted, "--", *server], cwd=tmp_path, capture_output=True, check=False, timeout=60
        )
        page = re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
        assert page is not None
        assert re.search("<(error|failure) ", (tmp_path / "report.xml").read_text())
        report = json.loads((tmp_path / "report.json").read_text())
        return done.returncode, done.stderr.decode(), report, json.loads(page[1])

    return run


COMMANDS = [("test",), ("check",), ("check", "--protocol", "2025-06-18")]


@pytest.mark.parametrize("words", [*COMMANDS, ("verify", "said.jsonl")], ids=" ".join)
def test_why_a_server_ended_is_in_every_report(reports, words):
    code, _, report, page = reports(*words, server=DIES)
    assert code == 3
    (outcome,) = report["outcomes"]
    assert (outcome["status"], outcome["cause"]) == ("errored", "server")
    assert outcome["findings"][0]["message"].startswith("the server exited with code 4")
    assert page["outcomes"][0]["stderr"] == ["no config.toml"]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_page_has_what_was_said_until_then_and_how_it_ended(reports, words):
    _, _, _, page = reports(*words, server=DIES)
    (outcome,) = page["outcomes"]
    frames = [(each["source"], each["text"]) for each in outcome["frames"]]
    assert ("stderr", "no config.toml") in frames
    assert frames[-1][0] == "process"
    assert frames[-1][1].startswith("the server exited with code 4")
    asked = [text for source, text in frames if source == "client"]
    assert all('"method":"initialize"' in each or '"server/discover"' in each for each in asked)


def test_what_a_server_prints_in_place_of_messages_is_on_the_page(reports):
    _, _, _, page = reports("test", server=LIES)
    frames = [(each["source"], each["text"]) for each in page["outcomes"][0]["frames"]]
    assert ("server", "usage: server FILE") in frames


@pytest.mark.parametrize("words", [("test",), ("check",), ("verify", "said.jsonl")], ids=" ".join)
def test_a_program_that_does_not_exist_is_told_with_its_hint(reports, words):
    code, _, report, page = reports(*words, server=MISSING)
    assert code == 3
    (finding,) = report["outcomes"][0]["findings"]
    assert finding["message"] == "cannot start 'no-such-program': No such file or directory"
    assert finding["hint"] == "is it installed, and on PATH?"
    assert page["red"]


def test_a_check_without_a_server_says_why_it_has_no_grade(reports):
    _, stderr, report, page = reports("check", server=MISSING)
    assert stderr.count("cannot start 'no-such-program'") == 1, "the console says it once"
    assert report["metrics"] == {"ungraded": "cannot start 'no-such-program': No such file or directory"}
    assert page["summaryLine"].startswith("1 errored in ")


def test_a_client_that_cannot_be_started_has_a_report_too(tmp_path):
    words = ["check", "--client", "no-such-program {server}", "--report", "json:report.json"]
    done = prefork.run([*CONDUCTOR, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 3
    (outcome,) = json.loads((tmp_path / "report.json").read_text())["outcomes"]
    assert (outcome["id"], outcome["title"]) == ("client", "The client can be used")


def test_a_command_line_that_is_wrong_writes_no_report(tmp_path):
    words = ["check", "--call-tools", "none", "--report", "json:report.json", "--only", "nonsense", "--", *DIES]
    done = prefork.run([*CONDUCTOR, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert not (tmp_path / "report.json").exists()


def test_a_server_that_dies_in_a_test_ends_its_conversation(reports, tmp_path):
    (tmp_path / "server.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message['method'] == 'tools/list': sys.exit(7)\n"
        "    if 'id' not in message: continue\n"
        "    info = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}},"
        " 'serverInfo': {'name': 'x', 'version': '1'}}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': info}), flush=True)\n"
    )
    code, _, _, page = reports("test", server=[sys.executable, "server.py"])
    assert code == 3
    frames = [(each["source"], each["text"]) for each in page["outcomes"][0]["frames"]]
    assert [source for source, _ in frames[-2:]] == ["client", "process"]
    assert frames[-1][1] == "the server exited with code 7"


def test_a_badge_of_a_server_that_cannot_be_started_shows_no_grade(tmp_path):
    (tmp_path / "grade.svg").write_text("grade A")
    words = ["check", "--badge", "grade.svg", "--", *MISSING]
    done = prefork.run([*CONDUCTOR, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 3
    assert "no grade" in (tmp_path / "grade.svg").read_text()


REFUSES = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    error = {"code": -32000, "message": "missing OBSIDIAN_API_KEY"}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": KEPT, "error": error}), flush=True)
"""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kept", ["None", "request['id']"])
def test_a_server_that_refuses_to_begin_says_why_whatever_the_id_of_its_answer(reports, words, kept):
    server = [sys.executable, "-c", REFUSES.replace("KEPT", kept)]
    code, _, report, _ = reports(*words, "--timeout", "20s", server=server)
    assert code == 3
    (outcome,) = report["outcomes"]
    message = outcome["findings"][0]["message"]
    assert message == "initialize was answered with error -32000: missing OBSIDIAN_API_KEY"
    assert (outcome["status"], outcome["cause"]) == ("errored", "server")
    assert "grade" not in report.get("metrics", {})
