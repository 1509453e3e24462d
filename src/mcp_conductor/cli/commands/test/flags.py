"""`conductor test`: declarative tests of MCP servers."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import HELP, Flag, Given, Groups
from mcp_conductor.cli.flags.shared import REPORT_FLAGS, SHOWN_FLAGS, TEST_LIMIT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS

FLAGS: Groups = {
    "Which tests": (
        Flag(
            "--keyword", "those whose names match: words with and, or, not, ()", "EXPRESSION", short="-k", common=True
        ),
        Flag("--filter", "those whose names have this text, or match /this/i", "TEXT", short="-f"),
        Flag("--tag", "those with this tag (repeatable)", "TAG", many=True),
        Flag("--not-tag", "those without this tag (repeatable)", "TAG", many=True),
        Flag("--lf", "those that failed in the last run; all, if none failed", common=True),
        Flag("--shard", "the Ith of N parts of all files, for several machines", "I/N"),
        Flag("--collect-only", "list them, and run none"),
    ),
    "Server": tuple(flag._replace(short="-c") if flag.name == "--config" else flag for flag in TARGET_FLAGS),
    "Running": (
        Flag("--jobs", "run N files at a time; auto: one for each processor", "N|auto", short="-j", common=True),
        Flag("--parallel", "the same as --jobs auto", alias=True),
        Flag(
            "--isolation",
            "one server per run, file or test; default file",
            "run|file|test",
            choices=("run", "file", "test"),
        ),
        Flag("--restart", "continue with a new server when one has died"),
        Flag("--timeout", "time limit of the whole run: 5000 (ms), 500ms, 2s, 1m", "TIME"),
        Flag("--step-timeout", "time limit of each request; default 10s", "TIME"),
        Flag("--exitfirst", "stop at the first failure", short="-x", common=True),
        Flag("--max-failures", "stop after N failures", "N"),
        Flag("--repeat", "run everything N times, and show what differs between the runs", "N"),
        Flag("--shuffle", "run files and tests in a random order; --seed N repeats an order"),
        Flag("--seed", "the seed of --shuffle and of random values", "N"),
        Flag("--watch", "run again whenever a file changes; on a terminal, also by key", common=True),
        Flag("--no-judge", "do not warn when the server breaks the specification"),
        Flag("--strict", "warnings are failures"),
        Flag("--allow-only", "allow `only: true` also with --strict and where CI is set"),
        Flag("--allow-outside", "let test files name files outside their directories"),
        Flag("--compat", "aegis: run the files of mcp-aegis as they are", "NAME", choices=("aegis",)),
    ),
    "Limits": TEST_LIMIT_FLAGS,
    "Values": (
        Flag("--var", "a variable (repeatable)", "NAME=VALUE", many=True),
        Flag("--vars-file", "variables from a JSON or YAML file (repeatable)", "FILE", many=True),
        Flag(
            "--secret",
            "a variable that is never shown; VALUE may be @FILE or env:NAME (repeatable)",
            "NAME=VALUE",
            many=True,
        ),
        Flag("--update-snapshots", "replace the snapshots by what the server answers now"),
    ),
    "Output": (
        *SHOWN_FLAGS,
        Flag("--timing", "show how long each test took", short="-t"),
        Flag("--durations", "show the N slowest tests", "N"),
        Flag("--coverage", "show which tools, resources and prompts no test uses"),
        Flag("--min-coverage", "fail if the tests use less than PERCENT of them", "PERCENT"),
        Flag("--record", "write what is said to each server to a file in this directory", "DIR"),
        Flag("--server-coverage", "measure which code of the server runs, and keep it in this directory", "DIR"),
        *REPORT_FLAGS,
        Flag(
            "--trace",
            "keep what tests say for --report html: on, off, retain-on-failure (default)",
            "WHEN",
            choices=("on", "off", "retain-on-failure"),
        ),
        HELP,
    ),
    "As in mcp-aegis": (
        Flag("--debug", "the same as --wire", short="-d", alias=True),
        Flag("--no-analysis", "the same as --max-errors 1", alias=True),
        Flag("--syntax-only", "changes nothing: mistakes in patterns are always shown", alias=True),
        Flag("--group-errors", "changes nothing", alias=True),
        Flag("--concise", "changes nothing", alias=True),
    ),
}

_USAGE = """\
usage: conductor test [PATTERN …] [FLAGS] [-- COMMAND [ARGS …]]

Run declarative tests of an MCP server. A pattern is a file, a directory, a glob, FILE:LINE or FILE::NAME; without one,
all *.test.mcp.yml below the current directory. The server is that of conductor.config.json, or as the flags say.
"""
EXAMPLES = {
    "conductor test": "the server of conductor.config.json",
    "conductor test -- python server.py": "on this server",
    "conductor test tests/first.test.mcp.yml:6": "the test that begins in this line",
    "conductor test -k ping -vv": "tests by name, with their messages",
    "conductor test --jobs auto --report junit:report.xml --report github": "in CI",
    "conductor test --coverage --min-coverage 20": "what no test uses",
}
_EXIT_CODES = """\
Exit codes: 0 all passed, 1 some failed, 2 nothing could be run, or a report or snapshot could not be written,
3 a server could not be started or went away, 70 a bug of ours, 124 --timeout exceeded, 130 and 143 interrupted.
"""
COMMAND = Command("conductor test", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES, server_words=False)


def in_our_words(given: Given) -> Given:
    """What is GIVEN, the flags of mcp-aegis replaced by ours that do the same."""
    values = {name: texts for name, texts in given.values.items() if name not in ("--debug", "--no-analysis")}
    if "--debug" in given:
        values["--wire"] = []
    if "--no-analysis" in given:
        values.setdefault("--max-errors", ["1"])
    return given.with_values(values)
