"""How a client is started, told where the server is, and ended in any case."""

import os
import re
import signal
import subprocess
import time

import pytest

from .conftest import CONDUCTOR, HERE, POLITE


@pytest.mark.parametrize(
    "client",
    [
        f"{POLITE} -- {{server}}",
        f"{POLITE} --url {{url}}",
        f"sh -c '{POLITE} -- {{server}}'",
        f"sh -c '{POLITE} -- $CONDUCTOR_SERVER_COMMAND'",
        f"sh -c '{POLITE} --url $CONDUCTOR_URL'",
    ],
    ids=["words", "url", "shell", "environment", "environment-url"],
)
def test_a_client_finds_the_server_wherever_it_is_told(client, check):
    done = check(client, "--only", "ping")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("place", ["sys.argv[1]", 'os.environ["CONDUCTOR_CONFIG"]'])
def test_a_client_finds_the_server_in_a_settings_file(place, check, script):
    client = script(f"""
entry = json.load(open({place}))["mcpServers"]["conductor"]
sys.exit(Client(["--", entry["command"], *entry["args"]]).main())
""")
    done = check(f"{client} {{config}}", "--only", "ping")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_client_that_cannot_be_started_is_code_3(check):
    done = check("no-such-client {server}")
    assert done.returncode == 3
    assert done.stderr.startswith("error: cannot start 'no-such-client'")


def test_a_client_that_never_connects_is_code_3_with_its_last_words(check, script):
    done = check(script('sys.exit("I do not like this server")') + " {server}")
    assert done.returncode == 3
    assert done.stderr == (
        "error: the client never connected to the server; it ended with exit code 1\n"
        "  hint: its last words: I do not like this server\n"
    )


def test_a_client_that_says_why_it_never_connects_is_quoted_there(check, script):
    client = script("sys.exit(\"Error: Cannot find module 'mcp'\\n    at loader:1\\n\\nNode.js v20.1.0\")")
    assert "  hint: it said: Error: Cannot find module 'mcp'\n" in check(client + " {server}").stderr


def test_a_client_without_a_place_for_the_server_is_code_2_and_told_what_was_expected(check, script):
    done = check(script("sys.exit()"))
    assert done.returncode == 2
    assert "{server}, {url} or {config}" in done.stderr


HANGING = {
    "sleeps": "time.sleep(600)",
    "ignores every signal": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)",
    "floods stdout": "while True: print('x' * 1000)",
    "floods stderr": "while True: print('x' * 1000, file=sys.stderr)",
    "leaves a child behind": "subprocess.Popen(['sleep', '600'])\ntime.sleep(600)",
}


@pytest.mark.parametrize("how", HANGING)
def test_a_client_that_never_connects_is_given_up_in_time(how, check, script):
    done = check(script(HANGING[how]) + " {server}", "--timeout", "300ms")
    assert done.returncode == 3
    assert done.seconds < 30


AFTERWARDS = {
    "hangs": "Client.work = lambda self: time.sleep(600)",
    "dies": "Client.work = lambda self: os.kill(os.getpid(), signal.SIGKILL)",
    "floods the server": "Client.work = lambda self: [self.link.send({'jsonrpc': '2.0', 'id': self.next_id(), 'method': 'ping'}) for _ in iter(int, 1)]",
    "floods the server, and reads nothing": 'Client.work = lambda self: [self.link.process.stdin.write(b\'{"jsonrpc":"2.0","id":"%d%s","method":"tools/list"}\\n\' % (n, b\'z\' * 5000)) for n in range(10**9)]',
    "writes a line without end": "Client.work = lambda self: [self.link.process.stdin.write(b'x' * 65536) for _ in iter(int, 1)]",
}


@pytest.mark.parametrize("how", AFTERWARDS)
def test_a_client_that_goes_wrong_later_is_still_judged(how, check, script):
    client = script(f"{AFTERWARDS[how]}\nsys.exit(Client(sys.argv).main())")
    done = check(f"{client} -- {{server}}", "--timeout", "2s", "--only", "lifecycle-initialized-sent-client")
    assert done.returncode == 0
    assert all(line.startswith("checking ") for line in done.stderr.splitlines()), done.stderr  # where it takes long
    assert "1 passed" in done.stdout


