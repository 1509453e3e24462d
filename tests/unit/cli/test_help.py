"""Every command and every method has a help with examples, which are command lines that are understood."""

import shlex
from importlib import import_module
from io import BytesIO

import pytest

from mcp_conductor.cli.commands.dispatch import COMMANDS, EXAMPLES, GROUPS, main
from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.flags import EXAMPLES as EXAMPLES_OF_CALLS, FLAGS
from mcp_conductor.cli.commands.mcp_cli.help import example_lines, method_help
from mcp_conductor.cli.commands.mcp_cli.plan import plan
from mcp_conductor.cli.flags import parse
from mcp_conductor.cli.flags.help import WIDTH, examples_text
from mcp_conductor.cli.output.terminal import Terminal

MODULES = {name: import_module(f"mcp_conductor.cli.commands.{name}.flags") for name in COMMANDS if name != "call"}
ALIASES = {"--tool-metadata", "--progress-token", "--errors-only", "--parallel", "--debug", "--no-analysis"}
ALIASES |= {"--syntax-only", "--group-errors", "--concise"}
OF_COMMANDS = [(name, example) for name, module in MODULES.items() for example in module.EXAMPLES]
OF_METHODS = [(name, line) for name, method in methods.METHODS.items() for line in example_lines(name, method)]


def shown(*words: str) -> str:
    out = BytesIO()
    assert main(list(words), Terminal(out, BytesIO(), BytesIO(), {}, ".")) == 0
    return out.getvalue().decode()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_flags_its_examples_and_its_exit_codes(name):
    text = shown(name, "--help")
    order = [text.index(part) for part in (f"usage: conductor {name}", "--help ", "Examples:\n", "Exit codes: ")]
    assert order == sorted(order)
    assert shown("help", name) == shown("--help", name) == text


def flags_on(page: str) -> list[str]:
    above = page.partition("Examples:")[0].partition("Methods:")[0]
    lines = [line.split() for line in above.splitlines() if line.startswith("  -")]
    return [words[1] if words[0].endswith(",") else words[0] for words in lines]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_a_dozen_flags_or_so_and_help_all_every_flag(name):
    groups = FLAGS if name == "call" else MODULES[name].FLAGS
    every = [flag.name for flags in groups.values() for flag in flags]
    short, full = shown(name, "--help"), shown(name, "--help", "all")
    assert sorted(flags_on(full)) == sorted(every)
    assert shown("help", name, "all") == shown(name, "--help=all") == full
    if len(every) > 15:
        assert 5 <= len(flags_on(short)) <= 15
        assert short.splitlines()[-1] == f"conductor {name} --help all lists all flags, in groups."
    else:
        assert flags_on(short) == every
        assert "--help all lists" not in short


@pytest.mark.parametrize("name", COMMANDS)
def test_other_names_and_flags_without_effect_are_listed_by_help_all_alone(name):
    short, full = shown(name, "--help"), shown(name, "--help", "all")
    assert not ALIASES & {*flags_on(short)}
    if ALIASES & {*flags_on(full)}:
        last = full.partition("\nOther names, and flags without effect:\n")[2]
        assert {*flags_on(last)} == ALIASES & {*flags_on(full)}


@pytest.mark.parametrize(("command", "example"), OF_COMMANDS)
def test_the_flags_of_an_example_are_known(command, example):
    program, name, *words = shlex.split(example)
    if program == "conductor":
        assert name == command
        parse(words, MODULES[command].FLAGS)
    assert example in shown(command, "--help")


def test_the_commands_are_shown_in_four_groups_with_examples():
    text = shown("--help")
    assert len(GROUPS) == 4
    places = [
        text.index(part) for part in ("Call a", "\n  call ", "\n  test ", "Simulate a", "\n  serve ", "\n  init ")
    ]
    assert places == sorted(places)
    for example in EXAMPLES:
        assert shlex.split(example)[1] in COMMANDS
        assert example in text


@pytest.mark.parametrize("name", methods.METHODS)
def test_the_help_of_a_method_has_exactly_its_flags(name):
    text, method = shown("call", "--help", name), methods.METHODS[name]
    listed = [line.split()[0] for line in text.split("Examples:")[0].splitlines() if line.startswith("  --")]
    assert listed == [flag for flag in (*method.needs, *method.takes) if flag not in ALIASES]
    assert shown("call", "--method", name, "--help") == text
    assert text == method_help(name, method, FLAGS, "conductor call")


@pytest.mark.parametrize(("name", "line"), OF_METHODS)
def test_an_example_of_a_method_is_understood(name, line, tmp_path):
    given = parse(shlex.split(line)[1:], FLAGS)
    assert given.one("--method") == name
    if name.startswith("oauth/"):
        methods.check(name, given)
    else:
        plan(given, Terminal(BytesIO(), BytesIO(), BytesIO(), {}, str(tmp_path)))


def test_no_help_has_lines_that_are_too_wide():
    pages = {name: shown(*name.split()) for name in ("--help", *(f"{name} --help" for name in COMMANDS))}
    pages |= {name: shown("call", "--help", name) for name in methods.METHODS}
    # The descriptions of a few flags are a word longer.
    assert {name: line for name, text in pages.items() for line in text.splitlines() if len(line) > WIDTH + 5} == {}
    assert {line for text in pages.values() for line in text.splitlines() if len(line) > WIDTH and "#" in line} == set()


def test_long_examples_are_folded_as_a_shell_reads_them():
    long = "mcp-cli " + " ".join(f"--flag-{number} value" for number in range(20))
    text = examples_text({long: ""})
    assert max(map(len, text.splitlines())) <= WIDTH
    assert shlex.split(text.removeprefix("Examples:\n").replace("\\\n", "")) == shlex.split(long)


def test_words_that_are_no_method_are_those_of_a_server_whose_program_is_asked_for():
    text = shown("call", "python", "server.py", "--help")
    assert "Methods:\n" in text
    assert all(example.replace("mcp-cli", "conductor call") in text for example in EXAMPLES_OF_CALLS)


def test_a_method_with_a_typing_error_is_told_with_the_right_one():
    err = BytesIO()
    assert main(["call", "--help", "tool/call"], Terminal(BytesIO(), err, BytesIO(), {}, ".")) != 0
    assert "unknown method 'tool/call'" in err.getvalue().decode()
    assert "did you mean tools/call?" in err.getvalue().decode()
