"""The extension for skills (SEP-2640): its methods, and whether the files of a skill are those that its entry lists.

A skill is a directory of resources with a SKILL.md. Its entry has the frontmatter of that file, and either the word
"dynamic" or a manifest: every file with its size and SHA-256.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import SKILLS_EXTENSION

DIRECTORY_READ = "resources/directory/read"
# The methods of the extension whose results have pages, and the member that is listed.
SKILL_LISTS = {"skills/list": "skills", DIRECTORY_READ: "resources"}
DYNAMIC = "dynamic"
_FRONTMATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


class SkillFile(NamedTuple):
    """A file of a skill, as the manifest lists it."""

    uri: str
    digest: str
    size: int | None


def undeclared(capabilities: Json, method: str) -> str | None:
    """What a server does not declare that METHOD needs."""
    extensions = capabilities.get("extensions")
    declared = extensions.get(SKILLS_EXTENSION) if isinstance(extensions, dict) else None
    if not isinstance(declared, dict):
        return f"the extension {SKILLS_EXTENSION}"
    if method == DIRECTORY_READ and declared.get("directoryRead") is not True:
        return f'"directoryRead": true of {SKILLS_EXTENSION}'
    return None


def entries_of(result: Any) -> list[Any]:
    """The entries in a result of skills/list or skills/get."""
    if not isinstance(result, dict):
        return []
    if "skill" in result:
        return [result["skill"]]
    skills = result.get("skills")
    return skills if isinstance(skills, list) else []


def name_of(entry: Any) -> str:
    """What messages call the skill of ENTRY."""
    uri = entry.get("uri") if isinstance(entry, dict) else None
    return uri if isinstance(uri, str) else "a skill without a uri"


def manifest_of(entry: Any) -> list[SkillFile]:
    """The files that ENTRY lists; those that are not listed as they should be are left to `entry_complaints`."""
    listed = entry.get("resources") if isinstance(entry, dict) else None
    files = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [
        SkillFile(each["uri"], str(each.get("digest")), each["size"] if type(each.get("size")) is int else None)
        for each in files
        if isinstance(each.get("uri"), str)
    ]


def entry_complaints(entry: Any) -> Iterator[str]:
    """What is wrong with an entry in itself."""
    if not isinstance(entry, dict) or not isinstance(entry.get("uri"), str):
        yield "the entry has no uri"
        return
    uri, listed = entry["uri"], entry.get("resources")
    folder, _, last = uri.rpartition("/")
    if last != "SKILL.md":
        yield "the uri is not that of a SKILL.md"
    front = entry.get("frontmatter")
    name = front.get("name") if isinstance(front, dict) else None
    if not isinstance(front, dict) or not isinstance(name, str) or not isinstance(front.get("description"), str):
        yield "the frontmatter has no name, or no description"
    elif folder.rpartition("/")[2] != name:
        yield f"the last part of its path is not its name {name!r}"
    if listed == DYNAMIC:
        return
    if not isinstance(listed, list):
        yield 'resources is neither an array nor "dynamic"'
        return
    uris = [file.uri for file in manifest_of(entry)]
    if len(uris) != len(listed):
        yield "a resource has no uri"
    if uri not in uris:
        yield "the manifest does not list SKILL.md"
    for other in uris:
        if not other.startswith(f"{folder}/"):
            yield f"{other} is outside the skill"
    if len(set(uris)) != len(uris):
        yield "the manifest lists a file twice"


def file_complaints(file: SkillFile, data: bytes) -> Iterator[str]:
    """How DATA, the content of FILE, differs from what the manifest says."""
    if file.size is None:
        yield f"{file.uri}: the manifest has no size"
    elif file.size != len(data):
        yield f"{file.uri}: has {len(data)} bytes, but the manifest says {file.size}"
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if file.digest != digest:
        yield f"{file.uri}: has the digest {digest}, but the manifest says {file.digest}"


def frontmatter_text(data: bytes) -> str | None:
    """The YAML at the beginning of a SKILL.md; None if there is none."""
    found = _FRONTMATTER.search(data.decode(errors="replace"))
    return found[1] if found else None


def content_of(result: Any, uri: str) -> str | dict[str, str] | None:
    """The content of the resource URI in a result of resources/read: its text, or {"blob": base64}."""
    contents = result.get("contents") if isinstance(result, dict) else None
    for each in contents if isinstance(contents, list) else ():
        if isinstance(each, dict) and each.get("uri") == uri:
            if isinstance(each.get("text"), str):
                return str(each["text"])
            if isinstance(each.get("blob"), str):
                return {"blob": str(each["blob"])}
    return None
