"""The samples of our pages, run: each command that a page shows, in the order of the page, in an empty directory.

usage: samples.py [--update] [PAGE …]     default: all pages with samples; exits 1 if a sample is not what a run gives

How a page is written:

- A block with a title (```yaml title="greeter.yaml") is a file, which is written. A block of `diff` with a title is a
  change of that file: the lines without `+` must stand in it once.
- A block of `console` has commands, each after `$ `, and what they print: stdout and stderr, as on a terminal. A line
  `…` stands for any lines, `…` in a line for any text. A command that ends with ` &` runs until the page ends.
- A block of `bash` has commands; what they print is not shown.
- A comment before a block, `<!-- sample: exit=1 -->`, says more: `exit=N`, how its last command ends, if not with 0;
  `in=DIR`, where it is run; `skip=REASON`, why it is not run. What would use the network must be skipped.

The directory has a copy of examples/, if the page names it. Ports 8000 and 8001
of a page are others in the run: two runs can be done at once.
"""

import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_SECONDS = 60
READY_SECONDS = 20
PORTS = ("8000", "8001")
_BLOCK = re.compile(
    r"^(?:<!-- sample: (?P<more>[^\n]*?) -->\n)?(?P<indent> *)```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_SECONDS = re.compile(r"\b(?:in|at) \d+(\.\d+)? ?s\b|\(\d+ ms\)")
# A command that would use the network: it is not run, and must say that it is skipped.
_ELSEWHERE = re.compile(
    r"(?:^|[\s;|&])(?:npx|npm|uvx|pip|pipx|curl|wget|git|docker)\s|https?://(?!127\.0\.0\.1|localhost)"
)
# What would change what a command says, wherever these are run.
_MEDDLERS = ("CI", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "TERM", "PYTEST_ADDOPTS")


@dataclass
class Block:
    """A part of a page between fences."""

    kind: str
    text: str
    title: str | None
    line: int
    start: int  # where the text stands in the page
    more: dict[str, str] = field(default_factory=dict)


@dataclass
class Step:
    """A command, and what it prints according to the page."""

    command: str
    shown: str


def blocks(page: str) -> list[Block]:
    """All blocks of a page that are files or commands."""
    found = []
    for match in _BLOCK.finditer(page):
        more = dict(part.strip().partition("=")[::2] for part in (match["more"] or "").split(";") if part.strip())
        line = page.count("\n", 0, match.start()) + 1 + bool(match["more"])
        found.append(Block(match["kind"], match["text"], match["title"], line, match.start("text"), more))
    return [block for block in found if block.title or block.kind in ("console", "bash", "sh")]


def steps(block: Block) -> list[Step]:
    """The commands of a block."""
    found: list[Step] = []
    if block.kind == "console":
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.replace("\\\n", "\\\0").partition("\n")
            found.append(Step(command.replace("\\\0", "\\\n"), shown))
        return found
    lines = block.text.replace("\\\n", "\0").split("\n")
    commands = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return [Step(command.replace("\0", "\\\n"), "") for command in commands]


class Run:
    """A directory in which the blocks of one page are run, and the programs that still run there."""

    def __init__(self, directory: Path, page: str) -> None:
        self.directory = directory
        self.ports = dict(zip(PORTS, _free_ports(), strict=True))
        self.running: list[subprocess.Popen[str]] = []
        self.code = 0
        if any("examples/" in text for text in _written(page)):
            shutil.copytree(ROOT / "examples", directory / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        own = {name: value for name, value in os.environ.items() if name not in _MEDDLERS}
        bin_directory = os.path.dirname(sys.executable)
        self.environment = {
            **own,
            "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",  # those of other plugins of pytest
        }

    def write(self, block: Block) -> None:
        assert block.title is not None
        file = self.directory / block.more.get("in", ".") / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.local(block.text) if block.kind != "diff" else changed(file.read_text(), block.text))

    def print(self, command: str, where: str) -> str:
        """What the command prints; its exit code is in `code`."""
        options = {"cwd": self.directory / where, "env": self.environment, "text": True}
        command = self.local(command)
        if command.endswith(" &"):
            return self.start(command.removesuffix(" &"), options)
        done = subprocess.run(
            ["sh", "-c", f"(exit {self.code}); {command}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_SECONDS,
            check=False,
            **options,
        )
        self.code = done.returncode
        return self.public(done.stdout)

    def start(self, command: str, options: dict[str, object]) -> str:
        """Start what serves, and wait for the line by which it says so."""
        words = shlex.split(command)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        self.running.append(process)
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], READY_SECONDS)
        self.code = 0
        return self.public(process.stdout.readline() if ready else "nothing was printed\n")

    def end(self) -> None:
        for process in self.running:
            process.terminate()
            process.communicate(timeout=LIMIT_SECONDS)

    def local(self, text: str) -> str:
        return re.sub(rf"\b(?:{'|'.join(PORTS)})\b", lambda match: self.ports[match[0]], text)

    def public(self, text: str) -> str:
        for port, ours in self.ports.items():
            text = text.replace(ours, port)
        return text.replace(f"{self.directory}{os.sep}", "")


