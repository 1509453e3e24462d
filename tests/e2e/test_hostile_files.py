"""Files that are none, have no end, or are larger than they look: one line, at once, whichever program reads them."""

import os
import subprocess
import sys

import pytest
from tests.conftest import MCP_CLI

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
NINE_LEVELS = "description: d\na0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


def _fifo(path):
    os.mkfifo(path)


def _loop(path):
    os.symlink(path, path)


def _device(path):
    os.symlink("/dev/zero", path)


def _unreadable(path):
    _text("tests: []")(path)
    os.chmod(path, 0)


def _large(path):
    with open(path, "wb") as file:
        file.truncate(100_000_000)


def _text(text):
    def write(path):
        with open(path, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)

    return write


KINDS = {
    "a pipe": _fifo,
    "a device": _device,
    "a directory": os.mkdir,
    "a circle of links": _loop,
    "too large": _large,
    "empty": _text(""),
    "binary": _text(os.urandom(3000)),
    "UTF-16": _text("a: 1".encode("utf-16")),
    "a byte order mark alone": _text("\ufeff"),
    "NULs": _text("\0" * 3000),
    "aliases of aliases": _text(NINE_LEVELS),
    "an alias of itself": _text("a: &a {b: *a}\n"),
    "one long line": _text("a" * 15_000_000),
    "many keys": _text("".join(f"k{n}: 1\n" for n in range(200_000))),
    "a key twice": _text("a: 1\na: 2\n"),
    "a Python object": _text("!!python/object/apply:os.system ['echo']\n"),
    "a time": _text("2001-12-14t21:59:43.10-05:00\n"),
    "a huge number": _text("tests: " + "9" * 100_000),
    "a huge hexadecimal number": _text("tests: 0x" + "f" * 100_000),
    "tabs": _text("tests:\n\t- it: x\n"),
    "line ends of Windows": _text("tests:\r\n  - it: x\r\n    what: 1\r\n"),
    "line ends of old": _text("tests:\r  - it: x\r    what: 1\r"),
    "nested deeply": _text("[" * 100_000),
    "nested by indentation": _text("".join(" " * n + "a:\n" for n in range(1500))),
    "unclosed": _text('{"tests": "' + 'x": "' * 100_000),
    "comments without end": _text("/*" * 1_000_000),
    "merged keys": _text("a: &a {<<: {b: 1}}\nc: {<<: *a}\n"),
    "a text": _text("just words"),
    "a number": _text("5"),
    "null": _text("null"),
    "a list": _text("[1, 2]"),
    "several documents": _text("a: 1\n---\nb: 2\n"),
    "keys that are no text": _text("? [a]\n: 1\n1: 2\n"),
    "unknown tags": _text("tests: !yes [no]\n"),
    "bidirectional text": _text("tests: \u202e\u2066x\n"),
    "lone surrogates": _text(b"tests: \xed\xa0\x80\n"),
    "an anchor alone": _text("&a\n"),
    "an alias alone": _text("*a\n"),
    "a directive": _text("%YAML 9.9\n---\na: 1\n"),
    "unreadable": _unreadable,
}
COMMANDS = {
    "test": (*CONDUCTOR, "test", "{}", "--", "true"),
    "test --vars-file": (*CONDUCTOR, "test", "ok.test.mcp.yml", "--vars-file", "{}", "--collect-only", "--", "true"),
    "serve --validate": (*CONDUCTOR, "serve", "--validate", "{}"),
    "check --expected-failures": (*CONDUCTOR, "check", "--expected-failures", "{}", "--", "true"),
    "check --transcript": (*CONDUCTOR, "check", "--transcript", "{}"),
    "--config": (*MCP_CLI, "--config", "{}", "--method", "ping"),
    "--config of JSON": (*MCP_CLI, "--config", "{}.json", "--method", "ping"),
    "--tool-args-json": (*MCP_CLI, "true", "--method", "tools/call", "--tool-name", "x", "--tool-args-json", "@{}"),
}


def _read(kind, command, tmp_path):
    name = "hostile.json" if command.endswith("JSON") else "hostile.test.mcp.yml"
    KINDS[kind](str(tmp_path / name))
    (tmp_path / "ok.test.mcp.yml").write_text("description: d\ntests: [{it: x, call: y}]\n")
    words = [word.format(name.removesuffix(".json")) for word in COMMANDS[command]]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode != 70, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_file_hangs_or_breaks_a_program(kind, command, tmp_path):
    _read(kind, command, tmp_path)


@pytest.mark.parametrize(
    ("kind", "command", "code", "said"),
    [
        ("a pipe", "test", 2, "it is not a file, but a pipe or a device"),
        ("a device", "--tool-args-json", 1, "it is not a file, but a pipe or a device"),
        ("too large", "serve --validate", 2, "it has more than 16 MB"),
        ("aliases of aliases", "test", 2, "it has more than 1,000,000 values"),
        ("aliases of aliases", "serve --validate", 2, "it has more than 1,000,000 values"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(kind, command, code, said, tmp_path):
    done = _read(kind, command, tmp_path)
    assert done.returncode == code
    assert said in done.stderr
    assert "hostile" in done.stderr


def test_what_the_shell_hands_over_is_read(tmp_path):
    ask = (*MCP_CLI, "true", "--method", "tools/call", "--tool-name", "x", "--tool-args-json", "@/dev/stdin")
    done = subprocess.run(ask, input="[1]", capture_output=True, text=True, timeout=30, cwd=tmp_path, check=False)
    assert "--tool-args-json" in done.stderr
    assert "object" in done.stderr


def test_settings_that_the_shell_hands_over_can_be_read_more_than_once(tmp_path):
    (tmp_path / "a.test.mcp.yml").write_text(
        "description: d\ntests:\n  - {it: lists, list: tools, expect: {ok: true}}\n"
    )
    settings = '{"mcpServers": {"a": {"command": "/no/such/server"}}}'
    words = (*CONDUCTOR, "test", "a.test.mcp.yml", "--config", "/dev/stdin")
    done = subprocess.run(words, input=settings, capture_output=True, text=True, timeout=30, cwd=tmp_path, check=False)
    assert "cannot start '/no/such/server'" in done.stdout
    assert done.returncode == 3
