"""The verdicts of mcp-aegis: whether a reply, and what was on stderr, is what one of its files expects.

Its rules differ from ours in many small ways, which its files may rely on. So they are not mixed with ours: ours tell
what there is to say of a reply, and these decide.
"""

from typing import Any

from mcp_conductor.bounded.worker import TooSlowError
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.language.aegis.javascript import text_of, type_of
from mcp_conductor.suites.language.aegis.patterns import cross_field, fits
from mcp_conductor.suites.matching.differences import same

_PREFIX = "match:"
_PARTIAL, _ELEMENTS, _EXTRACT, _CROSS, _NOT_CROSS = (
    _PREFIX + name for name in ("partial", "arrayElements", "extractField", "crossField", "not:crossField")
)
_KEYS = (_PARTIAL, _ELEMENTS, _EXTRACT, _CROSS, _NOT_CROSS)


def reply_passes(expected: Any, actual: Any) -> bool:
    """Whether mcp-aegis takes the reply ACTUAL where a file has EXPECTED."""
    if expected in (None, "", False, 0) and not isinstance(expected, (dict, list)):
        return True  # nothing is expected
    try:
        return _passes(expected, actual, partial=False)
    except (ValueError, TooSlowError, RecursionError):  # an invalid regular expression fails the test
        return False


def stderr_passes(expected: Any, text: str) -> bool:
    """Whether mcp-aegis takes TEXT on stderr where a file has EXPECTED."""
    if expected == "toBeEmpty":
        return not text.strip()
    if not isinstance(expected, str) or not expected.startswith(_PREFIX):
        return bool(expected == text.strip())
    try:
        return fits(expected.removeprefix(_PREFIX), text)
    except (ValueError, TooSlowError):
        return False


def _passes(expected: Any, actual: Any, *, partial: bool) -> bool:
    if isinstance(expected, str) and expected.startswith(_PREFIX):
        return expected == actual or fits(expected.removeprefix(_PREFIX), actual)
    if isinstance(expected, dict) and actual not in (None, NOTHING) and any(key in expected for key in _KEYS[:4]):
        return _special_passes(expected, actual)
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _members_pass(expected, actual, partial=partial)
    if isinstance(expected, list):
        return isinstance(actual, list) and _elements_pass(expected, actual, partial=partial)
    return type_of(expected) == type_of(actual) and same(expected, actual)


def _special_passes(expected: dict[str, Any], actual: Any) -> bool:
    """Whether ACTUAL is as keys such as `match:partial` say; other keys count next to `match:partial` only."""
    if _ELEMENTS in expected and not (
        isinstance(actual, list) and all(_passes(expected[_ELEMENTS], item, partial=False) for item in actual)
    ):
        return False
    if _PARTIAL in expected:
        others = {key: value for key, value in expected.items() if key not in _KEYS}
        return _passes(expected[_PARTIAL], actual, partial=True) and (
            not others or (isinstance(actual, dict) and _listed_pass(others, actual, partial=False))
        )
    if _EXTRACT in expected:
        found = _extract(actual, _parts(expected[_EXTRACT]))
        if found is NOTHING or not _passes(expected.get("value", NOTHING), found, partial=False):
            return False
    return _CROSS not in expected or cross_field(text_of(expected[_CROSS]).strip(), actual)


def _members_pass(expected: dict[str, Any], actual: dict[str, Any], *, partial: bool) -> bool:
    listed = {key: value for key, value in expected.items() if key not in _KEYS}
    if not partial and any(key not in expected for key in actual):
        return False
    return _listed_pass(listed, actual, partial=partial) and not (
        _NOT_CROSS in expected and cross_field(text_of(expected[_NOT_CROSS]).strip(), actual)
    )


def _listed_pass(listed: dict[str, Any], actual: dict[str, Any], *, partial: bool) -> bool:
    return all(key in actual and _passes(value, actual[key], partial=partial) for key, value in listed.items())


def _elements_pass(expected: list[Any], actual: list[Any], *, partial: bool) -> bool:
    if len(actual) < len(expected) or (len(actual) > len(expected) and not partial):
        return False
    return all(_passes(*pair, partial=partial) for pair in zip(expected, actual, strict=False))


def _parts(path: Any) -> list[str]:
    """The steps of a PATH such as `tools[0].name` or `tools.*.name`; a dot between brackets is not a separator."""
    parts, inside = [""], False
    for sign in path if isinstance(path, str) else "":
        if sign in "[]" or (sign == "." and not inside):
            inside = inside if sign == "." else sign == "["
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part]


def _extract(value: Any, parts: list[str]) -> Any:
    for number, part in enumerate(parts):
        if isinstance(value, list) and part == "*":
            rest = ".".join(parts[number + 1 :])
            return [_extract(item, _parts(rest)) for item in value] if rest else value
        if isinstance(value, list) and part.isdecimal() and part.isascii():
            value = value[int(part)] if len(part) < 10 and int(part) < len(value) else NOTHING
        elif isinstance(value, dict):
            value = value.get(part, NOTHING)
        else:
            return NOTHING
    return value
