"""`python -m mcp_conductor`."""

import subprocess
import sys

INTERRUPTED = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp_conductor.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("mcp_conductor", run_name="__main__")
"""


def test_an_interrupt_while_the_program_is_imported_ends_it_without_a_traceback():
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], check=False, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")
