"""Of what a program wrote, the lines that tell why it failed are shown."""

import pytest

from mcp_conductor.text.error_lines import abridged, cause, errors_of_traceback

NODE = ["node:internal:1210", "  throw err;", "  ^", "", "Error: Cannot find module 'x'", "    at a", "Node.js v20"]
PYTHON = [
    "Traceback (most recent call last):",
    '  File "a.py", line 1',
    "    import x",
    "ModuleNotFoundError: No module named 'x'",
]
# The line of the source that raises is not what was raised.
DECODER = [
    "Traceback (most recent call last):",
    '  File "decoder.py", line 355, in raw_decode',
    '    raise JSONDecodeError("Expecting value", s, err.value) from None',
    "json.decoder.JSONDecodeError: Expecting value: line 2 column 1 (char 38)",
]
GROUP = [
    "[11/18/26] INFO     Starting MCP server",
    "  + Exception Group Traceback (most recent call last):",
    '  |   File "server.py", line 9, in <module>',
    "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
    "  +-+---------------- 1 ----------------",
    "    | Traceback (most recent call last):",
    '    |     assert not self._completed, "Request already responded to"',
    "    | AssertionError: Request already responded to",
    "    +------------------------------------",
]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (NODE, "Error: Cannot find module 'x'"),
        (PYTHON, "ModuleNotFoundError: No module named 'x'"),
        (DECODER, "json.decoder.JSONDecodeError: Expecting value: line 2 column 1 (char 38)"),
        (GROUP, "AssertionError: Request already responded to"),
        (["started", "panic: runtime error: index out of range"], "panic: runtime error: index out of range"),
        (["(stdout) usage: server FILE"], "(stdout) usage: server FILE"),
        (["a", "npm ERR! Error: missing script: start"], "npm ERR! Error: missing script: start"),
        (["Traceback (most recent call last):", '  File "a.py"', "anyio.BrokenResourceError"], "anyio.BrokenResourceError"),
        (["Traceback (most recent call last):", "KeyboardInterrupt"], None),
        (["listening", "ready"], None),
        ([], None),
    ],
)  # fmt: skip
def test_the_cause_is_the_line_that_names_an_error(lines, line):
    assert cause(lines) == line


def test_the_first_lines_the_last_ones_and_causes_are_kept():
    lines = [str(number) for number in range(60)]
    lines[30] = "Error: no database"
    assert list(abridged(lines, str, all_by=" (-vv)")) == [
        "| 0", "| 1", "| 2", "… 27 more lines (-vv)", "| Error: no database", "| 31", "… 21 more lines (-vv)",
        "| 53", "| 54", "| 55", "| 56", "| 57", "| 58", "| 59",
    ]  # fmt: skip


def test_a_line_is_not_left_out_by_itself():
    assert list(abridged([str(number) for number in range(11)], str)) == [f"| {number}" for number in range(11)]


def test_a_program_that_only_complains_is_cut_too():
    assert len(list(abridged(["Error: again"] * 1000, str))) < 40


def traceback(error, *functions, indent=""):
    places = [f'{indent}  File "/x/lib/python3.12/site-packages/{each}.py", line 7, in {each}' for each in functions]
    return [f"{indent}Traceback (most recent call last):", *places, f"{indent}    await it()", f"{indent}{error}"]


def group(*tracebacks):
    head = ["  + Exception Group Traceback (most recent call last):", '  |   File "server.py", line 9, in <module>']
    group = [*head, "  | ExceptionGroup: unhandled errors in a TaskGroup"]
    return [*group, "  +-+----- 1 -----", *(line for each in tracebacks for line in each), "    +-------------------"]


def test_the_errors_of_a_traceback_are_told_with_their_file_and_its_caller():
    lost = "anyio.BrokenResourceError in send.py, called by reader of reader.py"
    assert errors_of_traceback(
        ["started", *traceback("anyio.BrokenResourceError", "main", "reader", "send", "send")]
    ) == [lost]
    of_group = traceback("anyio.BrokenResourceError", "reader", "send", indent="    | ")
    assert errors_of_traceback(group(of_group)) == [lost]
    other = traceback("KeyError: 'x'", "greet", indent="    | ")
    assert errors_of_traceback(group(of_group, other)) == [lost, "KeyError in greet.py"]
    assert errors_of_traceback([*traceback("ValueError: x", "a"), *group(of_group)]) == [lost]


def test_of_a_traceback_that_is_not_understood_no_errors_are_told():
    unnamed = traceback("Boom: x", "greet", indent="    | ")
    assert errors_of_traceback(group(unnamed, traceback("KeyError", "look", indent="    | "))) == []
    assert errors_of_traceback(traceback("KeyError", "greet")[1:]) == []  # its beginning is missing
    assert errors_of_traceback(NODE) == errors_of_traceback([]) == []
