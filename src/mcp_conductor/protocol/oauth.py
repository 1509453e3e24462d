"""What OAuth asks of an MCP client, revision by revision: where to look, what to check, which scopes to ask for.

Pure: `transport/authorization.py` fetches, waits and remembers; the requests are in `oauth_requests.py`.
A check that fails raises TransportError, because the authorization server cannot be used; no message holds a secret.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from mcp_conductor.errors import TransportError, UsageError, way
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, NEWEST_MODERN, OAuthRules
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.values import dataclass

OFFLINE_ACCESS = "offline_access"
_PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource"
_AUTHORIZATION_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_PORTS = {"http": 80, "https": 443}

_FLAGS_WITHOUT_A_USER = (
    "--token TOKEN; --oauth-refresh-token with --oauth-client-id; --oauth-grant client_credentials; a --token-store"
    " that has a token; or oauth/authorize-url and oauth/token, step by step"
)
_KEYWORDS_WITHOUT_A_USER = (
    'auth=TOKEN; OAuth(refresh_token=…, client_id=…); OAuth(grant="client_credentials", …); or OAuth(store=…) with a'
    " file that has a token"
)


def rules_of(version: str) -> OAuthRules:
    """The rules of a revision; those of the newest one if the version is unknown."""
    return DIALECTS.get(version, NEWEST_MODERN).oauth


# What the server says when it refuses.

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAM = compiled_later(rf"({_TOKEN})\s*=\s*(?:({_QUOTED})|({_TOKEN}))\s*(?=,|$)")
# What a server forgot to quote: a URL, mostly.
_SLOPPY_PARAM = compiled_later(rf'({_TOKEN})\s*=\s*([^\s,"=]+)\s*(?=,|$)')
_SCHEME = compiled_later(rf"({_TOKEN})(?:\s+([A-Za-z0-9\-._~+/]+=*)\s*(?=,|$))?")


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge of a WWW-Authenticate header; the names of its params are in lower case."""

    scheme: str = "Bearer"
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def scopes(self) -> tuple[str, ...]:
        return tuple(self.params.get("scope", "").split())

    @property
    def error(self) -> str | None:
        return self.params.get("error")


def challenges(header: str) -> list[Challenge]:
    """The challenges in a WWW-Authenticate header, in their order; what cannot be read is ignored."""
    found: list[tuple[str, dict[str, str]]] = []
    place = 0
    while place < len(header):
        if header[place] in " \t,":
            place += 1
        elif found and (match := _PARAM.match(header, place) or _SLOPPY_PARAM.match(header, place)):
            value = next(group for group in match.groups()[1:] if group is not None)
            found[-1][1].setdefault(match[1].lower(), _unquoted(value))
            place = match.end()
        elif match := _SCHEME.match(header, place):
            found.append((match[1], {}))
            place = match.end()
        else:
            comma = header.find(",", place)
            place = len(header) if comma < 0 else comma
    return [Challenge(scheme, params) for scheme, params in found]


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def bearer(header: str | None) -> Challenge:
    """The Bearer challenge that says most; an empty one if there is no Bearer challenge."""
    offers = [challenge for challenge in challenges(header or "") if challenge.scheme.lower() == "bearer"]
    return max(offers, key=lambda challenge: len(challenge.params), default=Challenge())


def why_unauthorized(header: str | None, body: Any) -> str:
    """What a 401 says: its Bearer challenge, an error of OAuth or of JSON-RPC in its BODY, or else its schemes."""
    challenge, members = bearer(header), body if isinstance(body, dict) else {}
    error = members.get("error")
    if isinstance(error, dict):
        error = error.get("message")
    fallback = members.get("error_description")
    parts = [challenge.error or error, challenge.params.get("error_description") or fallback]
    said = ": ".join(part for part in parts if isinstance(part, str) and part)
    scope = f"scope: {' '.join(challenge.scopes)}" if challenge.scopes else ""
    schemes = ", ".join(each.scheme for each in challenges(header or "") if each.scheme.lower() != "bearer")
    return f"{said} ({scope})" if said and scope else said or scope or schemes


# Where the metadata may be.


