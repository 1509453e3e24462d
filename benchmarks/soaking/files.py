"""Hostile files, each given to every program that reads files: none may hang it, fill the memory, or run code."""

import json
import random
import sys

from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.programs import SUITE, Words, staged
from benchmarks.soaking.watch import CONDUCTOR, MCP_CLI, run

SECONDS = 10.0
MEGABYTES = 700
CODES = {0, 1, 2, 3, 124}
EVIL_TEXT = "\x1b]0;owned\x07\x1b[2J\u202e::error::owned"
MILLION = 10**6
# The name of a file that only code in one of these could have made.
RAN = "the file ran code"

SLOW_PATTERNS = ("(a+)+$", "(a|a)*$", "(.*a){25}", "^(([a-z])+.)+[A-Z]([a-z])+$")


def tests(tools: str) -> str:
    """A test file that expects these tools."""
    return SUITE.replace('"match:type:array"', tools)


def described(matcher: str) -> str:
    """Tools of which the one that the server has must have such a description."""
    return json.dumps([{"match:partial": {"description": matcher}}])


def bomb(levels: int) -> str:
    """Aliases of aliases: ten times as many values on each level."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


def merge_bomb(levels: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}" for level in range(1, levels)]
    return "\n".join(lines) + "\n"


def settings(**server: object) -> str:
    return json.dumps({"mcpServers": {"first": {"command": sys.executable, "args": ["-c", ""], **server}}})


def at_url(url: str, **more: object) -> str:
    return json.dumps({"mcpServers": {"first": {"url": url, **more}}})


def served(schema: dict[str, object]) -> str:
    """A server's file with a tool that has this schema."""
    tool = {"name": "x", "inputSchema": {"type": "object", **schema}}
    info = {"name": "x", "version": "1"}
    return json.dumps({"serverInfo": info, "transport": {"type": "stdio"}, "tools": [tool]})


