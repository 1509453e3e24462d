"""Ids that cannot be guessed. `uuid` and `secrets` make them too, but are a fiftieth of the start of a server."""

import os

_VERSION, _VARIANT = 4 << 76, 2 << 62  # of random UUIDs (RFC 9562), and where they are
_OTHER_BITS = ~(0xF << 76 | 0x3 << 62)


def new_token() -> str:
    """128 random bits in hexadecimal."""
    return os.urandom(16).hex()


def new_uuid() -> str:
    digits = f"{int.from_bytes(os.urandom(16), 'big') & _OTHER_BITS | _VERSION | _VARIANT:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
