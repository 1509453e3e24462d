"""The flags of `mcp-cli`."""

from mcp_conductor.cli.flags import ERRORS, HELP, Flag, Groups
from mcp_conductor.cli.flags.shared import OAUTH_FLAGS, ONE_SHOT_LIMIT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS

_NOT_IN_SCRIPTS = {
    "--method": "each line of the script has a method",
    "--raw": "each line of the script has a method, which may be any",
    "--follow": 'a script ends with its last line; one that waits for an event has the line {"await": …}',
    "--events": "a script always prints events",
    "--dry-run": "what a line sends may depend on earlier answers",
    "--progress-token": 'a line asks for progress by "params": {"_meta": {"progressToken": …}}',
}
FLAGS: Groups = {
    "Server": TARGET_FLAGS,
    "Method": (
        Flag("--method", "what to do; see the list below", "METHOD", common=True, excludes={"--raw": ""}),
        Flag("--tool-name", "tools/call: which tool", "NAME", common=True),
        Flag(
            "--tool-arg",
            "tools/call: an argument, typed by the tool's schema (repeatable)",
            "KEY=VALUE",
            many=True,
            common=True,
        ),
        Flag("--tool-args-json", "tools/call: all arguments as a JSON object", "JSON|@FILE|-"),
        Flag(
            "--uri",
            "resources/read, subscribe, unsubscribe, directory/read, skills/get: which resource",
            "URI",
            common=True,
        ),
        Flag("--prompt-name", "prompts/get: which prompt", "NAME", common=True),
        Flag("--prompt-arg", "prompts/get: an argument, always text (repeatable)", "KEY=VALUE", many=True, common=True),
        Flag("--completion-ref", "completion/complete: ref/prompt/NAME or ref/resource/URI", "REF"),
        Flag("--argument-name", "completion/complete: which argument", "NAME"),
        Flag("--argument-value", "completion/complete: what has been typed so far", "TEXT"),
        Flag(
            "--context-argument",
            "completion/complete: another argument, with the value it has already (repeatable)",
            "KEY=VALUE",
            many=True,
        ),
        Flag("--task-id", "tasks/get, result, cancel: which task", "ID"),
        Flag("--log-level", "logging/setLevel: debug, info, notice, warning, error, … emergency", "LEVEL"),
        Flag("--verify", "skills/list, get: read every file of the skills, and compare it with its entry"),
        Flag("--cursor", "list methods: only the page at this cursor", "CURSOR"),
        Flag(
            "--raw",
            "send exactly this message, print exactly the answer",
            "JSON|@FILE|-",
            excludes={"--events": "--raw prints the answer exactly as it came"},
        ),
        Flag(
            "--script",
            "call one method after the other: a JSON object per line, and one per answer",
            "FILE|-",
            excludes=_NOT_IN_SCRIPTS,
        ),
        Flag("--fail-fast", "with --script: end it at the first answer that is an error", requires="--script"),
    ),
    "Request": (
        Flag(
            "--metadata",
            "a member of the request's _meta, as JSON or text (repeatable)",
            "KEY=VALUE",
            many=True,
        ),
        Flag(
            "--tool-metadata",
            "as --metadata, for tools/call; overrides it (repeatable)",
            "KEY=VALUE",
            many=True,
            alias=True,
        ),
        Flag("--progress-token", "ask for progress notifications under this token", "TOKEN", alias=True),
        Flag(
            "--timeout",
            "time limit of the whole run: 5000 (ms), 500ms, 2s, 1m; default 30s, with --oauth 6m",
            "TIME",
            common=True,
        ),
        Flag("--request-timeout", "time limit of each request; progress restarts it", "TIME"),
        Flag("--output-schema-validate", "tools/call: check the result against the tool's outputSchema"),
    ),
    "Tasks": (
        Flag("--run-as-task", "tools/call: run the tool as a task and print the task"),
        Flag("--poll", "with --run-as-task: wait for the task and print its result"),
        Flag("--poll-interval", "time between two requests for the task; default: as the server says, else 1s", "TIME"),
        Flag("--task-ttl", "how long the server should keep the task", "TIME"),
    ),
    "When the server asks": (
        Flag("--roots", "a root to offer (repeatable)", "URI[=NAME]", many=True),
        Flag("--handle-sampling", "a result, an array of results, auto or reject", "JSON|auto|reject"),
        Flag(
            "--handle-elicitation", "content, an array of contents, auto, reject or cancel", "JSON|auto|reject|cancel"
        ),
    ),
    "Authorization, of servers at a URL": (
        *OAUTH_FLAGS,
        Flag("--server-url", "oauth/…: the MCP server, or its authorization server", "URL"),
        Flag("--oauth-code", "oauth/token: the code that the redirect brought", "CODE"),
        Flag("--oauth-code-verifier", "oauth/token: the PKCE verifier", "VERIFIER"),
        Flag("--oauth-refresh-token", "oauth/refresh, or with --oauth: the refresh token", "TOKEN"),
        Flag("--client-name", "oauth/register: the name that users see", "NAME"),
        Flag("--redirect-uri", "oauth/register, authorize-url, token: where the browser is sent back to", "URI"),
    ),
    "Limits": ONE_SHOT_LIMIT_FLAGS,
    "Output": (
        Flag("--follow", "stay connected and print what the server says after the result, one JSON object per line"),
        Flag("--events", "print what the server says at once, one JSON object per line; the result is one of them"),
        Flag("--output", "write images, audio and resources of the result to this file; several are numbered", "FILE"),
        Flag("--dry-run", "print what would be sent, and to whom, without secrets; nothing is started or sent"),
        Flag("--verbose", "show every message and the server's stderr on stderr", short="-v", common=True),
        Flag("--record", "write the whole conversation to a file, as JSON lines", "FILE"),
        ERRORS,
        Flag("--json", "print an error of ours on stdout, too, where there is no result: so stdout is always JSON"),
        HELP,
        Flag("--version", "show the version", common=True),
    ),
}
USAGE = """\
usage: mcp-cli COMMAND [ARGS …] --method METHOD [FLAGS]
       mcp-cli COMMAND [ARGS …] -- [SERVER'S FLAGS …] --method METHOD [FLAGS]
       mcp-cli URL --method METHOD [FLAGS]
       mcp-cli --config FILE [--server NAME] --method METHOD [FLAGS]
       mcp-cli COMMAND [ARGS …] --script FILE|- [FLAGS]

Call one method of an MCP server and print the result as JSON.
"""
EXAMPLES = {
    "mcp-cli python server.py --method tools/list": "a server on stdio",
    "mcp-cli python server.py --method tools/call --tool-name add --tool-arg a=1 --tool-arg b=2": "",
    "mcp-cli python -- server.py --verbose --method server/info": "flags of the server go after --",
    "mcp-cli --config mcp.json --server books --method resources/list": "one of a settings file",
    "mcp-cli https://example.com/mcp --token env:TOKEN --method prompts/list": "a server at a URL",
    "mcp-cli --method tools/call --help": "what one method takes",
}
EXIT_CODES = """\
Exit codes: 0 success, 1 bad arguments or no connection, 2 the server answered with an error (or isError),
70 a bug of ours, 124 --timeout exceeded, 130 and 143 interrupted.
"""
