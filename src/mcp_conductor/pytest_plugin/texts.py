"""What pytest shows of ours: the diagnostics of `conductor test`, in the words of pytest's options."""

import re
from collections.abc import Callable
from dataclasses import replace
from shlex import quote
from typing import Any

import pytest

from mcp_conductor.errors import ConductorError
from mcp_conductor.report.error_text import diagnostic
from mcp_conductor.report.formats.diagnostic import Style, findings, one_finding, stderr
from mcp_conductor.report.formats.messages import messages
from mcp_conductor.report.formats.wording import headline, why
from mcp_conductor.report.model import Finding, Outcome

# Flags of `conductor test` that have another name here.
_FLAGS = re.compile(r"(?<![\w-])--(config|server|update-snapshots|var|vars-file|secret)\b")

_WIDTH = 100  # where there is no terminal


def failure_text(config: pytest.Config, outcome: Outcome, node: str) -> str:
    """All there is to say of a failure; pytest has said which test it is."""
    style = style_of(config)
    found = list(map(in_our_words, outcome.findings))
    if found and all(finding.where is None for finding in found):
        found[0] = replace(found[0], where=outcome.where)  # at least the test has a place
    reason = why(outcome)
    # pytest repeats the first line in its summary and in its JUnit report.
    wrong = [finding for finding in found if not finding.warning and not finding.whole]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    lines = [headline(wrong[0]).split("\n")[0] + more] if wrong and any(finding.where for finding in wrong) else []
    lines += findings(replace(outcome, findings=tuple(found)), style)
    lines += [*([] if reason is None else [reason]), *messages(outcome, style), *stderr(outcome, style)]
    return "\n".join([*lines, f"again: pytest {quote(node)}"])


def in_our_words(finding: Finding) -> Finding:
    return finding if finding.hint is None else replace(finding, hint=_FLAGS.sub(r"--conductor-\1", finding.hint))


def error_text(error: ConductorError) -> str:
    """ERROR for the person who must act."""
    if error.hint is not None:
        error.hint = _FLAGS.sub(r"--conductor-\1", error.hint)
    if _FLAGS.match(error.message):
        error.message = _FLAGS.sub(r"--conductor-\1", error.message, count=1)
    return diagnostic(error)


def made_safe(shown: Any, safe: Callable[[str], str]) -> Any:
    """What pytest is going to show of a failure, with every text in it as SAFE makes it."""
    if isinstance(shown, str):
        return safe(shown)
    if isinstance(shown, (list, tuple)):
        return type(shown)(made_safe(each, safe) for each in shown)
    if hasattr(shown, "toterminal"):  # pytest has a class for each of its styles, which are not public
        for name, value in vars(shown).items():
            setattr(shown, name, made_safe(value, safe))
    return shown


def style_of(config: pytest.Config) -> Style:
    # No colours: the same text goes into reports, and from worker to worker.
    seen = config.pluginmanager.has_plugin("terminalreporter")
    width = config.get_terminal_writer().fullwidth if seen else _WIDTH
    return Style(width=width, whole=config.get_verbosity() >= 2)


def comparison_lines(config: pytest.Config, op: str, left: object, right: object) -> list[str] | None:
    """Why `left == right` does not hold, where one of them is like(…)."""
    from mcp_conductor.suites.python_matchers import Like

    wanted, actual = (right, left) if isinstance(right, Like) else (left, right)
    if not isinstance(wanted, Like) or op not in ("==", "!="):
        return None
    found = wanted.findings(actual)
    if op == "!=":
        return [f"it is {wanted!r}"]
    style = style_of(config)
    count = len(found)
    head = f"it is not {wanted!r}" if count == 1 else f"it is not {wanted!r}, in {count} places"
    return [head, *(line for finding in found for line in one_finding(finding, style))]
