"""The HTTP of OAuth: metadata that is looked for in several places, and requests that an authorization server answers.

No message and no exception here holds a token, a code or a secret: `OAuthRefused` takes care that a
server which repeats them is not quoted in full.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import field

from mcp_conductor.errors import TransportError, way
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.oauth import (
    Challenge,
    OAuthRefusal,
    authorization_server,
    base,
    bearer,
    canonical,
    check_resource,
    default_metadata,
    endpoint,
    is_web,
    issuer_mismatch,
    nearby_metadata_urls,
    resource_metadata_urls,
    rules_of,
    server_metadata_urls,
)
from mcp_conductor.protocol.oauth_requests import OAuthClient, Post, registered_client, resource_of
from mcp_conductor.protocol.oauth_trust import Untrusted
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.text.redaction import Redactor, secrets_of_headers
from mcp_conductor.text.visible import cut
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.oauth_http import OAuthHttp, OAuthSteps
from mcp_conductor.values import dataclass

REPLY_SECONDS = 30.0
LARGEST_REPLY = 2**20
_LONGEST_QUOTE = 300
_HEADER_TEXT = re.compile(r"[\x21-\x7e]+")

Show = Callable[[str], None]


class OAuthRefused(TransportError):  # noqa: N818  # what happened, not what kind of class it is
    """The authorization server answered with an error; its `body`, as it came, may hold secrets."""

    def __init__(
        self, what: str, refusal: OAuthRefusal, *, body: Json | None = None, hiding: Iterable[str] = ()
    ) -> None:
        super().__init__(f"{what}: {quotable(str(refusal), hiding)}", hint=_HINTS.get(refusal.error))
        self.refusal = refusal
        self.body = body or {}


def quotable(text: str, hiding: Iterable[str] = ()) -> str:
    """What a server said, fit for a message: without our secrets, without control characters, and not too long."""
    text = "".join(each if each.isprintable() else " " for each in Redactor(hiding).redact(text))
    return cut(text, _LONGEST_QUOTE)


_HINTS = {
    "invalid_client": "check the client id and secret",
    "unauthorized_client": "this client may not use this kind of grant",
    "invalid_scope": "the authorization server does not know one of the scopes that were asked for",
    "invalid_target": "the authorization server issues no tokens for this server",
    "access_denied": "the user, or the authorization server, said no",
    "invalid_redirect_uri": "the redirect URI must be registered exactly as it is used",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthDiscovery:
    """An authorization server, found: who it is, its metadata, and what the tokens are for."""

    issuer: str
    metadata: Json
    resource: str | None  # None: the revision knows no resource parameter
    resource_metadata: Json
    guessed: bool = False  # there was no metadata at all; these are the default endpoints
    doubt: str | None = None  # why the metadata may not be that of the issuer
    challenge: Challenge = field(default_factory=Challenge)  # what the server said


async def challenge_of(http: HttpClient, server_url: str, steps: OAuthSteps) -> Challenge:
    """What the server answers to a request without a token; an empty challenge if it does not say."""
    try:
        headers = [("Accept", "application/json, text/event-stream")]
        steps.asked("GET", server_url, headers, None)
        async with asyncio.timeout(REPLY_SECONDS), http.open("GET", server_url, headers) as response:
            steps.answered(response, None, b"")
            return bearer(response.header("www-authenticate"))
    except (TransportError, TimeoutError):
        return Challenge()


async def discover(
    http: OAuthHttp,
    *,
    version: str,
    challenge: Challenge,
    show: Show,
    nearby: bool = False,
) -> OAuthDiscovery:
    """Find the authorization server: the one that the server's metadata names, or the user; else the server's host.

    NEARBY: the server's URL may be that of the authorization server itself, so its path counts too.
    """
    rules, server_url, wanted = rules_of(version), http.trust.server_url, http.trust.issuer
    described, looked = await _first(http, resource_metadata_urls(server_url, challenge), version, show)
    resource = canonical(server_url) if described is None else check_resource(server_url, described)
    named = wanted if described is None else authorization_server(described, wanted)
    expected = named or base(server_url)
    urls = nearby_metadata_urls(server_url) if nearby and named is None else server_metadata_urls(expected)
    metadata, tried = await _first(http, urls, version, show)
    if metadata is None and named is not None:
        what = "has no metadata" if tried.answered else "cannot be reached"
        raise TransportError(f"the authorization server {named} {what}: {'; '.join(tried.problems)}")
    if metadata is None and tried.failure is not None and not (tried.answered or looked.answered):
        raise tried.failure
    mismatch = None if metadata is None else issuer_mismatch(expected, metadata, rules)
    if mismatch is not None:
        if rules.exact_issuer and named is not None:
            raise TransportError(mismatch, hint="the two must be equal, letter by letter")
        # Many servers of earlier revisions stand behind a proxy that has another name: they are used anyway.
        show(mismatch)
    own = None if named is not None else _own_issuer(metadata, server_url)
    return OAuthDiscovery(
        issuer=named or own or expected,
        metadata=default_metadata(server_url) if metadata is None else metadata,
        resource=resource_of(rules, resource, described=described is not None),
        resource_metadata=described or {},
        guessed=metadata is None,
        doubt=mismatch if own is None else None,
        challenge=challenge,
    )


def check_endpoints(http: OAuthHttp, found: OAuthDiscovery, *names: str) -> None:
    """Refuse endpoints of an authorization server that it may not name."""
    for name in names:
        url = endpoint(found.metadata, name)
        http.trust.check_endpoint(found.issuer, name, url)
        http.check_url(url)


def warn_of_guess(found: OAuthDiscovery, show: Show) -> None:
    """Say where the user's credentials go if no metadata names an authorization server."""
    if found.guessed:
        url = endpoint(found.metadata, "token_endpoint")
        show(
            f"no metadata names an authorization server, so the client's credentials are sent to {url}, "
            "which belongs to the MCP server itself; "
            + way("--oauth-issuer URL", 'OAuth(issuer="URL")')
            + " names another"
        )


