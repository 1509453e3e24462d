"""Flags that several commands have, and what is done for them."""

import os
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.flags import ERRORS, Flag, Given
from mcp_conductor.cli.flags.values import count, number, size
from mcp_conductor.cli.output.terminal import Terminal, print_to_stderr
from mcp_conductor.cli.process.exit_codes import PROGRAMS
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.budgets import DEFAULT, Budgets

if TYPE_CHECKING:
    from mcp_conductor.server.config import TransportConfig


# Output.
SHOWN_FLAGS = (
    Flag("--verbose", "show a line for every test", short="-v", common=True),
    Flag("--wire", "the same, with the messages of each test", short="-vv", common=True),
    Flag("--quiet", "show only failures and the last line", short="-q"),
    Flag("--errors-only", "the same as --quiet", alias=True),
    Flag("--max-errors", "show at most N findings of each test", "N"),
)
REPORT_FLAGS = (
    Flag(
        "--report",
        "html, json, junit, tap, github, markdown, sarif or a plugin's; repeatable",
        "KIND[:FILE]",
        many=True,
        common=True,
    ),
    Flag("--json", "the same as --report json", common=True),
    ERRORS,
    Flag("--color", "auto, always or never", "WHEN", choices=("auto", "always", "never")),
)
OUTPUT_FLAGS = (*SHOWN_FLAGS, *REPORT_FLAGS)  # what every command that reports something has

# Servers of ours.
ALLOW_HOST = Flag("--allow-host", "another name that the server is reached by (repeatable)", "NAME", many=True)


def exit_codes(program: str) -> str:
    """What the exit codes of a program that serves mean."""
    return (
        "Exit codes: 0 ended by SIGINT, SIGTERM or SIGHUP while it served, or by the end of stdin; "
        f"{PROGRAMS[program].usage} could not serve;\n"
        "130, 143 and 129 ended by SIGINT, SIGTERM and SIGHUP while it started.\n"
    )


_TRANSPORTS = {"stdio": "stdio", "streamable-http": "streamable-http", "http": "streamable-http", "sse": "sse"}


def serving_flags(default_port: str) -> tuple[Flag, ...]:
    """The flags; DEFAULT_PORT says what is done without --port."""
    return (
        Flag("--transport", "stdio (default), streamable-http or sse", "TRANSPORT", common=True),
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag("--port", f"the port to listen on; {default_port}", "PORT", common=True),
        ALLOW_HOST,
        Flag("--token", "over HTTP: the bearer token that clients must send; @FILE or env:NAME", "SECRET", common=True),
    )


def transport_of(given: Given) -> Any:
    """How clients reach a server of ours, as --transport says."""
    kind = given.one("--transport")
    if kind is not None and kind not in _TRANSPORTS:
        raise UsageError(f"--transport takes stdio, streamable-http or sse, not {kind!r}")
    return None if kind is None else _TRANSPORTS[kind]


def named_file(given: Given, kind: str, hint: str) -> str:
    """The one file that the words or --config name."""
    named = [*given.words, *given.after, *given.all("--config")]
    if not named:
        raise UsageError(f"no {kind} file is given", hint=hint)
    if len(named) > 1:
        raise UsageError(f"{len(named)} {kind} files are given, but only one can be used: {', '.join(named)}")
    return named[0]


def served_transport(given: Given, default_port: int) -> "TransportConfig":
    """How clients reach the program, as the flags say."""
    from mcp_conductor.server.config import DEFAULT_HOST, TransportConfig
    from mcp_conductor.server.transport_file import Overrides

    kind: Any = transport_of(given) or "stdio"
    over = Overrides(
        host=given.one("--host"), port=number(given, "--port", 0, 65535), allowed_hosts=tuple(given.all("--allow-host"))
    )
    if kind == "stdio":
        over.check_stdio()
        hint = "--transport streamable-http"
        given.refuse(["--json"], "requires HTTP: on stdio, stdout is for messages", hint=hint)
        given.refuse(["--token"], "has no meaning for stdio", hint="add --transport streamable-http")
    return TransportConfig(
        type=kind,
        host=over.host or DEFAULT_HOST,
        port=default_port if over.port is None else over.port,
        allowed_hosts=over.allowed_hosts,
        path="/sse" if kind == "sse" else "/mcp",
        token=_token(given),
    )


