"""`conductor discover`: the suite that it writes passes at once, on servers of every kind, and says what it left out."""

import json
import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import BOOKSHELF, ROOT
from tests.e2e.server.http_wire import Web
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor.files.source import load

FILESYSTEM = (
    sys.executable,
    str(ROOT / "examples" / "filesystem" / "server.py"),
    str(ROOT / "examples" / "filesystem"),
)
SDK = (sys.executable, str(ROOT / "tests" / "servers" / "sdk_server.py"))
SERVERS = ROOT / "examples" / "servers"
RECORD = "--record-expectations"
WRITES = "--include-writes"
WAYS = [(), (RECORD,), (WRITES,), (RECORD, WRITES)]


def composed(name: str) -> tuple[str, ...]:
    return (*CONDUCTOR, "serve", str(SERVERS / name))


def written(file: Path):
    return {test["it"]: test for test in load(str(file)).data["tests"] or []}


@pytest.fixture
def discover(conductor, tmp_path):
    """Discover a server into a.test.mcp.yml, and run that against the same server: both must succeed."""

    def run(server, *flags):
        server = prefork.command(server)
        found = conductor("discover", "--output", "a.test.mcp.yml", "--force", *flags, "--", *server)
        assert found.code == 0, found.all
        done = conductor("test", "a.test.mcp.yml", "--report", "json:report.json", "--", *server)
        assert done.code == 0, done.all + (tmp_path / "a.test.mcp.yml").read_text()
        return found, written(tmp_path / "a.test.mcp.yml")

    return run


@pytest.mark.parametrize(
    ("server", "flags"),
    [(BOOKSHELF, flags) for flags in WAYS] + [(FILESYSTEM, flags) for flags in WAYS] + [(SDK, ()), (SDK, (RECORD,))],
)
def test_the_suite_of_a_real_server_passes_at_once(discover, server, flags):
    _, tests = discover(server, *flags)
    assert "lists its tools" in tests


@pytest.mark.parametrize("flags", [(WRITES,), (WRITES, RECORD)], ids="_".join)
def test_what_failed_is_skipped_with_the_reason_and_not_expected_to_fail(discover, flags):
    found, tests = discover(SDK, *flags)
    assert tests["calls fail"]["skip"] == "it fails: Error executing tool fail"
    assert tests["calls fail"]["expect"] == {"ok": True}
    assert "skip" not in tests["calls add"]
    assert "skipped: tool 'fail': it fails: Error executing tool fail" in found.err


@pytest.mark.parametrize("flags", [(), (RECORD, WRITES)], ids="_".join)
@pytest.mark.parametrize(
    "name",
    ["demo.json", "content.yaml", "inline.yaml", "pagination.json", "tasks-only.json", "completions.yaml", "list-changed.json"]
    + ["old-server.yaml", "subscriptions.yaml", "logging.yaml", "faults-stdio.yaml"],
)  # fmt: skip
def test_the_suite_of_a_composed_server_passes_at_once(discover, name, flags):
    discover(composed(name), "--timeout", "2s", *flags)


@pytest.mark.parametrize("flags", [(), (RECORD, WRITES), (RECORD, WRITES, "--protocol", "modern")], ids="_".join)
@pytest.mark.parametrize("name", ["conformance.yaml", "asking.yaml", "stateless.yaml"])
def test_the_suite_of_a_server_over_http_passes_at_once(discover, tmp_path, name, flags):
    web = Web([*composed(name), "--port", "0"], tmp_path)
    try:
        discover((f"http://127.0.0.1:{web.port}{web.path}",), *flags)
    finally:
        web.dispose()


def test_each_thing_has_a_case_and_only_read_only_tools_are_called(discover):
    found, tests = discover(BOOKSHELF)
    assert tests["calls find_books"]["call"] == {"tool": "find_books", "args": {"text": "sample"}}
    assert tests["calls find_books"]["expect"] == {"ok": True}
    assert "skip" not in tests["calls find_books"]
    assert "not marked read-only" in tests["calls count_pages"]["skip"]
    assert tests["reads book://shelf/0"]["read"] == "book://shelf/0"
    assert tests["gets the prompt recommend"]["prompt"] == {"name": "recommend", "args": {"mood": "calm"}}
    assert tests["lists its tools"]["expect"]["asserts"][0] == "any result.tools[*].name == find_books"
    assert "not called, because they are not marked read-only: count_pages" in found.err


