"""What would lead a server out to the network: an address of another host, among what it is sent, or takes by itself.

A tool that fetches what it is given would do so at the first trial. What the person gave is theirs to decide; what a
schema, a description or an answer of the server names is not.
"""

import re
from collections.abc import Collection, Iterator
from ipaddress import ip_address
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.samples import optional_arguments
from mcp_conductor.suites.authoring.argument_names import words_of

# Schemes that programs make connections by; those of the resources of a server, such as note://1, are its own.
_SCHEMES = (
    r"(?:git|svn|hg|bzr)\+[a-z]+|https?|wss?|s?ftps?|ftpes|scp|ssh|rsync|telnet|git|svn|tcp|udp|tls|grpcs?|ldaps?|smtps?|"
    r"imaps?|pop3s?|irc[s6]?|rtm?ps?|rtsps?|sips?|nfs|smb|cifs|afp|dav|davs|webdavs?|gopher|s3|gs|az|abfss?|hdfs|docker|oci|"
    r"rediss?|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|mariadb|mssql|oracle|jdbc:[a-z]+|clickhouse|amqps?|mqtts?|kafka|nats"
)
_URL = re.compile(rf"(?:\b(?:{_SCHEMES}):|^)//([^\s/?#\"'<>]+)", re.IGNORECASE)
_OF_SSH = re.compile(r"(?<![\w.+-])[\w.-]+@([\w-]+(?:\.[\w-]+)+):(?!//)[\w./~-]", re.ASCII)  # git@host:team/repo
_HOST = re.compile(r"\[[0-9a-f:.]+\](?::\d+)?|(?:[\w-]+\.)+[\w-]+\.?(?::\d+)?(?:/\S*)?", re.IGNORECASE | re.ASCII)
_HOST_WORDS = {"host", "hostname", "domain", "website", "ip"}
_HOST_FORMATS = {"hostname", "idn-hostname", "ipv4", "ipv6"}
_BELOW = ("items", "prefixItems", "additionalProperties", "allOf", "anyOf", "oneOf", "then", "else")
_MOST_PARTS = 10_000  # of a schema that are looked at
_LONGEST = 10_000  # text that is looked at


def outward_argument(schema: Any, arguments: Json, given: Collection[str]) -> tuple[str, str] | None:
    """The name of an argument that leads out, and where, if a tool with SCHEMA is called with ARGUMENTS.

    Those that are not sent count too, by their defaults. Those that the person has GIVEN do not.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    known = properties if isinstance(properties, dict) else {}
    look = _Look(schema)
    for name, value in arguments.items():
        if name in given:
            continue
        found = outward_text_in(value) or next(look.defaults_beside(known.get(name), value), None)
        if found is None and _names_a_host(name, known.get(name)):
            found = next((each for each in _texts(value) if _is_other_host(each)), None)
        if found is not None:
            return name, found
    for name, part in optional_arguments(schema, arguments).items():
        found = None if name in given else next(look.defaults_in(part), None)
        if found is not None:
            return name, found
    return None


def outward_text_in(value: Any) -> str | None:
    """The first text in VALUE that leads out."""
    return next((each for each in _texts(value) if outward_text(each) is not None), None)


def outward_text(text: str) -> str | None:
    """The other host that TEXT has the address of."""
    text = text[:_LONGEST]
    for found in (*_URL.finditer(text), *_OF_SSH.finditer(text)):
        host = found[1].rpartition("@")[2]
        if not _is_here(host):
            return host
    return None


def _names_a_host(name: str, schema: Any) -> bool:
    words = {word.removesuffix("s") for word in words_of(name)}
    format_ = schema.get("format") if isinstance(schema, dict) else None
    return bool(words & _HOST_WORDS) or (isinstance(format_, str) and format_ in _HOST_FORMATS)


def _is_other_host(text: str) -> bool:
    """Whether TEXT, which names a host, names another one; a plain word is none that we know."""
    if len(text) > _LONGEST:
        return False
    if _HOST.fullmatch(text) is not None:
        return not _is_here(text.partition("/")[0])
    try:
        return not ip_address(text).is_loopback
    except ValueError:
        return False


def _is_here(place: str) -> bool:
    """Whether PLACE, a host that may have a port, is this machine."""
    host = re.sub(r":\d*$", "", place) if place.startswith("[") or place.count(":") < 2 else place
    host = host.strip("[]").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _texts(value: Any) -> Iterator[str]:
    left = [value]  # not by recursion: a server decides how deep it is
    while left:
        part = left.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            left += [*reversed(part.values()), *reversed(part)]
        elif isinstance(part, list):
            left += reversed(part)


class _Look:
    """Defaults of a schema that lead out, each part looked at once."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST_PARTS

    def defaults_beside(self, schema: Any, value: Any) -> Iterator[str]:
        """Those of members that VALUE, which is sent, does not have."""
        schema = self._resolved(schema)
        if isinstance(value, dict):
            properties = schema.get("properties")
            for name, part in properties.items() if isinstance(properties, dict) else ():
                yield from self.defaults_beside(part, value[name]) if name in value else self.defaults_in(part)
        elif isinstance(value, list):
            for item in value:
                yield from self.defaults_beside(schema.get("items"), item)

    def defaults_in(self, schema: Any) -> Iterator[str]:
        """Those of a part for which nothing is sent, and of all that is below it."""
        left, seen = [schema], set[str]()
        while left and self._left > 0:
            self._left -= 1
            part = left.pop()
            if isinstance(part, list):
                left += part
            if not isinstance(part, dict):
                continue
            if (found := outward_text_in(part.get("default"))) is not None:
                yield found
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                left.append(self._at(reference))
            for key, each in part.items():
                if key in ("properties", "patternProperties") and isinstance(each, dict):
                    left += each.values()
                elif key in _BELOW:
                    left.append(each)

    def _resolved(self, schema: Any) -> Json:
        for _ in range(10):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            schema = self._at(schema["$ref"])
        return schema if isinstance(schema, dict) else {}

    def _at(self, reference: str) -> Any:
        """What REFERENCE means, if it is a plain pointer into the schema."""
        found = self._root
        for step in reference.removeprefix("#/").split("/") if reference.startswith("#/") else ["", ""]:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found
