"""The file of a proxy: faults as in a server file, for either side."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.proxy.fault_file import load


@pytest.fixture
def read(tmp_path):
    def read(text, *, http=False, name="faults.yaml"):
        (tmp_path / name).write_text(text)
        return load(str(tmp_path / name), name, {"WAIT": "2s"}, http=http)

    return read


@pytest.mark.parametrize(
    ("when", "replier"),
    [
        ("{}", "server"),
        ("{method: tools/call}", "server"),
        ("{method: ping}", "server"),
        ("{method: ping, direction: client}", "client"),
        ("{method: tasks/get, direction: client}", "client"),
        ("{method: sampling/createMessage}", "client"),
        ("{method: elicitation/create, direction: client}", "client"),
        ("{direction: client}", "client"),
        ("{direction: server}", "server"),
    ],
)
def test_the_method_tells_whose_reply_it_is_unless_the_direction_does(read, when, replier):
    (fault,) = read(f"faults:\n  - {{fault: crash, when: {when}}}\n").faults
    assert fault.replier == replier


def test_the_seed_and_variables_of_the_environment_are_read(read):
    file = read("seed: 7\nfaults: [{fault: delay, params: {time: '${WAIT}'}}]\n")
    assert (file.seed, file.warnings) == (7, ())


def test_a_whole_server_file_is_read_for_its_faults_alone(read):
    text = '{"serverInfo": {}, "tools": 5, "faults": [{"fault": "crash", "when": {"name": "not of this server"}}]}'
    assert [fault.target for fault in read(text, name="server.json").faults] == ["not of this server"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", None),
        ("faults: []", (1, 1)),
        ("faults: 5", (1, 1)),
        ("fautls: []", (1, 1)),
        ("faults:\n  - {fault: crash, when: {direction: both}}", (2, 27)),
        ("faults:\n  - {fault: crash, when: {method: roots/list, direction: server}}", (2, 47)),
    ],
)
def test_mistakes_have_their_place(read, text, where):
    with pytest.raises(UsageError) as refused:
        read(text)
    found = refused.value.where
    assert where is None or (found.line, found.column) == where


@pytest.mark.parametrize(
    ("name", "http", "client", "able"),
    [
        ("stdout_noise", False, True, True),
        ("stdout_noise", True, False, False),
        ("http_status", True, False, True),
        ("http_status", True, True, False),
        ("http_status", False, False, False),
        ("wrong_content_type", True, True, True),
        ("cut_stream", True, True, False),
        ("expire_session", True, False, True),
        ("expire_session", True, True, False),
    ],
)
def test_a_fault_without_means_is_told_and_refused_if_it_is_the_only_one(read, name, http, client, able):
    entry = f"{{fault: {name}, when: {{direction: {'client' if client else 'server'}}}}}"
    file = read(f"faults: [{entry}, {{fault: crash}}]", http=http)
    assert (len(file.faults), not file.warnings) == (2, able)
    if not able:
        with pytest.raises(UsageError):
            read(f"faults: [{entry}]", http=http)
