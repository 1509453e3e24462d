"""`conductor verify`: does another server still say what a recording says?"""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import HELP, Flag, Groups
from mcp_conductor.cli.flags.shared import LIMIT_FLAGS, OUTPUT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS

FLAGS: Groups = {
    "Server": tuple(flag for flag in TARGET_FLAGS if flag.name != "--protocol"),  # which the recorded client decides
    "What is compared": (
        Flag(
            "--ignore",
            "a path of answers that may differ: result.content[*].text (repeatable)",
            "PATH",
            many=True,
            common=True,
        ),
        Flag("--strict", "times and UUIDs must be the recorded ones too; ids that flow may still differ"),
        Flag(
            "--session",
            "which of several conversations to play, or all; default: the first with a result",
            "N|all",
            common=True,
        ),
        Flag("--timeout", "time limit of each answer; default 10s, or longer if it took longer then", "TIME"),
    ),
    "Limits": LIMIT_FLAGS,
    "Output": (*OUTPUT_FLAGS, HELP),
}
_USAGE = """\
usage: conductor verify FILE [FLAGS] -- COMMAND [ARGS …]
       conductor verify FILE URL [FLAGS]
       conductor verify FILE --config FILE --server NAME

Play the client of a recording to a server, and show where the answers differ from the recorded ones. Ids, cursors and
other values that came in an answer and were sent later are those of this server. Times and UUIDs may differ, unless
--strict is given.
"""
EXAMPLES = {
    "conductor verify said.jsonl -- python server.py": "does it still say the same?",
    "conductor verify said.jsonl --ignore 'result._meta' -- python server.py": "but for a part of the answers",
    "conductor verify said.jsonl http://localhost:8000/mcp": "a server at a URL",
    "conductor verify said.jsonl --report junit:report.xml -- python server.py": "in CI",
}
_EXIT_CODES = """\
Exit codes: 0 nothing differs, 1 something does, 2 could not run, or a report could not be written, 3 the server could
not be started or went away.
"""
COMMAND = Command("conductor verify", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES, server_words=False)
