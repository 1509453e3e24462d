"""`python -m mcp_conductor` is `conductor`."""

import sys

from mcp_conductor.cli import conductor

sys.exit(conductor())
