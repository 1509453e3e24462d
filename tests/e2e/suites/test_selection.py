"""Which files and which tests are run: patterns, names, lines, tags, filters, shards."""

import pytest

TESTS = """
    - {it: reads a file, tags: [quick, files], call: motto, expect: {ok: true}}
    - it: writes a file
      tags: files
      call: motto
      expect:
        ok: true
    - {it: deletes [everything], tags: [slow], call: motto, expect: {ok: true}}
""".replace("[everything]", "everything")
OTHER = "- {it: Lists things, call: motto, expect: {ok: true}}\n- {it: row, parametrize: [{a: 1}, {a: 2}], call: motto, expect: {ok: true}}"


@pytest.fixture
def files(suite, write):
    suite(TESTS, name="a.test.mcp.yml")
    suite(OTHER, name="deep/er/b.test.mcp.yaml")
    suite(OTHER, name="node_modules/x/c.test.mcp.yml")
    suite(OTHER, name=".hidden/d.test.mcp.yml")
    write("deep/other.yml", "not: a test file")


@pytest.fixture
def collected(conductor, files):
    """The names of the tests that these words choose."""

    def collect(*words):
        done = conductor("test", "--collect-only", *words)
        assert done.code == 0, done.all
        return [line.partition("::")[2] for line in done.out.splitlines()]

    return collect


A = ["reads a file", "writes a file", "deletes everything"]
B = ["Lists things", "row [a=1]", "row [a=2]"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), A + B),
        ((".",), A + B),
        (("a.test.mcp.yml",), A),
        (("deep",), B),
        (("deep/",), B),
        (("**/*.test.mcp.yaml",), B),
        (("*.yml",), A),
        (("a.test.mcp.yml", "deep"), A + B),
        (("a.test.mcp.yml", "a.test.mcp.yml"), A),
        (("a.test.mcp.yml::writes a file",), ["writes a file"]),
        (("a.test.mcp.yml::writes a file", "a.test.mcp.yml::reads a file"), ["reads a file", "writes a file"]),
        (("deep/er/b.test.mcp.yaml::row",), ["row [a=1]", "row [a=2]"]),
        (("deep/er/b.test.mcp.yaml::row [a=2]",), ["row [a=2]"]),
        (("a.test.mcp.yml:4",), ["reads a file"]),
        (("a.test.mcp.yml:5",), ["writes a file"]),
        (("-k", "file"), ["reads a file", "writes a file"]),
        (("-k", "FILE and not reads"), ["writes a file"]),
        (("-k", "reads or (writes and file)"), ["reads a file", "writes a file"]),
        (("-k", "lists"), ["Lists things"]),
        (("--tag", "quick"), ["reads a file"]),
        (("--tag", "quick", "--tag", "slow"), ["reads a file", "deletes everything"]),
        (("--tag", "files", "--not-tag", "quick"), ["writes a file"]),
        (("--filter", "a file"), ["reads a file", "writes a file"]),
        (("--filter", "/^about it (reads|row)/"), ["reads a file", "row [a=1]", "row [a=2]"]),
        (("--filter", "/LISTS/i"), ["Lists things"]),
        (("--filter", "/^reads/"), ["reads a file"]),
        (("--filter", "file", "--tag", "quick"), ["reads a file"]),
        (("--shard", "1/2"), A),
        (("--shard", "2/2"), B),
    ],
)
def test_words_and_flags_choose_tests(collected, words, names):
    assert collected(*words) == names


@pytest.mark.parametrize("line", [6, 7, 8, 9])
def test_a_line_within_a_test_means_that_test(collected, line):
    assert collected(f"a.test.mcp.yml:{line}") == ["writes a file"]


def test_the_tags_of_a_file_are_those_of_all_its_tests(conductor, suite):
    suite(OTHER, head="tags: [network]")
    assert len(conductor("test", "--collect-only", "--tag", "network").out.splitlines()) == 3


@pytest.mark.parametrize(
    "word", ["a.test.mcp.yml", "./a.test.mcp.yml", "deep/er/b.test.mcp.yaml", "*.test.mcp.yml", "deep/"]
)
def test_a_pattern_alone_is_conductor_test_with_it(conductor, files, word):
    done = conductor(word, "--collect-only")
    assert done.code == 0, done.all
    assert done.out == conductor("test", word, "--collect-only").out