def test_what_came_back_is_expected_when_it_is_recorded(discover):
    _, tests = discover(BOOKSHELF, RECORD, WRITES)
    assert tests["calls find_books"]["expect"]["result"]["structuredContent"] == "match:outputSchema"
    assert tests["calls count_pages"]["expect"] == {"result": {"content": [{"type": "text", "text": "900 pages"}]}}


def test_without_output_the_suite_goes_to_stdout_and_the_rest_to_stderr(conductor, tmp_path):
    done = conductor("discover", *composed("demo.json")[:1], "--", *composed("demo.json")[1:])
    (tmp_path / "out.yml").write_text(done.out)
    assert done.code == 0
    assert "calls echo" in written(tmp_path / "out.yml")
    assert "skipped: tool 'slow_task': it can only be called as a task" in done.err
    tests = written(tmp_path / "out.yml")
    assert tests["calls slow_task"]["skip"] == "it can only be called as a task"
    assert tests["reads user://1 by user://{userId}"]["read"] == "user://1"


ODD = """
    import json, uuid, time
    count = 0
    def call(params):
        global count
        count += 1
        name = params["name"]
        if name == "hang":
            return None
        if name == "die":
            sys.exit(3)
        text = {"random": str(uuid.uuid4()), "clock": f"it is {time.time_ns()}", "braces": "{{ x }}", "pattern": "match:any"}
        return {"content": [{"type": "text", "text": text.get(name, "?")}], "_meta": {"at": time.time()}}
    names = ["random", "clock", "braces", "pattern", "hang", "die", "no", "{{ x }}", "two words", 'quo"te', "unfit", "after"]
    schemas = {"unfit": {"type": "object", "properties": {"s": {"type": "string", "pattern": "^zq{7}$"}}, "required": ["s"]}}
    tools = [{"name": name, "description": "a\\n\\tb", "inputSchema": schemas.get(name, {"type": "object"}),
              "annotations": {"readOnlyHint": True}} for name in names]
    tools += [{"name": "random", "inputSchema": {}}, {"inputSchema": {}}, 7]
    hello(tools={})
    while True:
        request = hear()
        if request.get("method") == "tools/list":
            result(request, {"tools": tools})
        elif request.get("method") == "tools/call":
            found = call(request["params"])
            if found is not None:
                result(request, found)
"""


def test_a_server_of_odd_tools_gets_a_suite_that_passes(discover, serve):
    found, tests = discover(serve(ODD), RECORD, "--timeout", "1s")
    expected = {
        name: tests[f"calls {name}"]["expect"]["result"] for name in ("random", "clock", "braces", "pattern", "after")
    }
    texts = {name: each["content"][0]["text"] for name, each in expected.items()}
    assert texts["random"].startswith("match:regex:^[0-9a-fA-F]{8}")
    assert texts["clock"].startswith("match:regex:^it is ")
    assert texts["braces"] == r"\{{ x }}"
    assert texts["pattern"] == "match:literal:match:any"
    assert expected["random"]["_meta"] == {"at": "match:dateValid"}
    assert {"calls no", "calls {{ x }}", "calls two words", 'calls quo"te'} <= tests.keys()
    for name, reason in {
        "hang": "no answer to tools/call within 1 s",
        "die": "the server exited with code 3",
        "unfit": "no arguments that fit its schema are known: ",
    }.items():
        assert tests[f"calls {name}"]["skip"].startswith(reason)
        assert f"skipped: tool '{name}': {reason}" in found.err
    assert found.err.count("left out: a tool: it has no usable name") == 2


def test_a_tool_that_asks_the_client_is_skipped_with_the_reason(discover, serve):
    server = serve("""
        hello(tools={})
        while True:
            request = hear()
            if request.get("method") == "tools/list":
                result(request, {"tools": [{"name": "ask", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]})
            elif request.get("method") == "tools/call":
                ask("q", "sampling/createMessage", messages=[], maxTokens=1)
                result(request, {"content": []})
    """)
    found, tests = discover(server)
    assert "skipped: tool 'ask': the server asked for sampling/createMessage" in found.err
    assert tests["calls ask"]["skip"].startswith("the server asked for sampling/createMessage")


