"""No secret leaves in any form, and nothing that a server says is obeyed by a terminal or a CI system.

One server says every secret in every form, and every hostile text, wherever it can; all programs meet it, and all that
they write is searched.
"""

import json
import os
import re
import stat
import subprocess
import sys
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import quote

import pytest
from tests import prefork
from tests.conftest import MCP_CLI, SERVERS
from tests.e2e.canary_forms import COMMON, ODD, forms, is_said
from tests.servers.http_raw import HttpServer
from tests.servers.oauth_server import oauth_server

from mcp_conductor.checks.harness import fake_browser

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
KINDS = ("json", "junit", "tap", "github", "markdown", "sarif", "events")
# Every secret begins with it; so it is enough to look for that.
BEGINNING = "c4naryOf"
WORDS = {
    name: f"{BEGINNING}{name}X7"
    for name in (
        "Env",
        "Config",
        "Header",
        "ConfigHeader",
        "Token",
        "User",
        "Query",
        "Secret",
        "Oauth",
        "Basic",
        "Inherited",
        "Login",
    )
}
OF_HTTP = ("Token", "Header", "ConfigHeader", "Basic")
OF_URL = ("User", "Query")
SECRETS = {name: f'{word}/+"\\{"~" if name in OF_HTTP else "é ?&<"}' for name, word in WORDS.items() if name != "Login"}
# The only colours that a terminal may get, how it is told that a line ends, and how ours are taken back.
OF_TERMINALS = re.compile(r"\r\x1b\[1A\x1b\[2K|\x1b\[(?:0|[12]|3[1236])(?:;(?:[12]|3[1236]))*m|\r(?=\n)")
HOSTILE = [
    "\x1b[2J\x1b[8m", "\x1b]0;title\x07", "a\rb", "\x9b31m", "\u202e\u2066\u200f\u061c", "\x00\x7f\x08", "\x85\u2028",
    "\n::error::x", "\n  ::set-output name=a::b", "\n\t\u3000::stop-commands::x", " ##[error]x", " ##vso[task.x]y\n",
]  # fmt: skip
SUITE = """
description: it tells
tests:
  - {it: differs, call: {tool: tell}, expect: {result: {content: [{type: text, text: other}]}}}
  - {it: fails, request: {method: nope}, expect: {ok: true}}
  - {it: is kept, call: {tool: tell}, expect: snapshot}
"""


def said(*names: str, whole: bool) -> str:
    """The secrets of these names in all forms, the first of them first; and hostile text."""
    return "\n".join([SECRETS[names[0]], *forms([SECRETS[name] for name in names], whole=whole), *HOSTILE])


