"""docs/test.md: the files that it shows are files that run."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
MANUAL = (ROOT / "docs" / "test.md").read_text()
FILES = re.findall(r"^```yaml\n(description: .*?)^```$", MANUAL, re.DOTALL | re.MULTILINE)
SERVER = """
serverInfo: {name: manual, version: 1.2.0}
transport: {type: stdio}
instructions: There is an echo here.
tools:
  - {name: echo, result: {isError: false, content: [{type: text, text: "{{ arguments.text }}"}]}}
  - name: picture
    result: {content: [{type: image, mimeType: image/png, data: iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==}]}
"""


@pytest.mark.parametrize("text", FILES, ids=[text.split("\n")[0] for text in FILES])
def test_a_file_of_the_manual_passes(conductor, write, text):
    write("server.yaml", SERVER)
    write("manual.test.mcp.yml", text)
    words = ("--", sys.executable, "-m", "mcp_conductor", "serve", "server.yaml")
    if "Filesystem" in text:
        words = ("--cwd", str(ROOT / "examples" / "filesystem"), "--", sys.executable, "server.py", ".")
    run = conductor("test", "manual.test.mcp.yml", *words)
    assert run.code == 0, run.all