NOTES = """
    import uuid
    notes = {str(uuid.uuid4()): "milk", str(uuid.uuid4()): "bread"}
    def answer(name, arguments):
        if name == "list_notes":
            listed = [{"id": key, "size": len(text)} for key, text in notes.items()]
            return {"content": [], "structuredContent": {"notes": listed}}
        if name == "list_tags":
            return {"content": [{"type": "text", "text": json.dumps({"tags": [{"name": "home"}]})}]}
        known = arguments.get("noteId") in notes if name == "get_note" else arguments.get("tag_names") == ["home"]
        return {"content": [{"type": "text", "text": "found" if known else "none"}], "isError": not known}
    def tool(name, **properties):
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
    tools = [tool("get_note", noteId={"type": "string"}), tool("list_notes"), tool("list_tags"),
             tool("find_tagged", tag_names={"type": "array", "items": {"type": "string"}})]
    hello(tools={})
    while True:
        request = hear()
        if request.get("method") == "tools/list":
            result(request, {"tools": tools})
        elif request.get("method") == "tools/call":
            result(request, answer(request["params"]["name"], request["params"].get("arguments", {})))
"""


@pytest.mark.parametrize("flags", [(), (RECORD,)], ids="_".join)
def test_what_a_list_tool_answers_is_captured_as_the_argument_of_another_tool(discover, serve, flags):
    _, tests = discover(serve(NOTES), *flags)
    assert tests["calls list_notes"]["capture"] == {"noteId": "result.structuredContent.notes[0].id"}
    assert tests["calls get_note"]["call"] == {"tool": "get_note", "args": {"noteId": "{{ noteId }}"}}
    assert tests["calls list_tags"]["capture"] == {
        "tag_names": {"from": "result.content[0].text", "json": "tags[0].name"}
    }
    assert tests["calls find_tagged"]["call"]["args"] == {"tag_names": ["{{ tag_names }}"]}
    assert not [test for test in tests.values() if "skip" in test]
    assert list(tests).index("calls get_note") > list(tests).index("calls list_notes")


def test_a_server_that_offers_nothing_is_at_least_pinged(discover, serve):
    _, tests = discover(serve("hello()\nwhile True:\n    result(hear(), {})\n"))
    assert list(tests) == ["answers ping"]


def test_what_comes_from_secret_settings_is_not_written(conductor, write, serve, tmp_path):
    words = serve("""
        import os
        hello(tools={})
        while True:
            request = hear()
            if request.get("method") == "tools/list":
                result(request, {"tools": [{"name": "t", "inputSchema": {}, "annotations": {"readOnlyHint": True}}]})
            elif request.get("method") == "tools/call":
                result(request, {"content": [{"type": "text", "text": "key " + os.environ["KEY"]}]})
    """)
    settings = {"command": words[0], "args": [words[1]], "env": {"KEY": "s3cret-value"}}
    write("conductor.config.json", json.dumps(settings))
    done = conductor("discover", RECORD, "-o", "a.test.mcp.yml")
    assert done.code == 0, done.all
    assert "s3cret-value" not in (tmp_path / "a.test.mcp.yml").read_text() + done.all
    assert conductor("test", "a.test.mcp.yml").code == 0


def test_the_environment_of_a_person_is_not_written(conductor, serve, tmp_path):
    words = serve("""
        import os, getpass
        hello(tools={})
        def answer(name):
            if name == "env":
                return {"content": [{"type": "text", "text": json.dumps(dict(os.environ), indent=2)}],
                        "structuredContent": dict(os.environ)}
            return {"content": [{"type": "text", "text": f"{os.environ['FAVOURITE']} in {os.getcwd()}"}]}
        while True:
            request = hear()
            if request.get("method") == "tools/list":
                tools = [{"name": n, "inputSchema": {}, "annotations": {"readOnlyHint": True}} for n in ("env", "one")]
                result(request, {"tools": tools})
            elif request.get("method") == "tools/call":
                result(request, answer(request["params"]["name"]))
    """)
    mine = {"FAVOURITE": "hazelnut-cake", "SECOND": "second-value", "THIRD": "third-value"}
    done = conductor("discover", RECORD, "-o", "a.test.mcp.yml", "--", *words, **mine)
    assert done.code == 0, done.all
    text = (tmp_path / "a.test.mcp.yml").read_text()
    assert not [value for value in (*mine, *mine.values(), str(tmp_path)) if value in text]
    expected = written(tmp_path / "a.test.mcp.yml")
    assert expected["calls env"]["expect"]["result"]["content"][0]["text"] == "match:type:string"
    assert expected["calls one"]["expect"]["result"]["content"][0]["text"] == "match:regex:^.+ in .+$"
    assert conductor("test", "a.test.mcp.yml", "--", *words, FAVOURITE="tea").code == 0


