"""What tests of the library share: servers that can die, and the proof that none is left."""

import sys
from pathlib import Path

import pytest
from tests.conftest import MARK

MORTAL = str(Path(__file__).parent / "mortal.py")


@pytest.fixture
def nothing_is_left(survivors):
    yield
    assert survivors() == []


@pytest.fixture
def mortal(tmp_path, mark):
    """The config of a server that can die, and its log."""

    def make(name="mortal", *more):
        log = tmp_path / f"{name}.log"
        return {"command": sys.executable, "args": [MORTAL, str(log), *more], "env": {MARK: mark}}

    make.log = lambda name="mortal": (tmp_path / f"{name}.log").read_text().split()
    return make
