"""Contents of a result become files: one by the name that was given, several by numbers."""

import base64
import stat

import pytest

from mcp_conductor.cli.commands.mcp_cli.operations import MethodResult
from mcp_conductor.cli.commands.mcp_cli.saved_contents import save_contents

DATA = b"\x89PNG\r\n\x1a\n\x00\xff"
TEXT = base64.b64encode(DATA).decode()
IMAGE = {"type": "image", "data": TEXT, "mimeType": "image/png"}
BLOB = {"uri": "a://b", "blob": TEXT, "mimeType": "image/png"}


def saved(result, folder, file="x.png"):
    return save_contents(MethodResult(result), file, str(folder))


@pytest.mark.parametrize(
    ("result", "printed"),
    [
        ({"contents": [dict(BLOB)]}, {"contents": [{"uri": "a://b", "file": "x.png", "mimeType": "image/png"}]}),
        (
            {"content": [{"type": "text", "text": "hi"}, dict(IMAGE)], "isError": False},
            {
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "image", "file": "x.png", "mimeType": "image/png"},
                ],
                "isError": False,
            },
        ),
        (
            {"content": [{"type": "audio", "data": TEXT}]},
            {"content": [{"type": "audio", "file": "x.png"}]},
        ),
        (
            {"content": [{"type": "resource", "resource": dict(BLOB)}]},
            {"content": [{"type": "resource", "resource": {"uri": "a://b", "file": "x.png", "mimeType": "image/png"}}]},
        ),
        (
            {"messages": [{"role": "user", "content": dict(IMAGE)}]},
            {"messages": [{"role": "user", "content": {"type": "image", "file": "x.png", "mimeType": "image/png"}}]},
        ),
        (
            {"taskId": "1", "result": {"content": [dict(IMAGE)]}},
            {"taskId": "1", "result": {"content": [{"type": "image", "file": "x.png", "mimeType": "image/png"}]}},
        ),
    ],
)
def test_one_content_is_the_file(tmp_path, result, printed):
    (tmp_path / "x.png").write_text("what was there before is replaced")
    outcome = saved(result, tmp_path)
    assert (outcome.result, outcome.complaint) == (printed, None)
    assert list(outcome.result) == list(printed)
    assert (tmp_path / "x.png").read_bytes() == DATA
    assert [file.name for file in tmp_path.iterdir()] == ["x.png"]


def test_the_text_of_a_resource_is_a_file_too(tmp_path):
    outcome = saved({"contents": [{"uri": "a://b", "text": "häi\n"}]}, tmp_path)
    assert outcome.result == {"contents": [{"uri": "a://b", "file": "x.png"}]}
    assert (tmp_path / "x.png").read_text() == "häi\n"
    assert stat.S_IMODE((tmp_path / "x.png").stat().st_mode) & 0o400


def test_several_contents_are_numbered_before_the_suffix(tmp_path):
    outcome = saved({"content": [dict(IMAGE), dict(IMAGE)]}, tmp_path, "a.b/x.png")
    assert [block["file"] for block in outcome.result["content"]] == ["a.b/x-1.png", "a.b/x-2.png"]
    assert sorted(file.name for file in (tmp_path / "a.b").iterdir()) == ["x-1.png", "x-2.png"]


def test_a_file_with_a_number_is_never_replaced(tmp_path):
    (tmp_path / "x-2.png").write_text("mine")
    result = {"content": [dict(IMAGE), dict(IMAGE)]}
    outcome = saved(result, tmp_path)
    assert outcome.complaint == "the result has 2 contents, and x-2.png exists already: nothing was written"
    assert outcome.result == {"content": [IMAGE, IMAGE]}
    assert [file.name for file in tmp_path.iterdir()] == ["x-2.png"]


@pytest.mark.parametrize("broken", ["%%%", "iVBO", "abc", "=", "a", TEXT + "!"])
def test_what_is_not_base64_is_told_and_nothing_is_written(tmp_path, broken):
    result = {"content": [dict(IMAGE), {"type": "image", "data": broken}]}
    outcome = saved(result, tmp_path)
    if broken == "iVBO":
        assert outcome.complaint is None
        return
    assert outcome.complaint.startswith("result.content[1].data is not base64: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "hi"}]},
        {"content": "x", "contents": 3, "messages": [None, {"content": [3]}]},
        {"contents": [{"uri": "a"}, 3], "result": []},
        [],
        None,
    ],
)
def test_a_result_without_contents_is_told(tmp_path, result):
    assert saved(result, tmp_path).complaint == "the result has nothing that could be written to x.png"


def test_a_place_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "file").touch()
    outcome = saved({"content": [dict(IMAGE)]}, tmp_path, "file/x.png")
    assert outcome.complaint.startswith("cannot write file/x.png: ")
