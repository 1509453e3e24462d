"""Skills: those of FastMCP's server are listed, got and verified; a server that lies about its files is found out."""

import json
import sys
from pathlib import Path

import pytest

PEER = (sys.executable, str(Path(__file__).parent.parent / "servers" / "skills_peer.py"))
SKILL = "skill://review/SKILL.md"
MODERN = ("--protocol", "modern")
# A server of one skill with two files; FILES and ENTRY are what a test changes.
SERVER = """
import base64, hashlib
FILES = {"skill://review/SKILL.md": b"---\\nname: review\\ndescription: Review it.\\n---\\n", "skill://review/a.bin": b"\\x00\\xff"}
def listed(uri): return {"uri": uri, "size": len(FILES[uri]), "digest": "sha256:" + hashlib.sha256(FILES[uri]).hexdigest()}
ENTRY = {"uri": "skill://review/SKILL.md", "frontmatter": {"name": "review", "description": "Review it."},
         "resources": [listed(uri) for uri in FILES]}
%s
def read(params):
    uri = params["uri"]
    if uri not in FILES: return {"contents": []}
    return {"contents": [{"uri": uri, "blob": base64.b64encode(FILES[uri]).decode()}]}
def children(params):
    page = {None: ["a", "next"], "next": ["b", None]}[params.get("cursor")]
    return {"resources": [{"uri": page[0], "name": page[0]}], **({"nextCursor": page[1]} if page[1] else {})}
hello(resources={}, extensions={META + "skills": {"directoryRead": True}})
serve({"skills/list": {"skills": [ENTRY]}, "skills/get": {"skill": ENTRY}, "resources/read": read,
       "resources/directory/read": children})
"""


@pytest.fixture
def skills(tmp_path):
    """A directory with one skill of three files."""
    (tmp_path / "skills" / "review" / "refs").mkdir(parents=True)
    (tmp_path / "skills" / "review" / "SKILL.md").write_text(
        "---\nname: review\ndescription: Review it.\n---\n\nDo it.\n"
    )
    (tmp_path / "skills" / "review" / "refs" / "lines.txt").write_bytes(b"a\r\nb\n")
    (tmp_path / "skills" / "review" / "logo.bin").write_bytes(b"\x00\xff")
    return (*PEER, str(tmp_path / "skills"))


@pytest.mark.peers
def test_the_skills_of_another_server_are_listed_got_and_verified(cli, skills):
    listed = cli(*skills, *MODERN, "--method", "skills/list", "--verify")
    assert (listed.code, listed.err) == (0, "")
    (entry,) = json.loads(listed.out)["skills"]
    assert len(entry["resources"]) == 3
    got = cli(*skills, *MODERN, "--method", "skills/get", "--uri", SKILL, "--verify")
    assert got.code == 0, got.err
    assert json.loads(got.out)["skill"] == entry


@pytest.mark.peers
def test_what_a_server_does_not_declare_is_asked_anyway_with_a_warning(cli, skills):
    run = cli(*skills, *MODERN, "--method", "resources/directory/read", "--uri", "skill://review")
    assert run.code == 2
    assert 'the server does not declare "directoryRead": true' in run.err


def test_every_page_of_a_directory_is_read(cli, serve):
    run = cli(*serve(SERVER % ""), "--method", "resources/directory/read", "--uri", "skill://review")
    assert (run.code, run.err) == (0, "")
    assert [each["uri"] for each in json.loads(run.out)["resources"]] == ["a", "b"]


@pytest.mark.parametrize("method", [("skills/list",), ("skills/get", "--uri", SKILL)], ids=lambda words: words[0])
def test_files_that_are_as_the_manifest_says_are_no_news(cli, serve, method):
    run = cli(*serve(SERVER % ""), "--method", *method, "--verify")
    assert (run.code, run.err) == (0, "")


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ('FILES["skill://review/a.bin"] += b"!"', "skill://review/a.bin: has 3 bytes, but the manifest says 2"),
        ('FILES["skill://review/a.bin"] = b"xx"', "skill://review/a.bin: has the digest sha256:"),
        ('del FILES["skill://review/a.bin"]', "skill://review/a.bin: resources/read returns no content for it"),
        ('ENTRY["frontmatter"]["description"] = "other"', "description in the frontmatter of SKILL.md is 'Review it.'"),
        ('ENTRY["resources"] = []', "the manifest does not list SKILL.md"),
    ],
)
def test_a_lie_is_told_after_the_result(cli, serve, lie, says):
    run = cli(*serve(SERVER % lie), "--method", "skills/list", "--verify")
    assert run.code == 1
    assert json.loads(run.out)["skills"]
    assert f"{SKILL}: {says}" in run.err


def test_dynamic_files_cannot_be_verified_which_is_said(cli, serve):
    run = cli(*serve(SERVER % 'ENTRY["resources"] = "dynamic"'), "--method", "skills/list", "--verify")
    assert run.code == 0
    assert "its files are dynamic, so they cannot be verified" in run.err
