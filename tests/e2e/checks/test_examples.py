"""The example of a server is one to copy: nothing in it breaks the specification."""

import pytest
from tests.conftest import BOOKSHELF


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_the_bookshelf_keeps_all_that_is_checked(verdicts_of, failed, revision):
    outcomes = await verdicts_of(BOOKSHELF, revision)
    assert failed(outcomes, "failed", "warned") == set()
    assert len(failed(outcomes, "passed")) > 50


async def test_the_bookshelf_survives_wrong_arguments(verdicts_of, failed):
    outcomes = await verdicts_of(BOOKSHELF, call="all", only=["tools", "logging"])
    assert failed(outcomes, "failed", "warned") == set()
    assert outcomes["tools-validate-input"].status == "passed"
