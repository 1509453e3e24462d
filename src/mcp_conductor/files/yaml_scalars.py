"""What a plain scalar of YAML means: the core schema of YAML 1.2, section 10.3.2; and how many values there may be."""

import math
import re
from collections.abc import Callable
from typing import Any

CORE: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda _: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (
        r"[-+]?[0-9]{1,4000}|0o[0-7]{1,4000}|0x[0-9a-fA-F]{1,3000}",
        lambda text: int(text, 0 if text[:2] in ("0o", "0x") else 10),
    ),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
}
MOST_VALUES = 1_000_000  # of a YAML file, its aliases written out: some seconds, and half a gigabyte
NOT_ONLY_TEXT = frozenset("~nNtTfF+-.0123456789")  # what null, booleans and numbers begin with


def plain_value(text: str) -> Any:
    """The value of TEXT where it is not in quotes; raises ValueError for a number that is too large."""
    if text and text[0] not in NOT_ONLY_TEXT:
        return text
    kind = next((kind for kind, (form, _) in CORE.items() if re.fullmatch(form, text)), None)
    return text if kind is None else core_value(kind, text)


def core_value(kind: str, text: str) -> Any:
    """TEXT as a value of this KIND, whose form it has; raises ValueError for a number that is too large."""
    value = CORE[kind][1](text)
    if value in (math.inf, -math.inf):
        raise ValueError(f"{text[:20]}… is too large a number")
    return value
