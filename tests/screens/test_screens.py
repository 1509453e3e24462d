"""Everything that a user of our programs sees, word for word: the cases on the pages of this directory (see pages.py).

$PYTHON, $NODE, $EXAMPLES, $SERVERS and $HERE (the directory of the run) may be used in a command line and its variables;
all but the last are environment variables too, for settings files. In a command line, $TAKEN is a port that is in use, and
$URL is where the `server.yaml` of the case is served over HTTP. In what is expected, the places above are written as their
names, and <<<regex>>> in a line matches what differs from run to run; <<<(?s:.*)>>> matches any number of lines. What a
run writes into `.conductor` is not looked at: it is for the next run alone.

The programs run in the process of the tests, unless a page says `process` or names a terminal.
"""

import re
import shutil
import sys
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from tests.screens import pages
from tests.screens.pages import FILES, SCREENS, Case, Texts, all_cases

CASES = all_cases()
PLACES = {
    "PYTHON": sys.executable,
    "NODE": str(Path(sys.executable).parent / "node"),
    "EXAMPLES": str(SCREENS.parent.parent / "examples"),
    "SERVERS": str(SCREENS.parent / "servers"),
}
_PROGRESS = re.compile(r"^checking .*\n", re.MULTILINE)  # what a check says only where the machine is busy
SAID = ("stdout", "stderr", "exit")
HOLE = re.compile(r"<<<(.+?)>>>")
HOLE_OF_LINES = "<<<(?s:"


@pytest.mark.parametrize(
    ("expected", "actual", "kept"),
    [
        ("a\n", "a\n", "a\n"),
        ("a\n", "b\n", "b\n"),
        ("a\n", "a", "a"),
        ("<<<\\d+>>> s.\n", "12 s.\n", "<<<\\d+>>> s.\n"),
        ("<<<\\d+>>> s.\n", "12 s!\n", "12 s!\n"),
        ("<<<.*>>>\nb\n", "b\nb\n", "<<<.*>>>\nb\n"),
        ("t <<<\\d>>>\nold\nt <<<\\d>>>\n", "new\nt 1\nt 2\n", "new\nt <<<\\d>>>\nt <<<\\d>>>\n"),
        ("<<<[ab]>>>\nx\n", "b\nx\nb\n", "<<<[ab]>>>\nx\nb\n"),
        ("a\n<<<(?s:.*)>>>\nd\n", "a\nb\nc\nd\n", "a\n<<<(?s:.*)>>>\nd\n"),
        ("a\n<<<(?s:.*)>>>\nd\n", "a\nb\nc\n", "a\nb\nc\n"),
    ],
)
def test_a_line_keeps_its_holes_where_they_fit(expected: str, actual: str, kept: str) -> None:
    assert with_holes(expected, actual) == kept


def test_no_case_expects_how_long_a_run_took() -> None:
    took = re.compile(r"(passed|failed|errored|skipped|revisions)( \(-v\))?( in|,) [\d.]+ s\b")
    assert [(case.name, part) for case in CASES for part, text in case.expected.items() if took.search(text)] == []


def test_every_shared_file_belongs_to_several_cases() -> None:
    named = [directory for case in CASES for directory in case.shared]
    assert sorted({name for name in named if named.count(name) > 1}) == sorted(each.name for each in FILES.iterdir())


