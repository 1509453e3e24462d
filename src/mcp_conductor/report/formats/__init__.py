"""A report as text. A reporter is one decorated function: its name is what `--report` takes, and its first sentence is
what the manual says of it.

Reporters are pure: they neither write nor look anything up. What they return can be written as UTF-8, and nothing in it
is obeyed by a terminal or a CI system, for every output of a server: a form either has its own escapes, or all of its
text is made visible here.
"""

from collections.abc import Callable
from functools import wraps

from mcp_conductor.catalog import Catalog
from mcp_conductor.plugins import guarded, is_ours, wrong_return
from mcp_conductor.report.model import Report
from mcp_conductor.text.visible import visible
from mcp_conductor.values import dataclass

Write = Callable[[Report], str]


@dataclass(frozen=True, slots=True)
class Reporter:
    """A form that a report can be written in."""

    name: str
    suffix: str  # of a file in this form
    write: Write
    escapes: bool  # whether the form has escapes of its own
    live: bool = False  # whether it can be written while the run goes on
    looks: bool = False  # whether it shows what a report keeps for those who look into it: frames, sources, times

    @property
    def doc(self) -> str:
        return (self.write.__doc__ or "").strip().split("\n")[0]


REPORTERS: Catalog[Reporter] = Catalog("report", __name__)


def reporter(
    name: str, *, suffix: str, escapes: bool = False, live: bool = False, looks: bool = False
) -> Callable[[Write], Write]:
    """Register a function as the reporter NAME; ESCAPES: its form has escapes of its own, and it uses them.

    LIVE: a run with events writes it itself; the function is for runs without them. LOOKS: it needs `report.looks`, and
    the frames of outcomes, which are kept only for such a report.
    """

    if not isinstance(name, str) or ":" in name or not suffix.startswith("."):
        raise TypeError(
            f'a report has a name, and its file a suffix, as in @reporter("csv", suffix=".csv"), not {name!r}'
        )

    def register(write: Write) -> Write:
        if live and not is_ours(write):
            raise TypeError("a report that is written while the run goes on cannot come from a plugin")
        what = f"the report format {name!r}"
        reported = guarded(write, what, ["report"])

        @wraps(write)
        def written(report: Report) -> str:
            text = reported(report)
            if not isinstance(text, str):
                raise wrong_return(write, what, text, "a text")
            return text if escapes else visible(text)

        shown = write if escapes and is_ours(write) else written
        REPORTERS.add(name, Reporter(name, suffix, shown, escapes, live, looks), write)
        return shown

    return register
