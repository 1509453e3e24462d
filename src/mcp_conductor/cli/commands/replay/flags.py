"""`conductor replay`: a recording as a server."""

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.commands.serve.flags import exit_codes
from mcp_conductor.cli.commands.serve.run import hold_standard_streams
from mcp_conductor.cli.flags import ERRORS, HELP, URL_AS_JSON, Flag, Given, Groups
from mcp_conductor.cli.flags.serving import served_transport, serving_flags
from mcp_conductor.cli.flags.target import TARGET_FLAGS
from mcp_conductor.cli.flags.values import choice
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

_TIMINGS = ("fast", "real")
_MISSES = ("error", "upstream")
# Not --transport and --token, which are about clients here.
_OF_UPSTREAM = ("--config", "--server", "--header", "--cacert", "--insecure", "--env", "--cwd")
FLAGS: Groups = {
    "What is played": (
        Flag("--session", "only this one of several conversations", "N"),
        Flag(
            "--ignore",
            "a path of requests that may differ: params.arguments.now (repeatable)",
            "PATH",
            many=True,
            common=True,
        ),
        Flag("--timing", "fast (default), or real: as slowly as it was recorded", "WORD"),
    ),
    "What is not in the recording": (
        Flag(
            "--miss",
            "error (default), or upstream: ask the server, and add its answer to the recording",
            "WORD",
            common=True,
        ),
        *(flag for flag in TARGET_FLAGS if flag.name in _OF_UPSTREAM),
    ),
    "How it is served": serving_flags("without it, any that is free"),
    "Output": (URL_AS_JSON, ERRORS, HELP),
}
_USAGE = """\
usage: conductor replay FILE [FLAGS]
       conductor replay FILE --miss upstream [FLAGS] -- COMMAND [ARGS …]
       conductor replay FILE --miss upstream [FLAGS] -- URL

Be the server of a recording, for any client and on any transport. A request is answered as the same one was answered
then, repeated ones in the order of the recording; notifications, progress and questions of the server come with it.

With --miss upstream, the server itself is asked what the recording does not have, and the recording grows.
"""
EXAMPLES = {
    "conductor replay said.jsonl": "on stdin and stdout",
    "conductor replay said.jsonl --transport streamable-http --port 8080": "over HTTP",
    "conductor replay said.jsonl --timing real": "as slowly as it was recorded",
    "conductor replay said.jsonl --miss upstream -- python server.py": "what is new is asked and added",
    "conductor replay said.jsonl --ignore params.arguments.now": "an argument that differs each time",
}
COMMAND = Command("conductor replay", FLAGS, _USAGE, EXAMPLES, exit_codes("conductor"), server_words=False)


def main(argv: list[str], terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    from mcp_conductor.cli.flags.secrets import read_secrets

    given = read_secrets(given, terminal)
    file, words = _file_and_server(given)
    transport, timing = served_transport(given, 0), choice(given, "--timing", _TIMINGS)
    asks = choice(given, "--miss", _MISSES) == "upstream"
    if not asks:
        _refuse_server(given, words)
    from mcp_conductor.cli.commands.replay.run import Replay
    from mcp_conductor.cli.process.interruptible import run_interruptibly

    replay = Replay(file, given, terminal, real_time=timing == "real")
    if asks:
        replay.ask_upstream(Given(words, _without_serving(given), (), given.program))
    hold_standard_streams()
    return run_interruptibly(replay.serve(transport))


def _file_and_server(given: Given) -> tuple[str, tuple[str, ...]]:
    """The recording, and the words of the server."""
    if not given.words:
        raise UsageError("no recording is given", hint="conductor replay FILE")
    return given.words[0], (*given.words[1:], *given.after)


def _refuse_server(given: Given, words: tuple[str, ...]) -> None:
    """Without --miss upstream, no server is asked."""
    if words:
        hint = "with --miss upstream, words after FILE are the server that is asked"
        raise UsageError(f"conductor replay takes one recording, and {words[0]!r} is one word more", hint=hint)
    for flag in _OF_UPSTREAM:
        if flag in given:
            raise UsageError(f"{flag} is about a server to ask", hint="add --miss upstream")


def _without_serving(given: Given) -> "dict[str, list[str]]":
    """The flags that are GIVEN, but for those about clients."""
    about_clients = {flag.name for flag in serving_flags("")}
    return {name: texts for name, texts in given.values.items() if name not in about_clients}
