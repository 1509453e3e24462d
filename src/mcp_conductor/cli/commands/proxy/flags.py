"""`conductor proxy`: stand between a real client and a real server, and let things go wrong on purpose."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.commands.record.flags import APPEND, EXIT_CODES, PASSING_FLAGS, RECORDING, REDACTION, parse_words
from mcp_conductor.cli.flags import Flag, Groups
from mcp_conductor.cli.flags.shared import PLUGIN_FLAG

FLAGS: Groups = {
    "Faults": (
        Flag(
            "--faults",
            "what goes wrong: a JSON or YAML file with `faults`, as for conductor serve",
            "FILE",
            common=True,
        ),
        Flag("--quiet", "say on stderr only how often each fault has struck, at the end", short="-q"),
        PLUGIN_FLAG,
    ),
    "Recording": (Flag("--record", RECORDING, "FILE", short="-o", common=True), APPEND, *REDACTION),
    **PASSING_FLAGS,
}
_USAGE = """\
usage: conductor proxy --faults FILE [FLAGS] -- COMMAND [ARGS …]
       conductor proxy --faults FILE [FLAGS] URL
       conductor proxy --faults FILE --config FILE --server NAME

Stand between a client and a server, and let things go wrong: replies that are late, wrong, twice or never there, a
server that dies, HTTP statuses, streams that break off. What no fault is for passes byte for byte.

It takes the place of the server's command, or of its URL, as conductor record does. Without --faults, all passes.
"""
EXAMPLES = {
    "conductor proxy --faults faults.yaml -- python server.py": "in place of python server.py",
    "mcp-cli -- conductor proxy --faults faults.yaml python server.py --method tools/list": "with mcp-cli as client",
    "conductor proxy --faults faults.yaml --record said.jsonl -- python server.py": "and keep what was really said",
    "conductor proxy --faults faults.yaml --port 8080 https://example.com/mcp": "at http://127.0.0.1:8080/mcp",
}
_FAULT_CODES = "A fault that ends the process (crash) gives its own exit code.\n"
COMMAND = Command("conductor proxy", FLAGS, _USAGE, EXAMPLES, EXIT_CODES + _FAULT_CODES, parse=parse_words)
