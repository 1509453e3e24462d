"""Which code of a server ran during a run of tests: Python through coverage.py, Node through its own V8 coverage.

Nothing of the server is changed: a Python server is started through `coverage run`, a Node server is told by its
environment where to leave its figures. Both write them when they end, so servers must be allowed to end in good order.
"""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp_conductor.errors import UsageError
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.report.formats.wording import counted

_SECONDS = 60
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


def with_coverage(server: ServerSpec, folder: str) -> ServerSpec:
    """SERVER, changed so that it writes its code coverage to FOLDER."""
    spec = server.as_process()
    if spec is None:
        raise UsageError("--server-coverage is for servers that are started here, not for one at a URL")
    try:
        os.makedirs(folder, exist_ok=True)
        for old in (*Path(folder).glob("python.coverage*"), *Path(folder, "v8").glob("*.json")):
            old.unlink()  # of an earlier run, whose servers may have had other code
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error
    environment = {**spec.env, "NODE_V8_COVERAGE": os.path.join(folder, "v8")}
    if not _is_python(spec.command[0]):
        return replace(spec, env=environment)
    settings = os.path.join(folder, "coveragerc")
    data = os.path.join(folder, "python.coverage")
    lines = ("[run]", "parallel = true", "sigterm = true", "branch = true", f"data_file = {data}", "")
    write_file(settings, "\n".join(lines))
    _check(spec.command[0])
    options, program = _options_and_program(spec.command[1:])
    words = (spec.command[0], *options, "-m", "coverage", "run", f"--rcfile={settings}", *program)
    return replace(spec, command=words, env=environment)


def _is_python(command: str) -> bool:
    return os.path.basename(command).startswith("python")


def _check(python: str) -> None:
    try:
        done = subprocess.run([python, "-c", "import coverage"], capture_output=True, timeout=_SECONDS, check=False)
    except OSError as error:
        raise UsageError(f"cannot start {python!r}: {error.strerror}") from error
    if done.returncode != 0:
        raise UsageError(f"{python!r} has no coverage.py", hint=f"{python} -m pip install coverage")


def _options_and_program(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Python's own options, and the program that it runs."""
    place = 0
    while place < len(words) and words[place].startswith("-") and words[place] not in ("-m", "-c", "-"):
        place += 2 if words[place] in _WITH_VALUE else 1
    program = words[place:]
    if not program or program[0] in ("-c", "-"):
        raise UsageError("--server-coverage needs a server that is a file or a module", hint="python server.py")
    return words[:place], program


def figures(spec: ServerSpec, folder: str) -> Json:
    """What was measured, for the report."""
    found: Json = {"path": folder}
    process = spec.as_process()
    if process is not None and _is_python(process.command[0]):
        found["python"] = _python(process.command[0], folder)
    node = _node(os.path.join(folder, "v8"), (process and process.cwd) or os.getcwd())
    if node is not None:
        found["node"] = node
    return found


def _python(python: str, folder: str) -> Json:
    settings, report = os.path.join(folder, "coveragerc"), os.path.join(folder, "python.json")
    for words in (["combine", "--quiet", "--keep"], ["json", "--quiet", "-o", report]):
        done = subprocess.run(
            [python, "-m", "coverage", words[0], f"--rcfile={settings}", *words[1:]],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            return {"problem": (done.stdout + done.stderr).strip() or f"coverage {words[0]} failed"}
    measured = json.loads(Path(report).read_text(encoding="utf-8"))
    percent = round(measured["totals"]["percent_covered"], 1)
    return {"percent": percent, "files": len(measured["files"]), "report": report}


def _node(folder: str, cwd: str) -> Json | None:
    """Functions that ran, of all functions of the server's own files."""
    if not os.path.isdir(folder):
        return None
    ran: dict[tuple[str, int, int], bool] = {}
    for name in sorted(os.listdir(folder)):
        for script in json.loads(Path(folder, name).read_text(encoding="utf-8")).get("result", []):
            file = unquote(urlsplit(script["url"]).path)
            if not script["url"].startswith("file://") or "node_modules" in file or not file.startswith(cwd):
                continue
            for function in script["functions"]:
                span = function["ranges"][0]
                key = (file, span["startOffset"], span["endOffset"])
                ran[key] = ran.get(key, False) or span["count"] > 0
    if not ran:
        return None
    percent = round(100 * sum(ran.values()) / len(ran), 1)
    return {"percent": percent, "functions": len(ran), "files": len({file for file, _, _ in ran})}


def figures_text(measured: Json) -> str:
    """The figures as lines for people."""
    lines = []
    for name, unit in (("python", "lines and branches"), ("node", "functions")):
        each = measured.get(name)
        if each is not None and "problem" in each:
            lines.append(f"server coverage: {name}: {each['problem']}\n")
        elif each is not None:
            lines.append(f"server coverage: {each['percent']} % of the {unit} in {counted(each['files'], 'file')}\n")
    return "".join(lines) or f"server coverage: the server left no figures in {measured['path']}\n"
