"""A page is one file that a browser may trust, whatever stands in its data."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import mcp_conductor.report.page as page_module
from mcp_conductor.report.page import json_block, page

FOLDER = Path(page_module.__file__).parent
NASTY = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]>&lt;&amp;",
    "\u2028\u2029\x00\x1b[31m\x7f",
    "half \ud83d of a character",
    "\u202eturned\u202c",
    "@TITLE@ @DATA@",
]


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("nasty", NASTY)
def test_data_comes_back_as_it_was_and_ends_nothing(nasty):
    text = page({"kind": "recording", "title": nasty, "frames": [{"at": 0, "source": "server", "text": nasty}]})
    assert data_of(text)["frames"][0]["text"] == nasty
    assert text.count("</script>") == 2
    text.encode()  # it can be written as UTF-8


def test_a_block_of_data_has_only_characters_that_can_be_seen():
    assert json_block({"a": "<\u2028>&\x00\ud800"}) == '{"a":"\\u003c\\u2028\\u003e\\u0026\\u0000\\ud800"}'


def test_the_title_is_text():
    assert "<title>a &lt;b&gt; &amp; c</title>" in page({"kind": "recording", "title": "a <b> & c", "frames": []})


def test_the_policy_allows_the_script_and_the_style_sheet_of_the_page_and_nothing_else():
    text = page({"kind": "recording", "title": "", "frames": []})
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None
    policy = dict(part.strip().split(" ", 1) for part in found[1].split(";"))
    parts = {"script-src": r"<script>(.*?)</script>", "style-src": r"<style>(.*?)</style>"}
    assert set(policy) == {"default-src", "base-uri", "form-action", *parts}
    assert {policy[name] for name in ("default-src", "base-uri", "form-action")} == {"'none'"}
    for name, pattern in parts.items():
        (inline,) = re.findall(pattern, text, re.DOTALL)
        assert policy[name] == f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}'"


def test_the_script_never_reads_text_as_html_or_as_code():
    scripts = {file.name: file.read_text() for file in FOLDER.glob("*.js")}
    assert len(scripts) >= 9
    ways = r"\b(innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|srcdoc|eval|Function\(|import\(|fetch\(|XMLHttpRequest|WebSocket|document\.write)"
    assert {name: found for name, text in scripts.items() if (found := re.findall(ways, text))} == {}


def test_no_part_of_the_page_is_long():
    assert {file.name for file in FOLDER.glob("*.js") if len(file.read_text().splitlines()) > 400} == set()


def test_the_page_names_no_address_to_load_anything_from():
    text = page({"kind": "recording", "title": "", "frames": []})
    assert re.findall(r"(?:src|href)=|url\(|@import", text) == []
