"""The page of `conductor check` in a real browser: one revision and all of them, a client, and known failures."""

import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.e2e.browser.conftest import AXE

from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

ROOT = Path(__file__).parent.parent.parent.parent
NOTES = ROOT / "examples" / "notes" / "notes.py"
CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
CLIENT = """
import json, subprocess, sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def ask(**message):
    server.stdin.write((json.dumps(message) + "\\n").encode())
    server.stdin.flush()
    server.stdout.readline()

info = {"name": "<b>odd</b>", "version": "1"}
params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
ask(jsonrpc="2.0", id=None, method="initialize", params=params)
"""
# Speaks whatever revision with a handshake it is asked for; one of its tools has no schema.
FLEXIBLE = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    reply = {"error": {"code": -32601, "message": "no such method"}}
    if request.get("method") == "initialize":
        info = {"name": "flexible", "version": "1"}
        version = request["params"]["protocolVersion"]
        reply = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    elif request.get("method") == "tools/list":
        reply = {"result": {"tools": [{"name": "count_notes"}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The page of a check with these words, made once."""
    folder, pages = tmp_path_factory.mktemp("checks"), {}
    (folder / "client.py").write_text(CLIENT)
    (folder / "flexible.py").write_text(FLEXIBLE)
    (folder / "known.yaml").write_text("- {id: tools-item-inputschema, reason: it is fixed in 2.0}")

    def page(*words, code):
        if words not in pages:
            pages[words] = folder / f"page{len(pages)}.html"
            report = ["check", "--quiet", "--report", f"html:{pages[words]}", *words]
            done = prefork.run([*CONDUCTOR, *report], cwd=folder, capture_output=True, check=False, timeout=120)
            assert done.returncode == code, done.stderr
        return pages[words]

    return page


SERVER = ("--", sys.executable, str(NOTES))
ONE = ("--only", "tools", *SERVER)
FLEXIBLE_SERVER = ("--", sys.executable, "flexible.py")
ALL = ("--protocol", "all", "--only", "tools", *FLEXIBLE_SERVER)
OF_A_CLIENT = ("--client", f"{sys.executable} client.py {{server}}", "--timeout", "1s", "--scenario", "plain")


def listed(page, title):
    """The entries of the list TITLE of the overview."""
    return page.locator(f".part:has(h3:text-is('{title}')) li").all_text_contents()


def test_the_overview_lists_what_failed_and_what_is_warned_about(visit, checked):
    page = visit().open(checked(*SERVER, code=1))
    (failed,) = listed(page, "What failed")
    assert failed.startswith("✗tools-item-inputschematool 'count_notes': inputSchema is missing")
    assert [each.split("-")[0] for each in listed(page, "What is warned about")] == ["▲lifecycle"]


def test_what_is_only_warned_about_does_not_look_like_a_failure(visit, checked):
    page = visit().open(checked(*SERVER, code=1), "#test=lifecycle-server-rejects-preinit")
    assert page.locator(".part:has(h3:text-is('What should be better')) .finding.is-warned").count() == 1
    assert page.locator(".pin.is-warned").count() == 1
    assert page.locator(".pin.is-failed, .group.has-wrong").count() == 0


def test_findings_that_say_the_same_are_shown_three_at_a_time(visit, tmp_path):
    wrong = tuple(Finding(message=f"tool 'a{number}': no name") for number in range(9))
    outcome = Outcome(id="x", title="x", group="tools", status="failed", level="MUST", findings=wrong)
    file = tmp_path / "page.html"
    file.write_text(REPORTERS.get("html").write(Report(kind="check", target="x", outcomes=(outcome,))))
    page = visit().open(file, "#test=x")
    assert page.locator(".finding").count() == 3
    page.click("text=6 more findings")
    page.locator(".finding").nth(8).wait_for()


def test_a_letter_has_one_colour(visit, checked):
    page = visit().open(checked(*SERVER, code=1))
    seal, letter = (
        page.locator(each).evaluate("part => getComputedStyle(part).backgroundImage") for each in (".seal", ".letter")
    )
    assert seal == letter


def test_a_finding_leads_to_the_message_that_proves_it(visit, checked):
    page = visit().open(checked(*ONE, code=1), "#test=tools-item-inputschema")
    assert page.locator(".conversation .wrong").count() == 1
    assert "Give each tool an inputSchema" in page.text_content(".pin .remedy")
    page.click("text=show the message")
    assert "result" in page.evaluate("document.activeElement.textContent")


def test_each_of_several_revisions_is_named_linked_and_checked_again_by_itself(visit, checked):
    page = visit().open(checked(*ALL, code=1))
    named = [each.split("tool '")[0] for each in listed(page, "What failed")]
    assert named == [
        f"✗tools-item-inputschema{version}" for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
    ]
    page.click(".failures li:nth-child(2) a")
    page.wait_for_selector("#detail-title")
    assert "MCP 2025-03-26" in page.text_content(".detail .facts")
    assert "--protocol 2025-03-26" in page.get_attribute("text=copy command to run it again", "title")
    link = page.evaluate("location.hash")
    page = visit().open(checked(*ALL, code=1), link)
    assert "MCP 2025-03-26" in page.text_content(".detail .facts")


def test_no_word_of_a_table_is_broken(visit, checked):
    page = visit().open(checked("--protocol", "all", *FLEXIBLE_SERVER, code=1))
    cells = page.locator(".grade + .table th, .grade + .table td:nth-child(-n+4)")
    assert cells.count() > 10
    heights = cells.evaluate_all(
        "cells => cells.map(cell => { const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length; })"
    )
    assert set(heights) == {1}


def test_what_is_known_to_fail_is_not_skipped_and_has_its_reason(visit, checked):
    page = visit().open(checked("--expected-failures", "known.yaml", *SERVER, code=0))
    assert page.text_content("[data-status=xfailed]").split() == ["≈", "xfailed", "1"]
    (known,) = listed(page, "What is known to fail")
    assert known.startswith("≈tools-item-inputschema")
    page.click("[data-status=xfailed]")
    page.click(".rows a.row")
    page.wait_for_selector("#detail-title")
    assert page.text_content(".reason") == "Fails as expected: it is fixed in 2.0"
    assert page.locator(".finding").count() == 1


def test_the_page_of_a_client_says_what_it_did_and_what_could_not_be_seen(visit, checked):
    page = visit().open(checked(*OF_A_CLIENT, code=1))
    (failed,) = listed(page, "What failed")
    assert failed == "✗base-request-id-type-clienta request has the id null"
    assert "the client never listed anything: 2 checks could not run" in page.text_content(
        ".part:has(h3:text-is('Warnings'))"
    )
    page.click(".failures a")
    page.wait_for_selector("#detail-title")
    assert page.text_content(".group h4") == "initialize"
    assert page.text_content(".pin strong") == "a request has the id null"
    assert page.text_content(".conversation .wrong") == '"id": null,'
    assert page.locator("b:text-is('odd')").count() == 0


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: scripts/setup")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_with_other_senses_out(visit, checked, scheme):
    seen = visit(color_scheme=scheme)
    known = checked("--expected-failures", "known.yaml", *SERVER, code=0)
    places = [
        (known, ""),
        (known, "#test=tools-item-inputschema"),
        (checked(*ALL, code=1), "#test=tools-item-inputschema"),
    ]
    for file, link in places:
        seen.open(file, link)
        assert seen.faults() == [], link


def test_the_page_of_a_server_that_cannot_be_started_says_why_and_gives_no_grade(visit, checked):
    page = visit().open(checked("--", "no-such-program", code=3))
    assert listed(page, "What failed") == [
        "‼The server can be usedcannot start 'no-such-program': No such file or directory"
    ]
    grade = page.text_content(".part:has(h3:text-is('Grade'))")
    assert grade == "GradeNo grade: cannot start 'no-such-program': No such file or directory"
    page.click(".failures a")
    page.wait_for_selector("#detail-title")
    assert "is it installed, and on PATH?" in page.text_content(".finding")
