"""The report to look at has what a page needs, and no more than that."""

import json
import re
from typing import Any

from mcp_conductor.errors import Location
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.formats.html import report_data
from mcp_conductor.report.model import Finding, Looks, Outcome, Remark, Report, Rule, Words, redacted

FILE = "a.test.mcp.yml"
TEXT = """description: Sums
tests:
  - it: adds
    call: {tool: add}

    expect:
      result: {sum: 3}
  - it: subtracts
    call: {tool: subtract}
"""
ASKED, ANSWERED = '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', '{"jsonrpc":"2.0","id":1,"result":{"sum":4}}'
FRAMES = (
    Frame(1.0, "client", ASKED),
    Frame(1.1, "server", '{"jsonrpc":"2.0","method":"notifications/message"}'),
    Frame(1.2, "stderr", "thinking"),
    Frame(1.3, "server", ANSWERED),
)


def outcome(**members: Any) -> Outcome:
    given = {"id": f"{FILE}::adds", "title": "adds", "group": "Sums", "status": "failed", **members}
    return Outcome(**given)


def told(*outcomes: Outcome, **members: Any) -> Any:
    return report_data(Report(kind="test", target=FILE, outcomes=outcomes, **members))


def test_the_page_has_the_report_in_it():
    text = REPORTERS.get("html").write(Report(kind="test", target=FILE, outcomes=(outcome(),)))
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    assert (data["title"], data["red"], data["outcomes"][0]["title"]) == (f"conductor test: {FILE}", True, "adds")


def test_many_files_are_counted_in_the_title():
    report = Report(kind="test", target="a.yml, b.yml, c.yml, d.yml")
    assert report_data(report)["title"] == "conductor test: 4 files"


def test_an_outcome_has_no_members_that_say_nothing():
    (found,) = told(outcome(status="passed"))["outcomes"]
    assert set(found) == {"id", "title", "group", "status", "seconds"}


def test_a_test_has_the_lines_of_its_file_that_belong_to_it():
    (one, two) = told(
        outcome(where=Location(FILE, 3, 5)),
        outcome(where=Location(FILE, 8, 5)),
        looks=Looks(sources={FILE: TEXT}),
    )["outcomes"]
    assert [(each["line"], each["last"]) for each in (one, two)] == [(3, 7), (8, 9)]


def test_a_finding_is_marked_where_the_file_says_what_should_be():
    finding = Finding(message="differs", where=Location(FILE, 7, 16, "      result: {sum: 3}", (21, 22)))
    (found,) = told(outcome(findings=(finding,)))["outcomes"]
    place = {"file": FILE, "line": 7, "column": 16, "from": 20, "to": 21}
    assert found["findings"] == [{"message": "differs", "kind": 0, **place}]


def test_values_are_json_as_it_was_written_or_words():
    finding = Finding(message="no", expected=Words("a text"), actual=12345678901234567890)
    (found,) = told(outcome(findings=(finding,)))["outcomes"]
    assert found["findings"][0]["expected"] == {"words": "a text"}
    assert found["findings"][0]["actual"] == {"json": "12345678901234567890"}


def test_two_documents_are_shown_as_one_difference_and_not_again_in_each_finding():
    place = Location(FILE, 7, 7, "      result: {sum: 3}")
    inner = Finding(message="sum is 4, not 3", path="result.sum", expected=3, actual=4, where=place)
    whole = Finding(message="all", path="result", expected={"sum": 3}, actual={"sum": 4}, where=place, whole=True)
    (found,) = told(outcome(findings=(inner, whole)))["outcomes"]
    assert [(each["path"], each["lines"]) for each in found["diffs"]] == [
        ("result", [" {", '-  "sum": 3', '+  "sum": 4', " }"])
    ]
    assert "expected" not in found["findings"][0]


def test_what_is_wrong_with_an_answer_is_pinned_to_it_and_all_else_to_the_request():
    about_answer = Finding(message="sum", path="result.sum", framed=(0, 4))
    about_all = Finding(message="too late", framed=(0, 4))
    nowhere = Finding(message="elsewhere")
    (found,) = told(outcome(frames=FRAMES, findings=(about_answer, about_all, nowhere)))["outcomes"]
    assert [each.get("frame") for each in found["findings"]] == [3, 0, None]
    assert found["frames"][2] == {"at": 1.2, "source": "stderr", "text": "thinking"}


