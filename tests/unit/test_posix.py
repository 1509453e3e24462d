"""How the end of a process is told."""

import pytest

from mcp_conductor.posix import how_it_ended


@pytest.mark.parametrize(
    ("code", "told"),
    [(0, "exited with code 0"), (255, "exited with code 255"), (-9, "ended by SIGKILL"), (-99, "ended by signal 99")],
)
def test_the_end_of_a_process_is_told_by_its_code_or_its_signal(code, told):
    assert how_it_ended(code) == told
