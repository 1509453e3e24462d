"""The pages of docs/reference, from the tables and docstrings of the code. usage: reference.py [--check]"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

import python_api

from mcp_conductor.cli import plan
from mcp_conductor.cli.conductor import COMMANDS
from mcp_conductor.cli.exit_codes import PROGRAMS, code_of_error
from mcp_conductor.cli.flags import Groups
from mcp_conductor.errors import ConductorError
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.server.faults import FAULTS
from mcp_conductor.server.presets import MEMBERS, PRESETS
from mcp_conductor.server.steps import STEPS
from mcp_conductor.suites.language.actions import ACTIONS
from mcp_conductor.suites.language.keys import EXPECT_KEYS
from mcp_conductor.suites.language.steps import STEP_KEYS
from mcp_conductor.suites.language.suite import CASE_ONLY_KEYS, SUITE_KEYS
from mcp_conductor.suites.matching.manual import manual
from mcp_conductor.suites.matching.matchers import MATCHERS, SPECIAL_KEYS
from mcp_conductor.suites.matching.matchers.text import has_part, resembles

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
# What `match:outputSchema` is shown with.
CALLED = {"add": {"name": "add", "outputSchema": {"type": "object", "required": ["sum"]}}}
# A line of a docstring: what is expected, what comes, and `passes` or the message; at least two spaces in between.
EXAMPLE = re.compile(r"((?:match:|\{).*?) {2,}(\S.*?) {2,}(\S.*)")
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


def reports() -> str:
    rows = [(f"--report {name}", each.doc) for name, each in REPORTERS.items()]
    return f"# Reports\n\n{table(rows, 'flag')}"


def flags() -> str:
    return "# Flags\n\n" + "\n".join(f"## {program}\n\n{_flags(groups)}" for program, groups in flags_of().items())


def flags_of() -> dict[str, Groups]:
    """The flags of each program and command."""
    programs: dict[str, Groups] = {"mcp-cli": plan.FLAGS}
    for name in (name for name in COMMANDS if name != "call"):
        programs[f"conductor {name}"] = import_module(f"mcp_conductor.cli.{name}").FLAGS
    return programs


def _flags(groups: Groups) -> str:
    rows = []
    for flag in (flag for each in groups.values() for flag in each):
        names = f"{flag.short}, {flag.name}" if flag.short else flag.name
        rows.append((f"{names} {flag.metavar}".rstrip(), flag.help))
    return table(rows, "flag")


def servers() -> str:
    parts = []
    for member, kind in MEMBERS.items():
        rows = [(name + _params(each.make), each.doc) for name, each in PRESETS.items() if each.kind == kind]
        parts.append(f"## Presets: {member}\n\n{table(rows, 'preset')}")
    parts.append(f"## Steps\n\n{table([(name, doc(read)) for name, read in STEPS.items()], 'step')}")
    faults = [(name + _params(act, 1), doc(act)) for name, act in ((name, FAULTS.get(name)) for name in FAULTS)]
    parts.append(f"## Faults\n\n{table(faults, 'fault')}")
    return "# Server files\n\n" + "\n".join(parts)


def _params(make: Callable[..., object], skip: int = 0) -> str:
    names = list(inspect.signature(make).parameters)[skip:]
    return f"({', '.join(names)})" if names else ""


def errors() -> str:
    head = (
        "# Kinds of errors\n\nEvery error of ours has a `kind` that never changes. `mcp-cli --errors json` and "
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


PAGES = {
    "matchers.md": matchers,
    "test-files.md": test_files,
    "reports.md": reports,
    "flags.md": flags,
    "server-files.md": servers,
    "errors.md": errors,
    "python-api.md": python_api.page,
}


def main(*words: str) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, make in PAGES.items():
        page, text = FOLDER / name, NOTE + make()
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
