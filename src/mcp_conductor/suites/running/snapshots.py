"""Replies that were right once, kept in a readable file next to the suite: `__snapshots__/NAME.snap.yml`."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.other_files import ALLOWING, is_outside, unquoted
from mcp_conductor.files.source import load
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.report.model import Finding, redacted_value
from mcp_conductor.suites.language.expectations import answered_error
from mcp_conductor.suites.running.normalization import comparable, longest_first, normal
from mcp_conductor.text.patterns import compiled_later

FOLDER = "__snapshots__"
_UNSAFE = compiled_later("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


class Snapshots:
    """The snapshots of one suite."""

    def __init__(
        self, suite_file: str, *, update: bool, frozen: bool, paths: Mapping[str, str], outside: bool = False
    ) -> None:
        """OUTSIDE: the file of the snapshots may be elsewhere, behind a link."""
        folder, name = os.path.split(suite_file)
        self.file = os.path.join(folder, FOLDER, re.sub(r"\.ya?ml$", "", name) + ".snap.yml")
        self._outside = is_outside(self.file, folder or os.curdir)
        if self._outside and not outside:
            raise UsageError(f"{self.file} is a link that leads outside the directory of the test file", hint=ALLOWING)
        self.update = update
        self._frozen = frozen  # CI: nothing is ever written
        self._paths = longest_first(paths.items())
        self._known: dict[str, Any] = self._load()
        self._seen: set[str] = set()
        self.written = 0

    def _load(self) -> dict[str, Any]:
        if not os.path.exists(self.file):
            return {}
        try:
            document = load(self.file)
            return {name: each.value for name, each in Field(document, (), document.data).members().items()}
        except UsageError as error:
            raise (unquoted(error) if self._outside else error) from None

    def findings(
        self, title: str, reply: Json, where: Field, redact: Callable[[str], str], *, sound: bool = True
    ) -> list[Finding]:
        """What differs between REPLY and its snapshot; one that is new is kept, if it is otherwise SOUND."""
        self._seen.add(title)
        actual = normal(redacted_value(comparable(reply), redact), self._paths)
        if title in self._known and self._known[title] == actual:
            return []
        place = where.document.locate(where.path)
        if title in self._known and (self._frozen or not self.update):
            message = f"the reply differs from its snapshot in {self.file}"
            error = answered_error(reply)
            if error is not None and answered_error(self._known[title]) is None:
                message = f"{error.message}\nso {message}"
            hint = "--update-snapshots keeps the new reply"
            return [Finding(message=message, expected=self._known[title], actual=actual, where=place, hint=hint)]
        if not sound:
            return []
        if self._frozen:
            message = f"{self.file} has no snapshot of this; none is written, because CI is set"
            return [Finding(message=message, actual=actual, where=place, hint="run it once where CI is not set")]
        self._known[title] = actual
        self.written += 1
        return []

    def obsolete(self, titles: set[str]) -> list[str]:
        """Snapshots of tests that are not in the file any more, in any revision or table."""
        gone = (name for name in self._known if name not in self._seen)
        return sorted(name for name in gone if not any(name == each or name.startswith(f"{each} ") for each in titles))

    def save(self, titles: set[str]) -> None:
        """Write what is new; with --update-snapshots, what is obsolete goes."""
        gone = set(self.obsolete(titles)) if self.update else set()
        if self._frozen or (not self.written and not gone):
            return
        kept = {name: value for name, value in sorted(self._known.items()) if name not in gone}
        # JSON is YAML, and keeps every number and text as it is.
        blocks = [
            f"{_safe(render(name))}:\n{_indented(_safe(render(value, indent=2)))}\n" for name, value in kept.items()
        ]
        head = "# Replies as they should be; `conductor test --update-snapshots` renews them.\n\n"
        write_file(self.file, head + "\n".join(blocks))


def _safe(text: str) -> str:
    """JSON without what YAML does not take as it is."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