def resource_metadata_urls(server_url: str, challenge: Challenge) -> list[str]:
    """Where RFC 9728 metadata may be: as the challenge says, for the server's path, for its host."""
    told = challenge.params.get("resource_metadata")
    path = urlsplit(server_url).path.rstrip("/")
    root = base(server_url) + _PROTECTED_RESOURCE
    return _unique([*([told] if told and is_web(told) else []), root + path, root])


def server_metadata_urls(issuer: str) -> list[str]:
    """Where the metadata of an authorization server may be, in the order of basic/authorization."""
    root, path = base(issuer), urlsplit(issuer).path.rstrip("/")
    appended = [root + path + _OPENID] if path else []
    return [root + _AUTHORIZATION_SERVER + path, root + _OPENID + path, *appended]


def nearby_metadata_urls(url: str) -> list[str]:
    """Where to look if URL may be an authorization server, or a server on the same host as one."""
    appended = base(url) + urlsplit(url).path.rstrip("/") + _AUTHORIZATION_SERVER
    return _unique([*server_metadata_urls(url), appended, *server_metadata_urls(base(url))])


def default_metadata(server_url: str) -> Json:
    """The endpoints of 2025-03-26 for a server without any metadata."""
    root = base(server_url)
    return {
        "issuer": root,
        "authorization_endpoint": f"{root}/authorize",
        "token_endpoint": f"{root}/token",
        "registration_endpoint": f"{root}/register",
    }


def base(url: str) -> str:
    """The URL without path and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_web(url: Any) -> bool:
    """Whether URL is one that may be fetched, or opened in a browser: http or https, with a host, in plain ASCII."""
    # A browser takes a backslash for a slash, and so sees another host than we do.
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or {" ", "\\"} & set(url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in _PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


# Which metadata we trust.


def canonical(server_url: str) -> str:
    """The server's URL as tokens are asked for: scheme and host in lower case, no fragment, no lone slash."""
    parts = urlsplit(server_url)
    place = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), place, "" if parts.path == "/" else parts.path, parts.query, ""))


def check_resource(server_url: str, metadata: Json) -> str:
    """The resource that METADATA describes, if that is our server or a part of its path."""
    resource = metadata.get("resource")
    if not is_web(resource) or not _within(server_url, str(resource)):
        raise TransportError(
            f"the protected resource metadata is about {resource!r}, not about {server_url}",
            hint="its resource must be the server's URL or the beginning of it",
        )
    return str(resource)


def _within(url: str, resource: str) -> bool:
    ours, theirs = urlsplit(url), urlsplit(resource)
    same_host = _origin(ours.scheme, ours.hostname, ours.port) == _origin(theirs.scheme, theirs.hostname, theirs.port)
    path = theirs.path.rstrip("/")
    return (
        same_host
        and (ours.path.rstrip("/") == path or ours.path.startswith(f"{path}/"))
        and theirs.query in ("", ours.query)
    )


def _origin(scheme: str, host: str | None, port: int | None) -> tuple[str, str, int | None]:
    return scheme, (host or "").lower(), port or _PORTS.get(scheme)


def authorization_server(metadata: Json, wanted: str | None = None) -> str:
    """The issuer that the protected resource metadata names first; the one that is WANTED, if any is."""
    servers = metadata.get("authorization_servers")
    issuers = [issuer for issuer in words(servers) if is_web(issuer)]
    if not issuers:
        raise TransportError(f"the protected resource metadata names no authorization server: {servers!r}")
    if wanted is None:
        return issuers[0]
    for issuer in issuers:
        if issuer.rstrip("/") == wanted.rstrip("/"):
            return issuer
    raise TransportError(
        f"the server's metadata names {', '.join(issuers)} as issuer, not {wanted}",
        hint=f"{way('--oauth-issuer', 'OAuth(issuer=…)')} names another",
    )


def issuer_mismatch(issuer: str, metadata: Json, rules: OAuthRules) -> str | None:
    """What is wrong with the issuer of METADATA, which was read for ISSUER (RFC 8414, section 3.3)."""
    named = metadata.get("issuer")
    if _is_issuer(named, issuer, rules):
        return None
    return f"the metadata of the authorization server {issuer} names another issuer: {named!r}"


