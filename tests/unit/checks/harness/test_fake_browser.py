"""The address of a page in what a client prints: the whole of it, or none."""

import json
import textwrap

import pytest

from mcp_conductor.checks.harness.fake_browser import page_in

ORIGIN = "http://127.0.0.1:4000"
URL = f"{ORIGIN}/as/authorize?response_type=code&client_id=a-b_c&code_challenge={'x' * 43}&state={'y' * 43}&scope={'z' * 43}_"


@pytest.mark.parametrize(
    "line",
    [
        URL,
        f"Open {URL} in a browser",
        f"Open {URL}.",
        f"[Open]({URL}), please",
        f"\x1b[4m{URL}\x1b[0m",
        f"│ {URL}   │",
        f"\x1b]8;;{URL}\x1b\\here\x1b]8;;\x1b\\",
        json.dumps({"url": URL}),
        json.dumps({"url": URL}).replace("&", "\\u0026"),
        f'<a href="{URL.replace("&", "&amp;")}">',
    ],
)
def test_an_address_is_found_in_whatever_form_it_is_printed(line):
    assert page_in(line, ORIGIN) == URL


@pytest.mark.parametrize("width", [60, 80, 132, 200])
def test_no_line_of_a_wrapped_address_is_taken_for_one(width):
    assert [page_in(line, ORIGIN) for line in textwrap.wrap(URL, width)] == [None] * len(textwrap.wrap(URL, width))


@pytest.mark.parametrize("end", ["...", "…"])
def test_an_address_that_was_cut_is_none(end):
    assert page_in(f"Open {URL[:-20]}{end}", ORIGIN) is None


def test_a_page_of_another_server_is_not_ours():
    assert page_in(URL, "http://127.0.0.1:4001") is None
