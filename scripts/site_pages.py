"""The pages of the site, in build/pages: those of docs/, README as the first page, and others of the project.

Links that lead to a page of the site stay links; one to a file that is no page, such as an example, becomes its text.
"""

import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "pages"
# Pages outside of docs/, and what they are called on the site.
OTHERS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "benchmarks/README.md": "benchmarks/README.md",
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Every file of the project that is on the site: where it is, and what it is called there."""
    of_docs = [file for file in (ROOT / "docs").rglob("*") if file.is_file()]
    return {str(file.relative_to(ROOT)): str(file.relative_to(ROOT / "docs")) for file in of_docs} | OTHERS


def on_the_site(text: str, source: str, known: dict[str, str]) -> str:
    """The text of a page with its links as they are on the site."""

    def link(match: re.Match[str]) -> str:
        image, shown, address = match.groups()
        if re.match(r"[a-z]+:|#", address):
            return match[0]
        path, hash_mark, section = address.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if target not in known:
            return shown
        here = os.path.dirname(known[source]) or "."
        return f"{image}[{shown}]({os.path.relpath(known[target], here)}{hash_mark}{section})"

    parts = _FENCED.split(text)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts))


def main() -> int:
    shutil.rmtree(TARGET, ignore_errors=True)
    known = pages()
    for source, name in known.items():
        target = TARGET / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".md"):
            target.write_text(on_the_site((ROOT / source).read_text(), source, known))
        else:
            shutil.copyfile(ROOT / source, target)
    print(f"build/pages: {len(known)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
