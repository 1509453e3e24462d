"""Test files run by pytest: their servers, what one test leaves to the next, and what is said when one fails."""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
MOTTO = "call: motto, expect: {ok: true}"
NEEDY = """
    - it: gives
      call: motto
      expect: {ok: true}
      capture: {text: "result.content[0].text"}
    - {it: between, call: motto, expect: {ok: true}}
    - it: needs it
      call: {tool: echo, args: {message: "{{ text }}"}}
      expect: {result: {content: [{type: text, text: "Echo: Nobody is a stranger twice."}]}}
"""
FAILS = """
    - {it: passes, call: motto, expect: {ok: true}}
    - it: fails
      call: motto
      expect: {result: {content: [{type: text, text: Somebody}]}}
"""
# A server that has all tools, keeps a list of what was called, and tells how many calls there were.
LOGGING = """
    hello(tools={})
    count = 0
    while True:
        request = hear()
        if request.get("method") == "tools/call":
            count += 1
            open("calls", "a").write(request["params"]["name"] + "\\n")
            say({"id": request["id"], "result": {"content": [], "structuredContent": {"count": count}}})
        elif "id" in request:
            result(request, {})
"""
TOLD = """\
result.content[0].text is 'Nobody is a stranger twice.', not 'Somebody'
 --> a.test.mcp.yml:7:46
 7 |     expect: {result: {content: [{type: text, text: Somebody}]}}
   |                                                    ^^^^^^^^
   |   result.content[0].text is 'Nobody is a stranger twice.', not 'Somebody'
request   {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"motto","arguments":{}}}
response  {"jsonrpc": "2.0", "id": 3,
            "result": {"content":[{"type":"text","text":"Nobody is a stranger twice."}]}}
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
again: pytest a.test.mcp.yml::fails
"""


@pytest.mark.parametrize("words", [[], ["-n", "2"], ["-p", "no:randomly"], ["-n", "2", "--dist", "loadfile"]], ids=str)
def test_the_suites_that_come_with_us_pass(run, project, words):
    (project / "conductor.config.json").unlink()
    # As in an environment that is activated: `conductor`, which an example starts, is on the PATH.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    examples = ROOT / "examples"
    # Those of recordings need servers of others: tests/e2e/recordings runs them.
    words = [*words, f"--ignore={examples / 'recordings'}"]
    done = run("-c", "pytest.ini", "--rootdir", str(examples), str(examples), *words, PATH=path)
    assert (done.code, set(done.statuses.values())) == (0, {"PASSED"}), done.out
    assert len(done.statuses) == 10


def test_a_failure_is_told_in_our_words_and_without_a_traceback(run, suite):
    suite(FAILS)
    done = run("-rf")
    assert done.code == 1
    assert f"=== FAILURES ===\n___ fails ___\n{TOLD}" in done.text
    assert done.statuses["fails"] == "FAILED"


def test_another_process_tells_of_a_failure_in_the_same_words(run, suite):
    suite(FAILS)
    done = run("-n", "1")
    assert TOLD in done.text
    assert "FAILED a.test.mcp.yml::fails - result.content[0].text is 'Nobody" in done.out


def test_one_server_is_started_for_each_file_and_ended_after_it(run, suite, starts, ends):
    suite(NEEDY)
    suite(NEEDY, name="b.test.mcp.yml")
    done = run()
    assert (done.code, starts(), ends()) == (0, 2, 2), done.out


def test_each_test_has_a_server_where_the_file_says_so(run, suite, starts, ends):
    suite(NEEDY, head="isolation: test")
    done = run()
    assert (done.code, starts(), ends()) == (0, 3, 3), done.out


def test_a_test_picked_alone_has_those_run_that_give_what_it_needs(run, suite, starts):
    suite(NEEDY)
    done = run("a.test.mcp.yml::needs it")
    assert (done.statuses, starts()) == ({"needs it": "PASSED"}, 1), done.out
    assert "\ngives: for what this test needs\n" in run("a.test.mcp.yml::needs it", "-rP").out


def test_what_a_giver_comes_to_is_told_in_its_turn(run, suite, write):
    suite("""
        - it: gives
          call: motto
          expect: {result: {content: []}}
          capture: {text: "result.nothing"}
        - {it: needs it, call: {tool: echo, args: {message: "{{ text }}"}}, expect: {ok: true}}
    """)
    write("conftest.py", "def pytest_collection_modifyitems(items): items.reverse()")
    done = run()
    assert done.statuses == {"gives": "FAILED"}
    assert "a.test.mcp.yml:8: needs text, which 'gives' did not capture" in done.out


