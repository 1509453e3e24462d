"""A test file is understood before any server starts: what is wrong in it is refused at its place, with what to do."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.suites.language.suite import load_suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.select import no_tests, read_pattern

HEAD = "description: d\ntests:\n"


def refused(tmp_path, text):
    (tmp_path / "a.test.mcp.yml").write_text(text)
    with pytest.raises(UsageError) as raised:
        load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="a.test.mcp.yml")
    return raised.value


def loaded(tmp_path, text):
    (tmp_path / "a.test.mcp.yml").write_text(text)
    return load_suite(str(tmp_path / "a.test.mcp.yml"), Variables(), shown="a.test.mcp.yml")


@pytest.mark.parametrize(
    ("test", "line", "hint"),
    [
        ("- {it: x, call: y,\n     args: {}}", 4, "it belongs below `call`: call: {tool: NAME, args: {…}}"),
        ("- {it: x,\n     method: y}", 4, "it belongs below `request`: request: {method: NAME, params: {…}}"),
        ("- name: x\n    call: y", 3, "the name of a test goes in `it`"),
        ("- it: x\n    call: y\n    ok: true", 5, "`ok` belongs below `expect`: is the indentation right?"),
        ("- it: x\n    call: y\n    setup: []", 5, "`setup` is for the whole file: put it next to `tests`"),
        ("- it: x\n    call: {tool: y, input: {}}", 4, "the arguments of a tool go in `args`: call: {tool: NAME, args: {…}}"),
        ("- it: x\n    call: {name: y}", 4, "the name of a tool goes in `tool`: call: {tool: NAME, args: {…}}"),
        ("- it: x\n    call: {tool:y}", 4, "a space is missing after tool:"),
        ("- it: x\n    call:\n      tool: y\n      expect: {ok: true}", 6, "`expect` is part of the test, not of what it sends: is the indentation right?"),
        ("- it: x\n    call: y\n    expect:\n      content: []", 6, "`content` is part of the result: result: {match:partial: {content: …}}"),
        ("- it: x\n    call: y\n    expect:\n      capture: {}", 6, "`capture` is part of the test, next to `expect`: is the indentation right?"),
        ("- it: x\n    call: y\n    list: tools", 5, "a test sends one; make it two tests"),
        ("- it: x\n    expect: {ok: true}", 3, "for example: call: {tool: NAME, args: {…}}"),
        ("- it: x\n    calls: y", 4, "did you mean 'call'?"),
    ],
)  # fmt: skip
def test_a_key_at_the_wrong_place_is_told_where_it_belongs(tmp_path, test, line, hint):
    error = refused(tmp_path, f"{HEAD}  {test}\n")
    assert (error.where.line, error.hint) == (line, hint)


def test_keys_that_begin_with_x_mean_nothing_and_may_be_merged(tmp_path):
    text = """\
description: d
x-calls: {echo: &echo {call: {tool: echo, x-why: to hear it, args: {}}, timeout: 2s}}
tests:
  - {it: one, x-note: [1], <<: *echo, expect: {x-for: later, ok: true}}
  - it: two
    <<: *echo
    timeout: 3s