def test_the_proof_of_a_requirement_is_shown_as_frames_without_times():
    finding = Finding(message="wrong", said=(1, 3))
    proof = outcome(level="MUST", wire=("--> {}", f"--> {ASKED}", f"<-- {ANSWERED}"), findings=(finding,))
    rule = Rule(
        id=f"{FILE}::adds", statement="It adds.", remedy="Add.", how="By adding.", address="https://example.org/"
    )
    data = told(proof, rules=(rule,))
    (found,) = data["outcomes"]
    assert found["frames"][1] == {"at": None, "source": "client", "text": ASKED}
    assert found["findings"][0]["frame"] == 2
    assert data["rules"][rule.id] == {
        "statement": "It adds.", "remedy": "Add.", "how": "By adding.", "address": "https://example.org/",
    }  # fmt: skip


def test_very_many_findings_are_counted_instead_of_shown():
    (found,) = told(outcome(findings=tuple(Finding(message=str(number)) for number in range(1000))))["outcomes"]
    assert len(found["findings"]) == 201
    assert found["findings"][-1]["message"].startswith("800 more findings")


def test_a_secret_is_nowhere_in_the_page():
    def redact(text: str) -> str:
        return text.replace("hunter2", "***")

    finding = Finding(message="hunter2", actual={"hunter2": ["hunter2"]}, hint="hunter2", path="hunter2")
    bad = outcome(
        id="a::hunter2", title="hunter2", reason="hunter2", findings=(finding,), stderr=("hunter2",),
        wire=("--> hunter2",), frames=(Frame(0, "client", "hunter2"), Frame(0, "stderr", "hun"), Frame(0, "http", "hunter2")),
    )  # fmt: skip
    remark = Remark("hunter2", "a-requirement", ("hunter2",))
    looks = Looks(
        remarks=(remark,),
        sources={"hunter2": "x: hunter2"},
        again={"a::hunter2": "test hunter2"},
        reach={"": "-- hunter2"},
    )
    report = Report(kind="test", target="hunter2", server={"name": "hunter2"}, outcomes=(bad,), looks=looks)
    text = REPORTERS.get("html").write(redacted(report, redact))
    assert "hunter2" not in text
    assert report_data(redacted(report, redact))["outcomes"][0]["again"] == "test ***"


def test_what_is_known_to_fail_is_counted_as_in_the_summary():
    known = outcome(status="skipped", reason="will be fixed", findings=(Finding(message="no"),))
    data = told(known, outcome(status="skipped", reason="not today"))
    assert data["summaryLine"].startswith("1 skipped, 1 xfailed")
    assert [each["status"] for each in data["outcomes"]] == ["xfailed", "skipped"]


def test_findings_that_say_the_same_of_different_things_are_of_one_kind():
    messages = ("tool 'a': no name", "tool 'b': no name", "tool 'a': no schema")
    (found,) = told(outcome(findings=tuple(Finding(message=each) for each in messages)))["outcomes"]
    assert [each["kind"] for each in found["findings"]] == [0, 0, 1]


def test_each_revision_has_a_command_of_its_own():
    versions = ("one", "two")
    again = {f"{FILE}::adds {version}": f"again in {version}" for version in versions}
    data = told(*(outcome(version=version) for version in versions), looks=Looks(again=again))
    assert [each["again"] for each in data["outcomes"]] == ["again in one", "again in two"]


def test_a_message_that_the_conversation_shows_is_not_shown_twice():
    about = Finding(message="no", actual=json.loads(ANSWERED), said=(0, 2))
    proven = outcome(level="MUST", findings=(about,), wire=(f"--> {ASKED}", f"<-- {ANSWERED}"))
    alone = outcome(level="MUST", findings=(Finding(message="no", actual=json.loads(ANSWERED)),))
    found = [each["findings"][0] for each in told(proven, alone)["outcomes"]]
    assert ["actual" in each for each in found] == [False, True]


def test_what_a_server_makes_very_long_is_cut():
    long = "x" * 1_000_000
    wrong = Finding(message=long, expected={"a": "b"}, actual={"a": long}, whole=True)
    data = told(outcome(findings=(wrong, Finding(message=long))), server={"name": long, "version": long})
    assert len(json.dumps(data)) < 100_000
