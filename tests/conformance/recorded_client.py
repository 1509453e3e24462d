"""The client of the suite with `conductor record` before the server: the client is given the address of the recorder."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")

*client, url = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    words = [*CONDUCTOR, "record", "-o", str(Path(folder) / "said.jsonl"), url]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            assert recorder.stderr is not None
            address = re.search(r"Recording at (\S+),", recorder.stderr.readline())
            assert address is not None
            code = subprocess.run([*client, address[1]], check=False).returncode
        finally:
            recorder.terminate()
sys.exit(code)
