"""`conductor replay`: a recording as a server."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, URL_AS_JSON, Flag, Groups
from mcp_conductor.cli.flags.shared import exit_codes, serving_flags
from mcp_conductor.cli.flags.target import TARGET_FLAGS

# Not --transport and --token, which are about clients here.
OF_UPSTREAM = ("--config", "--server", "--header", "--cacert", "--insecure", "--env", "--cwd")
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
        Flag("--timing", "fast (default), or real: as slowly as it was recorded", "WORD", choices=("fast", "real")),
    ),
    "What is not in the recording": (
        Flag(
            "--miss",
            "error (default), or upstream: ask the server, and add its answer to the recording",
            "WORD",
            common=True,
            choices=("error", "upstream"),
        ),
        *(flag for flag in TARGET_FLAGS if flag.name in OF_UPSTREAM),
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
