"""An agent with the tools of three servers: it runs, its types are right, and models hear what goes wrong."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conductor import Bridge, UsageError

ROOT = Path(__file__).parents[3]
AGENT = ROOT / "examples" / "agent" / "agent.py"
PYRIGHT = ROOT / "tests" / "peers" / "node_modules" / "pyright" / "index.js"


def test_the_agent_of_the_examples_comes_to_an_end_in_both_forms(environment, survivors):
    done = subprocess.run(
        [sys.executable, str(AGENT)], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    openai, anthropic = done.stdout.splitlines()
    assert openai.removeprefix("openai") == anthropic.removeprefix("anthropic")
    assert "you asked: What is 2 + 40?" in openai
    assert survivors() == []


@pytest.mark.peers
@pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is not installed in tests/peers")
def test_pyright_finds_nothing_in_the_agent(tmp_path, environment):
    shutil.copy(AGENT, tmp_path)
    python = {"venvPath": str(ROOT), "venv": ".venv", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", **python}))
    path = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    words = ["node", str(PYRIGHT), "-p", str(tmp_path)]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, env={**environment, "PATH": path}
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture
async def bridge(mortal):
    config = mortal()
    async with Bridge({"m": config, "nowhere": "http://127.0.0.1:9/mcp"}, patience=0.1, timeout=10) as bridge:
        yield bridge


def call(name, arguments="{}"):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


async def test_a_model_hears_what_goes_wrong(bridge):
    names = [tool["function"]["name"] for tool in await bridge.tools_for("openai")]
    assert all(name.startswith("m__") for name in names)
    wrong = await bridge.dispatch(call(names[0] + "x"))
    assert wrong["content"].startswith(f"Error: there is no tool {names[0]}x; did you mean {names[0]}?")
    assert (await bridge.dispatch(call(names[0], "{")))["content"].startswith("Error: the arguments are not JSON")
    with pytest.raises(UsageError):
        await bridge.dispatch({"role": "user", "content": "hi"})


async def test_a_server_that_dies_within_a_call_is_told_to_the_model(bridge):
    assert (await bridge.dispatch(call("m__write", '{"die": true}')))["content"].startswith("Error: ")


async def test_a_model_hears_that_a_server_is_not_there_and_of_no_tool_of_another(bridge):
    told = (await bridge.dispatch(call("nowhere__pid")))["content"]
    assert told.startswith("Error: the server 'nowhere' is not connected: ")
    assert "m__pid" not in told
