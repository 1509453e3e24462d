"""The rows of a test that is run for each of them: written in the test, or in a file of their own (CSV, JSON, YAML)."""

import os
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any, NoReturn

from mcp_conductor.errors import UsageError, location_in
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.files.other_files import other_file
from mcp_conductor.files.source import load as load_source, load_text
from mcp_conductor.suites.language.variables import check_name, problem_with, value_of

MOST_ROWS = 10_000
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_KNOWN = (".csv", ".tsv", ".json", ".yaml", ".yml")

Row = tuple[str, dict[str, Any]]  # what it is called, and its variables


def read_rows(given: Field, directory: str) -> list[Row]:
    """The rows that GIVEN has, or names the file of, which is looked for in DIRECTORY."""
    rows = _of_array(given) if isinstance(given.value, list) else _of_file(given, directory)
    if not rows:
        given.refuse("has no rows, so that the test would never run")
    if len(rows) > MOST_ROWS:
        given.refuse(f"has more than {MOST_ROWS} rows")
    return rows


def names_of_rows(given: Field | None, rows: list[Row]) -> set[str]:
    """The variables of a table, whether all is right with it or not."""
    written = given.value if given is not None and isinstance(given.value, list) else []
    found = [row for row in written if isinstance(row, dict)] + [row for _, row in rows]
    return set().union(*found) - {"id"}


def file_of_rows(given: Field | None, directory: str) -> str | None:
    """The path of the file that GIVEN names, if it names one."""
    name = given.value.get("file") if given is not None and isinstance(given.value, dict) else None
    return os.path.normpath(os.path.join(directory, name)) if isinstance(name, str) else None


def _of_array(given: Field) -> list[Row]:
    return read_all(_row, given.items())


def _row(given: Field) -> Row:
    """A row is an object, which may have an `id`."""
    members = given.members()
    for name, each in members.items():
        check_name(each, name)
    return _row_of({name: each.value for name, each in members.items()})


def _row_of(values: dict[str, Any]) -> Row:
    name = values.pop("id", None)
    return str(name) if name is not None else ", ".join(f"{key}={values[key]}" for key in values), values


def _of_file(given: Field, directory: str) -> list[Row]:
    if not isinstance(given.value, dict):
        given.refuse("must be an array of rows, or name a file of them", "parametrize: {file: cases.csv}")
    members = given.members(("file",))
    if "file" not in members:
        given.refuse("does not name a file", "parametrize: {file: cases.csv}")
    file = other_file(members["file"], directory)
    name = members["file"].text()
    form = os.path.splitext(name)[1].lower()
    if form not in _KNOWN:
        members["file"].refuse(f"is {name!r}, which does not end with a known suffix", f"one of {', '.join(_KNOWN)}")

    def load(path: str, shown: str) -> list[Row]:
        if form in _DELIMITERS:
            return list(islice(_of_csv(load_text(path, shown), shown, _DELIMITERS[form]), MOST_ROWS + 1))
        document = load_source(path, shown)
        return _of_array(Field(document, (), document.data))

    return file.read(load)


def _of_csv(text: str, file: str, delimiter: str) -> Iterator[Row]:
    """The first line has the names; what stands below is JSON if it can be, else text, as for --var."""
    import csv

    line = 1

    def refuse(problem: str, hint: str | None = None) -> NoReturn:
        raise UsageError(f"{file}: {problem}", hint=hint, where=location_in(text, file, line, 1))

    reader = csv.reader(StringIO(text), delimiter=delimiter, strict=True)
    head: list[str] | None = None
    try:
        for cells in reader:
            if head is None and cells:
                head = [cell.strip() for cell in cells]
                for name in head:
                    if problem := problem_with(name):
                        refuse(f"the name {name!r} in the first line {problem}")
                    if head.count(name) > 1:
                        refuse(f"the name {name!r} appears twice in the first line")
            elif head is not None and cells:
                if len(cells) != len(head):
                    refuse(f"this row has {len(cells)} values, and the first line {len(head)} names")
                yield _row_of(dict(zip(head, map(value_of, cells), strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        refuse(f"is not CSV that can be read: {error}", "quotes in quotes are written twice")
