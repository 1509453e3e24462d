"""What cannot be written: the old file stays whole, the run is shown all the same, and one line says what is wrong."""

import os
import resource
import subprocess

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.server.wire import COMPOSABLE
from tests.e2e.suites.conftest import CONDUCTOR

SNAP = "__snapshots__/a.test.mcp.snap.yml"
TESTS = """
    - {it: passes, call: motto, expect: snapshot}
    - {it: fails, call: motto, expect: {ok: false}}
"""


@pytest.fixture
def with_full_disk(tmp_path, surroundings):
    """Run a program whose files cannot grow beyond 100 bytes, as on a disk that is full."""

    def run(*words):
        return subprocess.run(
            [*CONDUCTOR, *words],
            cwd=tmp_path,
            env={**surroundings, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        )

    return run


def test_a_full_disk_leaves_old_reports_and_snapshots_whole_and_the_run_is_shown(
    conductor, with_full_disk, suite, book, tmp_path
):
    file = suite(TESTS)
    kinds = ("json", "junit", "tap", "markdown")
    reports = [word for kind in kinds for word in ("--report", f"{kind}:out/{kind}")]
    assert conductor("test", file, *reports, "--", *book).code == 1
    (tmp_path / SNAP).write_text((tmp_path / SNAP).read_text().replace("stranger", "friend"))
    written = [*(f"out/{kind}" for kind in kinds), SNAP, ".conductor/last-failed.json"]
    before = {name: (tmp_path / name).read_bytes() for name in written}

    done = with_full_disk("test", file, *reports, "--update-snapshots", "--", *book)
    assert done.returncode == 2
    assert {name: (tmp_path / name).read_bytes() for name in written} == before
    assert "1 failed" in done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert lines == [
        f"error: cannot write {SNAP}: File too large",
        *(f"error: cannot write the report to out/{kind}: File too large" for kind in kinds),
    ]
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(".conductor-")]


@pytest.mark.parametrize(
    "words", [("discover", "--output", "report.yml", "--force"), ("check", "--badge", "report.yml")]
)
def test_a_full_disk_is_one_line_of_discover_and_check(with_full_disk, book, tmp_path, words):
    (tmp_path / "report.yml").write_text("old")
    done = with_full_disk(*words, "--", *book)
    assert (done.returncode, (tmp_path / "report.yml").read_text()) == (2, "old")
    assert done.stderr.splitlines()[-1].endswith("report.yml: File too large")


def test_a_recording_ends_with_a_warning_where_the_disk_is_full(cli, book):
    done = cli("--record", "/dev/full", "--method", "tools/list", "--", *book)
    assert done.code == 0
    assert done.err == "warning: the recording ends here: No space left on device\n"


@pytest.mark.parametrize(
    ("program", "code"), [(MCP_CLI, 1), (CONDUCTOR, 2), (COMPOSABLE, 1)], ids=["mcp-cli", "conductor", "composable"]
)
def test_a_working_directory_that_was_deleted_is_one_line(tmp_path, program, code):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), *program, "test"],
        cwd=gone,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "error: there is no working directory: No such file or directory\n"


@pytest.mark.parametrize("words", [("test", "--report", "junit"), ("check", "--only", "ping", "--json")])
def test_a_report_for_a_stdout_that_is_closed_is_one_line(suite, book, tmp_path, surroundings, words):
    suite("- {it: passes, call: motto, expect: {ok: true}}")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *CONDUCTOR, *words, "--", *book],
        cwd=tmp_path,
        env=surroundings,
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: cannot write the report to stdout: it is closed"