DOUBLING = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 4} for level in range(14)} | {
    "d14": {"not": {}}
}
YAML: dict[str, str | bytes] = {
    "aliases, 9 levels": bomb(9) + SUITE,
    "aliases as the tests": bomb(9).replace("a8:", "tests:") + "description: x\n",
    "merge keys, 8 levels": merge_bomb(8) + SUITE,
    "alias of itself": "description: x\ntests: &a [*a]\n",
    "mapping of itself": "&a\ndescription: x\ntests: *a\n",
    "python tag": f"description: !!python/object/apply:os.system [\"touch '{RAN}'\"]\ntests: []\n",
    "python module tag": "!!python/module:os\n",
    "unknown tag": "description: !evil x\ntests: []\n",
    "deep flow": "description: x\ntests: " + "[" * 50_000 + "]" * 50_000 + "\n",
    "deep blocks": "".join(" " * level + "a:\n" for level in range(3_000)),
    "key that is a list": "? [a, b]\n: 1\n",
    "key that is a mapping": "{? {a: b} : 1}\n",
    "many documents": "---\na: 1\n" * 10_000,
    "long line": "description: " + "x" * 20 * MILLION + "\n",
    "many keys": "".join(f"k{number}: {number}\n" for number in range(100_000)),
    "many tests": SUITE + "\n".join(SUITE.splitlines()[2:] * 2_000),
    "huge integer": "description: x\ntests: " + "9" * 100_000 + "\n",
    "sexagesimal": "description: x\ntests: " + "1:" * 20_000 + "1\n",
    "huge float": "description: x\ntests: 1e999999999\n",
    "date that is none": "description: 9999-99-99\ntests: []\n",
    "binary that is none": "description: !!binary x\ntests: []\n",
    "control characters": f"description: {json.dumps(EVIL_TEXT)}\n{json.dumps(EVIL_TEXT)}: 1\ntests: []\n",
    "raw control characters": f"description: {EVIL_TEXT}\ntests: []\n",
    "tabs": "description: x\ntests:\n\t- it: x\n",
    "placeholders in placeholders": tests('"{{ ' * 2_000 + "}}" * 2_000 + '"'),
    "placeholder without end": tests('"{{ env.' + "x" * 100_000 + '"'),
    **{f"pattern {pattern}": tests(described(f"match:regex:{pattern}")) for pattern in SLOW_PATTERNS},
    "pattern that is none": tests(described("match:regex:(((((")),
    "pattern of a megabyte": tests(described("match:regex:" + "(a|b)" * 200_000)),
    "matchers in matchers": tests('"' + "match:not:" * 5_000 + 'type:array"'),
}
JSON: dict[str, str | bytes] = {
    "empty": "",
    "only NUL": b"\0" * 1_000,
    "not UTF-8": b"\xff\xfe\xfd{}",
    "UTF-16": '{"mcpServers": {}}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + settings().encode(),
    "lone surrogate": '{"mcpServers": {"\\ud800": {"command": "\\ud800"}}}',
    "deep arrays": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "huge number": '{"mcpServers": {"first": {"command": ' + "9" * 100_000 + "}}}",
    "NaN": '{"mcpServers": NaN}',
    "repeated keys": '{"mcpServers": {}, "mcpServers": {}}',
    "NUL in a command": settings(command="true\0x"),
    "NUL in an argument": settings(args=["-c", "x\0"]),
    "command too long": settings(args=["x" * 3 * MILLION]),
    "NUL in the environment": settings(env={"A\0": "\0"}),
    "= in a variable's name": settings(env={"A=B": "1"}),
    "control characters in names": json.dumps({"mcpServers": {EVIL_TEXT: {"command": EVIL_TEXT}}}),
    "directory that is none": settings(cwd="\x1b[31m/nowhere"),
    "line ends in a header": at_url("http://127.0.0.1:9/", headers={"A": "b\r\nC: d"}),
    "URL that is a file": at_url("file:///etc/hostname"),
    "URL that is none": at_url("http://[::1"),
    "schema of itself": served({"$ref": "#"}),
    "schema with a slow pattern": served({"properties": {"a": {"pattern": "^(a+)+$", "default": "a" * 40 + "!"}}}),
    "schema that doubles": served(
        {"$defs": {**DOUBLING, "d14": {"not": {}}}, "allOf": [{"$ref": "#/$defs/d0"}], "default": {}}
    ),
}
FILES = [("yml", name, content) for name, content in YAML.items()]
FILES += [("json", name, content) for name, content in JSON.items()]


def programs(name: str) -> dict[str, Words]:
    """Every program that reads a file, by what it does with it."""
    server = staged("polite")
    return {
        "test": (*CONDUCTOR, "test", "--timeout", "5s", name, "--", *server),
        "serve --validate": (*CONDUCTOR, "serve", "--validate", name),
        "check --expected-failures": (
            *CONDUCTOR, "check", "--only", "lifecycle-initialize-result-server", "--expected-failures", name,
            "--", *server,
        ),
        "mcp-cli --config": (*MCP_CLI, "--config", name, "--method", "ping", "--timeout", "3s"),
        "bridge": (*CONDUCTOR, "bridge", name),
    }  # fmt: skip


ALL = tuple((*file, program) for file in FILES for program in programs(""))
RUNS = len(ALL)


def _read(case: str, ending: str, content: str | bytes, program: str) -> Result:
    # The runner of tests takes files with its own ending only.
    name = f"hostile.{'test.mcp.yml' if program == 'test' else ending}"
    ended = run(programs(name)[program], SECONDS + 3, files={name: content})
    shown = ended.err if program.startswith("mcp-cli") else ended.out + b"\n" + ended.err
    result = judged(case, ended, CODES, Limits(SECONDS, MEGABYTES), shown=shown)
    if RAN in ended.files:
        result.complain("let in", RAN)
    return result


def cases(runs: int, seed: int) -> list[Case]:
    chosen = ALL if runs >= len(ALL) else random.Random(seed).sample(ALL, runs)
    return [_case(number, *each) for number, each in enumerate(chosen)]


def _case(number: int, ending: str, file: str, content: str | bytes, program: str) -> Case:
    name = f"{number}: {program}, {file}"
    return Case(name, lambda: _read(name, ending, content, program))
