"""The picture of a grade."""

from xml.etree import ElementTree as ET

import pytest

from mcp_conductor.checks.engine.grade import LETTERS
from mcp_conductor.report.formats.badge import badge


@pytest.mark.parametrize("letter", LETTERS)
def test_a_badge_says_the_letter_and_the_revision_and_no_number(letter):
    picture = ET.fromstring(badge({"letter": letter, "revision": "2025-11-25", "reason": "97.5"}))
    assert picture.get("aria-label") == f"MCP specification 2025-11-25: grade {letter}"
    shown = [each.text for each in picture.iter() if each.tag.endswith("text")]
    assert shown == ["MCP specification", letter, "2025-11-25"]


def test_each_letter_has_a_colour_of_its_own():
    colours = {badge({"letter": letter, "revision": ""}).split('fill="')[2][:7] for letter in LETTERS}
    assert len(colours) == len(LETTERS)


def test_without_a_grade_a_badge_says_so():
    picture = ET.fromstring(badge(None))
    assert picture.get("aria-label") == "MCP specification: no grade"
    assert [each.text for each in picture.iter() if each.tag.endswith("text")] == ["MCP specification", "no grade"]
