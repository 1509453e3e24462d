"""A CI file has what the server needs, and is YAML that its service reads."""

import pytest
import yaml

from mcp_conductor.cli.commands.init.flags import CI
from mcp_conductor.suites.authoring.ci_files import CI_FILES, CiJob


def job(*files: str, requirement: str = "mcp-conductor", variables: tuple[str, ...] = (), **entry: object) -> CiJob:
    return CiJob(entry, requirement, variables, lambda file: file in files)


def test_every_service_has_a_place_for_its_file():
    assert CI.keys() == CI_FILES.keys()


@pytest.mark.parametrize(
    ("files", "command", "lines"),
    [
        ((), "python", []),
        (("requirements.txt",), "python", ["pip install -r requirements.txt"]),
        (("pyproject.toml", "requirements.txt"), "x-server", ["pip install -e ."]),
        (("pyproject.toml",), ".venv/bin/x", ["python -m venv .venv", ".venv/bin/pip install -e ."]),
        (("pyproject.toml", "uv.lock"), "uv", ["pip install uv", "uv sync"]),
        (("pyproject.toml", "poetry.lock"), "poetry", ["pip install poetry", "poetry install"]),
        ((), "npx", []),
        (("package.json",), "node", ["npm install", "npm run build --if-present"]),
        (("package.json", "package-lock.json"), "npm", ["npm ci", "npm run build --if-present"]),
    ],
)
def test_the_server_gets_what_it_needs(files, command, lines):
    assert job(*files, command=command).preparation == lines


def test_a_server_at_a_url_needs_nothing():
    assert job("pyproject.toml", url="https://example.com/mcp").preparation == []


@pytest.mark.parametrize("service", CI_FILES)
def test_any_requirement_and_any_variable_is_written_as_yaml(service):
    requirement = "mcp-conductor @ git+https://example.com/conductor.git@0123abc"
    text = CI_FILES[service](job("package.json", command="node", requirement=requirement, variables=("API_KEY", "B")))
    assert f"pip install '{requirement}'" in str(yaml.safe_load(text)).replace('"', "'").replace("\\'", "'")
    assert "API_KEY" in text


def test_a_workflow_takes_secrets_from_the_settings_of_the_repository():
    file = yaml.safe_load(CI_FILES["github"](job(command="x", variables=("API_KEY",))))
    assert file["jobs"]["conductor"]["env"] == {"API_KEY": "${{ secrets.API_KEY }}"}
    assert file["permissions"] == {"contents": "read"}
