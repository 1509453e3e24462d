"""Snapshots: kept when they are new, compared when they are not, normalised, renewed, and never written in CI."""

import json

import pytest

SNAP = "__snapshots__/a.test.mcp.snap.yml"
TEST = "- {it: greets, call: x, expect: snapshot}"
SAYING = """
    hello(tools={{}})
    serve({{"tools/call": {{"content": [{{"type": "text", "text": {text}}}]}}}})
"""


def saying(text):
    return SAYING.format(text=text if "(" in text else json.dumps(text))


def test_a_reply_is_kept_once_and_compared_from_then_on(check, serve, tmp_path):
    done = check(TEST, server=serve(saying("hello")))
    assert done.code == 0
    assert "a.test.mcp.yml: 1 snapshot written" in done.out
    kept = (tmp_path / SNAP).read_text()
    assert "hello" in kept
    done = check(TEST, server=serve(saying("hello")))
    assert done.code == 0
    assert "written" not in done.out
    done = check(TEST, server=serve(saying("goodbye")))
    assert done.code == 1
    assert f"the reply differs from its snapshot in {SNAP}" in done.findings("greets")
    assert "goodbye" in done.out
    assert "--update-snapshots" in done.out
    assert (tmp_path / SNAP).read_text() == kept
    done = check(TEST, "--update-snapshots", server=serve(saying("goodbye")))
    assert done.code == 0
    assert check(TEST, server=serve(saying("goodbye"))).code == 0


def test_a_snapshot_may_stand_beside_other_expectations(check):
    tests = "- {it: both, call: motto, expect: {snapshot: true, ok: false}}"
    done = check(tests)
    assert done.code == 1
    assert "succeeded with a result, but an error is expected" in done.findings("both")


CHANGING = {
    "ids": "__import__('uuid').uuid4().hex and str(__import__('uuid').uuid4())",
    "times": "__import__('datetime').datetime.now(__import__('datetime').timezone.utc).isoformat()",
    "the directory": "os.getcwd() + '/data.txt'",
    "the home directory": "os.environ['HOME'] + '/data.txt'",
}


@pytest.mark.parametrize("what", CHANGING)
def test_what_changes_from_run_to_run_is_normalised(check, serve, tmp_path, what):
    server = serve(saying(f"str('at ' + ({CHANGING[what]}))"))
    assert check(TEST, server=server, HOME="/home/one").code == 0
    done = check(TEST, server=server, HOME="/home/two")
    assert done.code == 0, done.all
    assert str(tmp_path) not in (tmp_path / SNAP).read_text()
    assert "<" in (tmp_path / SNAP).read_text()


@pytest.mark.parametrize(
    "text",
    ["tab\there", "two\nlines", *(pytest.param(text ) for text in ("\u2028 and \x85", "\x7f", "\ud83d")), "é 😀", "yes", "2026-01-01", "# no comment", "\\n", '"quoted"', ": x", "\ufeff"] ,
)  # fmt: skip
def test_any_text_survives_being_kept(check, serve, text):
    server = serve(saying(text))
    assert check(TEST, server=server).code == 0
    done = check(TEST, server=server)
    assert done.code == 0, done.all
    assert "written" not in done.out


def test_any_number_survives_being_kept(check, serve):
    server = serve("""
        hello(tools={})
        request = hear()
        shout('{"jsonrpc": "2.0", "id": %d, "result": {"n": [1, 1.0, -0.0, 1e400, 12345678901234567890, 0.1, 1e-7, 3.141592653589793238462643]}}' % request["id"] + "\\n")
        serve({})
    """)
    assert check(TEST, server=server).code == 0
    done = check(TEST, server=server)
    assert done.code == 0, done.all


def test_snapshots_of_tests_that_are_gone_are_reported_and_go_when_renewed(check, serve, tmp_path):
    server = serve(saying("hello"))
    check(TEST + "\n" + TEST.replace("greets", "old"), server=server)
    done = check(TEST, server=server)
    assert done.code == 0
    assert "'old'" in done.out
    assert "old" in (tmp_path / SNAP).read_text()
    check(TEST, "--update-snapshots", server=server)
    assert "old" not in (tmp_path / SNAP).read_text()


def test_a_test_that_was_only_not_chosen_keeps_its_snapshot(check, serve, tmp_path):
    server = serve(saying("hello"))
    both = TEST + "\n" + TEST.replace("greets", "other")
    check(both, server=server)
    done = check(both, "-k", "greets", "--update-snapshots", server=server)
    assert "other" not in done.out
    assert "other" in (tmp_path / SNAP).read_text()


