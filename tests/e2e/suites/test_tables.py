"""Rows of a test that stand in a file of their own."""

import os
import signal

from tests.e2e.suites.test_running import started, wait_for


def test_rows_may_stand_in_a_file_beside_the_test_file(conductor, suite, write, book):
    suite("""
        - it: adds
          parametrize: {file: data/rows.csv}
          call: {tool: add, args: {a: "{{ a }}", b: 2}}
          expect: {result: {match:partial: {structuredContent: {a: "{{ a }}", b: 2}}}}
    """, name="tests/a.test.mcp.yml")  # fmt: skip
    write("tests/data/rows.csv", "id,a\nsmall,1\nlarge,300\n")
    done = conductor("test", "--report", "json:report.json", "--", *book)
    assert done.code == 0, done.all
    assert done.statuses == {"adds [small]": "passed", "adds [large]": "passed"}


def test_watch_runs_again_when_a_table_changes_or_is_mended(suite, write, book, tmp_path, surroundings):
    suite("- {it: says, parametrize: {file: rows.csv}, call: motto, expect: {ok: true}}")
    write("rows.csv", "a,b\n1\n")
    process = started(["test", "--watch", "--", *book], tmp_path, surroundings)
    os.set_blocking(process.stdout.fileno(), False)
    seen = b""

    def shown(text):
        nonlocal seen
        seen += process.stdout.read() or b""
        return text in seen and seen.endswith(b"Ctrl-C ends\n")

    wait_for(lambda: shown(b"this row has 1 values"))
    write("rows.csv", "a,b\n1,2\n")
    wait_for(lambda: shown(b"1 passed"))
    write("rows.csv", "a,b\n1,2\n3,4\n")
    wait_for(lambda: shown(b"2 passed"))
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    process.stdout.close()