def test_workers_share_the_tests_of_a_file_and_each_has_a_server(run, suite, starts):
    suite(NEEDY + "".join(f"    - {{it: more {number}, {MOTTO}}}\n" for number in range(12)))
    done = run("-n", "2", "--dist", "load")
    assert (done.code, len(done.statuses), starts()) == (0, 15, 2), done.out


def test_setup_and_teardown_are_run_once_and_hooks_for_every_test(run, suite, serve, project):
    command = serve(LOGGING)
    hook = "{{call: {name}, expect: {{ok: true}}}}"
    hooks = ("setup", "before_each", "after_each", "teardown")
    suite(
        "- {it: one, call: one, expect: {ok: true}}\n- {it: two, call: two, expect: {ok: true}}",
        head="\n".join(f"{name}: [{hook.format(name=name)}]" for name in hooks),
    )
    done = run("--conductor-command", " ".join(command))
    assert done.code == 0, done.out
    assert (project / "calls").read_text().split() == [
        "setup",
        *("before_each", "one", "after_each"),
        *("before_each", "two", "after_each"),
        "teardown",
    ]


def test_what_fails_in_teardown_is_an_error_of_the_last_test(run, suite):
    suite(NEEDY, head="teardown: [{call: lose, expect: {ok: true}}]")
    done = run()
    assert done.code == 1
    assert done.statuses == {"gives": "PASSED", "between": "PASSED", "needs it": "ERROR"}
    assert "___ ERROR at teardown of needs it ___\nteardown: " in done.text


def test_what_is_odd_about_a_test_that_passes_is_a_warning(run, suite, serve):
    command = serve(LOGGING)
    suite("- {it: wants two, call: again, retry: 3, expect: {result: {structuredContent: {count: 2}, content: []}}}")
    words = ("--conductor-command", " ".join(command))
    done = run(*words, "-W", "default")
    assert done.statuses == {"wants two": "PASSED"}
    assert "SuiteWarning: a.test.mcp.yml::wants two: it passed, but not at the first try" in done.out
    done = run(*words)
    assert done.statuses == {"wants two": "FAILED"}  # warnings are errors in this project


def test_if_setup_fails_every_test_is_an_error(run, suite, starts):
    suite(NEEDY, head="setup: [{call: lose, expect: {ok: true}}]")
    done = run()
    assert (set(done.statuses.values()), starts()) == ({"ERROR"}, 1)
    assert (done.text.count("\nsetup: "), done.text.count("\nsetup failed")) == (1, 2)


def test_reasons_to_skip_and_failures_that_are_expected_are_pytests(run, suite, starts):
    suite(f"""
        - {{it: is not run, skip: not today, {MOTTO}}}
        - {{it: is not run here, skip_if: {{capability: tools}}, {MOTTO}}}
        - {{it: is known to fail, xfail: a bug, call: lose, expect: {{ok: true}}}}
        - {{it: was known to fail, xfail: a bug, {MOTTO}}}
    """)
    done = run()
    assert done.statuses == {"is known to fail": "XFAIL", "was known to fail": "FAILED"}
    assert "SKIPPED [1] a.test.mcp.yml:5: skip_if: capability tools" in done.out
    assert "SKIPPED [1] a.test.mcp.yml: not today" in done.out
    assert "the test passed, although it was expected to fail: a bug" in done.text
    assert run("--runxfail").statuses == {"is known to fail": "FAILED", "was known to fail": "PASSED"}


@pytest.mark.parametrize("words", [(), ("--runxfail",)])
def test_a_hook_that_fails_is_a_failure_even_if_a_failure_was_expected(run, suite, words):
    suite(f"- {{it: passes, xfail: a bug, {MOTTO}}}", head="after_each: [{call: lose}]")
    done = run(*words)
    assert done.statuses == {"passes": "FAILED"}
    assert "after_each: the tool answered with an error" in done.text


def test_a_file_of_tests_that_are_skipped_starts_no_server(run, suite, starts):
    suite(f"- {{it: is not run, skip: not today, {MOTTO}}}")
    assert (run().code, starts()) == (0, 0)


def test_when_a_server_dies_the_rest_of_its_file_is_an_error(run, suite):
    suite(f"""
        - {{it: kills it, call: crash, expect: {{ok: true}}}}
        - {{it: comes after, {MOTTO}}}
    """)
    suite(f"- {{it: is another file, {MOTTO}}}", name="b.test.mcp.yml")
    done = run()
    assert done.statuses == {"kills it": "FAILED", "comes after": "ERROR", "is another file": "PASSED"}
    assert "___ ERROR at setup of comes after ___\nthe server went away after 'kills it' (line 4)" in done.text