"""
    cases = loaded(tmp_path, text).cases
    assert [case.step.timeout for case in cases] == [2.0, 3.0]


def test_a_mistake_in_what_is_merged_is_shown_where_it_was_written(tmp_path):
    error = refused(
        tmp_path, f"description: d\nx-echo: &echo\n  call: {{tools: echo}}\n{HEAD[15:]}  - {{it: one, <<: *echo}}\n"
    )
    assert (str(error.where), error.hint) == ("a.test.mcp.yml:3:10", "did you mean 'tool'?")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a.test.mcp.yml is empty", "a test file has a description and tests; `conductor init` and `conductor discover` write a first one"),
        ("# to be written\n", "a.test.mcp.yml is empty", "a test file has a description and tests; `conductor init` and `conductor discover` write a first one"),
        ("- it: x\n", "a.test.mcp.yml is an array, not a test file", "a test file has a description and tests"),
        ("description: d\ntests:\n", "a.test.mcp.yml: tests has nothing below it", "tests: [{it: …, call: …, expect: …}]"),
        ("description: d\ntests: []\nexpect: {}\n", "a.test.mcp.yml: expect is not a known key", "`expect` is part of a test, below `tests`: is the indentation right?"),
        ("serverInfo: {name: s, version: '1'}\ntools: []\n", "a.test.mcp.yml is a server file, not a test file", "conductor serve a.test.mcp.yml"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_tests_is_told_what_it_is(tmp_path, text, message, hint):
    error = refused(tmp_path, text)
    assert (error.message, error.hint) == (message, hint)


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("a.yml:1", "a.yml has no test at line 1", "tests begin at lines 3, 4"),
        ("a.yml::reads", "a.yml has no test called 'reads'", "did you mean 'reads it'?"),
        ("a.yml::wriets", "a.yml has no test called 'wriets'", "did you mean 'writes'?"),
        ("a.yml::zzz", "a.yml has no test called 'zzz'", "there are: 'reads it', 'writes'"),
    ],
)
def test_a_pattern_that_means_no_test_is_told_which_there_are(tmp_path, pattern, message, hint):
    suite = loaded(tmp_path, f"{HEAD}  - {{it: reads it, read: 'x://y'}}\n  - {{it: writes, call: y}}\n")
    error = no_tests(read_pattern(pattern), [suite])
    assert (error.message, error.hint) == (message, hint)


@pytest.mark.parametrize(
    ("it", "title"),
    [
        ("adds {{ a }}", "adds 1"),
        ("adds {{ a }} to {{ b.c[0] }}", "adds 1 to two"),
        ("has {{ own }}", "has mine"),
        ("has {{ b.x }}", "has {{ b.x }} [b={'c': ['two']}, a=1]"),
        ("has {{ random }}", "has {{ random }} [b={'c': ['two']}, a=1]"),
        ("has {{ nobody }}", "has {{ nobody }} [b={'c': ['two']}, a=1]"),
        ("takes {{ any text }} and {{", "takes {{ any text }} and {{ [b={'c': ['two']}, a=1]"),
    ],
)
def test_the_name_of_a_test_has_what_is_the_same_in_every_run(tmp_path, it, title):
    text = f"""
description: d
vars: {{own: theirs, random: "{{{{ uuid() }}}}"}}
tests:
  - {{it: "{it}", vars: {{own: mine}}, parametrize: [{{b: {{c: [two]}}, a: 1}}], call: x}}
"""
    assert [case.title for case in loaded(tmp_path, text).cases] == [title]


def test_tests_of_the_same_title_have_names_of_their_own(tmp_path):
    titles = ("same", "same (2)", "same", "other", "same", "same (2)")
    suite = loaded(tmp_path, HEAD + "".join(f"  - {{it: {title}, call: x}}\n" for title in titles))
    names = ["same", "same (2)", "same (3)", "other", "same (4)", "same (2) (2)"]
    assert [case.name for case in suite.cases] == names


@pytest.mark.parametrize("word", ["no", "off", "n", "'false'", "Yes", "on"])
@pytest.mark.parametrize("key", ["skip", "xfail"])
def test_a_word_that_means_no_elsewhere_is_not_a_reason_to_skip(tmp_path, key, word):
    error = refused(tmp_path, f"{HEAD}  - {{it: x, {key}: {word}, call: y}}\n")
    assert (error.where.line, error.hint) == (3, "YAML 1.2 knows only true and false")


@pytest.mark.parametrize(
    ("asserts", "warned"),
    [
        (["result.tools[*] length > 2"], "`result.tools[*] count …` is how many there are"),
        (["notifications[method=x] | length == 2"], "`notifications[method=x] count …` is how many there are"),
        (["notifications[method=x] isEmpty"], "`notifications[method=x] count == 0` says that there is none"),
        ([f"result.tools[*].name contains {name}" for name in "abc"], "`any result.tools[*].name == …` is about one"),
        ([f"result.tools[*].name contains {name}" for name in "ab"], None),
        ([f"any result.tools[*].name contains {name}" for name in "abc"], None),
        ([f"result.tools[*].name not contains {name}" for name in "abc"], None),
        (["result.tools[*].name length < 64"], None),
        (["result.tools[*].tags isEmpty"], None),
        (["result.tools[*] length > {{ a }}"], None),
    ],
)
def test_what_was_surely_meant_of_all_values_together_is_a_warning(tmp_path, asserts, warned):
    text = (
        f"{HEAD}  - it: x\n    list: tools\n    parametrize: [{{a: 1}}, {{a: 2}}]\n    expect: {{asserts: {asserts}}}\n"
    )
    warnings = [each.message for each in loaded(tmp_path, text).warnings]
    assert len(warnings) == (warned is not None)
    assert all(each.endswith(warned) for each in warnings)
