"""README and docs: what they show is what happens. Every command is run, every link leads somewhere, every flag exists."""

import re
from pathlib import Path

import pytest
import samples
import screenshots

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "benchmarks").rglob("*.md"))]
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
# Commands of ours: what follows up to the end of the line, of the code, or of the pipe.
_OURS = re.compile(r"(?:^|[\s`$(])(?:mcp-cli|mcp-conductor|conductor|server-composable)\s([^`|\n]*)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", samples.pages(), ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page):
    wrong = [f"line {block.line}: {text}" for block, _, text in samples.played(page.read_text()) if text]
    assert wrong == [], "\n".join(wrong)


def test_a_block_that_is_not_run_says_why():
    blocks = [block for page in samples.pages() for block in samples.blocks(page.read_text())]
    assert [block for block in blocks if "skip" in block.more and len(block.more["skip"].split()) < 3] == []


def test_all_of_readme_and_the_tutorial_is_run_but_for_what_installs_and_tests():
    pages = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
    blocks = [block for page in pages for block in samples.blocks(page.read_text())]
    assert {block.more["skip"] for block in blocks if "skip" in block.more} == {
        "installs the project, as tests/e2e/docs/test_installed.py does",
        "scripts/demo and scripts/test are CI",
    }


def test_the_pictures_are_those_of_runs_today():
    assert screenshots.stale(write=False) == []


def test_the_server_of_the_tutorial_is_the_one_of_the_examples():
    page = (ROOT / "docs" / "tutorial.md").read_text()
    (server,) = [block for block in samples.blocks(page) if block.title == "notes.py" and block.kind == "python"]
    assert server.text == (ROOT / "examples" / "notes" / "notes.py").read_text()


def anchors(page: Path) -> set[str]:
    """The names of the sections of a page, as GitHub and MkDocs make them."""
    titles = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", dict.fromkeys(LINKED), ids=name)
def test_every_link_leads_to_a_file_and_a_section_of_it(page):
    dead = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text())):
        if link.startswith(("https://", "http://")):
            continue
        path, _, section = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (section and section not in anchors(target)):
            dead.append(link)
    assert dead == []


def known_flags() -> set[str]:
    import reference

    flags = {flag.name for groups in reference.flags_of().values() for each in groups.values() for flag in each}
    return flags | {"--help", "--version"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_flag_of_our_commands_exists(page):
    text = page.read_text().replace("\\\n", " ")
    used = {flag for words in _OURS.findall(text) for flag in _FLAG.findall(words.partition(" -- ")[0])}
    assert used - known_flags() == set()


def test_readme_names_every_command():
    from mcp_conductor.cli.commands.dispatch import COMMANDS

    table = (ROOT / "README.md").read_text().partition("## The programs")[2].partition("\n## ")[0]
    assert {name for name in COMMANDS if not re.search(rf"`(conductor )?{name}[` ]", table)} == set()


def test_the_numbers_of_requirements_are_not_too_high():
    from mcp_conductor.checks.explain import listing

    told = re.search(
        r"More than (\d+) requirements for servers and (\d+) for clients", (ROOT / "README.md").read_text()
    )
    for subject, number in zip(("server", "client"), told.groups(), strict=True):
        checked = [line for line in listing((subject,), ()).splitlines() if line.endswith("checked")]
        assert int(number) <= len(checked) < int(number) + 10


def test_the_numbers_of_matchers_and_presets_are_not_too_high():
    from mcp_conductor.server.presets import PRESETS
    from mcp_conductor.suites.matching.manual import manual

    for what, number in (("matchers", len(manual())), ("presets", len(PRESETS.items()))):
        told = re.search(rf"more than (\d+) {what}", (ROOT / "README.md").read_text())
        assert int(told[1]) < number <= int(told[1]) + 10