def test_a_process_that_outlives_its_server_is_told_of_and_ended(run, suite, write):
    write("litters.py", """
        import json, subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        for line in sys.stdin:
            message = json.loads(line)
            info = {"serverInfo": {"name": "x", "version": "1"}, "capabilities": {"tools": {}}}
            version = message.get("params", {}).get("protocolVersion")
            result = info | {"protocolVersion": version} if message["method"] == "initialize" else {"content": []}
            if "id" in message:
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    """)  # fmt: skip
    suite("- {it: litters, call: x, expect: {shutdown: {within: 5s}}}")
    done = run("--conductor-command", f"{sys.executable} litters.py")  # which looks for survivors
    assert done.statuses == {"litters": "FAILED"}
    assert "the server left a process running: " in done.text
    assert "time.sleep(300)" in done.text


def test_a_server_that_cannot_be_started_is_an_error_of_every_test(run, suite):
    suite(FAILS)
    done = run("--conductor-command", "no-such-program --flag")
    assert set(done.statuses.values()) == {"ERROR"}
    assert "cannot start 'no-such-program': No such file or directory" in done.text
    assert "Traceback" not in done.out


def test_the_first_failure_ends_the_run_and_the_last_ones_can_be_run_again(run, suite, starts, ends):
    suite(FAILS + f"    - {{it: is not reached, {MOTTO}}}\n")
    assert run("-x").statuses == {"passes": "PASSED", "fails": "FAILED"}
    assert (starts(), ends()) == (1, 1)
    assert run("--lf").statuses == {"fails": "FAILED"}


def test_a_junit_report_has_our_diagnostic(run, suite, project):
    suite(FAILS)
    run("--junitxml", "report.xml")
    cases = {case.get("name"): case for case in ET.parse(project / "report.xml").iter("testcase")}
    assert set(cases) == {"passes", "fails"}
    failure = cases["fails"].find("failure")
    assert failure.get("message").startswith("result.content[0].text is 'Nobody is")
    assert "response  {" in failure.text


def test_the_server_is_that_of_the_nearest_settings_file(run, suite, write, project):
    suite(f"- {{it: is above, {MOTTO}}}", name="deep/er/a.test.mcp.yml")
    (project / "elsewhere").mkdir()
    assert run(cwd=project / "deep").statuses == {"is above": "PASSED"}
    assert run(str(project / "deep"), cwd=project / "elsewhere").statuses == {"is above": "PASSED"}


def test_without_any_server_it_is_said_what_to_do(run, suite, project):
    suite(f"- {{it: is lost, {MOTTO}}}")
    (project / "conductor.config.json").unlink()
    done = run()
    assert done.statuses == {"is lost": "ERROR"}
    assert (
        "error: no server is given: there is neither a settings file nor a command\n  hint: conductor.config.json"
        in (done.text)
    )


def test_variables_and_secrets_come_from_the_command_line(run, suite):
    suite("""
        - it: uses them
          call: {tool: echo, args: {message: "{{ word }} {{ password }}"}}
          expect: {result: {content: [{type: text, text: "Echo: {{ word }}"}]}}
    """)
    done = run("--conductor-var", "word=hello", "--conductor-secret", "password=open-sesame")
    assert done.statuses == {"uses them": "FAILED"}
    assert "Echo: hello" in done.text
    assert "open-sesame" not in done.out
    done = run("--conductor-var", "word")
    assert "error: --conductor-var takes NAME=VALUE, not 'word'" in done.out


def test_variables_come_from_the_settings_file(run, suite, project):
    suite("""
        - it: uses them
          call: {tool: echo, args: {message: "{{ word }}"}}
          expect: {result: {content: [{type: text, text: "Echo: hello"}]}}
    """)
    settings = project / "conductor.config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "vars": {"word": "hello"}}))
    assert run().statuses == {"uses them": "PASSED"}
    assert run("--conductor-var", "word=bye").statuses == {"uses them": "FAILED"}


def test_snapshots_are_written_compared_and_renewed(run, suite, project):
    suite('- {it: echoes, call: {tool: echo, args: {message: "{{ word }}"}}, expect: snapshot}')
    assert run("--conductor-var", "word=hello").code == 0
    assert "Echo: hello" in (project / "__snapshots__" / "a.test.mcp.snap.yml").read_text()
    done = run("--conductor-var", "word=bye")
    assert done.code == 1
    assert "hint: --conductor-update-snapshots keeps the new reply" in done.text
    assert run("--conductor-var", "word=bye", "--conductor-update-snapshots").code == 0
    assert run("--conductor-var", "word=bye").code == 0


