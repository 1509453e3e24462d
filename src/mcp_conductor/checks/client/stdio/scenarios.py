"""A client's end of stdio: lines, streams, and how it ends the process that it started."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ANYTHING, ClientConnection, ClientRecord, excerpt, seen
from mcp_conductor.checks.harness.scenario import scenario, watched
from mcp_conductor.checks.harness.scripted_server import Disconnected, ScriptCall, ServerScript
from mcp_conductor.protocol.message import parse
from mcp_conductor.report.model import Finding

_STDIO = ("stdio",)
_MUCH = "nothing happened, and this line says so at some length\n" * 20_000  # about a MiB
_STUBBORN_SECONDS = 8.0


@scenario("stderr-lines", transports=_STDIO, needs=ANYTHING, together="notices")
class StderrLines(ServerScript):
    """The server writes a line to stderr before each answer."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        self.did("wrote to stderr")
        await call.write_stderr(f"info: answering {call.method}")


@scenario("noise", transports=_STDIO, needs=ANYTHING, together="notices")
class StderrFlood(ServerScript):
    """The server writes a MiB to stderr before its first answer."""

    async def before(self, call: ScriptCall) -> None:
        await super().before(call)
        if self.count == 1:
            self.did("wrote much to stderr")
            await call.write_stderr(_MUCH)


@scenario("gone", transports=_STDIO, needs=ANYTHING)
class Gone(ServerScript):
    """The server exits when it should answer its first request."""

    async def before(self, call: ScriptCall) -> None:
        if "died" in self.record.moments:
            return
        del call
        self.did("died")
        raise Disconnected


@scenario("stubborn", transports=_STDIO, seconds=_STUBBORN_SECONDS, together="ends")
class Stubborn(ServerScript):
    """The server goes on although its stdin was closed, and although it got SIGTERM."""

    stubborn = True


def _processes(record: ClientRecord) -> list[ClientConnection]:
    return seen(
        [connection for connection in record.connections if connection.transport == "stdio"],
        "the client started no server",
    )


@watched("stdio-launch-client", "stdio-support-client", scenario="plain")
def the_server_is_started(record: ClientRecord) -> Iterator[Finding]:
    """Give the client a command: it starts it, and talks to its stdin and stdout."""
    if not _processes(record)[0].said:
        yield fault("the client started the server, but sent nothing to it")


def _fragments(connection: ClientConnection) -> tuple[list[str], list[str]]:
    """Lines that are not JSON: those that are JSON when they are joined, and the others."""
    parts: list[str] = []
    alone: list[str] = []
    run: list[str] = []
    said = (message for _, source, message in connection.transcript.decoded() if source == "client")
    for message in (*said, None):
        if message is not None and message.raw is None:
            run.append(message.text)
            continue
        together = parse("\n".join(run)).raw if len(run) > 1 else None
        (parts if together is not None else alone).extend(run)
        run = []
    return parts, alone


@watched("stdio-newline-framing-client", recorded="messages")
def a_message_is_a_line(record: ClientRecord) -> Iterator[Finding]:
    """Look at the client's bytes: every message is one line, with a newline at its end."""
    for connection in _processes(record):
        parts, _ = _fragments(connection)
        if parts:
            yield fault(f"a message was written in {len(parts)} lines", excerpt("\n".join(parts)))
        if connection.rest:
            yield fault("the last message has no newline at its end", excerpt(connection.rest.decode(errors="replace")))


@watched("stdio-stdin-clean-client", recorded="messages")
def nothing_but_messages_is_written(record: ClientRecord) -> Iterator[Finding]:
    """Look at every line of the client: it is a message."""
    for connection in _processes(record):
        for text in _fragments(connection)[1]:
            yield fault("a line is not a message" if text.strip() else "an empty line was written", excerpt(text))


@watched("stdio-stderr-not-error-client", scenario="stderr-lines")
def stderr_is_no_error(record: ClientRecord) -> Iterator[Finding]:
    """Write to stderr and answer normally: the client behaves as it does without that."""
    yield from record.survived("a line on stderr", "wrote to stderr")


@watched("stdio-stderr-handling-client", scenario="noise", follows=("stdio-stderr-not-error-client",))
def stderr_does_not_block(record: ClientRecord) -> Iterator[Finding]:
    """Write a MiB to stderr before an answer: the client behaves as it does without that."""
    yield from record.survived("a MiB on stderr", "wrote much to stderr")


@watched("stdio-unexpected-exit-client-report", scenario="gone")
def a_dead_server_is_noticed(record: ClientRecord) -> Iterator[Finding]:
    """Exit instead of answering: the client does not wait without end."""
    if "died" not in record.moments:
        raise NotSeen("the client asked for nothing")
    record.be_sure()
    if record.hangs and len(_processes(record)) == 1:
        yield fault("the client still waits for the answer of a server that has died", record.last_words())


@watched("stdio-unexpected-exit-client-restart", scenario="gone")
def a_dead_server_is_started_again(record: ClientRecord) -> Iterator[Finding]:
    """Exit instead of answering: the client starts the server again."""
    if "died" not in record.moments:
        raise NotSeen("the client asked for nothing")
    if len(_processes(record)) < 2:
        yield fault("the client did not start the server again after it had died")


@watched("lifecycle-shutdown-stdio-client", scenario=("plain", "stubborn"))
def stdin_is_closed_first(record: ClientRecord) -> Iterator[Finding]:
    """Look at the end: stdin is closed before any signal; a server that ignores that gets SIGTERM, then SIGKILL."""
    if record.exit_code is None:
        raise NotSeen("the client does not end by itself")
    for connection in _processes(record):
        endings = [how for _, how in connection.endings if how != "ours"]
        if not endings:
            if record.name == "stubborn":
                yield fault("the client ended, and left the server running with its stdin open")
            continue
        if endings[0] == "sigterm":
            yield fault("the server got SIGTERM before its stdin was closed")
        elif endings[0] == "cut":
            yield fault("the server was killed before its stdin was closed")
        elif record.name == "stubborn" and len(endings) == 1:
            yield fault("the client closed the server's stdin and ended, although the server did not")


@watched("stdio-no-client-responses", "httpm-no-client-responses", recorded="messages")
def nothing_is_answered(record: ClientRecord) -> Iterator[Finding]:
    """Look at every message of the client: none is a response, since servers of this revision ask nothing."""
    for message in seen(record.said, "the client said nothing"):
        if message.kind in ("result", "error"):
            yield fault("the client sent a response", message.raw)


@watched("subs-client-relisten-stdio", scenario="gone")
def subscriptions_begin_again(record: ClientRecord) -> Iterator[Finding]:
    """Exit while the client listens: if it starts the server again, it listens again."""
    started = _processes(record)
    if len(started) < 2 or not started[0].requests("subscriptions/listen"):
        raise NotSeen("the client did not listen, or did not start the server again")
    if not any(connection.requests("subscriptions/listen") for connection in started[1:]):
        yield fault("the client started the server again, but did not listen again")
