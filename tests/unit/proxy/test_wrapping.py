"""`record` in the settings of a client, put there and taken out again."""

import json
import stat
import sys

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.proxy.wrapping import BACKUP, CLIENTS, ClientSettings, recording_of, settings_of

TEXT = """{
\t"theme": "dark",
\t"mcpServers": {
\t\t"files": {"command": "npx", "args": ["-y", "server", "--", "--flag"], "env": {"KEY": "é"}},
\t\t"bare": {"command": "serve"},
\t\t"web": {"url": "http://127.0.0.1:1/mcp"},
\t\t"ours": {"command": "/usr/bin/conductor", "args": ["record", "-o", "x", "--", "y"]}
\t}
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


def settings(file):
    return ClientSettings(str(file), file.name)


def test_only_the_command_and_the_words_of_one_server_change(file):
    assert settings(file).wrap("files", "/r/x.jsonl").done
    before, after = json.loads(TEXT), json.loads(file.read_text())
    words = ["-m", "mcp_conductor", "record", "-o", "/r/x.jsonl", "--", "npx", "-y", "server", "--", "--flag"]
    before["mcpServers"]["files"] |= {"command": sys.executable, "args": words}
    assert after == before
    assert file.read_text().startswith('{\n\t"theme"')
    assert "é" in file.read_text()
    assert file.read_text().endswith("}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_copy_of_the_file_is_kept_for_its_owner_alone_and_not_replaced_by_a_wrapped_one(file):
    settings(file).wrap("files", "/r/x.jsonl")
    settings(file).wrap("bare", "/r/y.jsonl")
    copy = file.with_name(file.name + BACKUP)
    assert copy.read_text() == TEXT
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_to_wrap_twice_changes_nothing(file):
    settings(file).wrap("files", "/r/x.jsonl")
    once = file.read_text()
    change = settings(file).wrap("files", "/r/other.jsonl")
    assert (change.done, change.recording) == (False, "/r/x.jsonl")
    assert not settings(file).wrap("ours", "/r/x.jsonl").done
    assert file.read_text() == once


@pytest.mark.parametrize("names", [["files"], ["bare"], ["files", "bare"]])
def test_to_unwrap_gives_back_the_file_byte_for_byte(file, names):
    for name in names:
        settings(file).wrap(name, "/r/x.jsonl")
    for name in names:
        assert settings(file).unwrap(name).done
    assert file.read_text() == TEXT
    assert not file.with_name(file.name + BACKUP).exists()
    assert not settings(file).unwrap(names[0]).done


def test_what_was_changed_meanwhile_stays(file):
    settings(file).wrap("files", "/r/x.jsonl")
    data = json.loads(file.read_text())
    data["mcpServers"]["new"] = {"command": "new"}
    file.write_text(json.dumps(data))
    settings(file).unwrap("files")
    found = json.loads(file.read_text())
    assert found["mcpServers"]["new"] == {"command": "new"}
    assert found["mcpServers"]["files"] == json.loads(TEXT)["mcpServers"]["files"]
    assert file.with_name(file.name + BACKUP).exists()


def test_the_table_of_vs_code_is_known(file):
    file.write_text('{"servers": {"a": {"type": "stdio", "command": "x"}}}')
    settings(file).wrap(settings(file).name(None), "/r/x.jsonl")
    assert recording_of(json.loads(file.read_text())["servers"]["a"]) == "/r/x.jsonl"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("// a comment\n{}", "mcp.json is not plain JSON"),
        ("{}", "mcp.json has no servers"),
        ("[]", "mcp.json has no servers"),
        ('{"mcpServers": {}}', "mcp.json has no servers"),
        (TEXT, "mcp.json has no server 'file'"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_and_not_touched(file, text, says):
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        settings(file).name("file")
    assert caught.value.message.startswith(says)
    assert file.read_text() == text


def test_a_server_at_a_url_is_refused(file):
    with pytest.raises(UsageError) as caught:
        settings(file).wrap("web", "/r/x.jsonl")
    assert caught.value.message == "mcp.json: web is not started by a command"
    assert "conductor record URL" in caught.value.hint


def test_several_servers_need_a_name(file):
    with pytest.raises(UsageError):
        settings(file).name(None)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_settings_of_known_clients_are_found(tmp_path, client):
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    with pytest.raises(UsageError):
        settings_of(client, str(project), str(home))
    for place in reversed(CLIENTS[client]):
        file = home / place[2:] if place.startswith("~/") else project / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
        assert settings_of(client, str(project), str(home)) == str(file)


def test_a_client_that_is_not_known_may_be_meant_as_another(tmp_path):
    with pytest.raises(UsageError) as caught:
        settings_of("cursr", str(tmp_path), str(tmp_path))
    assert caught.value.hint == "did you mean 'cursor'?"
