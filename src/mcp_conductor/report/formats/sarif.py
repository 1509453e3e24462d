"""SARIF 2.1.0, which code scanning reads: rules of the catalogue, and a result for each finding, those alike as one.

GitHub shows only results with a place in a file. A check has none: its results belong to the settings of the server or
to the file that starts it, and where neither is known, to a name that stands for the server.
"""

import hashlib
from collections.abc import Iterable, Iterator
from posixpath import basename, isabs, normpath
from urllib.parse import quote

from mcp_conductor import __version__
from mcp_conductor.errors import Location
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.folding import Alike, folded, shape, told_once
from mcp_conductor.report.formats.wording import headline, warning_text, why
from mcp_conductor.report.model import BAD, Finding, Outcome, Report, Rule
from mcp_conductor.text.visible import json_escaped

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_FILE = "mcp-server"
_MOST_NAMES = 10
_LEVELS = {"MUST": "error", "SHOULD": "warning", "MAY": "note"}
_OF_TESTS = {
    "failed": Rule(id="test-failed", statement="A test passes."),
    "errored": Rule(id="test-errored", statement="A test can be carried out."),
    "not-run": Rule(id="test-not-run", statement="Every test is run."),
    "warned": Rule(id="test-warning", statement="A test has no warnings."),
}


@reporter("sarif", suffix=".sarif", escapes=True)
def sarif(report: Report) -> str:
    """SARIF 2.1.0, for code scanning: a rule for each requirement, and a result for each finding."""
    results = [result for outcome in told_once(report.outcomes) for result in _results(outcome, report.source)]
    # What a check could not see is about the check; an alert would be about the server.
    of_the_run = report.warnings if report.kind == "check" else ()
    results += [_result(_OF_TESTS["warned"].id, "warning", warning_text(each), each.where, (), report.source)
                for each in report.warnings if each not in of_the_run]  # fmt: skip
    used = {result["ruleId"] for result in results}
    about = {outcome.id: outcome for outcome in report.outcomes if outcome.level is not None}
    stated = {name: Rule(id=name, statement=outcome.title) for name, outcome in about.items()}
    stated |= {rule.id: rule for rule in report.rules}
    rules = [*stated.values(), *(rule for rule in _OF_TESTS.values() if rule.id in used)]
    places = {rule.id: index for index, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    driver = {
        "name": "MCP Conductor",
        "semanticVersion": __version__,
        "rules": [_rule(rule, about.get(rule.id)) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"conductor-{report.kind}/"},
        "invocations": [{"executionSuccessful": report.stopped is None, **_notifications(of_the_run)}],
        "results": results,
    }
    return json_escaped(render({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)) + "\n"


def _notifications(warnings: Iterable[Finding]) -> Json:
    told = [{"level": "warning", "message": {"text": warning_text(each)}} for each in warnings]
    return {"toolExecutionNotifications": told} if told else {}


def _rule(rule: Rule, outcome: Outcome | None) -> Json:
    """RULE, and of a requirement the level, group and side that its OUTCOME has."""
    tags = [] if outcome is None else ["mcp", outcome.group, *([outcome.side] if outcome.side else [])]
    return {
        "id": rule.id,
        "shortDescription": {"text": _plain(rule.statement)},
        "fullDescription": {"text": _plain(rule.statement)},
        "help": {"text": _plain(rule.help or rule.statement)},
        **({} if rule.address is None else {"helpUri": rule.address}),
        **({} if outcome is None else {"defaultConfiguration": {"level": _LEVELS[outcome.level or "MUST"]}}),
        **({} if outcome is None else {"properties": {"tags": tags}}),
    }


def _results(outcome: Outcome, source: str | None) -> Iterator[Json]:
    """What is wrong with an outcome, which may have a rule of its own; of one that was expected to fail, suppressed."""
    known = outcome.failed_as_expected
    status = outcome.status if outcome.status in BAD else "failed" if known else "warned"
    rule = outcome.id if outcome.level is not None else _OF_TESTS[status].id
    found = [each for each in outcome.findings if not each.whole]
    if outcome.status not in (*BAD, "warned") and not known:
        found = [each for each in found if each.warning]
    for alike in folded(found):
        level = "warning" if alike.first.warning else _LEVELS.get(outcome.level or "MUST", "error")
        message = _message(outcome, alike)
        where = alike.first.where or outcome.where
        result = _result(rule, level, message, where, (outcome.id, shape(alike.first)), source)
        if known:
            result["suppressions"] = [{"kind": "external", "justification": _plain(outcome.reason or "")}]
        yield result
    if outcome.status in BAD and not found:
        told = why(outcome) or outcome.status
        yield _result(rule, "error", f"{outcome.title}: {told}", outcome.where, (outcome.id,), source)


def _message(outcome: Outcome, alike: Alike) -> str:
    text = headline(alike.first)
    if alike.others:
        names = ", ".join([*alike.names[:_MOST_NAMES], *(["…"] if alike.names[_MOST_NAMES:] else [])])
        text += f" (and {len(alike.others)} more like this{f': {names}' if names else ''})"
    about = f"{outcome.title}: " if outcome.level is None else ""
    version = f" [{outcome.version}]" if outcome.version else ""
    side = f" [{outcome.side}]" if outcome.side else ""
    return f"{about}{text}{version}{side}"


def _result(
    rule: str, level: str, message: str, where: Location | None, identity: Iterable[str], source: str | None
) -> Json:
    where = where or Location(source or _NO_FILE, 1, 1)
    line, column = max(where.line, 1), max(where.column, 1)
    region = {"startLine": line, "startColumn": column, "endLine": line, "endColumn": column + 1}
    place: Json = {"artifactLocation": {"uri": _relative(where.file)}, "region": region}
    # Two uploads are compared by this: what a server says of the same fault differs in names alone.
    digest = hashlib.sha256("\0".join((rule, *(identity or (message,)))).encode(errors="replace")).hexdigest()
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": _plain(message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"primaryLocationLineHash": f"{digest[:16]}:1"},
    }


def _relative(file: str) -> str:
    """FILE as a URI below the root of the sources: the name alone of one that is elsewhere."""
    path = normpath(file.replace("\\", "/"))
    return quote(basename(path) if isabs(path) or path.startswith("..") else path, errors="replace")


def _plain(text: str) -> str:
    """TEXT in which a viewer finds no link; it is never empty, which the schema does not allow."""
    return text.replace("](", "] (") or "(nothing)"
