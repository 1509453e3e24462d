"""A page for a browser that needs nothing but itself: results and conversations to look at, in one file.

`page(data)` is all of it. DATA is what is shown, as plain JSON; what its `kind` is decides what the page looks like:

- `recording`: conversations. `title`, `started`?, `notes`? (sentences above all), and `conversations`. Each of those
  has `title`, `frames` ({"at", "source", "text"} as in a recording; `at` may be null); perhaps `pins`, which say what
  is wrong with a frame ({"frame": INDEX, "message", "path"?, "requirement"?, "level"?, "statement"?, "remedy"?,
  "hint"?, "warning"?}); `note` (a sentence above it), `server`, `protocolVersion`, and `reach`: the words by which
  mcp-cli finds the server, for "copy as command".
- all others: the report of a run, as `report/formats/html.py` makes it.

The script and the style sheet stand in the page, and its policy allows these two by their hashes and nothing else: no
other script, no picture, no request. All data is one block of JSON, in which no character can end the block; the script
writes it into the page as text only.
"""

import base64
import hashlib
import html
import json
import os
from typing import Any

from mcp_conductor import __version__
from mcp_conductor.text.visible import json_escaped, one_line

_SCRIPTS = (
    "dom.js", "json.js", "exchanges.js", "copies.js", "conversation.js", "detail.js", "list.js", "overview.js",
    "timeline.js", "main.js",
)  # fmt: skip
# Of these, a browser could make the end of the block, a comment in it, or an entity.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def page(data: dict[str, Any]) -> str:
    """DATA as one HTML file."""
    style = _part("style.css").replace("@DARK@", _part("dark.css").strip())
    script = '(() => {\n"use strict";\n' + "\n".join(map(_part, _SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "POLICY": policy,
        "VERSION": __version__,
        "TITLE": html.escape(one_line(str(data.get("title", "")))),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": json_block(data),
    }
    # Piece by piece: what is put in is never searched for more places.
    first, *rest = _part("page.html").split("@")
    return first + "".join(parts.get(piece, piece) for piece in rest)


def json_block(data: Any) -> str:
    """DATA as JSON that can stand in an element of HTML, with nothing in it that cannot be seen."""
    return json_escaped(json.dumps(data, ensure_ascii=False, separators=(",", ":"))).translate(_ESCAPES)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()
