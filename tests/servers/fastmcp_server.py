"""A server on FastMCP: another opinion on what a Python server is.

usage: fastmcp_server.py [TRANSPORT PORT]
"""

import sys

from fastmcp import FastMCP

server = FastMCP("fast")


@server.tool
def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


if __name__ == "__main__":
    where = {"transport": sys.argv[1], "port": int(sys.argv[2])} if len(sys.argv) > 2 else {}
    server.run(show_banner=False, **where)
