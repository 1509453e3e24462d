"""docs/reference: nothing that the code knows is missing. What stands there is compared with the code in test_rules."""

from pathlib import Path

import pytest
import reference

FOLDER = Path(__file__).parent.parent.parent.parent / "docs" / "reference"


def test_every_predicate_and_operator_has_a_line():
    from mcp_conductor.suites.language.asserts import MANUAL, PREDICATES

    words = {word.split()[0].rstrip(",") for word in MANUAL}
    assert set(PREDICATES) <= words


def test_every_key_of_a_definition_is_one_of_the_specification_or_has_a_line():
    from mcp_conductor.server import inline

    of_mcp = {*inline._TOOL_MEMBERS, *inline._TEMPLATE_MEMBERS, *inline._ARGUMENT_MEMBERS, *inline.RESOURCE_MEMBERS}
    keys = {*inline.TOOL_KEYS, *inline.RESOURCE_KEYS, *inline.TEMPLATE_KEYS, *inline.PROMPT_KEYS, *inline.ARGUMENT_KEYS}
    assert keys - of_mcp - {"arguments"} == set(inline.OWN_KEYS)


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.name)
def test_a_page_is_in_the_index(page):
    assert page.name in reference.PAGES or page.name in ("recording.md", "json.md")
    assert page.name == "README.md" or f"]({page.name})" in (FOLDER / "README.md").read_text()


def test_every_requirement_has_a_row():
    from mcp_conductor.checks.requirements import requirements

    pages = "".join((FOLDER / f"requirements-{subject}s.md").read_text() for subject in ("server", "client"))
    assert [each for each in requirements() if f"\n| [{each}](" not in pages] == []
