"""Everything that may stand after `match:`, for the manual."""

from mcp_conductor.suites.matching.matchers import MATCHERS, SPECIAL_KEYS, manual_entry
from mcp_conductor.suites.matching.matchers.text import has_part, resembles


def manual() -> list[tuple[str, str, str]]:
    """Each matcher: its name, how it is written, and what it means."""
    unnamed = [("", *manual_entry(judge)) for judge in (has_part, resembles)]
    texts = [(name, *manual_entry(each.judge)) for name, each in MATCHERS.items()]
    return [*unnamed, *texts, *((name, *manual_entry(make)) for name, make in SPECIAL_KEYS.items())]
