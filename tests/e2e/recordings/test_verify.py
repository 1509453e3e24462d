"""`conductor verify`: the client of a recording is played to a server, and what has changed is named."""

import json
import re
import subprocess

import pytest
from tests import prefork
from tests.e2e.peer_servers import free_port, running
from tests.e2e.recordings.conftest import NOTES, REAL, SDK, everything, filesystem, memory, sdk_handshake, talk
from tests.e2e.suites.conftest import CONDUCTOR


def test_nothing_differs_on_the_same_server_although_its_ids_cursors_and_times_do(verify, notes):
    report = verify.passes(notes, "--ignore", "result.structuredContent.number")
    assert report["kind"] == "verify"
    assert report["summary"]["passed"] == 8
    assert report["metrics"]["carried"] == 2
    assert report["server"] == {"name": "notes", "version": "1.0"}


def test_a_new_version_of_the_server_is_no_difference(verify, notes, serve):
    verify.passes(serve(NOTES.replace('"1.0"', '"2.0"')), "--ignore", "result.structuredContent.number")


@pytest.mark.parametrize(
    ("old", "new", "where", "finding"),
    [
        ('"name": "notes"', '"name": "diary"', 1, "result.serverInfo.name is 'diary', not 'notes'"),
        ('"2025-06-18"', '"2025-03-26"', 1, "result.protocolVersion is '2025-03-26'"),
        ('{"name": name, ', '{"name": name, "title": name, ', 2, "result.tools[0].title is new"),
        ('"rename": rename}', '"rename": rename, "more": rename}', 2, "result.tools has 5 elements, not 4"),
        ("Saved as", "Kept as", 3, "result.content[0].text"),
        ('"id": note, ', '"id": note, "new": 1, ', 3, "result.structuredContent.new is new"),
        ('"data": f"added', '"data": f"made', 3, "notifications[method=notifications/message].params.data"),
        ('    say(method="notifications/message"', '    0 and say(method="notifications/message"', 3, "did not come"),
        ('notes[note] = arguments["text"]', 'notes[note] = arguments["text"].upper()', 4, "result.content[0].text"),
        ('"isError": False', '"isError": True', 4, "result.isError is true, not false"),
        ("range(3)", "range(0)", 7, "no progress came; the recording has 3 of it"),
        ("len(notes)", "len(notes) + 1", 7, "result.content[0].text"),
        ("Which name?", "What name?", 8, "questions[0].params.message is 'What name?', not 'Which name?'"),
        ("    said = ask(", '    said = {"content": {"name": "Ada"}} or ask(', 8, "the server did not ask for elicitation/create"),
        ("def get(arguments, meta):\n", "def get(arguments, meta):\n    ask('roots/list', {})\n", 4, "the server asked for roots/list"),
    ],
)  # fmt: skip
def test_a_change_of_the_server_is_named_where_it_is(verify, notes, serve, old, new, where, finding):
    assert old in NOTES
    done = verify(serve(NOTES.replace(old, new), "mutated.py"), "--ignore", "result.structuredContent.number")
    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = json.loads(done.stdout)["outcomes"]
    found = outcomes[where - 1]
    assert found["status"] == "failed"
    assert any(finding in each["message"] for each in found["findings"]), found["findings"]
    assert all(each["status"] == "passed" for each in outcomes[: where - 1])


