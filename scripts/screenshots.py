"""Pictures of real runs for README and docs: what a command prints, with its colours, as SVG.

usage: screenshots.py [--check]     writes docs/images/*.svg; --check says which are out of date, and changes nothing
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "images"
# The name of the picture: where the command is run, and the command.
SHOTS = {
    "check": ("examples/notes", "conductor check -- python notes.py"),
}
CELL, LINE, MARGIN, BAR = 7.6, 18, 18, 34
INK, PAPER, FRAME = "#d4d8df", "#16191f", "#2b303a"
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76d9e6", 90: "#8b949e"}
_MARK = re.compile(r"\x1b\[([\d;]*)m")
_SECONDS = re.compile(r"\bin\s\d+\.\d+\ss\b")
LIMIT_SECONDS = 60


def printed(where: str, command: str) -> str:
    """What the command prints on a terminal of 100 columns."""
    words = command.split()
    words.insert(2, "--color=always")
    own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI", "GITHUB_ACTIONS")}
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words,
        cwd=ROOT / where,
        env={**own, "COLUMNS": "100", "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    return done.stdout.rstrip("\n")


def spans(line: str) -> Iterator[str]:
    """The parts of a line, each in its colour."""
    style = ""
    for number, part in enumerate(_MARK.split(line)):
        if number % 2:
            style = _style(part)
        elif part:
            shown = escape(part, quote=False).replace(" ", "\u00a0")  # browsers join spaces in SVG
            yield f"<tspan{style}>{shown}</tspan>" if style else shown


def _style(codes: str) -> str:
    style = ""
    for code in (int(each) for each in codes.split(";") if each):
        if code == 1:
            style += ' font-weight="bold"'
        elif code == 2:
            style += ' opacity="0.65"'
        elif code in COLOURS:
            style += f' fill="{COLOURS[code]}"'
    return style


def picture(command: str, text: str) -> str:
    lines = [f"\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m", *text.split("\n")]
    columns = max(len(_MARK.sub("", line)) for line in lines)
    width, height = round(columns * CELL + 2 * MARGIN), BAR + len(lines) * LINE + MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{BAR + (number + 1) * LINE - 5}">{"".join(spans(line))}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 18 * number}" cy="17" r="5.5" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    size = f'width="{width}" height="{height}"'
    label = f"{escape(command)}, and what it prints"
    fonts = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}',
        f'role="img" aria-label="{label}">',
        f'<rect {size} rx="9" fill="{PAPER}" stroke="{FRAME}"/>',
        dots,
        f'<g font-family="{fonts}" font-size="12.6" fill="{INK}">',
        *rows,
        "</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def same(one: str, other: str) -> bool:
    """Are the pictures alike but for the time that the run took?"""
    return _SECONDS.sub("in 0 s", one) == _SECONDS.sub("in 0 s", other)


def stale(*, write: bool) -> list[str]:
    """The pictures that are not those of a run today; they are written, if WRITE."""
    found = []
    for name, (where, command) in SHOTS.items():
        file, now = FOLDER / f"{name}.svg", picture(command, printed(where, command))
        if not file.exists() or not same(file.read_text(), now):
            found.append(file.name)
            if write:
                FOLDER.mkdir(parents=True, exist_ok=True)
                file.write_text(now)
    return found


def main(*words: str) -> int:
    found = stale(write="--check" not in words)
    state = "out of date" if "--check" in words else "written"
    print("docs/images:", f"{', '.join(found)} {state}" if found else "up to date")
    return 1 if found and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
