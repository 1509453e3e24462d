"""Every failure ends with the command line that shows it again."""

import shlex

import pytest

ECHO = "- {it: echoes, call: {tool: echo, args: {message: '{{ word }}'}}, expect: {error: never}}"


def again(done):
    """The words of the command lines that failures are to be shown by."""
    lines = [line.partition("again: ")[2] for line in done.out.splitlines() if "again: " in line]
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize(
    "flags",
    [
        ("--var", "word=it's"),
        ("--var=word=two words", "--protocol", "2025-06-18", "-e", "SAID=a b"),
        ("--vars-file", "more words.yaml", "--step-timeout", "5s", "--seed=3"),
    ],
)
def test_a_failure_can_be_shown_again_by_the_words_that_it_ends_with(check, conductor, write, flags):
    write("more words.yaml", "word: $HOME")
    first = check(ECHO, *flags)
    second = conductor(*again(first)[0])
    assert (first.code, second.code) == (1, 1)
    assert "the request succeeded with a result, but an error is expected" in second.out
    assert again(second) == again(first)


def test_the_server_of_a_settings_file_is_named_as_it_was(conductor, suite, write, book):
    write("all of them.json", f'{{"mcpServers": {{"one": {{"command": "false"}}, "two": {_entry(book)}}}}}')
    file = suite("- {it: fails, call: motto, expect: {ok: false}}")
    done = conductor("test", file, "--config", "all of them.json", "--server", "two")
    assert again(done) == [["test", f"{file}:4", "--config", "all of them.json", "--server", "two"]]
    assert conductor(*again(done)[0]).code == 1


def test_what_runs_again_has_the_tests_that_give_what_the_failure_needs(check, conductor):
    done = check("""
        - {it: is not needed, call: motto, expect: {ok: true}}
        - {it: gives, call: motto, capture: {said: "result.content[0].text"}, expect: {ok: true}}
        - it: hands on
          call: {tool: echo, args: {message: "{{ said }}"}}
          capture: {heard: "result.content[0].text"}
          expect: {ok: true}
        - {it: fails, call: {tool: echo, args: {message: "{{ heard }}"}}, expect: {ok: false}}
    """)
    words = again(done)[0]
    assert words[1:4] == ["a.test.mcp.yml:5", "a.test.mcp.yml:6", "a.test.mcp.yml:10"]
    assert "1 failed, 2 passed" in conductor(*words).out


def test_what_runs_again_is_the_failed_test_or_row_alone(check, conductor):
    done = check("""
        - it: is before
          call: motto
          expect: {ok: true}

        # of the next one
        - it: fails
          call: lose
          expect: {ok: true}
        - it: calls {{ tool }}
          parametrize:
            - tool: motto
            - tool: lose
          call: "{{ tool }}"
          expect: {ok: true}
        - {it: in one line, parametrize: [{id: "it's", tool: motto}, {id: "*", tool: lose}], call: "{{ tool }}", expect: {ok: true}}
    """)
    assert [words[1] for words in again(done)] == [
        "a.test.mcp.yml:9",
        "a.test.mcp.yml:15",
        "a.test.mcp.yml::in one line [*]",
    ]
    for words in again(done):
        assert "\n1 failed, 5 deselected in" in conductor(*words).out


def test_what_runs_again_after_shuffle_is_what_came_before_in_the_same_order(check, conductor):
    tests = "".join(f"- {{it: {letter}, call: motto, expect: {{ok: true}}}}\n" for letter in "abcde")
    tests += "- {it: fails, call: lose, expect: {ok: true}}\n- {it: other, tags: x, call: motto, expect: {ok: true}}"
    for flags in ((), ("--not-tag", "x")):
        first = check(tests, "--shuffle", "--seed", "7", *flags)
        (words,) = again(first)
        assert {"--shuffle", "--seed"} <= set(words)
        order = [title for title in first.outcomes if title != "other"]
        assert order != sorted(order)
        at = words.index("--")
        second = conductor(*words[:at], "--report", "json:report.json", *words[at:])
        assert [title for title in second.outcomes if title != "other"] == order
        assert again(second) == [words]


def test_the_order_of_shuffle_is_not_given_where_nothing_came_before(check):
    tests = "- {it: fails, call: lose, expect: {ok: true}}"
    assert "--shuffle" not in again(check(tests, "--shuffle", "--seed", "7"))[0]
    two = f"{tests}\n- {{it: fails too, call: lose, expect: {{ok: true}}}}"
    for words in again(check(two, "--shuffle", "--seed", "7", "--isolation", "test")):
        assert "--shuffle" not in words


def test_the_words_that_run_it_again_tell_no_secret(check, conductor):
    secrets = ("--secret", "word=hush", "--env", "API_KEY=k3y", "--env", "MODE=loud")
    done = check(ECHO, *secrets)
    shown = again(done)[0]
    assert "k3y" not in done.all
    assert "hush" not in done.all
    assert [word for word in shown if "=" in word and " " not in word] == [
        "API_KEY=[redacted]",
        "MODE=loud",
        "word=[redacted]",
    ]
    gone = conductor("test", "a.test.mcp.yml", "--token", "t0k", "--header", "X-Pass: w0rd", "--var", "word=x",
                     "--", "http://ann:pa55@127.0.0.1:9/mcp")  # fmt: skip
    assert not any(secret in "".join(again(gone)[0]) for secret in ("t0k", "w0rd", "pa55"))
    assert again(gone)[0][-1] == "http://[redacted]@127.0.0.1:9/mcp"


def _entry(words):
    import json

    return json.dumps({"command": words[0], "args": words[1:]})