def web(*, whole: bool) -> HttpServer:
    """The same server at a URL; it is an authorization server as well, which refuses."""
    text = said(*OF_HTTP, *OF_URL, whole=whole)

    def listed(call):
        call.result({"tools": [{"name": "tell", "description": text, "inputSchema": {"type": text}}]})

    def metadata(call):
        if "well-known" not in call.path:
            call.reply(405)
            return
        ours = {"issuer": server.origin, "authorization_endpoint": f"{server.origin}/a", "resource": server.url}
        ours |= {"token_endpoint": f"{server.origin}/token", "authorization_servers": [server.origin]}
        ours |= {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
        call.reply(200, json.dumps(ours), "application/json")

    def refused(call):
        if call.message:
            call.politely()
            return
        sent = call.headers.get("authorization", "")
        text = "\n".join([said("Oauth", *OF_URL, whole=whole), sent, sent[::-1], sent.encode().hex()])
        told = {"error": "invalid_client", "error_description": text, "error_uri": text}
        call.reply(400, json.dumps(told), "application/json")

    def failed(call):
        call.error(-32000, text, data={text: text})

    server = HttpServer({"tools/list": listed, "tools/call": failed, "GET": metadata, "POST": refused})
    return server


def on_a_terminal(words, folder, environment):
    """Run a program with a terminal as its streams: its exit code, and what it wrote, without what only terminals get."""
    ours, its = os.openpty()
    try:
        process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, cwd=folder, env=environment)
    finally:
        os.close(its)
    shown = b""
    with (
        suppress(OSError),
        open(ours, "rb", buffering=0) as screen,
    ):  # it fails when no other process has the terminal open
        while data := screen.read(65536):
            shown += data
    return process.wait(60), OF_TERMINALS.sub("", shown.decode()), ""


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "whole"])
def written(tmp_path_factory, request):
    """All that all programs write, by name; the result of mcp-cli is left out."""
    whole = request.param
    folder = tmp_path_factory.mktemp("canaries")
    (folder / "text").write_text(said(*SECRETS, whole=whole), newline="")
    (folder / "it.test.mcp.yml").write_text(SUITE)
    client = f"{sys.executable} {SERVERS / 'parrot_client.py'} {folder / 'text'}"
    parrot = (sys.executable, str(SERVERS / "parrot.py"), str(folder / "text"))
    server = web(whole=whole)
    url = f"http://user:{quote(SECRETS['User'], safe='')}@127.0.0.1:{server.port}/mcp"
    url += f"?q={quote(SECRETS['Query'], safe='')}"
    basic = b64encode(f"me:{SECRETS['Basic']}".encode()).decode()
    # A server says the secrets of all; so all of them are given to each program.
    environment = {name.upper(): secret for name, secret in SECRETS.items() if name != "Inherited"}
    headers = {f"X-{name}": SECRETS[name] for name in ("Header", "ConfigHeader")}
    started = {"command": parrot[0], "args": list(parrot[1:]), "env": environment}
    entries = {
        "it": started,
        "dead": {**started, "args": [*parrot[1:], "dies"]},
        "web": {"url": url, "headers": {**headers, "X-T": SECRETS["Token"], "Authorization": f"Basic {basic}"}},
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    (folder / "r.jsonl").write_text("")
    (folder / "r.jsonl").chmod(0o644)

    known = [word for name, secret in environment.items() for word in ("-e", f"{name}={secret}")]
    of_http = ["--token", SECRETS["Token"], "--header", f"Proxy-Authorization: Basic {basic}"]
    of_http += [word for name, secret in headers.items() for word in ("--header", f"{name}: {secret}")]
    call = ("--method", "tools/call", "--tool-name", "tell", "--verbose", "--timeout", "50s")
    only = ("--only=tools", "--only=lifecycle", "-vv", "--protocol=2025-11-25")
    config = ("--config", "mcp.json", "--server")

    def login_tells():
        return "\n".join([*forms([*login.tokens, *login.refresh_tokens], whole=whole), *HOSTILE])

    def reports(name):
        return [f"--report={kind}:{name}.{kind}" for kind in KINDS]

    programs = {
        "cli": (*MCP_CLI, *parrot, *call, *known, "--record", "r.jsonl"),
        "cli-dead": (*MCP_CLI, *parrot, "dies", *call, *known),
        "cli-web": (*MCP_CLI, url, *call, *of_http, "--record", "w.jsonl"),
        "cli-oauth": (*MCP_CLI, "--method", "oauth/client-credentials", "--server-url", url, "--oauth-client-id", "x",
                  "--oauth-client-secret", SECRETS["Oauth"]),
        "test": (*CONDUCTOR, "test", *reports("test"), "--wire", *known, "--secret", f"s={SECRETS['Secret']}", "--", *parrot),
        "test-config": (*CONDUCTOR, "test", "--json", *config, "it", *known),
        "check": (*CONDUCTOR, "check", *only, *reports("check"), *known, "--", *parrot),
        "check-web": (*CONDUCTOR, "check", *only, *reports("web"), *of_http, "--", url),
        "discover": (*CONDUCTOR, "discover", "-o", "d.test.mcp.yml", "--record-expectations", *known, "--", *parrot),
        "pytest": (sys.executable, "-m", "pytest", "-vv", "-p", "no:cacheprovider", "--conductor-config=mcp.json",
                   "--conductor-server=it", "--junitxml=p.xml"),
        "bridge": (*CONDUCTOR, "bridge", "mcp.json"),
        "check-client": (*CONDUCTOR, "check", *reports("client"), *known, "-vv", "--only=stdio-stdin-clean-client",
                         "--client", f"{client} {{server}}"),
        "check-client-dead": (*CONDUCTOR, "check", *known, "--client", f"{client} dies {{server}}"),
        "init": (*CONDUCTOR, "init"),
        "test-terminal": (*CONDUCTOR, "test", "-v", *known, "--secret", f"s={SECRETS['Secret']}", "--", *parrot),
        "cli-ascii": (*MCP_CLI, *parrot, *call, *known, "-e", "PYTHONUTF8=1", "--record", "r.jsonl"),
    }  # fmt: skip
    surroundings = {**os.environ, "PYTHONPATH": str(SERVERS), "NO_COLOR": "1"}
    surroundings["INHERITED_API_KEY"] = SECRETS["Inherited"]
    surroundings.pop("CI", None)
    # A browser, and a user who agrees.
    browser = f"{sys.executable} {fake_browser.__file__} %s"
    special = {
        "cli-login": {"BROWSER": browser},
        "cli-ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        "test-terminal": {"NO_COLOR": "", "TERM": "xterm", "COLUMNS": "100"},
    }

    def run(name):
        here = folder / name
        here.mkdir()
        for file in ("it.test.mcp.yml", "mcp.json", "r.jsonl"):
            (here / file).write_bytes((folder / file).read_bytes())
        if name == "init":
            (here / "mcp.json").write_text(json.dumps({"mcpServers": {"it": started}}))
        around = surroundings | special.get(name, {})
        if name == "test-terminal":
            return on_a_terminal(programs[name], here, around)
        done = prefork.run(
            programs[name], input=b"", capture_output=True, timeout=60, cwd=here, env=around, check=False
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    with oauth_server(token_prefix=WORDS["Login"], tells=login_tells) as login, ThreadPoolExecutor(3) as pool:
        programs["cli-login"] = (*MCP_CLI, login.url, *call, "--oauth", "--open-browser", "--record", "l.jsonl")
        done = dict(zip(programs, pool.map(run, programs), strict=True))
    server.stop()
    streams = {f"{name} stderr": err for name, (_, _, err) in done.items()}
    streams |= {f"{name} stdout": out for name, (_, out, _) in done.items() if not name.startswith("cli")}
    ours = {f"{name}/{file}" for name in done for file in ("mcp.json", "it.test.mcp.yml")}
    files = {
        str(path.relative_to(folder)): path for name in done for path in (folder / name).rglob("*") if path.is_file()
    }
    return {
        "codes": {name: code for name, (code, _, _) in done.items()},
        "streams": streams,
        "files": {name: path.read_text() for name, path in files.items() if name not in ours},
        "modes": {name: stat.S_IMODE(path.stat().st_mode) for name, path in files.items()},
    }


def test_the_programs_did_what_they_should(written):
    codes = written["codes"]
    assert codes == {
        "cli": 0, "cli-dead": 1, "cli-web": 2, "cli-oauth": 2, "test": 1, "test-config": 1, "check": 1, "check-web": 1,
        "discover": 0, "bridge": 0, "pytest": 1, "check-client": 1, "check-client-dead": 3, "init": 0, "test-terminal": 1,
        "cli-ascii": 0, "cli-login": 2,
    }  # fmt: skip
    for name in ("cli stderr", "cli-dead stderr", "test stdout", "check stdout", "pytest stdout", "check-client stdout",
                 "check-client-dead stderr", "test-terminal stdout", "cli-ascii stderr", "cli-login stderr"):  # fmt: skip
        assert "[redacted]" in written["streams"][name], name
    for name in ("cli/r.jsonl", "cli-web/w.jsonl", "discover/d.test.mcp.yml", "test/test.json", "check/check.json",
                 "check-client/client.json", "cli-login/l.jsonl", "init/tests/first.test.mcp.yml"):  # fmt: skip
        assert "[redacted]" in written["files"][name], name


@pytest.mark.parametrize("secret", [SECRETS["Env"], SECRETS["Token"]])
def test_who_looks_for_secrets_would_see_them_in_all_forms(secret):
    for form in (*COMMON, *ODD):
        for text in (form(secret), f"say {form(secret)} now", json.dumps({"key": [form(secret)]})):
            assert is_said(BEGINNING, text)


def test_no_secret_is_anywhere_in_any_form(written):
    texts = {**written["streams"], **written["files"]}
    assert {name: seen for name, text in texts.items() if (seen := is_said(BEGINNING, text))} == {}


def test_nothing_is_obeyed_by_a_terminal(written):
    shown = {**written["streams"], **written["files"]}
    obeyed = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
    # A recording and a snapshot keep the data, with the escapes of their form.
    shown = {name: text for name, text in shown.items() if not name.endswith((".jsonl", ".snap.yml"))}
    assert {name: found[0] for name, text in shown.items() if (found := obeyed.search(text))} == {}
    assert len(shown) > 30


def test_nothing_is_obeyed_by_a_ci_system(written):
    shown = {**written["streams"], **written["files"]}
    lines = {
        (name, line[:80])
        for name, text in shown.items()
        for line in text.split("\n")
        if line.strip().startswith("::") or re.search(r"##\w*\[", line)
    }
    # Recordings are no logs.
    lines = {(name, line) for name, line in lines if not name.endswith((".jsonl", ".snap.yml"))}
    github = {"test/test.github", "check/check.github", "check-web/web.github", "check-client/client.github"}
    assert {name for name, _ in lines} == github
    assert {re.match(r"::(error|warning|notice) ", line) is not None for _, line in lines} == {True}


def test_a_recording_is_for_its_owner_alone_also_where_the_file_was_there(written):
    assert (written["modes"]["cli/r.jsonl"], written["modes"]["cli-web/w.jsonl"]) == (0o600, 0o600)