@pytest.mark.parametrize("words", [("deep", "--collect-only"), ("--collect-only", "a.test.mcp.yml")])
def test_a_directory_alone_and_a_pattern_after_flags_are_patterns_too(conductor, files, words):
    done = conductor(*words)
    assert done.code == 0, done.all


@pytest.mark.parametrize(
    "word",
    [
        "b.test.mcp.yml",
        "nowhere/",
        "*.tests.yml",
        "deep/x/**",
    ],
)
def test_a_pattern_that_matches_nothing_says_what_was_looked_for(conductor, files, word):
    done = conductor("test", word)
    assert done.code == 2
    assert word in done.err
    assert "looked for from" in done.err
    assert done.out == ""


@pytest.mark.parametrize("word", ["a.test.mcp.yml2::x", "a.test.yml", "a.test.mcp.yaml"])
def test_a_file_that_is_called_otherwise_is_named(conductor, files, word):
    done = conductor("test", word)
    assert (done.code, "did you mean 'a.test.mcp.yml'?" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("a.test.mcp.yml:1", "a.test.mcp.yml has no test at line 1\n  hint: tests begin at lines 4, 5, 10"),
        ("a.test.mcp.yml::nobody", "a.test.mcp.yml has no test called 'nobody'\n  hint: there are: 'reads a file'"),
        ("a.test.mcp.yml::reads a fil", "a.test.mcp.yml has no test called 'reads a fil'\n  hint: did you mean"),
    ],
)
def test_a_pattern_without_a_test_is_told_which_there_are(conductor, files, word, said):
    done = conductor("test", word, "a.test.mcp.yml:4", "--", "/nonexistent")
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_directory_without_tests_says_what_was_looked_for(conductor, tmp_path):
    done = conductor("test")
    assert done.code == 2
    assert "*.test.mcp.yml" in done.err
    assert str(tmp_path) in done.err


@pytest.mark.parametrize(
    "words",
    [("-k", "nothing"), ("--tag", "none"), ("--filter", "/xyz/"), ("a.test.mcp.yml:4", "-k", "nothing")],
)
def test_filters_that_leave_nothing_are_an_error(conductor, files, words):
    done = conductor("test", *words, "--", "/nonexistent")
    assert done.code == 2
    assert "no test is left to run" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("-k", "(a"), ("-k", "and"), ("-k", "a )"), ("--filter", "/(/"), ("--shard", "3/2"), ("--shard", "x"),
        ("--shard", "0/2"), ("--jobs", "0"), ("--jobs", "many"), ("--isolation", "none"), ("--timeout", "soon"),
        ("--max-failures", "0"), ("--repeat", "-1"), ("--report", "pdf"), ("--report", "json:"), ("--color", "blue"),
        pytest.param(("--min-coverage", "101") ), ("--nosuch",), ("--report", "json", "--json"), ("--compat", "jest"), ("--durations", "x"),
    ],
)  # fmt: skip
def test_a_flag_that_cannot_be_is_an_error_before_anything_starts(conductor, files, words):
    done = conductor("test", *words, "--", "/nonexistent")
    assert done.code == 2, done.all
    assert done.err.startswith("error: ")
    assert words[0].lstrip("-")[0] in done.err


def test_an_unknown_flag_is_answered_with_the_nearest(conductor, files):
    done = conductor("test", "--shufle")
    assert done.code == 2
    assert "did you mean --shuffle?" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("a.test.mcp.yml", "--parallel", "4"),
            "'4' is not a test file\n  hint: --jobs N runs N files at the same time",
        ),
        (("initialize",), "'initialize' is a method, not a command\n  hint: mcp-cli --method initialize COMMAND"),
        (("tools/list",), "'tools/list' is a method, not a command\n  hint: mcp-cli --method tools/list COMMAND"),
        (
            ("call", "--", "conductor", "record", "--", "python", "x.py"),
            "a command that has -- itself is one word of a shell: conductor call -- sh -c 'conductor … -- python …' -- …\n",
        ),
        (
            ("call", "server-composable", "--config", "a b.json", "--method", "ping"),
            "if --config is a flag of the server: conductor call -- server-composable --config 'a b.json' -- …",
        ),
    ],
)
def test_what_is_often_written_wrongly_is_answered_with_what_to_write(conductor, files, words, said):
    done = conductor(*words)
    assert (done.code, done.out) == (1 if words[0] == "call" else 2, "")
    assert said in done.err


