"""`conductor verify`: does another server still say what a recording says?"""

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.flags import HELP, Flag, Given, Groups
from mcp_conductor.cli.flags.budgets import LIMIT_FLAGS
from mcp_conductor.cli.flags.run_flags import OUTPUT_FLAGS
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.target import TARGET_FLAGS, load_plugins
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

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


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor verify`: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    if not given.words:
        raise UsageError("no recording is given", hint="conductor verify FILE -- COMMAND")
    file, *words = given.words
    given = read_secrets(_of_server(given, (*words, *given.after)), terminal)
    load_plugins(given, terminal)
    from mcp_conductor.cli.commands.verify.run import VerifyRun
    from mcp_conductor.cli.process.interruptible import run_interruptibly

    return run_interruptibly(VerifyRun(file, given, terminal).run())


def _of_server(given: Given, words: tuple[str, ...]) -> Given:
    """What is GIVEN, with the WORDS of the server alone."""
    return Given(words, given.values, (), given.program)
