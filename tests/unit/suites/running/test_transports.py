"""What `ignore` leaves out of a reply."""

import pytest

from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.paths import parse_path
from mcp_conductor.suites.running.transports import without

DOCUMENT = {"a": {"b": 1, "c": 2}, "rows": [{"n": 1, "k": "x"}, {"n": 2, "k": "y"}], "text": '{"id": 7, "is": "it"}'}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("a.b", {"a": {"c": 2}}),
        ("a.z.y", {}),
        ("a[*]", {}),
        ("rows[0]", {"rows": [{"n": 2, "k": "y"}]}),
        ("rows[-1].n", {"rows": [{"n": 1, "k": "x"}, {"k": "y"}]}),
        ("rows.1.n", {"rows": [{"n": 1, "k": "x"}, {"k": "y"}]}),
        ("rows[5]", {}),
        ("rows.name", {}),
        ("rows[*].n", {"rows": [{"k": "x"}, {"k": "y"}]}),
        ("rows[*]", {"rows": []}),
        ("rows[k=y].n", {"rows": [{"n": 1, "k": "x"}, {"k": "y"}]}),
        ("rows[k!=z][0].n", {"rows": [{"k": "x"}, {"n": 2, "k": "y"}]}),
        ("rows[k!=z][-1]", {"rows": [{"n": 1, "k": "x"}]}),
        ("text | json | id", {"text": {"is": "it"}}),
        ("a.b | json | id", {}),
        ("a | json | id", {}),
    ],
)
def test_what_a_path_leads_to_is_left_out(path, changed):
    assert without(DOCUMENT, parse_path(path)) == {**DOCUMENT, **changed}


def test_the_json_of_a_text_is_the_whole_text():
    assert "text" not in without(DOCUMENT, parse_path("text | json"))


def test_all_of_a_document_may_be_left_out():
    assert without([1], parse_path("[0]")) == []
    assert without(DOCUMENT, parse_path("$")) is NOTHING
