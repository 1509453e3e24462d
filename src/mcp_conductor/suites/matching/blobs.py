"""Bytes that a reply holds as base64 (`blob`, `data`): what paths can ask of them.

`| base64` gives bytes, which are not JSON; so one of these must follow it, and says what is wanted of them.
"""

import binascii
from collections.abc import Callable
from typing import Any

from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import NOTHING

# What bytes begin with, at which place, and what they are then.
_BEGINNINGS = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"<svg", "image/svg+xml"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "video/mp4"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
)


def from_base64(value: Any) -> Any:
    """The bytes that a text encodes; NOTHING where it is not base64."""
    try:
        return binascii.a2b_base64(value, strict_mode=True) if isinstance(value, str) else NOTHING
    except ValueError:
        return NOTHING


def sha256(value: Any) -> Any:
    """The SHA-256 of bytes, or of a text in UTF-8, in lower-case hexadecimal."""
    from hashlib import sha256 as digest

    if isinstance(value, str):
        value = value.encode(errors="surrogatepass")
    return digest(value).hexdigest() if isinstance(value, bytes) else NOTHING


def _type(value: bytes) -> str:
    """The media type by what the bytes begin with."""
    found = (kind for place, sign, kind in _BEGINNINGS if value[place : place + len(sign)] == sign)
    return next(found, "unknown")


def _text(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return NOTHING


def _json(value: bytes) -> Any:
    try:
        return read(value.decode())
    except (ValueError, RecursionError):
        return NOTHING


# By the word that stands after `| base64 |`; what it cannot be made of, and why.
OF_BYTES: dict[str, tuple[Callable[[bytes], Any], str]] = {
    "sha256": (sha256, ""),
    "length": (len, ""),
    "type": (_type, ""),
    "text": (_text, "its bytes are not UTF-8"),
    "json": (_json, "its bytes are not JSON"),
}
