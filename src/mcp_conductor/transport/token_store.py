"""Tokens that outlive a run: one JSON file that only its owner can read, written whole or not at all.

    {"servers": {SERVER URL: {"issuer": the last one used, "issuers": {ISSUER: the grant}}}}

A grant belongs to one server and one issuer, and is never used with another.
"""

import json
import os
from dataclasses import asdict, field
from typing import Any, get_args

from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.oauth import words
from mcp_conductor.protocol.oauth_requests import AuthMethod, OAuthClient
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Grant:
    """What one authorization server gave us for one server; tokens are not shown by repr."""

    issuer: str
    client: OAuthClient | None = None
    redirect_uri: str | None = None  # with which the client was registered
    registered: bool = False  # by us, with this authorization server
    entrusted: str | None = None  # the client whose secret or signature it was given by the user's word
    scopes: tuple[str, ...] = ()
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)


class TokenStore:
    """The grants of one server, by issuer: in memory, and in a file if there is one."""

    def __init__(self, server_url: str, path: str | None = None) -> None:
        self._server_url = server_url
        self._path = os.path.expanduser(path) if path else None
        kept = _object(_object(self._read().get("servers")).get(server_url))
        known = _object(kept.get("issuers"))
        self._grants = {issuer: _grant(issuer, _object(facts)) for issuer, facts in known.items()}
        self._last = kept.get("issuer")

    def last(self) -> Grant | None:
        """The grant that was used last."""
        return self._grants.get(self._last) if isinstance(self._last, str) else None

    def of(self, issuer: str) -> Grant:
        return self._grants.get(issuer) or Grant(issuer)

    def entrusted_with(self, client_id: str) -> set[str]:
        """The issuers that have been given the credentials of this client before."""
        return {issuer for issuer, grant in self._grants.items() if grant.entrusted == client_id}

    def keep(self, grant: Grant) -> None:
        """Remember GRANT, as the one that was used last."""
        self._grants[grant.issuer] = grant
        self._last = grant.issuer
        if self._path is not None:
            # Read the file again: other servers may have got their tokens meanwhile.
            content = self._read()
            servers = _object(content.get("servers"))
            issuers = {issuer: _facts(grant) for issuer, grant in self._grants.items()}
            mine = {"issuer": self._last, "issuers": issuers}
            text = json.dumps({**content, "servers": {**servers, self._server_url: mine}}, indent=2)
            write_file(self._path, text, shown=f"the tokens to {self._path}", secret=True)

    def _read(self) -> Json:
        if self._path is None:
            return {}
        try:
            content = json.loads(read_bytes(self._path))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsageError(f"cannot read the tokens in {self._path}: {error.strerror}") from error
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            # What is in the file may be secret, so it is not quoted, nor is the reader that did.
            raise UsageError(
                f"{self._path} is not a file of tokens", hint="move it away, or name another file"
            ) from None
        return content


def _facts(grant: Grant) -> Json:
    return {name: value for name, value in asdict(grant).items() if value not in (None, (), False) and name != "issuer"}


def _grant(issuer: str, facts: Json) -> Grant:
    return Grant(
        issuer,
        _client(_object(facts.get("client"))),
        _text(facts.get("redirect_uri")),
        facts.get("registered") is True,
        _text(facts.get("entrusted")),
        tuple(words(facts.get("scopes"))),
        _text(facts.get("access_token")),
        _text(facts.get("refresh_token")),
    )


def _client(facts: Json) -> OAuthClient | None:
    methods: tuple[AuthMethod, ...] = get_args(AuthMethod)
    client_id, method = _text(facts.get("client_id")), facts.get("auth_method")
    if client_id is None or method not in methods:
        return None
    return OAuthClient(client_id, _text(facts.get("client_secret")), methods[methods.index(method)])


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
