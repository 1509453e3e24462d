"""Snapshots: what is kept of a reply, what is left out of it, and when nothing is written."""

import pytest

from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.suites.running.snapshots import Snapshots
from mcp_conductor.text.redaction import Redactor

WHERE = Field(parse("expect: snapshot\n", "a.test.mcp.yml"), ("expect",), "snapshot")


def snapshots(tmp_path, *, update=False, frozen=False):
    paths = {"/home/ann": "<home>", "/home/ann/work": "<cwd>"}
    return Snapshots(str(tmp_path / "a.test.mcp.yml"), update=update, frozen=frozen, paths=paths)


def look(kept, result, title="one"):
    reply = {"jsonrpc": "2.0", "id": 7, "result": result}
    return kept.findings(title, reply, WHERE, lambda text: text.replace("hush", "[redacted]"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("at 2026-01-31T12:00:00.000Z", "at 2027-02-01T08:30:11+02:00"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id AAAAAAAA-e89b-12d3-a456-426614174999"),
        ("in /home/ann/work/x", "in <cwd>/x"),
        ("in /home/ann/x", "in <home>/x"),
        ("hush!", "[redacted]!"),
    ],
)
def test_what_differs_from_run_to_run_makes_no_difference(tmp_path, first, second):
    kept = snapshots(tmp_path)
    assert look(kept, {"text": [first]}) == []
    assert look(kept, {"text": [second]}) == []


@pytest.mark.parametrize("result", [{"n": 1.5, "big": 10**30}, ["\x85\u2028\ufeff", "- a: b", "yes"], {}, {"": None}])
def test_what_is_written_is_read_again_as_it_was(tmp_path, result):
    kept = snapshots(tmp_path)
    look(kept, result)
    kept.save({"one"})
    again = snapshots(tmp_path)
    assert (look(again, result), again.written) == ([], 0)
    assert len(look(again, {"else": True})) == 1


def test_numbers_that_are_secrets_are_not_kept(tmp_path):
    kept = snapshots(tmp_path)
    redact = Redactor(["1234567890", "hunter22-hunter22"]).redact
    reply = {"result": {"pin": 1234567890, "data": ["hunter22-hunter22"], "n": 7}}
    assert kept.findings("one", reply, WHERE, redact) == []
    shown = {"result": {"pin": "[redacted]", "data": ["[redacted]"], "n": 7}}
    assert kept.findings("one", shown, WHERE, str) == []


def test_a_snapshot_of_a_test_that_is_gone_stays_until_one_updates(tmp_path):
    kept = snapshots(tmp_path)
    look(kept, 1, "one")
    look(kept, 2, "two")
    look(kept, 3, "one [2025-06-18]")
    kept.save({"one", "two"})
    assert snapshots(tmp_path).obsolete({"one"}) == ["two"]
    snapshots(tmp_path, update=True).save({"one"})
    assert snapshots(tmp_path).obsolete(set()) == ["one", "one [2025-06-18]"]


def test_nothing_is_written_where_snapshots_are_frozen(tmp_path):
    kept = snapshots(tmp_path, frozen=True, update=True)
    (finding,) = look(kept, 1)
    kept.save({"one"})
    assert (finding.warning, list(tmp_path.iterdir())) == (False, [])


def test_a_reply_that_is_wrong_otherwise_is_compared_but_never_kept(tmp_path):
    kept = snapshots(tmp_path)
    reply = {"jsonrpc": "2.0", "id": 7, "result": {"text": "bad"}}
    assert kept.findings("one", reply, WHERE, str, sound=False) == []
    assert look(kept, {"text": "good"}) == []
    assert len(kept.findings("one", reply, WHERE, str, sound=False)) == 1
