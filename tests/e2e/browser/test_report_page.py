"""The page of `--report html` in a real browser: filters, search, links, keys, conversations; and that it is harmless."""

import json
import sys

import pytest
from tests import prefork
from tests.e2e.browser.conftest import AXE

from mcp_conductor.errors import Location
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
SERVER = """
serverInfo: {name: shelf, version: 1.0.0}
transport: {type: stdio}
logging: true
tools:
  - preset: echo
  - {name: count, result: {content: [{type: text, text: "12"}], structuredContent: {count: 12345678901234567890, unit: books}}}
  - {name: loud, steps: [{log: first}, {log: second}], result: said}
  - {name: nasty, result: "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"}
"""
BOOKS = """
description: Books
tests:
  - {it: lists, list: tools, expect: {ok: true}}
  - it: counts
    tags: [numbers]
    call: {tool: count}
    expect:
      result: {content: [{type: text, text: "13"}], structuredContent: {count: 13, unit: books}}
  - {it: is not ready, skip: not today, call: count, expect: {ok: true}}
"""
TEXTS = """
description: Texts
tests:
  - {it: "<img src=x onerror='window.hacked = 1'>", call: nasty, expect: {result: {content: []}}}
  - {it: is loud, call: loud, expect: {notifications: none}}
  - {it: echoes, call: {tool: echo, args: {message: hi}}, expect: {ok: true}}
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of a real run."""
    folder = tmp_path_factory.mktemp("report")
    for name, text in {"server.yaml": SERVER, "books.test.mcp.yml": BOOKS, "texts.test.mcp.yml": TEXTS}.items():
        (folder / name).write_text(text.lstrip())
    server = [*CONDUCTOR, "serve", str(folder / "server.yaml")]
    words = ["test", "--quiet", "--trace", "on", "--report", "html:page.html", "--", *server]
    done = prefork.run([*CONDUCTOR, *words], cwd=folder, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1, done.stderr
    return folder / "page.html"


def titles(page):
    return page.eval_on_selector_all(".rows a.row", "rows => rows.map(row => row.title)")


def test_a_page_shows_what_came_out(visit, report):
    page = visit().open(report)
    assert page.text_content("h1") == "conductor test: books.test.mcp.yml, texts.test.mcp.yml"
    assert page.text_content("[data-status=failed]").split() == ["✗", "failed", "3"]
    assert len(titles(page)) == 6
    assert page.locator(".failures li").count() == 3


def test_a_status_a_file_and_words_filter_the_list(visit, report):
    page = visit().open(report)
    page.click("[data-status=failed]")
    assert len(titles(page)) == 3
    page.select_option("select[aria-label=file]", "books.test.mcp.yml")
    assert titles(page) == ["counts"]
    page.click("text=clear")
    page.fill("#search", "NUMBERS book")
    assert titles(page) == ["counts"], "tags and files are searched too"
    page.fill("#search", "no such thing")
    assert page.text_content(".rows .none") == "Nothing fits these filters."
    assert page.text_content(".found") == "0 of 6 tests"


def test_a_link_opens_a_test_also_one_that_a_filter_hides(visit, report):
    page = visit().open(report, "#test=books.test.mcp.yml%3A%3Acounts")
    assert page.text_content("#detail-title") == "counts"
    assert page.get_attribute(".rows a.is-current", "aria-current") == "true"
    page.click("[data-status=passed]")
    page.evaluate("location.hash = 'test=books.test.mcp.yml%3A%3Ais%20not%20ready'")
    page.wait_for_selector("#detail-title:text-is('is not ready')")
    assert page.get_attribute("[data-status=passed]", "aria-pressed") == "false"
    page.evaluate("location.hash = 'test=none'")
    page.wait_for_selector(".reason:has-text('This report has no test none')")


def test_a_failure_is_marked_in_its_file_in_the_difference_and_in_the_message(visit, report):
    page = visit().open(report, "#test=books.test.mcp.yml%3A%3Acounts")
    assert page.locator(".source .marked").count() >= 1
    assert "13" in page.text_content(".source mark")
    changed = page.eval_on_selector_all(".diff mark", "marks => marks.map(mark => mark.textContent)")
    assert changed[:2] == ["3", "2"]
    assert page.locator(".conversation .pin").count() >= 1
    wrong = page.eval_on_selector_all(".conversation .wrong", "parts => parts.map(part => part.textContent)")
    assert '"count": 12345678901234567890,' in wrong, "with all its digits"


def test_json_folds(visit, report):
    page = visit().open(report, "#test=texts.test.mcp.yml%3A%3Aechoes")
    row = page.locator(".conversation details.row").last
    row.locator("> summary").click()
    fold = row.locator(".json > details")
    fold.locator("> .below > *").last.wait_for()  # it is made when it is opened
    assert fold.locator("> .below > *").count() == 3
    fold.locator("> summary").click()
    assert not fold.locator("> .below").is_visible()
    assert "jsonrpc, id, result — 3" in fold.locator("> summary").text_content()


def test_what_is_said_meanwhile_belongs_to_its_request(visit, report):
    page = visit().open(report, "#test=texts.test.mcp.yml%3A%3Ais%20loud")
    group = page.locator(".group").last
    assert group.locator("h4").text_content() == "tools/call loud"
    assert group.locator(".tag").first.text_content() == "2 notifications"
    assert group.locator(".row .what").all_text_contents() == [
        "tools/call", "notifications/message", "notifications/message", "result",
    ]  # fmt: skip


def test_nothing_that_a_server_says_is_read_as_html(visit, report):
    page = visit().open(report)
    page.click("text=onerror")
    page.wait_for_selector(".conversation")
    page.keyboard.press("e")
    assert "</script>" in page.text_content(".conversation .body .string >> nth=-1")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_keys_do_what_the_help_says(visit, report):
    page = visit().open(report)
    page.keyboard.press("?")
    assert page.is_visible("dialog.help")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog.help", state="hidden")
    page.keyboard.press("j")
    page.wait_for_selector("#detail-title:text-is('lists')")
    page.keyboard.press("n")
    page.wait_for_selector("#detail-title:text-is('counts')")
    page.keyboard.press("k")
    page.wait_for_selector("#detail-title:text-is('lists')")
    page.keyboard.press("/")
    page.keyboard.type("echo")
    assert titles(page) == ["echoes"]
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    assert len(titles(page)) == 6
    page.keyboard.press("1")
    assert page.get_attribute("[data-status=failed]", "aria-pressed") == "true"
    page.keyboard.press("l")
    page.wait_for_selector(".timeline canvas")
    page.keyboard.press("o")
    page.wait_for_selector("#detail-title:text-is('Overview')")


def test_the_colours_follow_the_system_until_they_are_chosen(visit, report):
    light, dark = (
        visit(color_scheme=scheme).open(report).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    )
    assert light != dark
    page = visit(color_scheme="dark").open(report)
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_a_bar_of_the_timeline_opens_its_test(visit, report):
    page = visit().open(report, "#timeline")
    whole = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    seconds = whole["seconds"]
    told = f"{seconds * 1000:.0f} ms" if seconds < 0.9995 else f"{seconds:.2f} s"
    assert page.text_content(".detail .facts").endswith(told), "the time of the whole run"
    last = max(whole["outcomes"], key=lambda each: each.get("began", 0.0))
    box = page.locator(".timeline canvas").bounding_box()
    middle = (last["began"] + last["seconds"] / 2) / seconds
    page.mouse.click(box["x"] + middle * box["width"], box["y"] + 44)
    page.wait_for_url("**#test=*")


def test_a_copied_command_calls_the_tool_again(visit, report):
    page = visit().open(report, "#test=texts.test.mcp.yml%3A%3Aechoes")
    page.locator("text=copy as command").last.click()
    page.wait_for_selector("text=copied ✓")
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("""mcp-cli --method tools/call --tool-name echo --tool-args-json '{"message": "hi"}'""")
    program = "import sys; from mcp_conductor.cli import mcp_cli; sys.argv[0] = 'mcp-cli'; sys.exit(mcp_cli())"
    shell = f'mcp-cli() {{ \'{sys.executable}\' -c "{program}" "$@"; }}; {command}'
    done = prefork.run(["bash", "-c", shell], cwd=report.parent, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"][0]["text"].endswith("hi")


def test_a_copied_test_passes(visit, report, tmp_path):
    page = visit().open(report, "#test=texts.test.mcp.yml%3A%3Aechoes")
    page.locator("text=copy as test").last.click()
    page.wait_for_selector("text=copied ✓")
    text = page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "copied.test.mcp.yml").write_text(f"description: copied\ntests:\n{text}")
    words = ["test", "--", *CONDUCTOR, "serve", str(report.parent / "server.yaml")]
    done = prefork.run([*CONDUCTOR, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.decode().splitlines()[-1].split(" in ")[0]) == (0, "1 passed"), done.stdout


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: scripts/setup")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_people_with_other_senses_out(visit, report, scheme):
    seen = visit(color_scheme=scheme)
    for link in (
        "#overview",
        "#timeline",
        "#test=books.test.mcp.yml%3A%3Acounts",
        "#test=texts.test.mcp.yml%3A%3Ais%20loud",
    ):
        seen.open(report, link)
        assert seen.faults() == [], link


def test_on_paper_there_are_the_overview_and_all_failures(visit, report):
    page = visit().open(report)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("article.detail").count() == 4
    assert not page.is_visible(".side")


STATUSES = ("passed",) * 17 + ("failed", "skipped", "warned")


def many(count: int) -> Report:
    def outcome(number: int) -> Outcome:
        status, file = STATUSES[number % 20], f"suite{number // 200:02d}.test.mcp.yml"
        wrong = Finding(message="result.sum is 4, not 3", path="result.sum", framed=(0, 2))
        frames = (
            Frame(0.1, "client", '{"id":1,"method":"tools/call"}'),
            Frame(0.2, "server", '{"id":1,"result":{"sum":4}}'),
        )
        bad = status in ("failed", "warned")
        return Outcome(
            id=f"{file}::adds {number}", title=f"adds {number}", group=f"Suite {number // 200}", status=status,
            seconds=number % 101 / 1000, where=Location(file, 3, 5), findings=(wrong,) if bad else (),
            frames=frames if bad else (), began=number * 0.003, worker=number % 4,
        )  # fmt: skip

    return Report(kind="test", target="many", outcomes=tuple(map(outcome, range(count))))


FILTERING = """() => {
    const began = performance.now();
    const search = document.getElementById("search");
    search.value = "adds 99";
    search.dispatchEvent(new Event("input"));
    document.querySelector("[data-status=failed]").click();
    document.body.getBoundingClientRect();
    return performance.now() - began;
}"""


def test_ten_thousand_outcomes_are_opened_and_filtered_within_two_seconds(visit, tmp_path):
    file = tmp_path / "many.html"
    file.write_text(REPORTERS.get("html").write(many(10_000)))
    seen, times = visit(), []
    for _ in range(3):  # the best of three: others may use the machine, too
        page = seen.open(file)
        times.append((page.evaluate("performance.now()"), page.evaluate(FILTERING)))
    wanted = sum("99" in str(number) for number in range(17, 10_000, 20))
    assert page.text_content(".found") == f"{wanted} of 10,000 tests"
    assert [min(each) < 2000 for each in zip(*times, strict=True)] == [True, True], times
    assert page.locator(".rows > li").count() < 100, "only what is seen is drawn"
