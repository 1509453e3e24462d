"""A recording as a page: what the judges find stands at the frame that shows it."""

import json
import re
from typing import Any

from mcp_conductor.cli.commands.show.page import recording_page, what_fits
from mcp_conductor.recording.reader import recording_of

CLIENT, SERVER = "client", "server"
OPENING = [
    (CLIENT, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}),
    (SERVER, {"id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}}),
    (CLIENT, {"method": "notifications/initialized"}),
]  # fmt: skip
LISTING = [
    (CLIENT, {"id": 2, "method": "tools/list"}),
    (SERVER, {"id": 2, "result": {"tools": [{"name": "look"}]}}),
]


def lines(said: list[Any], header: dict[str, Any] | None = None, session: int = 1) -> list[str]:
    frames = [
        {"at": number / 10, "source": source, "session": session, "text": json.dumps({"jsonrpc": "2.0", **message})}
        for number, (source, message) in enumerate(said)
    ]
    head = [] if header is None else [{"recording": 1, **header}]
    return [json.dumps(each) + "\n" for each in [*head, *frames]]


def shown(given: list[str], *, judged: bool = True) -> Any:
    recording = recording_of(given)
    text = recording_page(recording, recording.sessions(), "said.jsonl", judged=judged)
    found = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_what_breaks_the_specification_is_pinned_to_the_frame_that_shows_it():
    (talk,) = shown(lines(OPENING + LISTING))["conversations"]
    assert (talk["protocolVersion"], talk["server"]["name"]) == ("2025-11-25", "s")
    (pin,) = [each for each in talk["pins"] if each["requirement"] == "tools-item-inputschema"]
    assert (pin["frame"], pin["level"], pin["warning"]) == (4, "MUST, of the server", False)
    assert pin["remedy"]


def test_without_judges_there_are_no_pins():
    (talk,) = shown(lines(OPENING + LISTING), judged=False)["conversations"]
    assert "pins" not in talk


def test_a_recording_without_a_beginning_is_shown_and_says_why_it_is_not_judged():
    (talk,) = shown(lines(LISTING))["conversations"]
    assert len(talk["frames"]) == 2
    assert talk["note"] == "not judged: nothing in the recording says which revision is spoken"


def test_the_header_says_how_mcp_cli_finds_the_server():
    for server, words in (
        ({"command": ["node", "my server.js"]}, "-- node 'my server.js'"),
        ({"url": "http://127.0.0.1/mcp"}, "-- http://127.0.0.1/mcp"),
        ({"name": "books"}, None),
    ):
        assert shown(lines(OPENING, {"server": server}))["conversations"][0]["reach"] == words


def test_each_conversation_is_shown_by_itself():
    talks = shown([*lines(OPENING), *lines(LISTING, session=2)])["conversations"]
    assert [(talk["title"], len(talk["frames"])) for talk in talks] == [("session 1", 3), ("session 2", 2)]


def test_a_cut_recording_says_so_on_the_page():
    data = shown([*lines(OPENING), '{"at": 1, "sou'])
    assert "not whole" in data["notes"][0]


def test_a_part_is_shown_but_the_whole_is_judged():
    recording = recording_of(lines(OPENING + LISTING))
    text = recording_page(
        recording, [1], "said.jsonl", judged=True, shown=recording.entries[3:], notes=["2 of 5 shown"]
    )
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    (talk,) = data["conversations"]
    assert data["notes"] == ["2 of 5 shown"]
    assert [json.loads(each["text"])["id"] for each in talk["frames"]] == [2, 2]
    assert {(pin["requirement"], pin["frame"]) for pin in talk["pins"]} >= {("tools-item-inputschema", 1)}


def test_what_the_client_does_wrong_is_pinned_to_what_it_said():
    (talk,) = shown(lines([*OPENING[:2], *LISTING]))["conversations"]
    pins = {each["requirement"]: each for each in talk["pins"]}
    assert pins["lifecycle-initialized-sent-client"]["frame"] == 2
    assert pins["lifecycle-initialized-sent-client"]["level"] == "MUST, of the client"
    assert pins["lifecycle-initialize-params-client"]["frame"] == 0
    assert talk["note"] == "1 broken requirement on the server, 2 broken requirements on the client"


def test_a_page_has_as_many_frames_as_a_browser_can_open_and_the_rest_is_told():
    entries = recording_of(lines(OPENING + LISTING)).entries
    sizes = [len(entry.frame.text) + 50 for entry in entries]
    assert what_fits(entries) == (entries, None)
    assert what_fits(entries, sum(sizes)) == (entries, None)
    fitting, rest = what_fits(entries, sum(sizes[:4]))
    assert fitting == entries[:4]
    assert rest == (
        "the page has the first 4 of 5 frames: more would be too much for a browser; --since 0.4 shows those that follow, "
        "and --method, --name, --errors and --source choose some"
    )


def test_a_page_has_at_least_one_frame():
    entries = recording_of(lines(OPENING)).entries
    assert what_fits(entries, 10)[0] == entries[:1]