def test_the_page_shows_what_differs_at_its_message_with_the_time(verify, notes, serve, tmp_path):
    server = serve(NOTES.replace("Saved as", "Kept as"), "mutated.py")
    done = verify(server, "--ignore", "result.structuredContent.number", "--report", f"html:{tmp_path / 'page.html'}")
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.search(r'id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL)
    assert found is not None
    page = json.loads(found[1])
    (outcome,) = [each for each in page["outcomes"] if each["status"] == "failed"]
    asked, answered = outcome["frames"]
    assert 0 <= answered["at"] - asked["at"] < 60
    assert (outcome["findings"][0]["path"], outcome["findings"][0]["frame"]) == ("result.content[0].text", 1)
    assert outcome["again"].startswith("conductor verify ")
    assert page["reach"][""].startswith("-- ")


# What a server does besides its answers: DURING each call, and AT_END, when its stdin is closed.
BESIDES = """
import json, sys
def say(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        opened = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        say(id=message["id"], result=opened)
    elif "id" in message:
        DURING
        say(id=message["id"], result={"n": 1})
        AFTER
AT_END
"""
DIFFERENT = [
    ({"DURING": "print('debug!', flush=True)"}, "the server wrote a line that is not a message: 'debug!'", "stdout"),
    ({"AFTER": "say(id=message['id'], result={'n': 2})"}, "a second answer to ping (2) came", None),
    ({"AFTER": "say(id=message['id'], result={'n': 1})"}, "a second answer to ping (2) came", None),
    ({"AFTER": "say(id='other', result={})"}, "an answer came that belongs to no request", None),
    (
        {"AT_END": "say(method='notifications/x')"},
        "notifications/x came after the last answer, and is not in the recording",
        "notifications",
    ),
    ({"AT_END": "sys.exit(4)"}, "the server exited with code 4", "exit"),
    ({"AT_END": "import os; os.kill(os.getpid(), 10)"}, "the server ended by SIGUSR1", "exit"),
]


def doing(serve, places):
    program = BESIDES
    for place in ("DURING", "AFTER", "AT_END"):
        program = program.replace(place, places.get(place, "pass"))
    return serve(program, "doing.py")


@pytest.mark.parametrize(("places", "finding", "word"), DIFFERENT)
@pytest.mark.parametrize("by", ["mcp-cli", "conductor record"])
def test_what_a_server_does_besides_its_answers_is_compared(verify, serve, by, places, finding, word):
    def record(server):
        if by == "mcp-cli":
            verify.record(server, [("ping", {})])
            return
        words = [*CONDUCTOR, "record", "-o", "said.jsonl", "--", *server]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        talk(prefork.start(words, cwd=verify.folder, env=verify.environment, **streams), [("ping", {})])

    record(doing(serve, {}))
    done = verify(doing(serve, places))
    assert done.returncode == 1, done.stdout + done.stderr
    *rest, last = json.loads(done.stdout)["outcomes"]
    assert all(each["status"] == "passed" for each in rest)
    assert (last["title"], last["status"]) == ("besides the answers", "failed")
    (found,) = last["findings"]
    assert found["message"].startswith(finding)
    if word is not None:
        assert len(verify.passes(doing(serve, places), "--ignore", word)["outcomes"]) == len(rest)
    if by == "mcp-cli" or "DURING" not in places:  # `talk` reads no lines that are not JSON
        record(doing(serve, places))
        assert verify.passes(doing(serve, places))["summary"]["passed"] == len(rest)


@pytest.mark.parametrize("code", [0, 4])
def test_exit_code_of_a_server_whose_stdin_was_not_closed_is_not_known(verify, serve, code):
    verify.record(doing(serve, {}), [("ping", {})])
    told = [{"at": 0, "source": "process", "text": text} for text in ("started", f"exited with code {code}")]
    with (verify.folder / "said.jsonl").open("a") as file:
        file.write("".join(json.dumps(each) + "\n" for each in told))
    verify.passes(doing(serve, {"AT_END": "sys.exit(5)"}))


@pytest.mark.parametrize(("before", "now"), [(1, 2), (2, 1)])
def test_how_often_a_server_asks_for_roots_may_differ(verify, serve, before, now):
    def asking(times):
        head = "def get(arguments, meta):\n"
        asks = f"    for _ in range({times}): ask('roots/list', {{}})\n    return {{'content': []}}\n"
        return serve(NOTES.replace(head, head + asks))

    verify.record(asking(before), [("tools/call", {"name": "get", "arguments": {}})], "--roots", "file:///r")
    assert verify.passes(asking(now))["summary"]["passed"] == 2
    assert verify(asking(0)).returncode == 1


def test_a_server_that_goes_away_is_an_error_and_the_rest_is_not_run(verify, notes, serve):
    done = verify(serve(NOTES.replace("def get(arguments, meta):\n", "def get(arguments, meta):\n    sys.exit(4)\n")))
    assert done.returncode == 3
    statuses = [each["status"] for each in json.loads(done.stdout)["outcomes"]]
    assert statuses[3:] == ["errored", *["not-run"] * 4]


def test_an_answer_that_does_not_come_is_a_difference_and_the_play_goes_on(verify, notes, serve):
    silent = serve(NOTES.replace('    if "id" in message:', '    if "id" in message and message["id"] != 4:'))
    done = verify(silent, "--timeout", "500ms", "--ignore", "result.structuredContent.number")
    assert done.returncode == 1
    outcomes = json.loads(done.stdout)["outcomes"]
    assert "no answer" in outcomes[4]["findings"][0]["message"] or "0.5 s" in outcomes[4]["findings"][0]["message"]
    assert outcomes[6]["status"] == "passed"


def test_a_recording_that_was_cut_is_played_up_to_there(verify, notes):
    file = verify.folder / "said.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:7]) + lines[7][:20])
    done = verify(notes, "--ignore", "result.structuredContent.number")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the last line of the recording is not whole" in done.stderr


def test_a_secret_that_was_left_out_of_the_recording_is_told_in_a_line(verify, notes):
    file = verify.folder / "said.jsonl"
    file.write_text(file.read_text().replace("buy milk", "[redacted]"))
    done = verify(notes, json_report=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "error: the recording cannot be played: params.arguments.text of tools/call (request 3) is a secret that was "
        "left out of it"
    )


def test_a_secret_in_a_recorded_answer_may_be_anything(verify, notes):
    file = verify.folder / "said.jsonl"
    file.write_text(file.read_text().replace("Saved as", "[redacted]"))
    verify.passes(notes, "--ignore", "result.structuredContent.number")


@pytest.mark.parametrize(
    ("flags", "text", "message"),
    [
        (("--ignore", "result["), None, "--ignore result[ is not a path"),
        (("--ignore", "result | count"), None, "names no part of an answer"),
        (("--session", "7"), None, "the recording has no session 7"),
        ((), "", "has no requests of a client"),
        ((), "{}\n", "line 1 of the recording is not a frame"),
        ((), '{"recording": 9}\n', "has version 9 of the format"),
    ],
)
def test_wrong_use_is_told_before_anything_starts(verify, notes, flags, text, message):
    if text is not None:
        (verify.folder / "said.jsonl").write_text(text)
    done = verify(("/nonexistent",), *flags, json_report=False)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "code", "first", "rest"),
    [
        ('if "id" in message:', 'if "id" in message and method != "initialize":', 3, "errored", "not-run"),
        ("if result is None:", 'if method == "initialize" or result is None:', 1, "failed", "not-run"),
    ],
)  # fmt: skip
def test_without_a_handshake_nothing_else_is_sent(verify, notes, serve, old, new, code, first, rest):
    assert old in NOTES
    told = 'method, params = message["method"], message.get("params", {})'
    spoiled = NOTES.replace(old, new).replace(told, f'{told}; open("heard", "a").write(method + "\\n")')
    done = verify(serve(spoiled), "--timeout", "500ms")
    assert done.returncode == code, done.stdout + done.stderr
    outcomes = json.loads(done.stdout)["outcomes"]
    assert [each["status"] for each in outcomes] == [first, *[rest] * 7]
    if code == 3:
        assert outcomes[0]["findings"][0]["message"] == "no answer to initialize within 0.5 s"
    assert (verify.folder / "heard").read_text() == "initialize\n"


