"""Secrets on a command line: given as they are, as @FILE or as env:NAME, and shown in none of these ways."""

import io

import pytest

from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.test.flags import FLAGS as TEST_FLAGS
from mcp_conductor.cli.flags import Given, parse
from mcp_conductor.cli.flags.secrets import read_secrets, secrets_of_flags, without_secret
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError

SECRET_FLAGS = ["--token", "--oauth-client-secret", "--oauth-code", "--oauth-code-verifier", "--oauth-refresh-token"]


@pytest.fixture
def read(tmp_path):
    """The flags with their secrets, where a file and a variable have one."""
    (tmp_path / "key").write_text("s3cr3t-of-file\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_text("x" * 1_000_001)

    def of(*words: str, groups=FLAGS) -> Given:
        environ = {"KEY": "s3cr3t-of-variable", "NOTHING": ""}
        terminal = Terminal(None, io.BytesIO(), None, environ, str(tmp_path))
        given = read_secrets(parse(list(words), groups), terminal)
        shown = terminal.redactor.redact(" ".join(value for values in given.values.values() for value in values))
        assert "s3cr3t" not in shown
        return given

    return of


@pytest.mark.parametrize("flag", SECRET_FLAGS)
def test_a_flag_with_a_secret_takes_a_file_or_a_variable(read, flag):
    assert read(flag, "@key").one(flag) == "s3cr3t-of-file"
    assert read(flag, "env:KEY").one(flag) == "s3cr3t-of-variable"
    assert read(flag, "s3cr3t-itself").one(flag) == "s3cr3t-itself"


def test_the_value_of_a_header_is_taken_from_a_file_or_a_variable(read):
    given = read("--header", "A: @key", "--header", "B:env:KEY", "--header", "C: s3cr3t:@key")
    assert given.all("--header") == ["A:s3cr3t-of-file", "B:s3cr3t-of-variable", "C: s3cr3t:@key"]


def test_the_secret_of_a_suite_is_taken_from_a_file_or_a_variable(read):
    given = read("--secret", "a=@key", "--secret", "b=env:KEY", groups=TEST_FLAGS)
    assert given.pairs("--secret") == [("a", "s3cr3t-of-file"), ("b", "s3cr3t-of-variable")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("@missing", "--token: cannot read 'missing': No such file or directory"),
        ("@.", "--token: cannot read '.': Is a directory"),
        ("@empty", "--token: 'empty' is empty"),
        ("@bytes", "--token: 'bytes' is not UTF-8"),
        ("@long", "--token: cannot read 'long': it has more than 1 MB"),
        ("@", "--token: cannot read '': Is a directory"),
        ("", "--token is empty"),
        ("env:MISSING", "--token: the environment variable 'MISSING' is not set"),
        ("env:NOTHING", "--token: the environment variable 'NOTHING' is empty"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(read, value, message):
    with pytest.raises(UsageError) as caught:
        read("--token", value)
    assert caught.value.message == message


def test_a_reference_is_no_secret_and_can_be_shown(read):
    given = read("--token", "env:KEY", "--header", "A: @key")
    assert [without_secret("--token", text) for text in given.written.all("--token")] == ["env:KEY"]
    assert [without_secret("--header", text) for text in given.written.all("--header")] == ["A: @key"]
    assert secrets_of_flags(given.written) == []