def test_a_file_is_not_written_over_unless_that_is_asked_for(conductor, write, tmp_path):
    file = write("a.test.mcp.yml", "mine")
    done = conductor("discover", "--output", "a.test.mcp.yml", "--", *BOOKSHELF)
    assert (done.code, file.read_text()) == (2, "mine")
    assert "a.test.mcp.yml exists already" in done.err
    assert conductor("discover", "--output", "a.test.mcp.yml", "--force", "--", *BOOKSHELF).code == 0
    assert "find_books" in file.read_text()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--outputs", "x"), 2, "did you mean --output?"),
        (("--force", "--", "true"), 2, "--force is for --output FILE"),
        ((), 2, "no server is given"),
        (("--arg", "path", "--", "true"), 2, "--arg takes KEY=VALUE, not 'path'"),
        (("--arg", "txt=x", "--", *BOOKSHELF), 2, "did you mean text?"),
        (("no-such-program-at-all",), 3, "no-such-program-at-all"),
        (("--", sys.executable, "-c", "import sys; sys.exit(4)"), 3, "exited with code 4"),
        (("http://127.0.0.1:9/mcp",), 3, "127.0.0.1:9"),
    ],
)
def test_what_cannot_be_discovered_is_told_by_the_exit_code(conductor, words, code, said):
    done = conductor("discover", *words)
    assert done.code == code, done.all
    assert said in done.err
    assert done.out == ""


def test_help_names_every_flag(conductor):
    done = conductor("discover", "--help", "all")
    assert done.code == 0
    assert {"--record-expectations", "--include-writes", "--output", "--force", "--timeout"} <= set(done.out.split())
    assert "discover" in conductor("--help").out


def test_names_and_schemas_beyond_all_use_are_left_out_in_few_words(discover, serve):
    """What takes a server one line must not take us minutes, or a file of megabytes."""
    server = serve("""
        hello(tools={}, resources={}, prompts={})
        many = [f"p{n}" for n in range(100_000)]
        vast = {"type": "object", "properties": {name: {"type": "string"} for name in many}, "required": many}
        tools = [{"name": "vast", "inputSchema": vast}, {"name": "n" * 300_000, "inputSchema": {"type": "object"}}]
        serve({
            "tools/list": {"tools": tools},
            "resources/list": {"resources": []},
            "resources/templates/list": {"resourceTemplates": [{"name": "x", "uriTemplate": "a://" + "{x}" * 300_000}]},
            "prompts/list": {"prompts": []},
        })
    """)
    found, tests = discover(server)
    assert set(tests) == {"lists its tools", "lists its resource templates"}
    assert "tool 'vast': its schema has too many parts to generate arguments" in found.err
    assert "a tool: its name has 300000 characters: nnn" in found.err
    assert "a template: its uriTemplate has 900004 characters: a://{x}{x}" in found.err
    assert len(found.all) < 2000


def test_numbers_beyond_all_floats_are_no_internal_error(discover, serve):
    numbers = {
        "minimum": '{"type": "number", "minimum": 1' + "0" * 400 + "}",
        "step": '{"type": "number", "multipleOf": 1e-320, "minimum": 1e308}',
        "infinite": '{"type": "number", "const": 1e999}',
        "no text": '{"type": "string", "const": 1e999}',
    }
    tools = ", ".join(
        f'{{"name": "{name}", "annotations": {{"readOnlyHint": true}}, '
        f'"inputSchema": {{"type": "object", "properties": {{"a": {schema}}}, "required": ["a"]}}}}'
        for name, schema in numbers.items()
    )
    server = serve(f"""
        hello(tools={{}})
        while True:
            request = hear()
            value = '{{"tools": [{tools}]}}'
            if request["method"] == "tools/call":
                value = '{{"content": [], "structuredContent": {{"a": 1' + "0" * 400 + '}}}}'
            if "id" in request:
                shout('{{"jsonrpc": "2.0", "id": ' + json.dumps(request["id"]) + ', "result": ' + value + '}}\\n')
    """)
    found, tests = discover(server, RECORD)
    assert [name for name, test in tests.items() if "skip" not in test] == ["lists its tools", "calls step"]
    assert "tool 'infinite': its arguments cannot be written in a test file" in found.err
    assert found.err.count("no arguments that fit its schema are known") == 1
