"""`conductor replay`: a recording as a server."""

from mcp_conductor.cli.flag_values import choice
from mcp_conductor.cli.flags import Flag, Given, Groups, help_page, parse
from mcp_conductor.cli.serve import exit_codes, hold_standard_streams
from mcp_conductor.cli.serving_flags import served_transport, serving_flags
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError

TIMINGS = ("fast", "real")
FLAGS: Groups = {
    "What is played": (
        Flag("--session", "only this one of several conversations", "N"),
        Flag("--ignore", "a path of requests that may differ: params.arguments.now (repeatable)", "PATH", many=True),
        Flag("--timing", "fast (default), or real: as slowly as it was recorded", "WORD"),
    ),
    "How it is served": serving_flags("without it, any that is free"),
    "Instead of serving": (Flag("--help", "show this text", short="-h"),),
}
_USAGE = """\
usage: conductor replay FILE [FLAGS]

Be the server of a recording, for any client and on any transport. A request is answered as the same one was answered
then, repeated ones in the order of the recording; notifications, progress and questions of the server come with it.
"""
EXAMPLES = {
    "conductor replay said.jsonl": "on stdin and stdout",
    "conductor replay said.jsonl --transport streamable-http --port 8080": "over HTTP",
    "conductor replay said.jsonl --timing real": "as slowly as it was recorded",
    "conductor replay said.jsonl --ignore params.arguments.now": "an argument that differs each time",
}


def main(argv: list[str], terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    given = parse(argv, FLAGS, server_words=False, program="conductor replay")
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, exit_codes("conductor")))
        return 0
    from mcp_conductor.cli.secret_flags import read_secrets

    given = read_secrets(given, terminal)
    file, transport, timing = _file(given), served_transport(given, 0), choice(given, "--timing", TIMINGS)
    from mcp_conductor.cli.interruptible import run_interruptibly
    from mcp_conductor.cli.replay_run import read_pool, serve_replay

    pool = read_pool(file, given, terminal)
    hold_standard_streams()
    return run_interruptibly(serve_replay(pool, transport, terminal, file, real_time=timing == "real"))


def _file(given: Given) -> str:
    words = (*given.words, *given.after)
    if not words:
        raise UsageError("no recording is given", hint="conductor replay FILE")
    if len(words) > 1:
        raise UsageError(f"conductor replay takes one recording, not {len(words)}: {', '.join(words)}")
    return words[0]
