"""The lines of a recording."""

import json
import random

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.in_process_spec import StreamsSpec
from mcp_conductor.protocol.server_spec import HttpSpec, StdioSpec
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.format import Entry, Header, entry_in, entry_line, header_in, header_line, server_of


def test_the_first_line_says_which_version_it_is_and_what_is_known():
    header = Header(tool="mcp-conductor 1", began="2026-01-02T03:04:05Z", transport="http", server={"url": "http://x/"})
    assert json.loads(header_line(header)) == {
        "recording": 1,
        "tool": "mcp-conductor 1",
        "began": "2026-01-02T03:04:05Z",
        "transport": "http",
        "server": {"url": "http://x/"},
    }
    assert json.loads(header_line(Header())) == {"recording": 1}
    assert header_in(json.loads(header_line(header))) == header


def test_a_frame_of_the_only_conversation_names_no_session():
    entry = Entry(Frame(1.23456789, "server", "{}"))
    assert entry_line(entry) == '{"at":1.234568,"source":"server","text":"{}"}'
    assert entry_line(Entry(entry.frame, 2, 7)) == (
        '{"at":1.234568,"source":"server","session":2,"exchange":7,"text":"{}"}'
    )


def some_text(chance):
    """Text as it comes from bytes: any characters, and bytes that are not UTF-8."""
    parts = [
        chance.randbytes(chance.randrange(8)),
        "".join(chr(chance.randrange(0xD800)) for _ in range(chance.randrange(8))).encode(),
        "".join(chr(chance.randrange(0xE000, 0x110000)) for _ in range(chance.randrange(8))).encode(),
        chance.choice([b"", b"\x00", b"\r\n", b'"\\', "\u2028\u2029\x85".encode(), b"\xed\xa0\x80", b"\xff\xfe"]),
    ]
    chance.shuffle(parts)
    return b"".join(parts).decode(errors="surrogateescape")


@pytest.mark.parametrize("seed", range(20))
def test_any_text_and_any_place_come_back_as_they_were(seed):
    chance = random.Random(seed)
    for _ in range(100):
        frame = Frame(
            chance.randrange(10**9) / 1e6,
            chance.choice(["client", "server", "stderr", "http", "note", "process"]),
            some_text(chance) + chance.choice(["", "\udc80", "\ud800", "\udfff"]),
            chance.choice([None, chance.randrange(1, 99)]),
        )
        entry = Entry(frame, chance.randrange(1, 99), frame.exchange)
        line = entry_line(entry)
        assert "\n" not in line.removesuffix("\n")
        assert len(line.encode().splitlines()) == 1
        assert entry_in(json.loads(line.encode())) == entry


def test_members_that_are_not_known_mean_nothing():
    fields = {"at": 1, "source": "note", "text": "x", "mood": "good", "session": "two", "exchange": -1, "server": 5}
    assert entry_in(fields) == Entry(Frame(1.0, "note", "x"))
    assert header_in({"recording": 1, "mood": "good", "server": []}) == Header()


def test_a_later_version_is_refused_in_one_line():
    with pytest.raises(UsageError) as caught:
        header_in({"recording": 2})
    assert caught.value.message == "the recording has version 2 of the format; this program reads version 1"


@pytest.mark.parametrize("version", ["1", None, 0, True, 1.5, {}])
def test_a_version_that_is_no_number_is_refused(version):
    with pytest.raises(UsageError):
        header_in({"recording": version})


def test_a_server_is_named_by_its_command_its_url_or_its_name():
    assert server_of(StdioSpec(command=("node", "s.js"))) == {"command": ["node", "s.js"]}
    assert server_of(HttpSpec(url="http://x/mcp", name="files")) == {"name": "files", "url": "http://x/mcp"}
    assert set(server_of(StreamsSpec(read=None, write=None))) == {"name"}
