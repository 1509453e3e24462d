"""Everything that a user of our programs sees, word for word: one directory is one case.

`cmd` is the command line, taken apart as a shell would, but run without one; a line that begins with # is a comment.
`stdin` and `env` (KEY=VALUE lines) may be next to it, and all other files that the run needs: a server, settings. The case is
copied and run in the copy, as a process of its own; only the cases called usage-…, which are mcp-cli's and start no
server, share the process of the tests. $PYTHON, $NODE, $EXAMPLES, $SERVERS and $HERE (the copy) may be used in `cmd` and
in `env`; all but the last are environment variables too, for settings files. In `cmd`, $TAKEN is a port that is in use, and
$URL is where the `server.yaml` of the case is served over HTTP. Where there is a file `terminal`, the case is run on a terminal
of that width, and `stdout` is what is left on it.

Expected are `stdout` and `stderr` (no file: nothing is said), `exit`, and in `written/` each file that the run writes, but
for those in `.conductor`, which are for the next run alone.
The places above are written as their names there, and <<<regex>>> in a line matches what differs from run to run;
<<<(?s:.*)>>> matches any number of lines.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from difflib import unified_diff
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_conductor.cli.commands.mcp_cli.run import main
from mcp_conductor.cli.output.terminal import Terminal

GOLDEN = Path(__file__).parent
CASES = sorted(file.parent.name for file in GOLDEN.glob("*/cmd"))
PLACES = {
    "PYTHON": sys.executable,
    "NODE": str(Path(sys.executable).parent / "node"),
    "EXAMPLES": str(GOLDEN.parent.parent / "examples"),
    "SERVERS": str(GOLDEN.parent / "servers"),
}
_PROGRESS = re.compile(r"^checking .*\n", re.MULTILINE)  # what a check says only where the machine is busy
SAID = ("stdout", "stderr", "exit")
NOT_COPIED = shutil.ignore_patterns("cmd", "stdin", "env", "terminal", "written", *SAID)
HOLE = re.compile(r"<<<(.+?)>>>")
HOLE_OF_LINES = "<<<(?s:"

Texts = dict[str, str]  # by the path of the file in the case


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
    texts = {f"{name}/{file}": read(GOLDEN / name / file) for name in CASES for file in expected_files(GOLDEN / name)}
    assert [
        file
        for file, text in texts.items()
        if re.search(r"(passed|failed|errored|skipped|revisions)( \(-v\))?( in|,) [\d.]+ s\b", text)
    ] == []


@pytest.mark.parametrize("name", CASES)
def test_the_program_says(
    name: str, program: Callable[..., Any], taken: str, served: Callable[[], str], tmp_path: Path, update: bool
) -> None:
    case = GOLDEN / name
    shutil.copytree(case, tmp_path, ignore=NOT_COPIED, dirs_exist_ok=True)
    known = {**PLACES, "HERE": str(tmp_path), **({"TAKEN": taken} if "$TAKEN" in read(case / "cmd") else {})}
    known |= {"URL": served()} if "$URL" in read(case / "cmd") else {}
    actual = run(case, within_this_process(tmp_path) if name.startswith("usage-") else program, known)
    expected = {file: read(case / file) for file in expected_files(case)}
    kept = {file: with_holes(expected.get(file, ""), text) for file, text in actual.items()}
    if update:
        write(case, expected, kept)
    elif kept != expected:
        pytest.fail(differences(name, expected, kept), pytrace=False)


def run(case: Path, program: Callable[..., Any], known: dict[str, str]) -> Texts:
    """What a run of the case says and writes; a stream that says nothing is left out."""
    here = Path(known["HERE"])
    before = files_below(here)
    words = command_line(read(case / "cmd"), known)
    given = variables(read(case / "env"), known)
    if (case / "terminal").exists():
        done = program(*words, columns=int(read(case / "terminal")), **PLACES, **given)
    else:
        done = program(*words, stdin=read(case / "stdin"), **PLACES, **given)
    said = {"stdout": done.out, "stderr": _PROGRESS.sub("", done.err), "exit": f"{done.code}\n"}
    written = {f"written/{file}": read(here / file) for file in files_below(here) - before}
    return {file: placeless(text, known) for file, text in {**said, **written}.items() if text or file not in SAID}


def within_this_process(here: Path) -> Callable[..., Any]:
    """The same as the fixture `program`, but quicker; for command lines that never get as far as a server."""

    def run(name: str, *words: str, stdin: str = "", **variables: str) -> SimpleNamespace:
        assert name == "mcp-cli"
        out, err = BytesIO(), BytesIO()
        code = main(list(words), Terminal(out, err, BytesIO(stdin.encode()), {**os.environ, **variables}, str(here)))
        return SimpleNamespace(code=int(code), out=out.getvalue().decode(), err=err.getvalue().decode())

    return run


def command_line(text: str, known: dict[str, str]) -> list[str]:
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    return [placed(word, known) for word in shlex.split("".join(lines).replace("\\\n", " "))]


def variables(text: str, known: dict[str, str]) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: placed(value, known) for name, _, value in pairs}


def placed(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$([A-Z]+)", lambda found: known.get(found[1], found[0]), text)


def placeless(text: str, known: dict[str, str]) -> str:
    for name, place in sorted(known.items(), key=lambda item: len(item[1]), reverse=True):
        text = text.replace(place, f"${name}")
    return text


def files_below(directory: Path) -> set[str]:
    found = {str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file()}
    return {file for file in found if not file.startswith(".conductor/")}


def expected_files(case: Path) -> list[str]:
    said = [file for file in SAID if (case / file).exists()]
    return said + [f"written/{file}" for file in sorted(files_below(case / "written"))]


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


def differences(name: str, expected: Texts, actual: Texts) -> str:
    parts = [f"it does not say what tests/golden/{name} expects (scripts/test golden --update accepts it):\n"]
    for file in sorted({*expected, *actual}):
        old, new = expected.get(file, ""), actual.get(file, "")
        parts += unified_diff(lines_of(old), lines_of(new), f"expected {file}", f"actual {file}")
    return "".join(part if part.endswith("\n") else f"{part}\n\\ no line end\n" for part in parts)


def write(case: Path, expected: Texts, actual: Texts) -> None:
    for file in expected.keys() - actual.keys():
        (case / file).unlink()
    for file, text in actual.items():
        (case / file).parent.mkdir(exist_ok=True, parents=True)
        (case / file).write_bytes(text.encode())


def read(file: Path) -> str:
    """The text of a file, its line ends untouched; a file that is not there says nothing."""
    return file.read_bytes().decode() if file.exists() else ""
