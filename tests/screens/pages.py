"""The pages of this directory: how a case is written, read and updated.

A case is a heading of the second level, which is its name, and what stands below it:

- Text says what the case is about.
- A block with a title (```yaml title="server.yaml") is a file that the run finds in its directory.
- A block `stdin` is what the run reads from stdin.
- A block `console` is the run: after `$ ` a command line, taken apart as a shell would, but run without one; it may begin
  with variables (CI=1), and goes on where a line ends with a backslash. Then comes what is on stdout.
- A block `stderr` is what is on stderr; no block: nothing.
- A block that was written (```json written="mcp.json") is a file that the run writes.

Words after `console` say more: `exit=N`, how the run ends, if not with 0; `files=A,B`, the directories of files/ whose
files the run finds, too; `terminal=N`, a terminal of that width on which it runs: then `stdout` is what is left on it;
`process`: it needs a process of its own. A text whose last line has no end is followed by a line that says so.
"""

import fcntl
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SCREENS = Path(__file__).parent
FILES = SCREENS / "files"

Texts = dict[str, str]

_PART = re.compile(
    r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>(?:[^\n]*\n)*?)(?P=fence)\n|^## (?P<name>[^\n]+)\n", re.MULTILINE
)
_COMMAND = re.compile(r"\$ (?P<line>(?:[^\n]*\\\n)*[^\n]*)\n")
_VARIABLE = re.compile(r"[A-Z_]+=")
_NO_END = "\n\\ no line end\n"
_LANGUAGES = {"yml": "yaml", "py": "python", "jsonl": "json", "cjs": "js", "md": "markdown"}


@dataclass
class Case:
    """A run of a program, and what it says and writes according to a page."""

    name: str
    page: Path
    line: int
    command: str = ""
    shared: tuple[str, ...] = ()  # directories of files/
    files: Texts = field(default_factory=dict)
    stdin: str = ""
    columns: int | None = None  # of the terminal
    process: bool = False  # of its own
    expected: Texts = field(default_factory=dict)  # stdout, stderr, exit, written/FILE: none that is empty
    start: int = 0  # where what is expected stands in the page
    end: int = 0

    @property
    def variables(self) -> Texts:
        words = self._words()
        return dict(word.split("=", 1) for word in words[: len(words) - len(self.words)])

    @property
    def words(self) -> list[str]:
        words = self._words()
        while _VARIABLE.match(words[0]):
            words.pop(0)
        return words

    def _words(self) -> list[str]:
        return shlex.split(self.command.replace("\\\n", " "))


def all_cases() -> list[Case]:
    """The cases of all pages."""
    found = [case for page in sorted(SCREENS.glob("*/*.md")) for case in cases(page)]
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"several cases have one name: {', '.join(sorted(twice))}"
    return found


def cases(page: Path) -> Iterator[Case]:
    """The cases of a page."""
    text = page.read_bytes().decode()
    case = None
    for part in _PART.finditer(text):
        if part["name"]:
            if case is not None:
                yield _whole(case)
            case = Case(part["name"], page, text.count("\n", 0, part.start()) + 1)
        elif case is not None:
            _add(case, part)
    if case is not None:
        yield _whole(case)


def _whole(case: Case) -> Case:
    assert case.command, f"{case.page}:{case.line}: no block `console`"
    return case


def _add(case: Case, part: re.Match[str]) -> None:
    kind, *words = shlex.split(part["info"])
    more = {word.partition("=")[0]: word.partition("=")[2] for word in words}
    text = part["text"].removesuffix(_NO_END)
    place = f"{case.page}:{case.line}"
    assert not case.command or kind == "stderr" or "written" in more, f"{place}: what a run finds stands before it"
    if kind == "console":
        command = _COMMAND.match(text)
        assert command is not None, f"{place}: the console begins with no command"
        case.command = command["line"]
        case.shared = tuple(more["files"].split(",")) if "files" in more else ()
        case.columns = int(more["terminal"]) if "terminal" in more else None
        case.process = "process" in more
        case.start = part.start()
        case.expected |= {"exit": more.get("exit", "0") + "\n"}
        case.expected |= {"stdout": out} if (out := text[command.end() :]) else {}
    elif kind == "stderr":
        case.expected["stderr"] = text
    elif kind == "stdin":
        case.stdin = text
    elif "written" in more:
        case.expected[f"written/{more['written']}"] = text
    else:
        assert "title" in more, f"{place}: a block of {kind} is neither a file nor what the run says"
        case.files[more["title"]] = text
    case.end = part.end()


def block(info: str, text: str) -> str:
    """A block with TEXT, between fences that do not stand in it."""
    text = text if not text or text.endswith("\n") else f"{text}{_NO_END}"
    fence = max(("```", *(f"{found}`" for found in re.findall(r"^`{3,}", text, re.MULTILINE))), key=len)
    return f"{fence}{info}\n{text}{fence}\n"


def file_block(file: str, text: str, role: str = "title") -> str:
    """The block of a file; its ROLE is `title` or `written`."""
    ending = file.rpartition(".")[2]
    return block(f'{_LANGUAGES.get(ending, ending)} {role}="{file}"', text)


def expected_blocks(case: Case, said: Texts) -> str:
    """The run of CASE, when it has SAID this."""
    words = ["console"]
    words += [f"files={','.join(case.shared)}"] if case.shared else []
    words += [f"terminal={case.columns}"] if case.columns else []
    words += ["process"] if case.process else []
    words += [f"exit={said['exit'].strip()}"] if said["exit"] != "0\n" else []
    parts = [block(" ".join(words), f"$ {case.command}\n{said.get('stdout', '')}")]
    parts += [block("stderr", said["stderr"])] if "stderr" in said else []
    written = sorted(name for name in said if name.startswith("written/"))
    parts += [file_block(name.removeprefix("written/"), said[name], "written") for name in written]
    return "\n".join(parts)


def update(case: Case, said: Texts) -> None:
    """Write what CASE says now into its page; several processes may do so at the same time."""
    with case.page.open("r+b") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        (now,) = [each for each in cases(case.page) if each.name == case.name]
        text = case.page.read_bytes().decode()
        page.write((text[: now.start] + expected_blocks(now, said) + text[now.end :]).encode())
        page.truncate()