def test_no_server_at_all_says_how_to_name_one(conductor, files):
    done = conductor("test")
    assert done.code == 2
    assert "no server is given" in done.err
    assert "-- COMMAND" in done.err


@pytest.mark.parametrize(("names", "there"), [("a", "there is 1 file"), ("ab", "there are 2 files")])
def test_a_shard_for_which_there_is_no_file_is_empty_and_green(conductor, suite, book, tmp_path, names, there):
    for name in names:
        suite("- {it: passes, call: motto, expect: {ok: true}}", name=f"{name}.test.mcp.yml")
    reports = ("--report", "json:report.json", "--report", "junit:report.xml", "--report", "events:report.jsonl")
    done = conductor("test", "--shard", "3/3", *reports, "--", *book)
    assert (done.code, done.out, done.err) == (0, "", f"shard 3/3 is empty: {there}\n")
    assert (done.report["outcomes"], done.report["summary"]["deselected"]) == ([], len(names))
    assert '<testsuites name="conductor test" tests="0"' in (tmp_path / "report.xml").read_text()
    assert '"run-finished"' in (tmp_path / "report.jsonl").read_text()
    listed = conductor("test", "--shard", "3/3", "--collect-only")
    assert (listed.code, listed.out, listed.err) == (0, "", done.err)


def test_the_shards_together_are_everything(conductor, suite):
    for name in "abcde":
        suite(OTHER.replace("row", f"row {name}"), name=f"{name}.test.mcp.yml")
    parts = [conductor("test", "--collect-only", "--shard", f"{part}/3").out.splitlines() for part in (1, 2, 3)]
    assert sorted(sum(parts, [])) == sorted(conductor("test", "--collect-only").out.splitlines())
    assert all(parts)


def test_the_last_failures_alone_are_run_again(check):
    tests = """
        - {it: good, call: motto, expect: {ok: true}}
        - {it: bad, call: lose, expect: {ok: true}}
        - {it: bad too, parametrize: [{a: 1}, {a: 2}], call: "{{ tool }}", expect: {asserts: ["result.content[0].text != Nobody"], ok: true}}
    """
    assert check(tests, "--var", "tool=lose").code == 1
    done = check(tests, "--lf", "--var", "tool=motto")
    assert done.code == 1
    assert done.statuses == {"bad": "failed", "bad too [a=1]": "passed", "bad too [a=2]": "passed"}
    assert check(tests, "--lf", "--var", "tool=lose").statuses == {"bad": "failed"}


def test_the_last_failures_are_found_in_every_revision(check):
    tests = "- {it: good, call: motto, expect: {ok: true}}\n- {it: bad, call: lose, expect: {ok: true}}"
    head = 'protocol: ["2025-06-18", "2025-11-25"]'
    assert check(tests, head=head).code == 1
    done = check(tests, "--lf", head=head)
    assert done.code == 1, done.all
    assert set(done.statuses) == {"bad [2025-06-18]", "bad [2025-11-25]"}


def test_where_none_of_the_tests_failed_the_last_time_all_are_run(check):
    tests = "- {it: good, call: motto, expect: {ok: true}}"
    for head in ("", "teardown: [{call: lose, expect: {ok: true}}]"):
        check(tests, head=head)
        done = check(tests, "--lf")
        assert (done.code, done.statuses) == (0, {"good": "passed"})
        assert "--lf: none of these tests failed in the last run, so all of them are run" in done.err


def test_without_an_earlier_run_there_are_no_last_failures(check):
    done = check("- {it: good, call: motto, expect: {ok: true}}", "--lf")
    assert done.code == 2
    assert "no earlier run is recorded here" in done.err
