"""A server on FastMCP: another opinion on what a Python server is."""

from fastmcp import FastMCP

server = FastMCP("fast")


@server.tool
def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


if __name__ == "__main__":
    server.run(show_banner=False)
