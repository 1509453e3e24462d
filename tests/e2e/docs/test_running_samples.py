"""scripts/samples.py and scripts/screenshots.py: a page or a picture that is not true is noticed."""

import pytest
import samples
import screenshots


def wrong(page):
    return [text for _, _, text in samples.played(page) if text]


def fenced(kind, text, more=""):
    return f"{more}```{kind}\n{text}```\n"


def test_what_a_command_prints_must_be_shown():
    assert wrong(fenced("console", "$ echo one\none\n$ echo two; echo three >&2\ntwo\nthree\n")) == []
    (told,) = wrong(fenced("console", "$ echo one\ntwo\n"))
    assert told == "$ echo one\nis shown with\ntwo\nbut prints\none\n"


def test_how_a_command_ends_must_be_said():
    assert wrong(fenced("bash", "exit 3\n", "<!-- sample: exit=3 -->\n")) == []
    assert wrong(fenced("bash", "exit 3\n")) == ["the last command ends with 3, not with 0\n"]
    assert wrong(fenced("bash", "false\ntrue\n")) == ["$ false\nends with 1\n"]
    assert wrong(fenced("console", "$ exit 3\n$ echo $?\n3\n")) == []


def test_files_are_written_and_changed_in_the_order_of_the_page():
    page = (
        fenced('text title="a/b.txt"', "one\ntwo\n")
        + fenced("console", "$ cat a/b.txt\none\ntwo\n")
        + fenced('diff title="a/b.txt"', " one\n-two\n+three\n")
        + fenced("console", "$ cat b.txt\none\nthree\n", "<!-- sample: in=a -->\n")
    )
    assert wrong(page) == []


def test_a_change_of_lines_that_are_not_there_is_an_error():
    page = (
        fenced('text title="b.txt"', "one\n")
        + fenced('diff title="b.txt"', "-two\n+three\n")
        + fenced("bash", "true\n")
    )
    with pytest.raises(ValueError, match="0 times, not once"):
        wrong(page)


def test_what_is_skipped_is_not_run():
    assert wrong(fenced("bash", "false\n", "<!-- sample: skip=it fails always -->\n")) == []


@pytest.mark.parametrize("command", ["npx -y some-server", "true && curl x", "mcp-cli https://example.com/mcp"])
def test_what_would_use_the_network_is_refused(command):
    with pytest.raises(ValueError, match="would use the network"):
        wrong(fenced("bash", f"{command}\n"))


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("a\n", "a\n\n", True),
        ("a\n", "a \n", False),
        ("4 passed in 0.10 s\n", "4 passed in 12.3 s\n", True),
        ("4 passed in 0.10 s\n", "5 passed in 0.10 s\n", False),
        ("ok  finds (0 ms)\n", "ok  finds (14 ms)\n", True),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n…\nz\n", "a\nb\n", False),
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a b\nc\n", False),
        ("(a)*\n", "(a)*\n", True),
    ],
)
def test_times_may_differ_and_an_ellipsis_stands_for_anything(shown, printed, alike):
    assert samples.like(shown, printed) == alike


def test_an_update_writes_what_is_printed_now_and_nothing_else():
    page = "before\n\n" + fenced("console", "$ echo one\ntwo\n") + "\nafter\n" + fenced("console", "$ echo three\n…\n")
    assert samples.updated(page) == page.replace("two", "one")


def test_a_picture_of_another_run_is_noticed():
    picture = screenshots.picture("conductor check", "\x1b[31mFAIL\x1b[0m  a < b\n1 failed in 0.78 s")
    assert '<tspan fill="#ff7b72">FAIL</tspan>' in picture
    assert "a\u00a0&lt;\u00a0b" in picture
    assert screenshots.same(picture, picture.replace("0.78", "1.25"))
    assert not screenshots.same(picture, picture.replace("FAIL", "ok"))
