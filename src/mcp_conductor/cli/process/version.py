"""What --version shows: our version, and what a report of a bug needs to know besides."""

from mcp_conductor import __version__


def version_line(program: str) -> str:
    """The line that PROGRAM --version prints."""
    import platform  # which nothing else of ours needs

    where = " ".join(filter(None, (platform.system(), platform.machine())))
    return f"{program} {__version__} ({platform.python_implementation()} {platform.python_version()}, {where})\n"
