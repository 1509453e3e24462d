"""The flags of `conductor serve` and `server-composable`."""

from mcp_conductor.cli.flags import ERRORS, HELP, Flag, Groups
from mcp_conductor.cli.flags.shared import ALLOW_HOST, PLUGIN_FLAG

FLAGS: Groups = {
    "Config": (
        Flag("--config", "the file, if it is not given as a word", "FILE", common=True),
        Flag(
            "--input-format", "read the file as json or yaml, regardless of its name", "FORM", choices=("json", "yaml")
        ),
        Flag("--yaml", "the same as --input-format yaml", alias=True),
        Flag("--watch", "over HTTP: start again when the file changes; sessions end", common=True),
        PLUGIN_FLAG,
    ),
    "In place of what the file says": (
        Flag("--transport", "stdio, streamable-http or sse", "TRANSPORT", common=True),
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag(
            "--port",
            "the port to listen on; 0 takes any that is free, as does a file without a port",
            "PORT",
            common=True,
        ),
        ALLOW_HOST,
    ),
    "What is said": (
        Flag("--verbose", "show every message on stderr, a line for each", short="-v", common=True),
        Flag("--record", "write every message to a file, as JSON lines", "FILE"),
    ),
    "Instead of serving": (
        Flag(
            "--validate", "check the file, and show what it defines; warns of what some clients cannot see", common=True
        ),
        Flag("--list-presets", "show all presets and their params", common=True),
        Flag("--print-schema", "show the JSON Schema of the file, for editors"),
        Flag("--json", "print JSON: --validate, --list-presets, a URL; while it serves, --input-format json, too"),
        ERRORS,
        HELP,
        Flag("--version", "show the version"),
    ),
}
EXAMPLES = {
    "conductor serve server.yaml": "on stdin and stdout",
    "conductor serve server.yaml --transport streamable-http --port 8080": "over HTTP",
    "conductor serve server.yaml --validate": "is the file right? what does it define?",
    "conductor serve --list-presets": "what a file can have without writing it out",
}
