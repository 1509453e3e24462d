"""The pages of docs/reference, from the tables and docstrings of the code. usage: reference.py [--check]"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

import python_api
import requirements_page
import revisions_page

from mcp_conductor.cli.commands.dispatch import COMMANDS, GROUPS
from mcp_conductor.cli.commands.mcp_cli import flags as call_flags
from mcp_conductor.cli.commands.mcp_cli.methods import METHODS
from mcp_conductor.cli.flags import Groups
from mcp_conductor.cli.process.exit_codes import PROGRAMS, Codes, code_of_error
from mcp_conductor.errors import ConductorError
from mcp_conductor.files.settings import KEYS as SETTINGS_KEYS
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.server.config_file import KEYS as SERVER_KEYS
from mcp_conductor.server.fault_file import WHEN_KEYS
from mcp_conductor.server.faults import FAULTS
from mcp_conductor.server.inline import OWN_KEYS
from mcp_conductor.server.presets import MEMBERS, PRESETS
from mcp_conductor.server.steps import STEPS
from mcp_conductor.server.transport_file import TRANSPORT_KEYS
from mcp_conductor.suites.language import asserts as assertions
from mcp_conductor.suites.language.actions import ACTIONS
from mcp_conductor.suites.language.keys import EXPECT_KEYS
from mcp_conductor.suites.language.steps import STEP_KEYS
from mcp_conductor.suites.language.suite import CASE_ONLY_KEYS, SUITE_KEYS
from mcp_conductor.suites.matching import paths
from mcp_conductor.suites.matching.manual import manual
from mcp_conductor.suites.matching.matchers import MATCHERS, SPECIAL_KEYS
from mcp_conductor.suites.matching.matchers.text import has_part, resembles
from mcp_conductor.suites.matching.paths import ROOTS

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
# What `match:outputSchema` is shown with.
CALLED = {"add": {"name": "add", "outputSchema": {"type": "object", "required": ["sum"]}}}
# A line of a docstring: what is expected, what comes, and `passes` or the message; at least two spaces in between.
EXAMPLE = re.compile(r"((?:match:|\{).*?) {2,}(\S.*?) {2,}(\S.*)")
CANNOT_RUN = "could not run: a bad flag or file, nothing to run, a report that could not be written"
CHECK_CODES = (
    "130, 143 or 129: interrupted by a signal, whatever was found until then",
    "2: a bad flag or file, a report that could not be written, or nothing was checked",
    "3: the server, or the client under test, could not be started or reached, or refused the opening",
    "1: an unexpected MUST failure, or the server went away, even if few checks completed",
    "2: fewer than half of the checks completed",
    "0: none of these; warnings, broken SHOULDs and what is expected to fail change nothing",
)
KINDS = {
    "usage": "a bad flag or file",
    "server": "the server could not be reached, or went away",
    "method": "the server answered with an error",
    "timeout": "no answer in time",
}
NOTE = "<!-- Written by scripts/docs; change the code instead. -->\n"


def table(rows: Iterable[tuple[str, str]], head: str) -> str:
    lines = [f"| {head} | |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{escaped(name)}` | {escaped(what)} |" for name, what in rows)]) + "\n"


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def doc(thing: Callable[..., object]) -> str:
    return " ".join((thing.__doc__ or "").split())


def matchers() -> str:
    rows = [(usage, what) for _, usage, what in manual()]
    head = "# Matchers\n\nThey stand in any place of an expectation; `match:not:…` is the contrary.\n\n"
    schema = json.dumps(CALLED["add"]["outputSchema"])
    shown = f"\n## Examples\n\nFor `match:outputSchema`, the tool that was called declares `{schema}`.\n\n"
    lines = ["| expected | what comes | |", "|---|---|---|"]
    for function in matcher_functions().values():
        for expected, actual, outcome in examples(function):
            told = outcome if outcome == "passes" else f"`{escaped(outcome)}`"
            lines.append(f"| `{escaped(expected)}` | `{escaped(actual)}` | {told} |")
    return head + table(rows, "matcher") + shown + "\n".join(lines) + "\n"


def matcher_functions() -> dict[str, Callable[..., object]]:
    """Every matcher and special key, by how it is written."""
    texts = [each.judge for _, each in MATCHERS.items()]
    keys = [make for _, make in SPECIAL_KEYS.items()]
    return {doc(function).partition(" — ")[0]: function for function in (has_part, resembles, *texts, *keys)}


def examples(function: Callable[..., object]) -> list[tuple[str, str, str]]:
    """The examples in the docstring of a matcher: what is expected, what comes, and what is said."""
    lines = (function.__doc__ or "").split("\n\n", 1)[-1].split("\n")
    return [(found[1], found[2], found[3]) for line in lines if (found := EXAMPLE.fullmatch(line.strip()))]


def test_files() -> str:
    actions = [(name, doc(read)) for name, read in ACTIONS.items()]
    parts = [
        ("A file", SUITE_KEYS.items(), "key"),
        ("What a test sends, one of", actions, "key"),
        ("A test", CASE_ONLY_KEYS.items(), "key"),
        ("A step: a test, or one of the steps of a hook", STEP_KEYS.items(), "key"),
        ("expect", EXPECT_KEYS.items(), "key"),
    ]
    return "# Test files\n\n" + "\n".join(f"## {title}\n\n{table(rows, head)}" for title, rows, head in parts)


def commands() -> str:
    """Every command, its examples, and every method of mcp-cli."""
    parts = ["# Commands\n"]
    for title, group in GROUPS.items():
        rows = [(f"conductor {name}", f"{what}; [flags](flags.md#{_anchor(name)})") for name, what in group.items()]
        parts.append(f"## {title}\n\n{table(rows, 'command')}")
    methods = [(f"--method {name}", _method(each.help, each.needs, each.takes)) for name, each in METHODS.items()]
    parts.append(f"## Methods of mcp-cli\n\n{table(methods, 'method')}")
    return "\n".join(parts)


def _anchor(command: str) -> str:
    return "mcp-cli" if command == "call" else f"conductor-{command}"


def _method(what: str, needs: Iterable[str], takes: Iterable[str]) -> str:
    lists = (("needs", needs), ("takes", takes))
    more = [f"{word} {', '.join(f'`{flag}`' for flag in each)}" for word, each in lists if each]
    return "; ".join([what, *more])


def asserts() -> str:
    """The language of `asserts`: paths, and what may follow them."""
    grammar, examples_ = _indented(paths.__doc__), _indented(assertions.__doc__)
    roots = ", ".join(f"`{root}`" for root in ROOTS)
    return "\n\n".join(
        [
            "# Assertions and paths",
            "An entry of `asserts` is a path, and what must be true there. `capture` and `ignore` have paths too.",
            f"## Paths\n\n```text\n{grammar}\n```",
            f"A path begins with one of {roots}; `$.name` is a member of any other name.",
            f"## Predicates\n\n{table(assertions.MANUAL.items(), 'after the path')}"[:-1],
            "All [matchers](matchers.md) of texts may follow too, without `match:`; also those of plugins.",
            f"## Examples\n\n```text\n{examples_}\n```\n",
        ]
    )


def _indented(text: str | None) -> str:
    """The lines of a docstring that stand further in."""
    return "\n".join(line[4:] for line in (text or "").split("\n") if line.startswith("    "))


def settings() -> str:
    head = (
        "# Settings files\n\n`conductor.config.json` describes one server with these keys; a table `mcpServers` or "
        "`servers`, as Claude Desktop, Cursor and VS Code write it, has several.\nA file of ours may also have `vars` "
        "(variables of tests), `plugins`, and keys that begin with `x-`, which mean nothing.\n\n"
    )
    return head + table(SETTINGS_KEYS.items(), "key")


def exit_codes() -> str:
    rows = [
        ("0", "success", "all passed"),
        (
            "1",
            "bad arguments, cannot connect, the server died, a result broke its own schema",
            "a test or a MUST failed",
        ),
        ("2", "the server answered with a JSON-RPC error, or the tool result has `isError: true`", CANNOT_RUN),
        ("3", "", "a server could not be started or went away, so that tests could not run"),
        ("70", "a bug of ours, in one line; `--verbose` shows where", "the same"),
        ("124", "`--timeout` exceeded", "the same, for the whole run"),
        ("130, 143, 129", "interrupted by SIGINT, SIGTERM, SIGHUP, after cleaning up", "the same"),
    ]
    lines = ["| exit code | `mcp-cli`, `conductor call` | `conductor` |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    kinds = ["| | " + " | ".join(f"`{name}`" for name in PROGRAMS) + " |", "|---" * (len(PROGRAMS) + 1) + "|"]
    for kind, codes in zip(Codes._fields, zip(*PROGRAMS.values(), strict=True), strict=True):
        kinds.append(f"| {KINDS[kind]} | {' | '.join(map(str, codes))} |")
    parts = [
        "# Exit codes",
        "A code says what happened, never how it is worded. The console and every report say the same.",
        "\n".join(lines),
        "`conductor serve` and `conductor bridge`, which are asked to stop by a signal, end with 0 then.",
        "## Which code a check ends with",
        "Where several fit `conductor check`, it is the first of these that is true:",
        "\n".join(f"{number}. {each}" for number, each in enumerate(CHECK_CODES, 1)),
        "## When a program cannot go on",
        "\n".join(kinds),
    ]
    return "\n\n".join(parts) + "\n"


def reports() -> str:
    rows = [(f"--report {name}", each.doc) for name, each in REPORTERS.items()]
    return f"# Reports\n\n{table(rows, 'flag')}"


def flags() -> str:
    return "# Flags\n\n" + "\n".join(f"## {program}\n\n{_flags(groups)}" for program, groups in flags_of().items())


def flags_of() -> dict[str, Groups]:
    """The flags of each program and command."""
    programs: dict[str, Groups] = {"mcp-cli": call_flags.FLAGS}
    for name in (name for name in COMMANDS if name != "call"):
        programs[f"conductor {name}"] = import_module(f"mcp_conductor.cli.commands.{name}.flags").FLAGS
    return programs


def _flags(groups: Groups) -> str:
    rows = []
    for flag in (flag for each in groups.values() for flag in each):
        names = f"{flag.short}, {flag.name}" if flag.short else flag.name
        takes = flag.metavar or (f"[{'|'.join(flag.may)}]" if flag.may else "")
        rows.append((f"{names} {takes}".rstrip(), flag.help))
    return table(rows, "flag")


def servers() -> str:
    parts = [
        f"## The file\n\n{table(SERVER_KEYS.items(), 'key')}",
        f"## transport\n\n{table(TRANSPORT_KEYS.items(), 'key')}",
        f"## Definitions of your own\n\nThe members that MCP lists, and:\n\n{table(OWN_KEYS.items(), 'key')}",
    ]
    for member, kind in MEMBERS.items():
        rows = [(name + _params(each.make), each.doc) for name, each in PRESETS.items() if each.kind == kind]
        parts.append(f"## Presets: {member}\n\n{table(rows, 'preset')}")
    parts.append(f"## Steps\n\n{table([(name, doc(read)) for name, read in STEPS.items()], 'step')}")
    faults = [(name + _params(act, 1), doc(act)) for name, act in ((name, FAULTS.get(name)) for name in FAULTS)]
    parts.append(f"## Faults\n\n{table(faults, 'fault')}")
    parts.append(f"## When a fault strikes\n\n{table(WHEN_KEYS.items(), 'key of when')}")
    return "# Server files\n\n" + "\n".join(parts)


def _params(make: Callable[..., object], skip: int = 0) -> str:
    """The params of a preset or a fault, with their defaults; None is nothing to write."""
    names = [_param(each) for each in list(inspect.signature(make).parameters.values())[skip:]]
    return f"({', '.join(names)})" if names else ""


def _param(each: inspect.Parameter) -> str:
    if each.default in (inspect.Parameter.empty, None):
        return each.name
    return f"{each.name}={json.dumps(each.default, ensure_ascii=False)}"


def errors() -> str:
    head = (
        "# Kinds of errors\n\nEvery error of ours has a `kind` that never changes. `--errors json` and "
        "`--script` show it; in the library it is `error.kind`.\nThe exit code is that of `mcp-cli`.\n\n"
    )
    lines = ["| kind | exit code | what happened |", "|---|---|---|"]
    seen = set[str]()
    for each in _error_classes(ConductorError):
        if each.kind not in seen:
            seen.add(each.kind)
            code = code_of_error(each.__new__(each), PROGRAMS["mcp-cli"])
            lines.append(f"| `{each.kind}` | {code} | {escaped(doc(each))} |")
    return head + "\n".join(lines) + "\n"


def _error_classes(parent: type[ConductorError]) -> Iterable[type[ConductorError]]:
    yield parent
    for each in parent.__subclasses__():
        if each.__module__ == ConductorError.__module__:
            yield from _error_classes(each)


def index() -> str:
    rows = [f"- [{title(make())}]({name}): {what}" for name, (make, what) in PAGES.items() if name != "README.md"]
    rows.append("- [JSON on stdout and stderr](json.md): what `--json` and `--errors json` print")
    rows.append("- [The recording format](recording.md): what `--record` writes")
    return "# Reference\n\nWritten from the code, so that nothing is missing.\n\n" + "\n".join(rows) + "\n"


def title(page: str) -> str:
    return page.partition("\n")[0].removeprefix("# ")


PAGES: dict[str, tuple[Callable[[], str], str]] = {
    "README.md": (index, "this page"),
    "commands.md": (commands, "commands of `conductor`, methods of `mcp-cli`"),
    "flags.md": (flags, "every flag of every command"),
    "exit-codes.md": (exit_codes, "how programs end"),
    "errors.md": (errors, "what `--errors json` and the library name"),
    "settings.md": (settings, "`conductor.config.json` and `mcpServers`"),
    "test-files.md": (test_files, "every key of `*.test.mcp.yml`"),
    "matchers.md": (matchers, "what may stand for a value, with examples"),
    "asserts.md": (asserts, "paths and predicates"),
    "reports.md": (reports, "formats of `--report`"),
    "server-files.md": (servers, "keys, presets, steps and faults of `conductor serve`"),
    "requirements-servers.md": (requirements_page.servers, "what `conductor check` looks at"),
    "requirements-clients.md": (requirements_page.clients, "what `conductor check --client` looks at"),
    "revisions.md": (revisions_page.page, "how the revisions of the protocol differ"),
    "python-api.md": (python_api.page, "every public name of the library"),
}


def main(*words: str) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, (make, _) in PAGES.items():
        page, text = FOLDER / name, f"{make()}\n{NOTE}"
        if not page.exists() or page.read_text() != text:
            stale.append(name)
            if "--check" not in words:
                page.write_text(text)
    print(
        "docs/reference:",
        f"{', '.join(stale)} {'out of date' if '--check' in words else 'written'}" if stale else "up to date",
    )
    return 1 if stale and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
