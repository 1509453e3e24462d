"""The lines of README that install: the wheel in an empty environment, by pip and by uvx."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
NOTES = str(ROOT / "examples" / "notes" / "notes.py")

pytestmark = pytest.mark.slow


def run(*words, code=0, **options):
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def fresh(directory):
    venv.create(directory, with_pip=True)
    return directory / "bin"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (built,) = folder.glob("mcp_conductor-*.whl")
    return built


def test_pip_installs_what_the_first_line_needs(tmp_path, wheel):
    programs = fresh(tmp_path / "venv")
    run(programs / "pip", "install", "--quiet", wheel)
    said = run(programs / "conductor", "check", "--", programs / "python", NOTES, code=1, cwd=tmp_path)
    assert "tool 'count_notes': inputSchema is missing at tools[1]" in said
    assert "grade C of the specification" in said


def test_all_samples_of_readme_and_tutorial_work_in_an_empty_environment(tmp_path, wheel):
    programs, home = fresh(tmp_path / "venv"), tmp_path / "home"
    home.mkdir()
    run(programs / "pip", "install", "--quiet", wheel, "pytest")
    pages = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    assert run(programs / "python", ROOT / "scripts" / "samples.py", *pages, env=environment, cwd=tmp_path) == ""


def test_uvx_runs_the_package_by_its_name(tmp_path, wheel):
    programs = fresh(tmp_path / "venv")
    if subprocess.run([str(programs / "pip"), "install", "--quiet", "uv"], check=False, capture_output=True).returncode:
        pytest.skip("uv cannot be installed here")
    packages = tmp_path / "packages"
    run(programs / "pip", "download", "--quiet", "--dest", packages, wheel)
    offline = {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(packages), "UV_CACHE_DIR": str(tmp_path / "cache")}
    words = ("--from", wheel, "mcp-conductor", "check", "--", sys.executable, NOTES)
    said = run(
        programs / "uvx",
        "--python",
        sys.executable,
        *words,
        code=1,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", **offline},
    )
    assert "grade C of the specification" in said
