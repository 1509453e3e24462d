"""The grade as a picture: the letter, its colour, and the revision that it is about."""

from mcp_conductor.protocol import Json

_COLOURS = {"A": "#2c974b", "B": "#5b8a1f", "C": "#9a6700", "D": "#bc4c00", "E": "#cf222e", "F": "#a40e26"}
_NO_COLOUR = "#6e7781"
_LABEL = "MCP specification"


def badge(grade: Json | None) -> str:
    """An SVG picture of the GRADE of a report, or of there being none: an older picture must not stay in its place."""
    if grade is None:
        return _picture(f"{_LABEL}: no grade", _NO_COLOUR, '<text x="126" y="14">no grade</text>')
    letter, revision = grade["letter"], grade["revision"]
    shown = f'<text x="126" y="14" font-weight="bold">{letter}</text><text x="142" y="14">{revision}</text>'
    return _picture(f"{_LABEL} {revision}: grade {letter}", _COLOURS[letter], shown)


def _picture(spoken: str, colour: str, shown: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="222" height="20" role="img" '
        f'aria-label="{spoken}"><title>{spoken}</title>'
        f'<rect width="118" height="20" fill="#444"/><rect x="118" width="104" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="8" y="14">'
        f"{_LABEL}</text>{shown}</g></svg>\n"
    )
