"""The file that `conductor discover` writes, and the one that `conductor init` writes when it has no server to ask."""

from collections.abc import Iterator
from itertools import groupby

from mcp_conductor.protocol import Json
from mcp_conductor.suites.authoring.discover import Discovery, WrittenCase
from mcp_conductor.suites.authoring.recorder import plain_data
from mcp_conductor.suites.authoring.yaml_text import comment, entry

_HEAD = "# Written by `conductor discover`: a case for everything that the server offers. Make it your own.\n"
_TEMPLATE = """\
# A first suite. `conductor test` runs it against the server of conductor.config.json.
# `conductor discover` writes one with a case for every tool, resource and prompt of a server.
description: the server answers

tests:
  - it: answers ping
    request: {method: ping}
    expect: {ok: true}

  # A tool, and what it should answer. What may vary is a pattern: match:contains:…, match:regex:…, match:type:number
  #
  # - it: adds two numbers
  #   call: {tool: add, args: {a: 1, b: 2}}
  #   expect:
  #     result:
  #       content: [{type: text, text: "3"}]
  #
  # - it: refuses what is not a number
  #   call: {tool: add, args: {a: one, b: 2}}
  #   expect: {error: "match:contains:number"}
  #
  # - it: reads a resource
  #   read: "file:///hello.txt"
  #   expect:
  #     ok: true
  #     asserts:
  #       - result.contents[0].text startsWith Hello
"""


def template() -> str:
    """A suite that says how suites are written."""
    return _TEMPLATE


def suite_text(found: Discovery, *, protocol: str | None = None, client: Json | None = None, head: str = _HEAD) -> str:
    """The suite for what was FOUND; PROTOCOL is the revision that it was found in, if one was asked for.

    CLIENT is what the client answers in all tests.
    """
    lines = [*entry("description", _name(found.server))]
    lines += entry("protocol", protocol) if protocol is not None else []
    lines += entry("client", client) if client else []
    lines += entry("vars", plain_data(dict(found.places))) if found.places else []
    lines += ["", "tests:"]
    for group, cases in groupby(found.cases, key=lambda case: case.draft.group):
        lines += [f"  # {group}", ""]
        for case in cases:
            lines += _case_lines(case)
    return head + "\n".join([*lines, *_left_out(found)]).rstrip("\n") + "\n"


def _name(server: Json) -> str:
    words = [server.get(key) for key in ("name", "version")]
    name = " ".join(str(word) for word in words if word)
    return name.encode(errors="replace").decode() or "what the server offers"


def _case_lines(case: WrittenCase) -> Iterator[str]:
    draft = case.draft
    if draft.action is None or draft.gap is not None:
        return
    body = entry("it", draft.title, 4)
    body += [comment(draft.about, 4)] if draft.about else []
    body += entry("skip", draft.skip, 4) if draft.skip is not None else []
    for key, value in draft.action.items():
        body += entry(key, value, 4)
    body += [comment(f"optional: {each}", 4) for each in draft.optional]
    body += [comment(case.remark, 4)] if case.remark else []
    body += entry("expect", case.expect, 4)
    body[0] = f"  - {body[0][4:]}"
    yield from body
    yield ""


def _left_out(found: Discovery) -> Iterator[str]:
    if found.left_out:
        yield "# Left out:"
        for draft in found.left_out:
            yield comment(f"- {draft.what}: {draft.gap}")
