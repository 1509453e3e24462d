"""What the tests of clients share: the polite client with a change in it, and what a check says of it."""

import shlex
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests import prefork
from tests.e2e.checks.proofs import assert_proven

from mcp_conductor.checks.engine.run import Options
from mcp_conductor.checks.harness.run import check_client
from mcp_conductor.checks.harness.run_client import Command
from mcp_conductor.checks.harness.scenario import PLAIN, WATCHED
from mcp_conductor.checks.requirements import LEVELS

HERE = Path(__file__).parent
CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
POLITE = shlex.join([sys.executable, str(HERE / "polite_client.py")])
# Scenarios that take long: only the tests that are about them play them.
SLOW = {"silence", "silent-start", "slow-start", "stubborn", "legacy-silence", "broken-stream"}
PATIENT = frozenset(name for name, each in WATCHED.items() if each.scenarios and SLOW & set(each.scenarios))
# Where what is judged in all scenarios can be broken at all.
SHOWN = {
    "base-response-result-xor-error-client": ("pings",),
    "base-error-shape-client": ("pings",),
    "base-response-id-echo-client": ("pings", "questions"),
    "taske-client-no-cancelled": ("tasks",),
}
PLACES = {"stdio": ("--", "{server}"), "http": ("--url", "{url}")}


@pytest.fixture
def broken(tmp_path):
    """The command line of the polite client with CHANGE in its class, and with PATCH before it."""

    def write(change="", transport="stdio", version="2025-11-25", before=""):
        body = textwrap.indent(textwrap.dedent(change), "    ") or "    pass"
        code = f"from polite_client import *\n{textwrap.dedent(before)}\nclass Client(Client):\n{body}\n"
        file = tmp_path / "client.py"
        file.write_text(code + "sys.exit(Client(sys.argv).main())\n")
        words = prefork.command((sys.executable, str(file), "--version", version, *PLACES[transport]), kind="script")
        return Command(words, {"PYTHONPATH": str(HERE)}, str(tmp_path))

    return write


@pytest.fixture
def verdicts_of():
    """Check a client: its outcomes by id."""

    async def run(command, version=None, *, only=(), skip=PATIENT, timeout=15.0, levels=LEVELS, scenarios=()):
        options = Options(only=frozenset(only), skip=skip, timeout=timeout, levels=levels)
        verdicts = await check_client(command, version, options, scenarios)
        return {outcome.id: outcome for outcome in verdicts.outcomes}

    return run


@pytest.fixture(params=["shown", pytest.param("anywhere", marks=pytest.mark.slow)])
def reported(request, verdicts_of):
    """Assert that the client breaks NAME, and nothing else but those in ALSO: in the scenarios that show it, or in all."""

    async def look(command, name, also=(), **options):
        # What cannot fail, or cannot be seen without a token, need not be played; the polite client has deprecated features.
        skip = (PATIENT | {"auth-client", "deprecated-features-client"}) - {name, *also, *options.get("only", ())}
        if request.param == "shown" and "only" not in options:
            options["scenarios"] = WATCHED.get(name).scenarios or SHOWN.get(name, (PLAIN,))
        outcomes = await verdicts_of(command, skip=skip, **options)
        findings = {each.id: each.findings for each in outcomes.values() if each.findings}
        assert outcomes[name].findings, (outcomes[name], findings)
        assert findings.keys() - {name} == set(also), findings
        for each in outcomes.values():
            assert_proven(each)

    return look


@pytest.fixture
def check(tmp_path, environment, survivors):
    """Run `conductor check --client` as a process of its own, and make sure that it leaves none behind."""

    def run(client, *flags, limit=60, **extra):
        began = time.perf_counter()
        done = prefork.run(
            [*CONDUCTOR, "check", "--client", client, *flags],
            capture_output=True, text=True, timeout=limit, cwd=tmp_path, check=False,
            env={**environment, "PYTHONPATH": str(HERE), "TMPDIR": str(tmp_path), **extra},
        )  # fmt: skip
        done.seconds = time.perf_counter() - began
        assert "Traceback" not in done.stderr, done.stderr
        assert survivors() == [], "processes were left behind"
        assert [each.name for each in tmp_path.glob("conductor-*")] == [], "files were left behind"
        return done

    return run


@pytest.fixture
def script(tmp_path):
    """A client of a few lines."""

    def write(code):
        file = tmp_path / "script.py"
        file.write_text("from polite_client import *\nimport os, time, signal\n" + code)
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}"

    return write
