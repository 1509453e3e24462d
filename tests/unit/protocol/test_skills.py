"""Skills are compared with what their entries say."""

import hashlib

import pytest

from mcp_conductor.protocol.skills import (
    SkillFile,
    content_of,
    entries_of,
    entry_complaints,
    file_complaints,
    frontmatter_text,
    manifest_of,
    undeclared,
)

URI = "skill://team/review/SKILL.md"
DIGEST = "sha256:" + hashlib.sha256(b"x").hexdigest()
FRONT = {"name": "review", "description": "Review."}


def entry(**changes):
    files = [
        {"uri": URI, "digest": DIGEST, "size": 1},
        {"uri": "skill://team/review/a/b.md", "digest": DIGEST, "size": 1},
    ]
    return {"uri": URI, "frontmatter": FRONT, "resources": files, **changes}


@pytest.mark.parametrize(
    "good", [entry(), entry(resources="dynamic"), entry(uri="a://review/SKILL.md", resources="dynamic")]
)
def test_a_good_entry_has_no_complaints(good):
    assert list(entry_complaints(good)) == []


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (None, "the entry has no uri"),
        ({}, "the entry has no uri"),
        (entry(uri="skill://team/review/OTHER.md", resources="dynamic"), "the uri is not that of a SKILL.md"),
        (entry(frontmatter={"name": "review"}), "the frontmatter has no name, or no description"),
        (entry(frontmatter=3), "the frontmatter has no name, or no description"),
        (entry(frontmatter={**FRONT, "name": "other"}), "the last part of its path is not its name 'other'"),
        (entry(resources=None), 'resources is neither an array nor "dynamic"'),
        (entry(resources=[{"uri": URI}, {}]), "a resource has no uri"),
        (entry(resources=[{"uri": "skill://team/review/x"}]), "the manifest does not list SKILL.md"),
        (entry(resources=[{"uri": URI}, {"uri": "skill://team/other/x"}]), "skill://team/other/x is outside the skill"),
        (entry(resources=[{"uri": URI}, {"uri": URI}]), "the manifest lists a file twice"),
    ],
)
def test_a_bad_entry_is_told(bad, complaint):
    assert list(entry_complaints(bad)) == [complaint]


def test_a_file_is_compared_by_size_and_digest():
    assert list(file_complaints(SkillFile("u", DIGEST, 1), b"x")) == []
    size, digest = file_complaints(SkillFile("u", DIGEST, 1), b"xy")
    assert size == "u: has 2 bytes, but the manifest says 1"
    assert digest.startswith("u: has the digest sha256:")
    assert digest.endswith(f"but the manifest says {DIGEST}")
    assert next(file_complaints(SkillFile("u", DIGEST, None), b"x")) == "u: the manifest has no size"


def test_the_files_are_those_of_the_manifest():
    assert [file.uri for file in manifest_of(entry())] == [URI, "skill://team/review/a/b.md"]
    assert manifest_of(entry(resources=[3, {"uri": 4}, {"uri": "u", "size": "1"}])) == [SkillFile("u", "None", None)]
    assert manifest_of(entry(resources="dynamic")) == manifest_of(None) == []


@pytest.mark.parametrize(
    ("capabilities", "method", "lacking"),
    [
        ({}, "skills/list", "the extension io.modelcontextprotocol/skills"),
        ({"extensions": {"io.modelcontextprotocol/skills": True}}, "skills/get", "the extension"),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, "skills/list", None),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, "resources/directory/read", '"directoryRead": true'),
        ({"extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}, "resources/directory/read", None),
    ],
)
def test_what_a_server_does_not_declare_is_told(capabilities, method, lacking):
    told = undeclared(capabilities, method)
    assert told is None if lacking is None else told.startswith(lacking)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"---\nname: a\n---\nbody", "name: a\n"),
        (b"---\r\nname: a\r\n---\r\n---\r\n", "name: a\r\n"),
        (b"---\nname: a\n", None),
        (b"name: a\n---\n", None),
        (b"", None),
    ],
)
def test_the_frontmatter_stands_at_the_beginning(data, text):
    assert frontmatter_text(data) == text


def test_contents_are_found_by_their_uri():
    result = {"contents": [3, {"uri": "a"}, {"uri": "b", "text": "t"}, {"uri": "c", "blob": "AA=="}]}
    assert (content_of(result, "a"), content_of(result, "b")) == (None, "t")
    assert content_of(result, "c") == {"blob": "AA=="}
    assert content_of(None, "a") is None


def test_entries_are_those_of_a_list_or_the_one_of_get():
    assert entries_of({"skills": [1, 2]}) == [1, 2]
    assert entries_of({"skill": 1}) == [1]
    assert entries_of({}) == entries_of(None) == []