def _written(page: str) -> Iterator[str]:
    """The files and commands of a page, without what is printed."""
    for block in blocks(page):
        yield from [block.text] if block.title else (step.command for step in steps(block))
        yield block.more.get("in", "")


def changed(text: str, difference: str) -> str:
    """A file after a change: lines that begin with `-` are replaced by those that begin with `+`."""
    lines = difference.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in marks) for marks in ("- ", "+ "))
    if text.count(before) != 1:
        raise ValueError(f"these lines stand in the file {text.count(before)} times, not once:\n{before}")
    return text.replace(before, after)


def _free_ports() -> tuple[str, ...]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return str(one.getsockname()[1]), str(other.getsockname()[1])


def like(shown: str, printed: str) -> bool:
    """Is this what the page shows? Times may differ, and `…` stands for anything."""
    wanted, got = (_SECONDS.sub("in 0 s", text.rstrip("\n")) for text in (shown, printed))
    pattern = "".join(
        r"(?:.*\n)*" if line == "…\n" else "[^\n]*".join(map(re.escape, line.split("…")))
        for line in f"{wanted}\n".splitlines(keepends=True)
    )
    return re.fullmatch(pattern, f"{got}\n") is not None


def played(page: str) -> Iterator[tuple[Block, list[tuple[Step, str]], str]]:
    """Run a page: each block, what its commands printed, and what is wrong with it (or nothing)."""
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory).resolve(), page)
        try:
            for block in blocks(page):
                if block.title:
                    run.write(block)
                elif "skip" not in block.more:
                    printed, wrong, of_block = [], "", steps(block)
                    for step in of_block:
                        if _ELSEWHERE.search(step.command):
                            raise ValueError(f"{step.command!r} would use the network; a comment must say skip=REASON")
                        printed.append((step, run.print(step.command, block.more.get("in", "."))))
                        if block.kind == "console" and not like(step.shown, printed[-1][1]):
                            wrong += f"$ {step.command}\nis shown with\n{step.shown}but prints\n{printed[-1][1]}"
                        elif block.kind != "console" and step is not of_block[-1] and run.code != 0:
                            wrong += f"$ {step.command}\nends with {run.code}\n{printed[-1][1]}"
                    if run.code != (expected := int(block.more.get("exit", "0"))):
                        wrong += f"the last command ends with {run.code}, not with {expected}\n"
                        wrong += printed[-1][1] if block.kind != "console" else ""
                    yield block, printed, wrong
        finally:
            run.end()


def updated(page: str) -> str:
    """The page with what its commands print now; a block that is right stays as it is."""
    for block, printed, wrong in reversed(list(played(page))):
        if wrong and block.kind == "console":
            text = "".join(f"$ {step.command}\n{shown.rstrip(chr(10))}\n" for step, shown in printed)
            text = re.sub(r"\n{2,}(?=\$ )|\n+\Z", "\n", text)
            page = page[: block.start] + text + page[block.start + len(block.text) :]
    return page


def pages() -> list[Path]:
    """All pages with something to run."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in written if any(not each.title for each in blocks(page.read_text()))]


def main(*words: str) -> int:
    chosen = [Path(word).resolve() for word in words if not word.startswith("--")] or pages()
    bad = 0
    for page in chosen:
        if "--update" in words:
            page.write_text(updated(page.read_text()))
        for block, _, wrong in played(page.read_text()):
            if wrong:
                bad += 1
                print(f"{page.relative_to(ROOT)}:{block.line}: {wrong}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
