"""The topics, folders in `checks/server` and `checks/client`: each has requirements, examples, and what checks them."""

from collections.abc import Iterator
from contextlib import suppress
from os.path import dirname, join
from typing import Any

from mcp_conductor.catalog import modules_in

_CHECKS = dirname(dirname(__file__))


def texts(file: str) -> Iterator[tuple[str, str]]:
    """The contents of FILE in each topic that has it, after the subject: server or client."""
    loader: Any = __spec__.loader  # importlib.resources does it too, and imports zipfile, in every run of tests
    for subject in ("server", "client"):
        folder = join(_CHECKS, subject)
        for topic in modules_in([folder]):
            with suppress(OSError):
                yield subject, loader.get_data(join(folder, topic, file)).decode()