def test_ctrl_c_ends_the_check_and_the_client(script, tmp_path, environment, survivors):
    client = script("print('here', file=open('started', 'w'))\ntime.sleep(600)")
    words = [*CONDUCTOR, "check", "--client", f"{client} {{server}}"]
    env = {**environment, "PYTHONPATH": str(HERE), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as checking:
        deadline = time.monotonic() + 20
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            os.sched_yield()
        checking.send_signal(signal.SIGINT)
        _, said = checking.communicate(timeout=20)
    assert (checking.returncode, said) == (
        130,
        b"interrupted: a check that did not end has no result, and no report is written\n",
    )
    assert survivors() == []
    assert list(tmp_path.glob("conductor-*")) == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--client", "x {server}", "--token", "t"), "--token is for checks of servers"),
        (("--client", "x {server}", "--", "server"), "both a client and a server"),
        (("--client", "x 'y"), "cannot be split"),
        (("--client", ""), "--client needs a command"),
        (("--client", "x {server}", "--protocol", "1999"), "--protocol must be one of"),
    ],
)
def test_flags_that_do_not_fit_are_refused(flags, message, tmp_path):
    done = subprocess.run(
        [*CONDUCTOR, "check", *flags], capture_output=True, text=True, cwd=tmp_path, timeout=30, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_a_client_is_checked_in_every_revision_that_it_speaks(check):
    done = check(f"{POLITE} -- {{server}}", "--protocol", "all", "--only", "lifecycle-initialize-first-client")
    assert done.returncode == 0
    assert re.findall(r"^(\S+): not spoken", done.stderr, re.MULTILINE) == ["2026-07-28"]
    assert re.findall(r"^ok    (\S+)  1 passed  \(", done.stdout, re.MULTILINE) == [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
    ]
    assert "1 passed in 4 revisions, " in done.stdout


def test_a_revision_that_the_client_does_not_speak_is_said_so(check):
    done = check(f"{POLITE} -- {{server}}", "--protocol", "2026-07-28")
    assert done.returncode == 3
    assert done.stderr.startswith("error: the client does not speak 2026-07-28\n")


def test_expected_failures_and_reports_work_as_for_servers(check, script, tmp_path):
    client = script("Client.initialized = lambda self: None\nsys.exit(Client(sys.argv).main())")
    only = ("--only", "lifecycle-initialized-sent-client")
    done = check(f"{client} -- {{server}}", *only)
    assert done.returncode == 1
    assert "FAIL  lifecycle-initialized-sent-client" in done.stdout
    (tmp_path / "known.json").write_text('["lifecycle-initialized-sent-client"]')
    flags = ("--expected-failures", "known.json", "--report", "json:report.json")
    assert check(f"{client} -- {{server}}", *only, *flags).returncode == 0
    assert '"kind": "check"' in (tmp_path / "report.json").read_text()


def test_requests_of_others_are_refused_as_serve_refuses_them_and_are_no_part_of_what_the_client_did(
    check, script, tmp_path
):
    client = script(f"""
import http.client
place = sys.argv[1].partition("//")[2]
with open({str(tmp_path / "statuses")!r}, "w") as file:
    for headers in ({{"Host": "evil.example"}}, {{"Origin": "http://evil.example"}}, {{"Origin": "null"}}):
        connection = http.client.HTTPConnection(place.partition("/")[0], timeout=5)
        connection.request("POST", "/mcp", b"not JSON", headers)
        print(connection.getresponse().status, file=file)
os.execv(sys.executable, [sys.executable, {str(HERE / "polite_client.py")!r}, "--url", sys.argv[1]])
""")
    done = check(f"{client} {{url}}", "--only", "ping")
    assert (done.returncode, done.stderr) == (0, "")
    assert set((tmp_path / "statuses").read_text().split("\n")[:3]) == {"421", "403"}


def test_a_client_that_first_looks_who_is_there_is_not_taken_for_one_of_the_old_transport(check, script):
    client = script("""
class Curious(Client):
    def open(self):
        self.link.ask("GET", {"Accept": "application/json"}).read()
        Http(self, self.link.url.replace("/mcp", "/.well-known/oauth-protected-resource")).ask("GET", {}).read()
        super().open()
sys.exit(Curious(sys.argv).main())
""")
    done = check(f"{client} --url {{url}}", "--only", "ping", "--only", "http-get-accept-client", "--only", "sse")
    assert (done.returncode, done.stderr) == (0, "")


NOTE_START = "import os\nopen('starts', 'a').write(os.environ['CONDUCTOR_SCENARIO'] + '\\n')"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_scenarios_that_a_client_copes_with_share_a_start(broken, verdicts_of, tmp_path, version):
    only = ("logging-client-tolerates", "progress-client-tolerates", "base-malformed-input-survival-client")
    outcomes = await verdicts_of(broken(before=NOTE_START, version=version), only=only)
    assert {each.status for each in outcomes.values()} <= {"passed", "skipped"}
    assert outcomes["progress-client-tolerates"].status == "passed"
    assert (tmp_path / "starts").read_text().split() == ["plain", "garbage,logs,progress"]


async def test_scenarios_that_a_client_does_not_cope_with_together_are_played_one_by_one(broken, verdicts_of, tmp_path):
    change = """
        def answers(self, message, request):
            if message.get("method") == "notifications/progress":
                raise Refused("what is progress?")
            return super().answers(message, request)
    """
    only = ("logging-client-tolerates", "progress-client-tolerates", "base-malformed-input-survival-client")
    outcomes = await verdicts_of(broken(change, before=NOTE_START), only=only)
    statuses = {name: each.status for name, each in outcomes.items()}
    assert statuses == dict.fromkeys(only, "passed") | {"progress-client-tolerates": "failed"}
    (finding,) = outcomes["progress-client-tolerates"].findings
    assert finding.hint == "in the scenario 'progress'"
    plain, together, *alone = (tmp_path / "starts").read_text().split()
    assert (plain, together, sorted(alone)) == ("plain", "garbage,logs,progress", ["garbage", "logs", "progress"])


async def test_scenarios_that_are_named_are_played_one_by_one(broken, verdicts_of, tmp_path):
    await verdicts_of(broken(before=NOTE_START), scenarios=("logs", "progress"))
    assert sorted((tmp_path / "starts").read_text().split()) == ["logs", "plain", "progress"]


ALONE = """
import atexit, os
try:
    os.mkdir("lock")
except FileExistsError:
    sys.exit("another one runs")
atexit.register(os.rmdir, "lock")
"""


async def test_a_client_that_cannot_run_twice_at_once_is_judged_in_every_scenario(broken, verdicts_of):
    shown = {
        "icons": "icons-unsafe-rejected-client",
        "logs": "logging-client-tolerates",
        "endless-list": "pagination-client-loop-guard",
        "progress": "progress-client-tolerates",
    }
    outcomes = await verdicts_of(broken(before=ALONE), scenarios=tuple(shown))
    assert {outcomes[each].status for each in shown.values()} == {"passed"}


@pytest.mark.slow
async def test_clients_that_only_wait_leave_their_places_to_others(broken, verdicts_of, tmp_path):
    note_start = "open('starts', 'a').write(f'{time.monotonic()}\\n')"
    stays = "def main(self):\n    super().main()\n    time.sleep(600)"
    names = ("icons", "logs", "endless-list", "progress", "pages", "pings", "garbage", "sparse", "noise")
    await verdicts_of(broken(stays, before=note_start), scenarios=names)
    _, *starts = (float(line) for line in (tmp_path / "starts").read_text().split())
    assert len(starts) == len(names)
    assert max(starts) - min(starts) < 5.0