def _is_issuer(named: Any, issuer: str, rules: OAuthRules) -> bool:
    """Whether NAMED is ISSUER; before 2026-07-28 a slash at the end, which many servers add, makes no difference."""
    if rules.exact_issuer or not isinstance(named, str):
        return bool(named == issuer)
    return named.rstrip("/") == issuer.rstrip("/")


def check_pkce(metadata: Json, rules: OAuthRules) -> None:
    """Refuse an authorization server that cannot protect the code by S256."""
    methods = metadata.get("code_challenge_methods_supported")
    if methods is None and not rules.pkce_advertised:
        return
    if not isinstance(methods, list) or "S256" not in methods:
        raise TransportError(
            f"the authorization server does not say that it supports PKCE with S256: {methods!r}",
            hint="its metadata must list S256 in code_challenge_methods_supported",
        )


def endpoint(metadata: Json, name: str) -> str:
    """The URL of an endpoint; raises if it is missing, or if it may not be opened."""
    url = metadata.get(name)
    if url is None:
        raise TransportError(f"the authorization server has no {name}")
    if not is_web(url):
        raise TransportError(f"the {name} of the authorization server is not an http or https URL: {url!r}")
    return str(url)


@dataclass(frozen=True, slots=True)
class OAuthRefusal:
    """An error that the authorization server sent us, in the words of RFC 6749; "" if it did not say which."""

    error: str
    description: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.error, self.description) if part) or "it does not say why"


def redirect_params(url: str) -> dict[str, str]:
    """The params in the query of URL; of those that are there twice, the first."""
    return dict(reversed(parse_qsl(urlsplit(url).query, keep_blank_values=True)))


def redirect_answer(url: str, *, state: str) -> dict[str, str]:
    """The params of the redirect; one with another state is not the answer to our question."""
    answer = redirect_params(url)
    if answer.get("state") != state:
        raise TransportError("the redirect has another state than the authorization request; its code is not used")
    return answer


def response_issuer_mismatch(answer: Mapping[str, str], issuer: str, metadata: Json, rules: OAuthRules) -> str | None:
    """What is wrong with the `iss` of a redirect (RFC 9207): it must be there if METADATA says so."""
    named = answer.get("iss")
    if named is None and metadata.get("authorization_response_iss_parameter_supported") is True:
        return "the redirect has no iss, although the authorization server says that it sends one"
    if named is None or _is_issuer(named, issuer, rules):
        return None
    return f"the redirect comes from the issuer {named!r}, not from {issuer}"


def code_of(answer: Mapping[str, str]) -> str | OAuthRefusal:
    """The code in the redirect, or the refusal."""
    if "error" in answer:
        return OAuthRefusal(answer["error"], answer.get("error_description", ""))
    return answer.get("code") or OAuthRefusal("invalid_response", "the redirect has no code")


def choose_scopes(
    *,
    challenge: Challenge,
    resource_metadata: Json,
    configured: Iterable[str] = (),
    earlier: Iterable[str] = (),
) -> tuple[str, ...]:
    """The scopes to ask for: those of the challenge, else those we were told, else those the resource lists.

    Scopes that the user gave, and those that we asked for earlier, are never dropped: more scopes must not mean fewer.
    """
    told = list(configured)
    listed = words(resource_metadata.get("scopes_supported"))
    wanted = challenge.scopes or (() if told else listed)
    return tuple(_unique([*earlier, *told, *wanted]))


def with_offline_access(scopes: tuple[str, ...], server_metadata: Json, rules: OAuthRules) -> tuple[str, ...]:
    """SCOPES, and the one that brings a refresh token where the authorization server knows it."""
    listed = OFFLINE_ACCESS in words(server_metadata.get("scopes_supported"))
    return tuple(_unique([*scopes, OFFLINE_ACCESS])) if rules.offline_access and listed else scopes


def words(value: Any) -> list[str]:
    """The texts in a list that came from outside."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def needs_a_user() -> UsageError:
    """No token can be had without a user who consents in a browser, and there is none."""
    asked = way("--no-interactive", "OAuth(interactive=False)")
    return UsageError(
        f"a user must authorize this in a browser, but nothing may wait for a user ({asked})",
        hint=way(_FLAGS_WITHOUT_A_USER, _KEYWORDS_WITHOUT_A_USER),
    )
