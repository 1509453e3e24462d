"""An error as a text for the person who must act."""

from collections.abc import Sequence

from mcp_conductor.errors import ConductorError, HttpStatusError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.text.visible import one_line, visible

_WIDTH = 120  # of an excerpt: a file may be one long line


def diagnostic(error: ConductorError) -> str:
    """ERROR for the person who must act: what happened, where, the last lines of the server's stderr, what to do.

    Of a file with several mistakes, all are shown, in the order of the file.
    """
    more: Sequence[UsageError] = error.more if isinstance(error, UsageError) else ()
    blocks = [_one_diagnostic(each) for each in (error, *more)]
    if isinstance(error, UsageError) and error.left_out:
        blocks.append(f"error: there are {error.left_out} more mistakes in this file")
    return "\n".join(blocks)


def error_members(error: ConductorError) -> Json:
    """ERROR for programs: its kind, which never changes, and what a person has to know of it."""
    members: Json = {"kind": error.kind, "message": visible(error.message)}
    if error.hint:
        members["hint"] = visible(error.hint)
    if error.where is not None:
        members["where"] = str(error.where)
    if isinstance(error, HttpStatusError):
        members["status"] = error.status
    return members


def error_lines(error: ConductorError) -> str:
    """ERROR, and what else is wrong with the same file, as one line of JSON each."""
    from mcp_conductor.protocol.message import compact

    return "\n".join(compact({"error": each}) for each in _all_members(error))


def errors_as_json(errors: Sequence[ConductorError]) -> Json:
    """ERRORS as the answer of a command that has no other: the first, and the others as `more`."""
    first, *more = (members for error in errors for members in _all_members(error))
    return {"error": first, "more": more} if more else {"error": first}


def _all_members(error: ConductorError) -> list[Json]:
    """ERROR, and what else is wrong with the same file."""
    more: Sequence[UsageError] = error.more if isinstance(error, UsageError) else ()
    return [{**error_members(each), **_surroundings(each)} for each in (error, *more)]


def _surroundings(error: ConductorError) -> Json:
    """The server that ERROR is about, and the last lines of its stderr, where they may explain what happened."""
    members: Json = {"server": visible(error.context["server"])} if "server" in error.context else {}
    if not error.stderr:
        return members
    from mcp_conductor.text.error_lines import abridged

    return {**members, "stderr": [line.removeprefix("| ") for line in abridged(error.stderr, one_line)]}


def warning(problem: ConductorError) -> str:
    """PROBLEM for a person who may want to act: we can go on."""
    return _one_diagnostic(problem, "warning")


def _one_diagnostic(error: ConductorError, word: str = "error") -> str:
    lines = [f"{word}: {error.message}"]
    if error.where is not None:
        from mcp_conductor.report.excerpt import Note, excerpt

        lines += [f"  {line}" for line in excerpt([Note(error.where)], _WIDTH)]
    if error.stderr:
        from mcp_conductor.text.error_lines import abridged

        lines.append("  the server's stderr:")
        lines += [f"    {line}" for line in abridged(error.stderr, one_line)]
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return visible("\n".join(lines))
