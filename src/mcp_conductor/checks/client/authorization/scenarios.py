"""How a client gets a token, and what it does with it (basic/authorization)."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, HttpRequest, seen
from mcp_conductor.checks.harness.http_server import PATH
from mcp_conductor.checks.harness.oauth_server import ASM, AUTHORIZE, PRM, REGISTER, TOKEN, TOLD, OAuthServer
from mcp_conductor.checks.harness.scenario import HTTP, scenario, watched
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import versions_with
from mcp_conductor.protocol.message import parse
from mcp_conductor.report.model import Finding

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _requests_to(record: ClientRecord, *paths: str) -> list[HttpRequest]:
    return [each for each in record.http if each.path in paths]


def _flow(record: ClientRecord) -> list[HttpRequest]:
    """What the client asked for to get a token."""
    own = [each for each in record.http if each.message is None and each.path != PATH]
    return own or [each for each in record.http if each.status == 401]


def _authorizes(record: ClientRecord) -> None:
    """Raise NotSeen where the client does not get tokens by itself."""
    if "challenged" not in record.moments:
        raise NotSeen("the client made no request")
    locked = record.others.get("locked", record)
    if not any(each.path.startswith(("/.well-known/", "/as/", TOLD)) for each in locked.http):
        raise NotSeen("the client does not get tokens by itself")


def _authorization_queries(record: ClientRecord) -> list[Json]:
    """The queries with which the client sends its user to the authorization server."""
    _authorizes(record)
    found = [dict(parse_qsl(each.query)) for each in _requests_to(record, AUTHORIZE)]
    return seen(found, "the authorization page was not opened: the client showed no whole URL")


def _token_forms(record: ClientRecord) -> list[Json]:
    _authorizes(record)
    found = [dict(parse_qsl(each.body.decode(errors="replace"))) for each in _requests_to(record, TOKEN)]
    return seen(found, "the client asked for no token")


def _registrations(record: ClientRecord) -> list[Json]:
    _authorizes(record)
    bodies = [parse(each.body.decode(errors="replace")).raw for each in _requests_to(record, REGISTER)]
    return seen([each for each in bodies if isinstance(each, dict)], "the client did not register")


@watched("authc-401-starts-flow", scenario="locked")
def a_challenge_is_followed(record: ClientRecord) -> Iterator[Finding]:
    """Answer with 401: a client that gets tokens by itself goes to the authorization server."""
    _authorizes(record)
    if not _requests_to(record, *ASM, AUTHORIZE, TOKEN):
        yield fault(
            "the client did not go to the authorization server",
            [str(each) for each in record.http],
            beside=_flow(record),
        )


@watched("authc-prm-used", scenario="locked")
def metadata_of_the_resource_is_read(record: ClientRecord) -> Iterator[Finding]:
    """Answer with 401: the client reads the metadata of the resource to find the authorization server."""
    _authorizes(record)
    if not _requests_to(record, TOLD, PRM, PRM + PATH):
        yield fault(
            "the client did not read the metadata of the resource",
            [str(each) for each in record.http],
            beside=_flow(record),
        )


@watched("authc-prm-order", scenario=("locked", "locked-untold"))
def metadata_is_looked_for_in_order(record: ClientRecord) -> Iterator[Finding]:
    """Say in the challenge where the metadata is, or not: it is read there, or below the path and then the root."""
    _authorizes(record)
    paths = [each.path for each in _requests_to(record, TOLD, PRM, PRM + PATH)]
    expected = [TOLD] if record.name == "locked" else [PRM + PATH, PRM]
    if list(dict.fromkeys(paths)) != expected:
        yield fault(
            f"the metadata was looked for at {', '.join(paths) or 'no place'}, not at {', '.join(expected)}",
            beside=_flow(record),
        )


@watched("authc-asm-discovery-order", scenario="locked-untold")
def server_metadata_is_looked_for_in_order(record: ClientRecord) -> Iterator[Finding]:
    """Have the metadata of the authorization server at the last of three places: the client looks at them in order."""
    _authorizes(record)
    paths = list(dict.fromkeys(each.path for each in _requests_to(record, *ASM)))
    if not paths:
        raise NotSeen("the client found no metadata of the resource")
    if paths != list(ASM):
        yield fault(
            f"the metadata was looked for at {', '.join(paths)}",
            hint=f"the order is {', '.join(ASM)}",
            beside=_flow(record),
        )


@watched("authc-asm-rfc8414", scenario="locked")
def server_metadata_is_read(record: ClientRecord) -> Iterator[Finding]:
    """Have metadata by RFC 8414: the client reads it, and uses the endpoints that it names."""
    _authorizes(record)
    if not _requests_to(record, ASM[0]):
        yield fault(
            "the client did not read the metadata by RFC 8414",
            [str(each) for each in record.http],
            beside=_flow(record),
        )


@watched("authc-pkce-s256", scenario="locked")
def codes_are_protected(record: ClientRecord) -> Iterator[Finding]:
    """Look at the authorization request: it has a code_challenge with the method S256."""
    for query in _authorization_queries(record):
        if "code_challenge" not in query or query.get("code_challenge_method") != "S256":
            yield fault("the authorization request has no code_challenge by S256", query, beside=_flow(record))


@watched("authc-resource-parameter", scenario="locked")
def the_resource_is_named(record: ClientRecord) -> Iterator[Finding]:
    """Look at the authorization and the token request: both name the server as resource."""
    expected = record.origin + PATH
    for what, forms in (("authorization", _authorization_queries(record)), ("token", _token_forms(record))):
        for form in forms:
            if form.get("resource", "").rstrip("/") != expected:
                shown = {key: value for key, value in form.items() if key in ("resource", "client_id", "grant_type")}
                yield fault(f"the {what} request does not name the resource {expected}", shown, beside=_flow(record))


@watched("authc-state", scenario=("locked", "locked-other-state"))
def the_state_is_compared(record: ClientRecord) -> Iterator[Finding]:
    """Send the user back with another state: the client does not use the code."""
    pages = _authorization_queries(record)
    if record.name == "locked":
        for query in pages:
            if "state" not in query:
                yield fault("the authorization request has no state", query, beside=_flow(record))
    elif "gave a token" in record.moments:
        yield fault("the client used a code that came with a wrong state", beside=_flow(record))


@watched("authc-redirect-uri", scenario="locked")
def users_come_back_safely(record: ClientRecord) -> Iterator[Finding]:
    """Look at redirect_uri: it is on this machine or https, and one that was registered."""
    registered = [uri for each in _asked_to_register(record) for uri in each.get("redirect_uris", [])]
    for query in _authorization_queries(record):
        uri = query.get("redirect_uri", "")
        parts = urlsplit(uri)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            yield fault("the redirect URI is neither https nor on this machine", uri, beside=_flow(record))
        if registered and uri not in registered:
            yield fault("the redirect URI is not one that was registered", uri, beside=_flow(record))


def _asked_to_register(record: ClientRecord) -> list[Json]:
    try:
        return _registrations(record)
    except NotSeen:
        return []


@watched("authc-dcr", scenario="locked")
def clients_register(record: ClientRecord) -> Iterator[Finding]:
    """Offer a registration endpoint and know no client: the client registers."""
    _authorization_queries(record)
    if not _requests_to(record, REGISTER):
        yield fault("the client did not register", beside=_flow(record))


@watched("authc-dcr-application-type", scenario="locked")
def registrations_say_what_kind(record: ClientRecord) -> Iterator[Finding]:
    """Look at the registration: application_type is native or web."""
    for each in _registrations(record):
        if each.get("application_type") not in ("native", "web"):
            yield fault("the registration has no application_type", each, beside=_flow(record))


@watched("authc-cimd-url", scenario="locked")
def documents_about_clients_have_https_urls(record: ClientRecord) -> Iterator[Finding]:
    """Look at the client_id: one that is the URL of a document is https, and has a path. It is not fetched."""
    urls = [query["client_id"] for query in _authorization_queries(record) if "://" in query.get("client_id", "")]
    for url in seen(urls, "the client_id is not a URL"):
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.path.strip("/"):
            yield fault("the client_id is a URL, but not https with a path", url, beside=_flow(record))


@watched("authc-token-endpoint-auth", scenario="locked")
def the_token_endpoint_is_asked_as_it_wants(record: ClientRecord) -> Iterator[Finding]:
    """Allow no secret, or one in the form: the client does not authenticate by a header."""
    _token_forms(record)
    for request in _requests_to(record, TOKEN):
        if request.header("authorization") is not None:
            yield fault(
                "the token request has an Authorization header, which the server does not offer", beside=[request]
            )


@watched("authc-bearer-header", scenario="locked")
def tokens_are_in_the_header(record: ClientRecord) -> Iterator[Finding]:
    """Give a token: it is in the Authorization header of every request from then on, and in no URL."""
    if "let in" not in record.moments:
        _token_forms(record)
        raise NotSeen("the client got no token")
    first = next(each.at for each in record.http if each.path == PATH and each.header("authorization"))
    for request in record.http:
        if "access_token" in dict(parse_qsl(request.query)):
            yield fault(f"{request} has a token in its URL", beside=[request])
        elif request.path == PATH and request.at > first and request.header("authorization") is None:
            yield fault(f"{request} has no Authorization header", beside=[request])


@watched("authc-scope-selection", scenario="locked")
def the_scope_of_the_challenge_is_asked_for(record: ClientRecord) -> Iterator[Finding]:
    """Name a scope in the challenge: the client asks for it."""
    for query in _authorization_queries(record):
        if "mcp:use" not in query.get("scope", "").split():
            yield fault("the scope of the challenge was not asked for", query.get("scope"), beside=_flow(record))


def _gets_a_token(record: ClientRecord) -> None:
    """Raise NotSeen unless the client gets a token from a correct server: only then a stop here means something."""
    polite = record.others.get("locked")
    if polite is None:
        raise NotSeen("the scenario 'locked', which shows what the client does with a correct server, was not run")
    if "gave a token" not in polite.moments:
        raise NotSeen("the client got no token from a correct server")


def _refusal_faults(record: ClientRecord, what: str) -> Iterator[Finding]:
    """Findings if the client went on to the user or to a token, as it does with a correct server."""
    _authorizes(record)
    _gets_a_token(record)
    if _requests_to(record, AUTHORIZE, TOKEN):
        yield fault(
            f"the client went on although {what}",
            [str(each) for each in _requests_to(record, AUTHORIZE, TOKEN)],
            beside=_flow(record),
        )


@watched("authc-prm-resource-match", scenario="locked-foreign")
def foreign_metadata_is_refused(record: ClientRecord) -> Iterator[Finding]:
    """Show the metadata of another server: the client goes no further."""
    yield from _refusal_faults(record, "the metadata is that of another resource")


@watched("authc-pkce-required-metadata", scenario="locked-without-pkce")
def servers_without_pkce_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Leave code_challenge_methods_supported out: the client goes no further."""
    yield from _refusal_faults(record, "the authorization server does not say that it knows PKCE")


