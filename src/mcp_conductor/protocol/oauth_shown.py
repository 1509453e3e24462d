"""What can be shown of the requests and answers of OAuth: all of it but tokens, codes, verifiers and client secrets.

They are taken out by their names, which works for secrets that are too short, or too new, to be known otherwise.
"""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from mcp_conductor.text.redaction import REDACTED

_ANSWERED = frozenset({"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token"})
_SENT = _ANSWERED | {"code", "code_verifier", "client_assertion"}


def shown_body(body: bytes | None, media_type: str) -> str:
    """The body of a request, as it can be shown."""
    if body is None or media_type != "application/x-www-form-urlencoded":
        return (body or b"").decode(errors="replace")
    fields = parse_qsl(body.decode(errors="replace"), keep_blank_values=True)
    return urlencode([(name, REDACTED if name in _SENT else value) for name, value in fields], safe="[]:/")


def without_tokens(value: Any) -> Any:
    """The JSON of an answer, as it can be shown."""
    if isinstance(value, list):
        return [without_tokens(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if _is_secret(name, each) else without_tokens(each) for name, each in value.items()}


def tokens_in(value: Any) -> list[str]:
    """What `without_tokens` takes out of an answer."""
    if isinstance(value, list):
        return [token for each in value for token in tokens_in(each)]
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for name, each in value.items():
        found += [each] if _is_secret(name, each) else tokens_in(each)
    return found


def _is_secret(name: str, value: Any) -> bool:
    return name in _ANSWERED and isinstance(value, str)