def test_an_update_rewrites_what_the_run_says_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\nAbout it.\n\n## one\n\n```console\n$ conductor a\nold\n```\n\n## two\n\nText.\n\n"
        "```console process exit=1\n$ conductor b \\\n  -v\n## old\n```\n\n```stderr\nerror\n```\n\n## three\n\n"
        '```yaml title="a.yaml"\na: 1\n```\n\n```stdin\nin\n```\n\n```console\n$ conductor c\n```\n'
    )
    before = page.read_text()
    one, two, three = pages.cases(page)
    assert (two.command, two.process, two.expected) == (
        "conductor b \\\n  -v",
        True,
        {"stdout": "## old\n", "stderr": "error\n", "exit": "1\n"},
    )
    assert (three.files, three.stdin, three.expected) == ({"a.yaml": "a: 1\n"}, "in\n", {"exit": "0\n"})
    for case in (one, two, three):
        pages.update(case, case.expected)
    assert page.read_text() == before
    said = {"stdout": "```\n## new\n```\n", "exit": "2\n", "written/a/b.md": "no end"}
    pages.update(two, said)
    assert [case.expected for case in pages.cases(page)] == [one.expected, said, three.expected]
    assert (
        page.read_text().replace(
            '````console process exit=2\n$ conductor b \\\n  -v\n```\n## new\n```\n````\n\n```markdown written="a/b.md"\nno end\n'
            "\\ no line end\n```\n",
            "```console process exit=1\n$ conductor b \\\n  -v\n## old\n```\n\n```stderr\nerror\n```\n",
        )
        == before
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_program_says(
    case: Case, program: Callable[..., Any], taken: str, served: Callable[[], str], tmp_path: Path, update: bool
) -> None:
    provide(case, tmp_path)
    known = {**PLACES, "HERE": str(tmp_path), **({"TAKEN": taken} if "$TAKEN" in case.command else {})}
    known |= {"URL": served()} if "$URL" in case.command else {}
    actual = run(case, program, known)
    kept = {part: with_holes(case.expected.get(part, ""), text) for part, text in actual.items()}
    if kept != case.expected:
        if update:
            pages.update(case, kept)
        else:
            pytest.fail(differences(case, kept), pytrace=False)


def provide(case: Case, here: Path) -> None:
    """Write the files of the case."""
    for directory in case.shared:
        shutil.copytree(FILES / directory, here, dirs_exist_ok=True)
    for name, text in case.files.items():
        file = here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())


def run(case: Case, program: Callable[..., Any], known: Texts) -> Texts:
    """What a run of the case says and writes; a stream that says nothing is left out."""
    here = Path(known["HERE"])
    before = files_below(here)
    words = [placed(word, known) for word in case.words]
    given = {name: placed(value, known) for name, value in case.variables.items()}
    how = {"stdin": case.stdin, "columns": case.columns, "process": case.process}
    done = program(*words, **how, **PLACES, **given)
    said = {"stdout": done.out, "stderr": _PROGRESS.sub("", done.err), "exit": f"{done.code}\n"}
    written = {f"written/{file}": (here / file).read_bytes().decode() for file in files_below(here) - before}
    return {file: placeless(text, known) for file, text in {**said, **written}.items() if text or file not in SAID}


def placed(text: str, known: Texts) -> str:
    return re.sub(r"\$([A-Z]+)", lambda found: known.get(found[1], found[0]), text)


def placeless(text: str, known: Texts) -> str:
    for name, place in sorted(known.items(), key=lambda item: len(item[1]), reverse=True):
        text = text.replace(place, f"${name}")
    return text


def files_below(directory: Path) -> set[str]:
    found = {str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()}
    return {file for file in found if not file.startswith(".conductor/")}


def with_holes(expected: str, actual: str) -> str:
    """ACTUAL with the holes of EXPECTED in every line that they fit; so the two are equal if all is as expected."""
    old, new = lines_of(expected), lines_of(actual)
    if len(old) == len(new) and all(map(fits, old, new)):
        return expected
    if HOLE_OF_LINES in expected and fits(expected, actual):
        return expected
    plain = {line for line in old if not HOLE.search(line)}
    holed = [line for line in old if HOLE.search(line) and HOLE_OF_LINES not in line]
    for index, line in enumerate(new):
        match = next((candidate for candidate in holed if line not in plain and fits(candidate, line)), None)
        if match is not None:
            holed.remove(match)
            new[index] = match
    return "".join(new)


def lines_of(text: str) -> list[str]:
    """The lines with their ends; unlike splitlines(), only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def fits(expected: str, actual: str) -> bool:
    if expected == actual:
        return True
    parts = HOLE.split(expected)  # text, hole, text, hole, …, text
    pattern = "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return len(parts) > 1 and re.fullmatch(pattern, actual) is not None


def differences(case: Case, actual: Texts) -> str:
    place = f"{case.page.relative_to(SCREENS.parent.parent)}:{case.line}"
    parts = [f"it does not say what {place} expects (scripts/test screens --update accepts it):\n"]
    for part in sorted({*case.expected, *actual}):
        old, new = case.expected.get(part, ""), actual.get(part, "")
        parts += unified_diff(lines_of(old), lines_of(new), f"expected {part}", f"actual {part}")
    return "".join(part if part.endswith("\n") else f"{part}\n\\ no line end\n" for part in parts)