def test_nothing_is_written_in_ci(check, serve, tmp_path):
    done = check(TEST, server=serve(saying("hello")), CI="true")
    assert done.code == 1
    assert "CI is set" in done.findings("greets")
    assert not (tmp_path / "__snapshots__").exists()


def test_what_is_asked_for_is_written_in_ci_too(check, serve, tmp_path):
    assert check(TEST, "--update-snapshots", server=serve(saying("hello")), CI="true").code == 0
    kept = (tmp_path / SNAP).read_text()
    assert check(TEST, server=serve(saying("goodbye")), CI="1").code == 1
    assert (tmp_path / SNAP).read_text() == kept
    assert check(TEST, "--update-snapshots", server=serve(saying("goodbye")), CI="1").code == 0
    assert "goodbye" in (tmp_path / SNAP).read_text()


def test_each_revision_has_snapshots_of_its_own(check, book, tmp_path):
    tests = "- {it: lists, list: prompts, expect: snapshot}"
    head = 'protocol: ["2025-06-18", "2025-11-25"]'
    assert check(tests, head=head).code == 0
    kept = (tmp_path / SNAP).read_text()
    assert kept.count("lists [") == 2
    done = check(tests, "--update-snapshots", head=head)
    assert done.code == 0
    assert "not there" not in done.out
    assert (tmp_path / SNAP).read_text() == kept


def test_each_of_parallel_requests_has_a_snapshot_of_its_own(check):
    tests = """
        - it: both
          parallel: [{call: motto, expect: snapshot}, {call: {tool: echo, args: {message: x}}, expect: snapshot}]
    """
    assert check(tests).code == 0
    done = check(tests)
    assert done.code == 0, done.all


def test_files_at_once_and_a_table_each_keep_their_snapshots(conductor, suite, book, tmp_path):
    for name in "abcd":
        suite("""
            - {it: says, parametrize: [{m: x}, {m: y}], call: {tool: echo, args: {message: "{{ m }}"}}, expect: snapshot}
        """, name=f"{name}.test.mcp.yml")  # fmt: skip
    for _ in range(2):
        done = conductor("test", "-j", "4", "--", *book)
        assert done.code == 0, done.all
    assert "written" not in done.out
    assert len(list((tmp_path / "__snapshots__").iterdir())) == 4


def test_a_snapshot_file_that_cannot_be_read_is_an_error_that_names_it(check, serve, write):
    write(SNAP, "greets: {]")
    done = check(TEST, server=serve(saying("hello")))
    assert done.code in (1, 2)
    assert SNAP in done.all


def test_a_snapshot_that_cannot_be_written_is_an_error_that_names_it(check, serve, write):
    write("__snapshots__", "not a directory")
    done = check(TEST, server=serve(saying("hello")))
    assert done.code in (1, 2)
    assert SNAP in done.all


@pytest.mark.parametrize("link", ["__snapshots__", SNAP])
@pytest.mark.parametrize("text", ["greets: {}\n", "sk-secret: [", "sk-secret"])
def test_a_link_that_leads_outside_is_neither_read_nor_written_unless_that_is_allowed(
    check, serve, tmp_path_factory, tmp_path, link, text
):
    kept = tmp_path_factory.mktemp("elsewhere") / "a.test.mcp.snap.yml"
    kept.write_text(text)
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(kept if link == SNAP else kept.parent)
    done = check(TEST, "--update-snapshots", server=serve(saying("hello")))
    assert (done.code, "sk-secret" in done.all, "--allow-outside" in done.all) == (2, False, True), done.all
    assert kept.read_text() == text
    done = check(TEST, "--update-snapshots", "--allow-outside", server=serve(saying("hello")))
    assert "sk-secret" not in done.all
    assert (done.code, "hello" in kept.read_text()) == ((0, True) if text == "greets: {}\n" else (2, False)), done.all


def test_secrets_are_not_kept_in_snapshots(check, tmp_path):
    done = check("""
        - {it: says, call: {tool: echo, args: {message: "{{ password }}"}}, expect: snapshot}
    """, "--secret", "password=hunter2hunter2")  # fmt: skip
    assert done.code == 0
    assert "hunter2hunter2" not in (tmp_path / SNAP).read_text()
