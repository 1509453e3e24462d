"""A revision that does not exist yet, in every program that has this directory on its PYTHONPATH.

It is added as a person would add it, in one place: a row of `protocol/dialect.py`, below the others.
"""

import importlib.util
import sys
from pathlib import Path

ROW = """

ROWS += (ROWS[-1]._replace(version="2099-01-01"),)
DIALECTS = """

spec = importlib.util.find_spec("mcp_conductor.protocol.dialect")
assert spec is not None
assert spec.origin is not None
above, below = Path(spec.origin).read_text(encoding="utf-8").split("\nDIALECTS = ")
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(above + ROW + below, spec.origin, "exec"), module.__dict__)
