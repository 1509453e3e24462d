import base64
import io
import struct
import wave
import zlib

import pytest
from tests.unit.server.harness import Conversation, failure_of

from mcp_conductor.server.presets.content import PNG, WAV

ICONS = [{"src": f"data:image/png;base64,{PNG}", "mimeType": "image/png", "sizes": ["1x1"]}]
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
LINK = {
    "type": "resource_link",
    "uri": "demo://resource/static/document/architecture.md",
    "name": "architecture",
    "description": "Architecture documentation",
    "mimeType": "text/markdown",
}
EMBEDDED = {
    "type": "resource",
    "resource": {"uri": "test://embedded", "mimeType": "text/plain", "text": "This is an embedded resource."},
}
ANNOTATED = {
    "type": "text",
    "text": "This text is annotated.",
    "annotations": {"audience": ["user"], "priority": 0.8, "lastModified": "2025-01-12T15:00:58Z"},
}
MIXED = [{"type": "text", "text": "This is a text."}, IMAGE, AUDIO, LINK, EMBEDDED]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("image_content", [IMAGE]),
        ("audio_content", [AUDIO]),
        ("resource_link_content", [LINK]),
        ("embedded_resource_content", [EMBEDDED]),
        ("annotated_content", [ANNOTATED]),
        ("mixed_content", MIXED),
    ],
)
async def test_there_is_a_tool_for_each_kind_of_content(name, content):
    talk = Conversation(name)
    assert (await talk.listed())["name"] == name
    assert await talk.call(name) == {"content": content}


async def test_the_link_leads_to_the_resource_of_the_preset_architecture():
    talk = Conversation("resource_link_content", "architecture")
    (link,) = (await talk.call("resource_link_content"))["content"]
    listed = await talk.listed("resources/list")
    assert {key: link[key] for key in listed} == listed


def test_the_image_is_a_png_of_one_pixel():
    png = base64.b64decode(PNG, validate=True)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, kinds = 8, []
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        chunk, (checksum,) = (
            png[place + 4 : place + 8 + length],
            struct.unpack(">I", png[place + 8 + length : place + 12 + length]),
        )
        assert zlib.crc32(chunk) == checksum
        kinds.append(chunk[:4])
        if chunk[:4] == b"IDAT":
            assert len(zlib.decompress(chunk[4:])) == 5
        place += 12 + length
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_the_audio_is_a_wav_of_eight_samples():
    with wave.open(io.BytesIO(base64.b64decode(WAV, validate=True))) as audio:
        assert (audio.getnchannels(), audio.getframerate(), audio.getnframes()) == (1, 8000, 8)
        assert len(audio.readframes(8)) == 8


async def test_get_annotated_message_annotates_its_text():
    talk = Conversation("get_annotated_message")
    listed = await talk.listed()
    assert listed["description"] == "Get an annotated message"
    assert listed["inputSchema"]["required"] == ["messageType"]
    assert await talk.call("get_annotated_message", {"messageType": "error"}) == {
        "content": [
            {
                "type": "text",
                "text": "This is a error message",
                "annotations": {"priority": 1.0, "audience": ["user", "assistant"]},
            }
        ]
    }


async def test_get_annotated_message_shows_an_image_on_request():
    talk = Conversation("get_annotated_message")
    result = await talk.call("get_annotated_message", {"messageType": "info", "includeImage": True})
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert failure_of(await talk.call("get_annotated_message", {"messageType": "other"}))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("titled_tool", {"title": "A Titled Tool"}),
        ("icon_tool", {"icons": ICONS}),
        (
            "annotated_tool",
            {
                "annotations": {
                    "title": "An Annotated Tool",
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                }
            },
        ),
    ],
)
async def test_a_list_shows_what_a_tool_says_of_itself(name, shown):
    talk = Conversation(name)
    listed = await talk.listed()
    assert {key: value for key, value in listed.items() if key not in ("name", "description", "inputSchema")} == shown
    assert (await talk.call(name))["content"]
