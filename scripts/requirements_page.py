"""The pages of docs/reference on requirements: what each says, whether it is checked, and the remedy."""

from itertools import groupby

from mcp_conductor.checks.explain import members_of, named_requirements
from mcp_conductor.checks.requirements import requirements
from mcp_conductor.protocol import Json


def servers() -> str:
    return _page("server", "conductor check -- COMMAND")


def clients() -> str:
    return _page("client", 'conductor check --client "CMD {server}"')


def _page(subject: str, command: str) -> str:
    ids = [each.id for each in requirements().values() if each.subject == subject and each.plugin is None]
    entries = members_of(named_requirements(ids))
    checked = sum(each["checked"] for each in entries)
    head = (
        f"# Requirements for {subject}s\n\n{len(entries)} sentences of the specification, in our words. `{command}` "
        f"looks at {checked} of them; the others cannot be observed, and the page says why.\n"
        "`conductor check --explain ID` also shows a conversation that keeps a requirement, and one that breaks it.\n"
    )
    groups = [f"## {group}\n\n{_table(list(each))}" for group, each in groupby(entries, lambda each: each["group"])]
    return "\n".join([head, *groups])


def _table(entries: list[Json]) -> str:
    lines = [
        "| requirement | level, severity | revisions; transports | what it says, and the remedy |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *map(_row, entries)]) + "\n"


def _row(each: Json) -> str:
    first, last = each["revisions"][0], each["revisions"][-1]
    revisions = first if first == last else f"{first} to {last}"
    where = "" if each["transports"] == ["any"] else f"; {', '.join(each['transports'])}"
    level = f"{each['level']}, {each['severity']}"
    unseen = "" if each["checked"] else f" *{each['how'].partition('; one could:')[0]}*"
    frameworks = ", ".join(each["brokenByBareServersOf"])
    limit = f" *Broken by a hello-world server of {frameworks}.*" if frameworks else ""
    said = f"{_safe(each['statement'])}{unseen}{limit}<br>{_safe(each['remedy'])}"
    return f"| [{each['id']}]({each['address']}) | {level} | {revisions}{where} | {said} |"


def _safe(text: str) -> str:
    """Text in a table: what would be markup is not."""
    marks = {"|": "\\|", "<": "&lt;", "*": "\\*", "_": "\\_", "[": "\\[", "`": "\\`"}
    return "".join(marks.get(character, character) for character in text)