def _own_issuer(metadata: Json | None, server_url: str) -> str | None:
    """The issuer that METADATA on the server's host names, if it is on the same origin: no other would be credible."""
    issuer = (metadata or {}).get("issuer")
    return str(issuer) if is_web(issuer) and origin(str(issuer)) == origin(server_url) else None


class _Tried:
    """What came of looking for metadata at some URLs."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.answered = False
        self.failure: TransportError | None = None  # the first, where no answer came

    def failed(self, error: TransportError) -> None:
        self.problems.append(error.message)
        self.failure = self.failure or error


async def _first(http: OAuthHttp, urls: list[str], version: str, show: Show) -> tuple[Json | None, _Tried]:
    """The first metadata at one of URLS, or what was wrong with each; raises if there is none and a URL was refused."""
    tried = _Tried()
    untrusted: Untrusted | None = None
    for url in urls:
        try:
            status, body = await _fetch(http, "GET", url, [("MCP-Protocol-Version", version)])
        except Untrusted as error:
            untrusted = untrusted or error
            continue
        except TransportError as error:
            tried.failed(error)
            continue
        tried.answered = True
        if status == 200 and body is not None:
            if untrusted is not None:
                show(f"{untrusted.message}; {url} is used instead")
            return body, tried
        tried.problems.append(f"{url}: " + ("not a JSON object" if status == 200 else f"status {status}"))
    if untrusted is not None:
        raise untrusted
    return None, tried


async def _fetch(
    http: OAuthHttp, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None = None
) -> tuple[int, Json | None]:
    """Status and JSON object of an answer; None if it is not a JSON object."""
    accept = [] if any(name == "Accept" for name, _ in headers) else [("Accept", "application/json")]
    try:
        async with asyncio.timeout(REPLY_SECONDS), http.open(method, url, [*accept, *headers], body) as response:
            text = await response.read(LARGEST_REPLY)
    except TimeoutError:
        raise TransportError(f"{url}: no answer within {REPLY_SECONDS:g} s") from None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    http.steps.answered(response, value, text)
    return response.status, value if isinstance(value, dict) else None


async def ask_for_token(http: OAuthHttp, request: Post, *, hiding: Iterable[str] = ()) -> Json:
    """The token response to REQUEST; an error response raises OAuthRefused."""
    sent = {name: value for name, value in request.headers if name == "Authorization"}
    answer = await _post(http, request, {*hiding, *secrets_of_headers(sent)})
    token = answer.get("access_token")
    if not isinstance(token, str) or not _HEADER_TEXT.fullmatch(token):
        problem = "has no access_token" if token is None else "has an access_token that fits into no header"
        raise TransportError(f"{request.url}: the token response {problem}")
    kind = answer.get("token_type", "Bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise TransportError(f"{request.url}: the token is of the type {kind!r}, not Bearer")
    return answer


async def register(http: OAuthHttp, request: Post, metadata: Json) -> tuple[OAuthClient, Json]:
    """The client of a dynamic registration, and the whole answer."""
    answer = await _post(http, request, ())
    client = registered_client(metadata, answer)
    if client is None:
        raise TransportError(f"{request.url}: the answer to the registration has no client_id")
    return client, answer


async def _post(http: OAuthHttp, request: Post, hiding: Iterable[str]) -> Json:
    status, body = await _fetch(http, "POST", request.url, request.headers, request.body)
    # Some authorization servers send errors with status 200.
    if status in (200, 201) and body is not None and "error" not in body:
        return body
    error, description = (body or {}).get("error"), (body or {}).get("error_description")
    refusal = OAuthRefusal(
        error if isinstance(error, str) else "",
        description if isinstance(description, str) else "",
    )
    raise OAuthRefused(f"{request.url} refused with status {status}", refusal, body=body, hiding=hiding)
