"""CI gives a failed test one more try, and passes only if it is written down that this test fails now and then."""

import importlib.util
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from tests.conftest import ROOT

SCRIPT = ROOT / ".ci" / "second_try.py"
TESTS = """
from pathlib import Path
import pytest

def once(name):
    seen = Path(name)
    if not seen.exists():
        seen.touch()
        return False
    return True

def test_sound(): pass
@pytest.mark.parametrize("x", ["a | b"])
def test_shaky(x): assert once("shaky")
def test_broken(): assert False
def test_interrupts():
    if not once("interrupted"):
        pytest.exit("enough")
"""


@pytest.fixture
def ci(tmp_path, environment):
    """Run one of these tests in the way of CI, with lines in the file of flakes: the exit code, and what was said."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run(names, flakes=""):
        (tmp_path / "tests" / "known_flakes.txt").write_text(f"# a comment\n\n{flakes}\n")
        words = [sys.executable, str(SCRIPT), sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", "-k", names]
        env = {key: value for key, value in environment.items() if not key.startswith("PYTEST_")}
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def test_what_passes_is_run_once(ci):
    code, said = ci("sound")
    assert (code, "once more" in said) == (0, False)


def test_what_fails_twice_fails(ci):
    code, said = ci("broken or sound", "2026-01-31 | tests/test_it.py::test_broken | nobody knows")
    assert (code, said.count("1 failed")) == (1, 2)


def test_what_fails_and_passes_has_to_be_known(ci):
    code, said = ci("shaky or sound")
    assert code == 1
    assert said.endswith(
        "failed and passed, and not in tests/known_flakes.txt:\n  tests/test_it.py::test_shaky[a | b]\n"
    )


@pytest.mark.parametrize("name", ["test_shaky", "test_shaky[a | b]"])
def test_what_is_known_to_do_so_passes_and_is_named(ci, name):
    code, said = ci("shaky", f"2026-01-31 | tests/test_it.py::{name} | waits too short")
    assert code == 0
    assert "as tests/known_flakes.txt says they may:\n  tests/test_it.py::test_shaky[a | b]\n" in said


@pytest.mark.parametrize(("names", "expected"), [("interrupts", 2), ("no_such_test", 5), ("(", 4)])
def test_what_is_no_failed_test_has_no_second_try(ci, names, expected):
    code, said = ci(names, "2026-01-31 | tests/test_it.py::test_interrupts | it does")
    assert (code, "once more" in said) == (expected, False)


@pytest.mark.parametrize("line", ["tests/test_it.py::test_shaky", "soon | tests/a.py::test_b | why", "2026-01-31 | x"])
def test_a_line_that_is_no_flake_is_refused_before_anything_is_run(ci, line):
    code, said = ci("sound", line)
    assert code != 0
    assert "ValueError" in said
    assert "passed" not in said


def test_the_flakes_of_this_project_are_tests_and_no_older_than_they_say():
    spec = importlib.util.spec_from_file_location("second_try", SCRIPT)
    second_try = importlib.util.module_from_spec(spec)
    sys.modules["second_try"] = second_try
    spec.loader.exec_module(second_try)
    for flake in second_try.flakes((ROOT / "tests" / "known_flakes.txt").read_text()):
        file, _, name = flake.test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(), flake
        assert flake.since <= datetime.now(UTC).date(), flake
