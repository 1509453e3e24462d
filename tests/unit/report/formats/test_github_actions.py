"""Paths from the root of a repository, and a summary that is never longer than GitHub takes."""

import pytest

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.report.formats.github_actions import append_summary, from_root
from mcp_conductor.report.model import Finding, Outcome, Report

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(
    ("directory", "file", "shown"),
    [
        ("", "a.yml", "a.yml"),
        ("tests/mcp", "a.yml", "tests/mcp/a.yml"),
        ("tests/mcp", "../b.yml", "tests/b.yml"),
        ("tests", "../../elsewhere.yml", "../../elsewhere.yml"),
        ("tests", "/elsewhere.yml", "/elsewhere.yml"),
    ],
)
def test_a_file_below_the_root_is_called_as_it_is_there(tmp_path, directory, file, shown):
    where = Location(file, 3, 4, "source")
    finding = Finding(message="x", where=where)
    outcome = Outcome(id="a", title="a", group="a", status="failed", where=where, findings=(finding,))
    report = Report(kind="test", target="x", outcomes=(outcome,), warnings=(finding, Finding(message="y")))
    moved = from_root(report, str(tmp_path / directory), str(tmp_path))
    places = [moved.outcomes[0].where, moved.outcomes[0].findings[0].where, moved.warnings[0].where]
    assert places == [Location(shown, 3, 4, "source")] * 3
    assert moved.warnings[1].where is None


def test_the_root_may_be_a_link(tmp_path):
    (tmp_path / "real" / "tests").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    report = Report(kind="test", target="x", warnings=(Finding(message="x", where=Location("a.yml", 1, 1)),))
    moved = from_root(report, str(tmp_path / "real" / "tests"), str(tmp_path / "link"))
    assert moved.warnings[0].where == Location("tests/a.yml", 1, 1)


@pytest.mark.parametrize(
    ("before", "added"),
    [(0, "# 1 failed\n\nmuch more 漢\n\n"), (MEBIBYTE - 70, "# 1 failed\n\nThe report is too long for this page.\n\n"), (MEBIBYTE - 9, "")],
)  # fmt: skip
def test_a_summary_is_appended_as_far_as_there_is_room(tmp_path, before, added):
    file = tmp_path / "summary.md"
    file.write_text("x" * before)
    append_summary(str(file), "# 1 failed\n\nmuch more 漢\n" + "y" * (100 if before else 0))
    text = file.read_text()
    assert text == "x" * before + added
    assert file.stat().st_size <= MEBIBYTE


def test_a_summary_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="cannot append to GITHUB_STEP_SUMMARY"):
        append_summary(str(tmp_path), "x")