def _token(given: Given) -> str | None:
    token = given.one("--token")
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError("--token must be printable ASCII characters without spaces: no client can send another")
    return token


MESSAGE_LIMIT_FLAGS = (
    Flag(
        "--max-message-size", "the size of one message of the server: 64MB, 512kB, 1000 (bytes); default 64MiB", "SIZE"
    ),
    Flag("--max-message-values", "the number of JSON values in one message; default 1000000", "N"),
)
_NOTIFICATIONS = Flag(
    "--max-notifications-size", "the size of the notifications that one test sees; default 16MB", "SIZE"
)
LIMIT_FLAGS = (
    *MESSAGE_LIMIT_FLAGS,
    Flag("--max-transcript-size", "the size of the transcript that is kept of a conversation; default 256MB", "SIZE"),
    Flag("--max-stderr-size", "the part of the transcript for the server's stderr; default 8MB", "SIZE"),
)
# `mcp-cli` remembers only the end of a conversation.
ONE_SHOT_LIMIT_FLAGS = (
    *MESSAGE_LIMIT_FLAGS,
    _NOTIFICATIONS._replace(help="--follow: the size of the notifications that wait to be printed; default 16MB"),
)
TEST_LIMIT_FLAGS = (*LIMIT_FLAGS, _NOTIFICATIONS)


def budgets_of(given: Given) -> Budgets:
    """What the flags allow; for the rest, the defaults."""
    return Budgets(
        message_bytes=size(given, "--max-message-size", DEFAULT.message_bytes),
        message_values=count(given, "--max-message-values", DEFAULT.message_values),
        transcript_bytes=size(given, "--max-transcript-size", DEFAULT.transcript_bytes),
        stderr_bytes=size(given, "--max-stderr-size", DEFAULT.stderr_bytes),
        notification_bytes=size(given, "--max-notifications-size", DEFAULT.notification_bytes),
    )


OAUTH_FLAGS = (
    Flag("--oauth", "when the server wants a token, get one: the URL to visit is shown on stderr", common=True),
    Flag("--open-browser", "with --oauth: open that URL", requires="--oauth"),
    Flag(
        "--no-interactive",
        "with --oauth: wait for no user; use what needs none, or fail",
        requires="--oauth",
        excludes={"--open-browser": ""},
    ),
    Flag("--token-store", "with --oauth: keep tokens in this file", "FILE", requires="--oauth"),
    Flag("--oauth-client-id", "the client, as it is registered", "ID"),
    Flag("--oauth-client-secret", "its secret, if it has one; as all secrets, it may be @FILE or env:NAME", "SECRET"),
    Flag(
        "--oauth-client-auth",
        "how the client authenticates; by default, as the authorization server says",
        "METHOD",
    ),
    Flag("--oauth-issuer", "the authorization server that may get the client's secret, at any address", "URL"),
    Flag("--oauth-allow-http", "allow plain http to authorization servers, not only on this machine"),
    Flag(
        "--oauth-client-metadata-url", "with --oauth: a document that describes the client", "URL", requires="--oauth"
    ),
    Flag("--oauth-scope", "scopes to request, separated by spaces (repeatable)", "SCOPES", many=True),
    Flag("--oauth-redirect-port", "with --oauth: where the browser is sent back to", "PORT", requires="--oauth"),
    Flag(
        "--oauth-grant", "with --oauth: authorization_code (default) or client_credentials", "GRANT", requires="--oauth"
    ),
    Flag("--oauth-private-key", "with --oauth: authenticate the client with this key", "PEM FILE", requires="--oauth"),
)

PLUGIN_FLAG = Flag("--plugin", "a Python file of yours, or an installed plugin (repeatable)", "FILE|NAME", many=True)


def load_named_plugins(given: Given, terminal: Terminal) -> None:
    """Load the plugins that the command line names."""
    if names := given.all("--plugin"):
        from mcp_conductor.plugins import load

        for name in names:
            load(name, terminal.directory)
        print_to_stderr()


def load_plugins_of_file(file: str, terminal: Terminal) -> None:
    """Load the plugins that the settings in FILE name."""
    from mcp_conductor.files.settings_file import SettingsFile
    from mcp_conductor.plugins import load_those_of_settings

    path = os.path.join(terminal.directory, os.path.expanduser(file))
    settings = SettingsFile(path, shown=file, here=terminal.directory, environ=terminal.environ)
    if load_those_of_settings(settings):
        print_to_stderr()