STATES = """
import json, sys, uuid
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    text = json.dumps({"id": str(uuid.uuid4()), "state": "open", "next": 1}, indent=1)
    result = {"content": [{"type": "text", "text": text}, {"type": "text", "text": f"{uuid.uuid4()} is open"}]}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def states(verify, serve):
    verify.record(serve(STATES), [("tools/call", {"name": "state", "arguments": {}})])
    return lambda **changed: serve(STATES.replace('"open"', changed.get("state", '"open"')).replace("is open", changed.get("words", "is open")).replace('"next": 1', changed.get("next", '"next": 1')), "now.py")  # fmt: skip


def test_what_is_named_is_the_difference_that_matters_and_not_an_id_before_it(verify, states):
    done = verify(states(state='"closed"', words="is shut"))
    assert done.returncode == 1
    (failed,) = [each for each in json.loads(done.stdout)["outcomes"] if each["status"] == "failed"]
    one, other = sorted(failed["findings"], key=lambda finding: finding["path"])
    assert one["message"] == "result.content[0].text.state is 'closed', not 'open'"
    assert one["path"] == "result.content[0].text.state"
    assert "result.content[1].text" in other["message"]
    assert "not '" in other["message"]
    assert "shut" in other["message"]


def test_ignore_reaches_into_json_within_a_text(verify, states):
    server = states(next='"next": 2')
    assert verify(server).returncode == 1
    report = verify.passes(server, "--ignore", "result.content[0].text.next")
    assert report["warnings"] == []


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("result.content[0].text.nxt", "is nothing in any answer"),
        ("result.content[1].text.next", "leads into a text that is not JSON: '"),
    ],
)
def test_ignore_that_excuses_nothing_is_told(verify, states, path, why):
    done = verify(states(next='"next": 2'), "--ignore", path)
    assert done.returncode == 1
    (warning,) = json.loads(done.stdout)["warnings"]
    assert warning["message"].startswith(f"--ignore {path} {why}")
    assert f"--ignore {path}" in verify(states(), "--ignore", path, json_report=False).stdout


def test_strict_compares_uuids_too(verify, states):
    assert verify(states()).returncode == 0
    assert verify(states(), "--strict").returncode == 1


def test_all_sessions_are_played(verify, serve):
    server = serve(STATES)
    call = ("tools/call", {"name": "state", "arguments": {}})
    one = (verify.folder / verify.record(server, [call])).read_text()
    lines = one.splitlines(keepends=True)
    second = [json.dumps({**json.loads(line), "session": 2}) + "\n" for line in lines[1:]]
    (verify.folder / "said.jsonl").write_text("".join([*lines, *second]))
    report = verify.passes(server, "--session", "all")
    groups = [each["group"] for each in report["outcomes"]]
    assert len(set(groups)) == 2
    assert len(groups) == 2 * verify.passes(server, "--session", "2")["summary"]["passed"]
    assert verify(serve(STATES.replace('"open"', '"shut"'), "now.py"), "--session", "all").returncode == 1


def test_clients_that_a_recording_does_not_tell_apart_are_not_played(verify, serve):
    def said(at, session, source, text):
        return json.dumps({"at": at, "source": source, "session": session, "text": text}) + "\n"

    def asked(method, number):
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {}})

    def answer(number):
        return json.dumps({"jsonrpc": "2.0", "id": number, "result": {}})

    lines = [json.dumps({"recording": 1, "transport": "http", "server": {"url": "http://127.0.0.1:1/mcp"}}) + "\n"]
    for session in (1, 2):
        lines += [said(session, session, "client", asked("initialize", 0))]
        lines.append(said(session, session, "server", answer(0)))
    for at in (3, 4):  # one of each client, both in the second session
        lines += [said(at, 2, "client", asked("tools/list", 1)), said(at, 2, "server", answer(1))]
    (verify.folder / "said.jsonl").write_text("".join(lines))
    for session in ("1", "2", "all"):
        done = verify(serve(STATES), "--session", session, json_report=False)
        assert done.returncode == 2, done.stdout
        assert "cannot be told apart" in done.stderr


# Servers that others wrote.


@pytest.mark.parametrize("peer", [everything, filesystem, memory])
def test_a_real_server_is_what_it_was(verify, recorded, peer):
    server, flags, requests = recorded(peer)
    assert verify.passes(server, *flags)["summary"]["passed"] == requests


@pytest.mark.slow
@pytest.mark.parametrize("peer", REAL)
def test_a_real_server_is_what_it_was_twenty_times(verify, recorded, peer):
    server, flags, requests = recorded(peer)
    for _ in range(20):
        assert verify.passes(server, *flags)["summary"]["passed"] == requests


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "json", "sse"])
def test_what_was_said_on_stdio_is_said_over_http_too(verify, recorded, transport):
    recorded(sdk_handshake)
    port = free_port()
    with running((*SDK, transport, str(port)), "Uvicorn running on"):
        path = "sse" if transport == "sse" else "mcp"
        done = prefork.run(
            [*CONDUCTOR, "verify", "said.jsonl", f"http://127.0.0.1:{port}/{path}"],
            cwd=verify.folder, env=verify.environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
