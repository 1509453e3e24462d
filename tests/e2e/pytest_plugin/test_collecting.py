"""Test files as pytest sees them: names, marks, selection, and what is wrong in them."""

import re

import pytest

TESTS = """
    - {it: says its motto, tags: [quick], call: motto, expect: {ok: true}}
    - it: echoes
      tags: [loud, "two words", skip]
      parametrize: [{id: one, word: a}, {word: b, more: 2}]
      call: {tool: echo, args: {message: "{{ word }}"}}
      expect: {ok: true}
"""
BAD_FILE = """\
=== ERRORS ===
___ ERROR collecting a.test.mcp.yml ___
error: a.test.mcp.yml: tests[0].cal is not a known key
  --> a.test.mcp.yml:4:26
  4 |   - {it: says its motto, cal: motto, expect: {ok: true}}
    |                          ^^^
  hint: did you mean 'call'?
=== short test summary info ===
ERROR a.test.mcp.yml
!!! Interrupted: 1 error during collection !!!
1 error in 0s
"""


def names(done) -> list[str]:
    return [line for line in done.out.splitlines() if "::" in line]


def test_every_test_of_a_file_has_a_node_id_of_its_own(run, suite, starts):
    suite(TESTS)
    suite(TESTS, name="deep/b.test.mcp.yaml")
    done = run("--collect-only")
    cases = ["says its motto", "echoes[one]", "echoes[word=b, more=2]"]
    assert names(done) == [f"{file}::{case}" for file in ("a.test.mcp.yml", "deep/b.test.mcp.yaml") for case in cases]
    assert starts() == 0


def test_revisions_stand_in_the_brackets_too(run, suite):
    suite(TESTS, head="protocol: [2025-06-18, 2025-11-25]")
    assert names(run("--collect-only", "-k", "motto or one")) == [
        "a.test.mcp.yml::says its motto[2025-06-18]",
        "a.test.mcp.yml::echoes[one-2025-06-18]",
        "a.test.mcp.yml::says its motto[2025-11-25]",
        "a.test.mcp.yml::echoes[one-2025-11-25]",
    ]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["a.test.mcp.yml::echoes[one]"], ["echoes[one]"]),
        (["a.test.mcp.yml::echoes"], ["echoes[one]", "echoes[word=b, more=2]"]),
        (["-k", "motto or (book and one)"], ["says its motto", "echoes[one]"]),
        (["-m", "quick"], ["says its motto"]),
        (["-m", "two_words and tag_skip and not quick"], ["echoes[one]", "echoes[word=b, more=2]"]),
    ],
)
def test_tests_are_chosen_as_any_others(run, suite, words, chosen):
    suite(TESTS)
    done = run(*words)
    assert (done.code, list(done.statuses)) == (0, chosen)


def test_names_that_pytest_could_not_read_are_made_readable(run, suite):
    suite("""
        - {it: "std::vector [x]", call: motto, expect: {ok: true}}
        - {it: "two\\nlines", call: motto, expect: {ok: true}}
    """)
    assert names(run("--collect-only")) == ["a.test.mcp.yml::std:vector [x]", "a.test.mcp.yml::two lines"]
    assert run("a.test.mcp.yml::std:vector [x]").statuses == {"std:vector [x]": "PASSED"}


def test_only_leaves_out_the_tests_of_all_files_but_none_of_pythons(run, suite, write):
    suite(TESTS)
    suite("- {it: alone, only: true, call: motto, expect: {ok: true}}", name="b.test.mcp.yml")
    write("test_python.py", "def test_it(): pass")
    done = run("-W", "default")
    assert done.statuses == {"alone": "PASSED", "test_it": "PASSED"}
    assert "1 warning" in done.out


def test_a_bad_file_is_an_error_of_collection_with_our_diagnostic(run, suite):
    suite("- {it: says its motto, cal: motto, expect: {ok: true}}")
    done = run()
    assert done.code == 2
    assert done.text == BAD_FILE


def test_what_is_odd_about_a_file_is_a_warning(run, suite):
    suite("- {it: says its motto, call: motto}")
    done = run("-W", "default")
    assert done.code == 0
    assert "SuiteWarning: a.test.mcp.yml:4:5: 'says its motto' checks nothing: any reply passes" in done.out
    assert run().code == 2  # warnings are errors in this project


def test_pytest_without_test_files_imports_nothing_of_ours(run, write):
    write(
        "test_python.py",
        """
        import sys

        def test_it():
            loaded = {name for name in sys.modules if name.startswith("mcp_conductor")}
            assert loaded == {"mcp_conductor", "mcp_conductor.pytest_plugin"}
        """,
    )
    assert run().statuses == {"test_it": "PASSED"}


def test_the_plugin_can_be_switched_off(run, suite):
    suite(TESTS)
    assert run("--collect-only", "-p", "no:mcp_conductor", "-o", "addopts=").code == 5


def test_a_name_cannot_command_a_terminal_or_a_ci_system(run, suite):
    suite('- {it: "a \\x1b[31mred \\x07 ##[error]boom", call: motto, expect: {ok: true}}')
    done = run("-v")
    assert done.code == 0
    assert not re.search(r"\x1b|\x07|##\[", done.out)
