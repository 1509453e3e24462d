"""The site that `scripts/docs site` builds: all pages are on it, and links lead where they lead in the project."""

import re
import subprocess
from pathlib import Path

import pytest
import site_pages

ROOT = Path(__file__).parent.parent.parent.parent


def test_every_page_is_in_the_navigation_once():
    listed = re.findall(r"[\w/-]+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in site_pages.pages().values() if name.endswith(".md"))


@pytest.mark.parametrize(
    ("source", "text", "shown"),
    [
        ("README.md", "[t](docs/tutorial.md#install)", "[t](tutorial.md#install)"),
        ("docs/explanation/architecture.md", "[A](../../ARCHITECTURE.md)", "[A](../ARCHITECTURE.md)"),
        ("docs/how-to/faults.md", "[s](../serve.md), [s](#in-pytest)", "[s](../serve.md), [s](#in-pytest)"),
        ("docs/serve.md", "[a file](../examples/servers/inline.yaml)", "a file"),
        ("README.md", "![a picture](docs/images/check.svg)", "![a picture](images/check.svg)"),
        ("README.md", "```text\n[t](docs/tutorial.md)\n```", "```text\n[t](docs/tutorial.md)\n```"),
        ("README.md", "[MCP](https://modelcontextprotocol.io)", "[MCP](https://modelcontextprotocol.io)"),
    ],
)
def test_a_link_leads_to_the_page_or_is_only_its_text(source, text, shown):
    assert site_pages.on_the_site(text, source, site_pages.pages()) == shown


@pytest.mark.slow
def test_the_site_is_built_without_a_warning():
    done = subprocess.run(
        [str(ROOT / "scripts" / "docs"), "site"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "grade C" in (ROOT / "build" / "site" / "tutorial.html").read_text()
