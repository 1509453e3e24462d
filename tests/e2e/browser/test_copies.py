"""What the page copies does what it says: a copied test passes, and a copied command runs in a shell."""

import json
import sys

import pytest
from tests import prefork

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
MCP_CLI = "import sys; from mcp_conductor.cli import mcp_cli; sys.argv[0] = 'mcp-cli'; sys.exit(mcp_cli())"
# Answers each call with the arguments that it was given, as text, as structure and as a name.
SERVER = r"""
import json, sys

def content(params):
    given = params.get("arguments") or {}
    said = given.get("said", "nothing")
    return {
        "content": [{"type": "text", "text": said}],
        "structuredContent": {"given": given, said[:20]: [said, 1.50, 1e3, 12345678901234567890, -0.0, None, True]},
        "isError": False,
    }

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "parrot", "version": "1"},
        }
    elif method == "tools/call":
        result = content(params)
    elif method == "prompts/get":
        text = json.dumps(params)
        result = {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
    elif method == "resources/read":
        result = {"contents": [{"uri": params["uri"], "text": "{{ read }}"}]}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("say", "-v", "it's {{ odd }}")]}
    else:
        result = {"task": params.get("task")} if "task" in params else {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
SAID = {
    "plain": "hello",
    "like a matcher": "match:regex:^x$",
    "like a literal": "match:literal:x",
    "like a placeholder": "{{ name }} and {{{ three }}} and \\{{ escaped }}",
    "like YAML": "- a: 'b' # c\n\t*d &e !f %g | > ? : ~ null",
    "quotes": 'it\'s "quoted" `id` $HOME $(id) \\ ! end\\',
    "lines": "one\ntwo\r\nthree\n",
    "odd characters": "\u2028 \u2029 \u0085 \u007f \ufeff \u202e \U0001f600 \u00e9",
    "control characters": "\x00\x01\x1b[31m\t",
    "half a character": "\ud800",
    "empty": "",
    "long": "x" * 3000,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a test for each of these texts, of which the page has the conversation."""
    found = tmp_path_factory.mktemp("copies")
    (found / "server.py").write_text(SERVER)
    calls = [
        {"it": name, "call": {"tool": "say", "args": {"said": _sent(text)}}, "expect": {"ok": True}}
        for name, text in SAID.items()
    ]
    others = [
        {"it": "odd names", "call": {"tool": "say", "args": {"{{ key }}": 1, "match:x": {}}}, "expect": {"ok": True}},
        {"it": "an odd tool", "call": {"tool": "it's \\{{ odd }}", "args": {}}, "expect": {"ok": True}},
        {"it": "a tool like a flag", "call": {"tool": "-v", "args": {}}, "expect": {"ok": True}},
        {"it": "a resource", "read": "note://it's \\{{ one }}", "expect": {"ok": True}},
        {
            "it": "a prompt",
            "request": {"method": "prompts/get", "params": {"name": "p", "arguments": {"a=b": "it's", "c": "=\n"}}},
            "expect": {"ok": True},
        },
        {
            "it": "a prompt that flags can say",
            "request": {"method": "prompts/get", "params": {"name": "p", "arguments": {"c": "it's =\n{}"}}},
            "expect": {"ok": True},
        },
        {
            "it": "a member without a flag",
            "request": {"method": "tools/call", "params": {"name": "say", "arguments": {}, "task": {"ttl": 1}}},
            "expect": {"ok": True},
        },
    ]
    (found / "said.test.mcp.yml").write_text(json.dumps({"description": "said", "tests": [*calls, *others]}))
    words = ["test", "--quiet", "--no-judge", "--trace", "on", "--report", "html:page.html", "--", *server(found)]
    done = prefork.run([*CONDUCTOR, *words], cwd=found, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return found


def _sent(text):
    return text.replace("{{", "\\{{")


def server(folder):
    return [sys.executable, str(folder / "server.py")]


def copied(page, title, label):
    """What the last button LABEL of the test TITLE copies."""
    page.evaluate("id => { location.hash = 'test=' + encodeURIComponent(id); }", f"said.test.mcp.yml::{title}")
    page.wait_for_selector(f"#detail-title:text-is({json.dumps(title)})")
    page.evaluate("navigator.clipboard.writeText('')")
    page.locator(f"text={label}").last.click()
    page.wait_for_selector("text=copied ✓")
    return page.evaluate("navigator.clipboard.readText()")


OTHERS = ["odd names", "an odd tool", "a tool like a flag", "a resource", "a prompt", "a prompt that flags can say"]


def test_copied_tests_pass_whatever_was_said(visit, folder, tmp_path):
    page = visit().open(folder / "page.html")
    tests = [copied(page, title, "copy as test") for title in (*SAID, *OTHERS, "a member without a flag")]
    (tmp_path / "copied.test.mcp.yml").write_text("description: copied\ntests:\n" + "".join(tests))
    done = prefork.run(
        [*CONDUCTOR, "test", "--no-judge", "--", *server(folder)],
        cwd=tmp_path, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    last = done.stdout.decode().splitlines()[-1:]
    assert (done.returncode, [each.split(" in ")[0] for each in last]) == (0, [f"{len(tests)} passed"]), (
        done.stdout.decode()[-3000:] + done.stderr.decode()[-3000:]
    )


def test_copied_commands_run_in_a_shell_whatever_was_said(visit, folder):
    page = visit().open(folder / "page.html")
    odd = [name for name in SAID if name not in ("plain", "empty", "long", "like a matcher", "like a literal")]
    titles = [*odd, "an odd tool", "a tool like a flag", "a prompt that flags can say", "a member without a flag"]
    commands = {title: copied(page, title, "copy as command") for title in titles}
    program = f'mcp-cli() {{ \'{sys.executable}\' -c "{MCP_CLI}" "$@"; }}\n'
    for title, command in commands.items():
        done = prefork.run(["bash", "-c", program + command], cwd=folder, capture_output=True, check=False, timeout=60)
        assert done.returncode == 0, (title, command[:500], done.stderr)
        answer = json.loads(done.stdout)
        if title in SAID:
            assert answer["structuredContent"]["given"] == {"said": SAID[title]}, title
        if title == "a member without a flag":
            assert "--raw" in command
            assert '"ttl"' in command
        if title == "a prompt that flags can say":
            assert "--raw" not in command
            assert json.loads(answer["messages"][0]["content"]["text"])["arguments"] == {"c": "it's =\n{}"}


def test_a_copied_test_expects_any_text_where_a_secret_was(visit, folder):
    words = ["test", "--quiet", "--no-judge", "--trace", "on", "--secret", "key=hello", "--report", "html:secret.html"]
    prefork.run([*CONDUCTOR, *words, "--", *server(folder)], cwd=folder, capture_output=True, check=False, timeout=60)
    page = visit().open(folder / "secret.html")
    text = copied(page, "plain", "copy as test")
    assert '"text": "match:type:string"' in text
    assert '"structuredContent": "match:type:object"' in text
