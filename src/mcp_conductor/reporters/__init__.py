"""A report as text. A reporter is one decorated function: its name is what `--report` takes, and its first sentence is
what the manual says of it.

Reporters are pure: they neither write nor look anything up. What they return can be written as UTF-8, whatever the
server said.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_conductor.catalog import Catalog
from mcp_conductor.report import Report

Write = Callable[[Report], str]


@dataclass(frozen=True, slots=True)
class Reporter:
    """A form that a report can be written in."""

    name: str
    suffix: str  # of a file in this form
    write: Write

    @property
    def doc(self) -> str:
        return (self.write.__doc__ or "").strip().split("\n")[0]


REPORTERS: Catalog[Reporter] = Catalog("report", __name__)


def reporter(name: str, *, suffix: str) -> Callable[[Write], Write]:
    """Register a function as the reporter NAME."""

    def register(write: Write) -> Write:
        REPORTERS.add(name, Reporter(name, suffix, write))
        return write

    return register