def test_servers_whose_replies_must_not_differ_are_compared(run, suite, write):
    for name in ("one", "two"):
        write(
            f"{name}.json",
            f'{{"serverInfo": {{"name": "x", "version": "1"}}, "transport": {{"type": "stdio"}}, "tools": [{{"name": "who", "result": "{name}"}}]}}',
        )
    settings = ", ".join(
        f'"{name}": {{"command": "{sys.executable}", "args": ["-m", "mcp_conductor", "serve", "{name}.json"]}}'
        for name in ("one", "two")
    )
    write("conductor.config.json", f'{{"mcpServers": {{{settings}}}}}')
    suite("- {it: answers, call: who, expect: {ok: true}}", head="transports: [one, two]")
    done = run()
    assert done.statuses == {"answers[one]": "PASSED", "answers[two]": "FAILED"}
    assert "the reply differs from that of [one]" in done.text


def test_files_whose_tests_are_mixed_up_come_out_the_same(run, suite, write):
    suite(NEEDY)
    suite(NEEDY, name="b.test.mcp.yml")
    write("conftest.py", "def pytest_collection_modifyitems(items): items.sort(key=lambda item: item.name)")
    done = run()
    passed = [line.removeprefix("PASSED ") for line in done.out.splitlines() if line.startswith("PASSED ")]
    files = ("a.test.mcp.yml", "b.test.mcp.yml")
    assert passed == [f"{file}::{name}" for name in ("between", "gives", "needs it") for file in files], done.out


def test_an_interrupt_ends_the_server_too(project, suite, serve, surroundings, survivors):
    command = serve("hello(tools={})\nhear()\nopen('called', 'w').close()\nwhile True: hear()")
    os.mkfifo(project / "called")
    suite(f"- {{it: waits, {MOTTO}}}")
    words = ["-p", "no:cacheprovider", "--conductor-timeout", "50s", "--conductor-command", " ".join(command)]
    started = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], cwd=project, env=surroundings, stdout=subprocess.PIPE, text=True
    )
    try:
        (project / "called").read_bytes()  # blocks until the server has got the call
        started.send_signal(signal.SIGINT)
        out, _ = started.communicate(timeout=30)
    finally:
        started.kill()
    assert started.returncode == 2
    assert "KeyboardInterrupt" in out
    assert survivors() == []


def test_what_placeholders_make_of_a_file_is_told_in_our_words(run, suite, write):
    suite(f"- {{it: is not reached, {MOTTO}}}", head='vars: {home: "{{ env.NO_SUCH_VARIABLE }}"}')
    done = run()
    assert done.statuses == {"is not reached": "ERROR"}
    assert "___ ERROR at setup of is not reached ___\nerror: " in done.text
    assert "Traceback" not in done.out


def test_a_snapshot_file_that_cannot_be_read_is_told_in_our_words(run, suite, write):
    suite("- {it: says it, call: motto, expect: snapshot}")
    write("__snapshots__/a.test.mcp.snap.yml", "]")
    done = run()
    assert done.statuses == {"says it": "ERROR"}
    assert "a.test.mcp.snap.yml is not YAML" in done.text
    assert "Traceback" not in done.out


def test_a_time_limit_is_kept(run, suite, serve):
    command = serve("hello(tools={})\nwhile True: hear()")
    suite(f"- {{it: waits, {MOTTO}}}")
    done = run("--conductor-command", " ".join(command), "--conductor-timeout", "200ms")
    assert "no answer to tools/call within 0.2 s" in done.text
    assert "--conductor-timeout takes a time above 0" in run("--conductor-timeout", "soon").out


def test_options_and_settings_of_other_mcp_plugins_stand_beside_ours(run, suite, write):
    suite("- {it: passes, call: motto, expect: {ok: true}}")
    names = ("config", "server", "command", "var", "secret", "vars-file", "timeout", "update-snapshots")
    write(
        "conftest.py",
        f"""
        def pytest_addoption(parser):
            for name in {names}:
                parser.addoption(f"--mcp-{{name}}")
                parser.addini("mcp_" + name.replace("-", "_"), "another plugin's")

        def pytest_configure(config):
            config.addinivalue_line("markers", "mcp_server: another plugin's")
        """,
    )
    done = run("--mcp-server", "theirs", "--conductor-timeout", "5s")
    assert (done.code, done.statuses) == (0, {"passes": "PASSED"}), done.out
