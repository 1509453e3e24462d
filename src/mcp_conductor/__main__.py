"""`python -m mcp_conductor` is `conductor`."""

import sys

try:
    from mcp_conductor.cli import conductor
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(conductor())
