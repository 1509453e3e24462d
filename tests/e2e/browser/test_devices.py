"""The page on narrow screens, on paper, and with the colours that a person has chosen for everything."""

import pytest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

PHONE = {"viewport": {"width": 360, "height": 740}}
LINK = "#test=a.test.mcp.yml%3A%3Atest%20150"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Three hundred tests, of which one failed."""

    def outcome(number):
        wrong = (Finding(message="result.sum is 4, not 3", path="result.sum"),) if number == 150 else ()
        return Outcome(
            id=f"a.test.mcp.yml::test {number}", title=f"test {number}", group="Sums", findings=wrong,
            status="failed" if wrong else "passed", seconds=0.01, where=Location("a.test.mcp.yml", number + 3, 5),
            began=number * 0.01, worker=0,
        )  # fmt: skip

    file = tmp_path_factory.mktemp("devices") / "page.html"
    outcomes = tuple(map(outcome, range(300)))
    server = {"name": "a server with a long name", "version": "1.2.3-beta.4"}
    file.write_text(REPORTERS.get("html").write(Report(kind="test", target="many", server=server, outcomes=outcomes)))
    return file


def is_in_sight(page, selector):
    return page.locator(selector).first.evaluate(
        "part => { const box = part.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }"
    )


def test_on_a_phone_what_failed_is_in_sight_and_nothing_is_too_wide(visit, report):
    page = visit(**PHONE).open(report)
    assert is_in_sight(page, ".failures li")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.keyboard.press("?")
    box = page.locator("dialog.help").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


def test_on_a_phone_a_link_to_a_test_leads_to_it(visit, report):
    page = visit(**PHONE).open(report, LINK)
    assert is_in_sight(page, "#detail-title")
    assert is_in_sight(page, ".finding")


def test_on_a_phone_the_list_is_unfolded_to_choose_from_and_folded_again(visit, report):
    page = visit(**PHONE).open(report)
    assert not page.is_visible(".scroller")
    page.click("text=All tests")
    assert page.get_attribute("button.tab", "aria-expanded") == "true"
    page.click(".rows a.row >> nth=2")
    page.wait_for_selector("#detail-title:text-is('test 2')")
    assert not page.is_visible(".scroller")
    page.click("[data-status=failed]")
    page.click(".rows a.row")
    page.wait_for_selector("#detail-title:text-is('test 150')")
    assert is_in_sight(page, "#detail-title")
    page.keyboard.press("/")
    assert page.is_visible("#search")


def test_on_a_wide_screen_the_list_is_always_there(visit, report):
    page = visit().open(report, LINK)
    assert page.is_visible(".scroller")
    assert not page.is_visible("button.tab")


def test_paper_is_white_also_if_the_screen_is_dark(visit, report):
    page = visit(color_scheme="dark").open(report, LINK)
    page.keyboard.press("t")
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "dark"
    page.emulate_media(media="print")
    ink, ground = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (ink, ground) == ("rgb(27, 36, 48)", "rgb(255, 255, 255)")


def test_with_forced_colours_the_chosen_test_and_the_shares_can_be_seen(visit, report):
    page = visit(forced_colors="active").open(report, LINK)
    assert page.locator(".rows .is-current").evaluate("row => getComputedStyle(row).outlineStyle") == "solid"
    colours = page.locator(".side .meter > span").evaluate_all(
        "parts => parts.map(part => getComputedStyle(part).backgroundColor)"
    )
    assert len(set(colours)) == 2
    page.keyboard.press("1")
    assert page.locator("[data-status=failed]").evaluate("button => getComputedStyle(button).outlineStyle") == "solid"
