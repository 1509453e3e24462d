"""What is published: a wheel and an sdist that have what they need, are the same in every build, and install."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IN_SDIST = (
    "src/", "docs/", "examples/", "README.md", "CHANGELOG.md", "LICENSE", "ARCHITECTURE.md", "pyproject.toml",
    "CONTRIBUTING.md", "action.yml", "ci/",  # which the docs refer to
)  # fmt: skip
PROGRAMS = sorted(PROJECT["scripts"])
VERSIONS = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is not a clone: which files belong to the project is not known")
    return [name for name in listed.stdout.split("\0")[:-1] if (ROOT / name).exists()]


def copy(directory: Path, *, time: int = 0) -> Path:
    """The project as a clone has it."""
    for name in tracked():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, file)
        if time:
            os.utime(file, (time, time))
    return directory


def built(directory: Path, *, umask: int = 0o022) -> dict[str, Path]:
    """The wheel and the sdist of the project in DIRECTORY."""
    out = directory / "out"
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(
        command, cwd=directory, env=environ, umask=umask, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def digests(built: dict[str, Path]) -> dict[str, str]:
    return {kind: hashlib.sha256(file.read_bytes()).hexdigest() for kind, file in built.items()}


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> dict[str, Path]:
    return built(copy(tmp_path_factory.mktemp("project")))


def test_another_build_elsewhere_later_and_by_another_user_is_the_same_byte_by_byte(package, tmp_path):
    again = built(copy(tmp_path / "else where", time=1_600_000_000), umask=0o077)
    assert digests(again) == digests(package)


def test_the_sdist_has_all_that_the_wheel_is_made_of(package, tmp_path):
    with tarfile.open(package["sdist"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (directory,) = tmp_path.iterdir()
    assert digests(built(directory)) == digests(package)


def test_the_wheel_has_the_modules_with_their_data_and_nothing_else(package):
    names = zipfile.ZipFile(package["wheel"]).namelist()
    modules = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    assert {name for name in names if ".dist-info/" not in name} == modules
    assert {name.partition("/")[2] for name in names if ".dist-info/" in name} == {
        "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE",
    }  # fmt: skip


def test_the_licence_is_named_by_its_short_name_and_its_text_is_a_file(package):
    with zipfile.ZipFile(package["wheel"]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        head = wheel.read(name).decode().partition("\n\n")[0].splitlines()
    assert [line for line in head if "icense" in line] == ["License-Expression: MIT", "License-File: LICENSE"]


def test_the_sdist_has_the_code_the_docs_and_the_examples_and_nothing_else(package):
    with tarfile.open(package["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {name for name in tracked() if name.startswith(IN_SDIST)}
    assert names == {*wanted, ".gitignore", "PKG-INFO"}  # which hatchling adds


def test_the_pythons_that_are_named_are_those_that_are_tested():
    tested = re.search(r"^for version in (.+); do$", (ROOT / "scripts" / "pythons").read_text(), re.MULTILINE)
    assert tested is not None
    assert tested[1].split() == VERSIONS
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"


def test_what_else_is_said_of_the_package_is_true():
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert (ROOT / "src" / "mcp_conductor" / "py.typed").exists()
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "Framework :: Pytest" in PROJECT["classifiers"]
    assert "pytest11" in PROJECT["entry-points"]
    platforms = [each for each in PROJECT["classifiers"] if each.startswith("Operating System")]
    assert platforms == ["Operating System :: POSIX :: Linux"]


# From here on, packages are installed: what a package index has is needed.


def run(*words: object, **options: object) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def each_program_helps(directory: Path, home: Path) -> None:
    for name in PROGRAMS:
        said = run(directory / name, "--help", cwd=home, env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
        assert said.startswith("usage: ")
        assert "Examples:\n" in said


def fresh(directory: Path, python: str = sys.executable) -> Path:
    run(python, "-m", "venv", directory)
    return directory / "bin"


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_pip_installs_it_into_an_empty_environment(package, tmp_path, version):
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode:
        pytest.skip(f"there is no Python {version}")
    programs = fresh(tmp_path / "venv", python)
    run(programs / "pip", "install", "--quiet", package["wheel"])
    each_program_helps(programs, tmp_path)
    assert f"Python {version}." in run(programs / "conductor", "--version")
    run(programs / "pip", "check")


@pytest.fixture(scope="module")
def offline(package, tmp_path_factory) -> Path:
    """A directory with the packages that ours needs."""
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, package["wheel"], "pip")
    return folder


def installed(directory: Path, name: str) -> Path:
    venv.create(directory, with_pip=True)
    if subprocess.run([str(directory / "bin" / "pip"), "install", "-q", name], check=False).returncode:
        pytest.skip(f"{name} cannot be installed here")
    return directory / "bin" / name


@pytest.mark.slow
def test_pipx_installs_it(package, offline, tmp_path):
    pipx = installed(tmp_path / "venv", "pipx")
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(offline),
    }
    run(pipx, "install", "--python", sys.executable, package["wheel"], env=environ, cwd=tmp_path)
    each_program_helps(tmp_path / "bin", tmp_path)


@pytest.mark.slow
def test_uv_installs_it_as_a_tool_and_into_an_environment(package, offline, tmp_path):
    uv = installed(tmp_path / "venv", "uv")
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UV_OFFLINE": "1",
        "UV_NO_INDEX": "1",
        "UV_FIND_LINKS": str(offline),
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "UV_PYTHON": sys.executable,
    }
    run(uv, "tool", "install", package["wheel"], env=environ, cwd=tmp_path)
    each_program_helps(tmp_path / "bin", tmp_path)
    run(uv, "venv", tmp_path / "other", env=environ, cwd=tmp_path)
    run(uv, "pip", "install", "--python", tmp_path / "other", package["wheel"], env=environ, cwd=tmp_path)
    each_program_helps(tmp_path / "other" / "bin", tmp_path)


@pytest.mark.slow
def test_a_clone_shows_itself_with_only_python_and_pip(tmp_path):
    clone, home, programs = copy(tmp_path / "clone"), tmp_path / "home", tmp_path / "programs"
    home.mkdir()
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environ = {**pip, "HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
    said = run("scripts/demo", cwd=clone, env=environ)
    assert "The Left Hand of Darkness" in said
    assert re.search(r"\d+ passed", said)