@watched("authc-issuer-validated", scenario="locked-other-issuer")
def other_issuers_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Name another issuer in the metadata of the authorization server: the client goes no further."""
    yield from _refusal_faults(record, "the metadata names another issuer")


@watched("authc-iss-validated", scenario="locked-other-iss")
def other_servers_are_not_believed(record: ClientRecord) -> Iterator[Finding]:
    """Send the user back with the iss of another authorization server: the client does not use the code."""
    _authorization_queries(record)
    _gets_a_token(record)
    if _requests_to(record, TOKEN):
        yield fault("the client used a code that came from another authorization server", beside=_flow(record))


_WITH_METADATA = versions_with(lambda each: each.oauth.resource_metadata)
_WITH_OPENID = versions_with(lambda each: each.oauth.openid_discovery)
_WITH_PKCE = versions_with(lambda each: each.oauth.pkce_advertised)
_WITH_ISSUER = versions_with(lambda each: each.oauth.exact_issuer)


@scenario("locked", revisions=_WITH_METADATA, transports=HTTP)
class Locked(OAuthServer):
    """The server wants a token; its challenge says where to find out who gives it."""


@scenario("locked-untold", revisions=_WITH_OPENID, transports=HTTP)
class LockedUntold(Locked):
    """The challenge says nothing; the metadata is at the last of the places where a client has to look."""

    metadata_at = PRM
    server_metadata_at = ASM[-1]
    tells = False


@scenario("locked-foreign", revisions=_WITH_METADATA, transports=HTTP)
class LockedForeign(Locked):
    """The metadata is that of another server."""

    def resource(self, origin: str) -> Json:
        return {**super().resource(origin), "resource": "https://other.example/mcp"}


@scenario("locked-without-pkce", revisions=_WITH_PKCE, transports=HTTP)
class LockedWithoutPkce(Locked):
    """The authorization server does not say that it knows PKCE."""

    def server(self, origin: str) -> Json:
        return {
            key: value for key, value in super().server(origin).items() if key != "code_challenge_methods_supported"
        }


@scenario("locked-other-issuer", revisions=_WITH_ISSUER, transports=HTTP)
class LockedOtherIssuer(Locked):
    """The metadata of the authorization server names another issuer."""

    def server(self, origin: str) -> Json:
        return {**super().server(origin), "issuer": "https://other.example/as"}


@scenario("locked-other-iss", revisions=_WITH_ISSUER, transports=HTTP)
class LockedOtherIss(Locked):
    """The user is sent back by another authorization server."""

    def sent_back(self, origin: str, query: Json) -> Json:
        return {**super().sent_back(origin, query), "iss": "https://other.example/as"}


@scenario("locked-other-state", revisions=_WITH_METADATA, transports=HTTP)
class LockedOtherState(Locked):
    """The user is sent back with a state that the client never sent."""

    def sent_back(self, origin: str, query: Json) -> Json:
        return {**super().sent_back(origin, query), "state": "never-sent"}
