"""How a client gets a token, and what it does with it (basic/authorization)."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import HttpRequest, Play, seen
from mcp_conductor.checks.harness.http_server import PATH
from mcp_conductor.checks.harness.oauth_server import ASM, AUTHORIZE, PRM, REGISTER, TOKEN, TOLD
from mcp_conductor.checks.harness.scenario import watched
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import parse
from mcp_conductor.report.model import Finding

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _asked(play: Play, *paths: str) -> list[HttpRequest]:
    return [each for each in play.http if each.path in paths]


def _authorizes(play: Play) -> None:
    """There is nothing to see where the client does not get tokens by itself."""
    if "challenged" not in play.moments:
        raise NotSeen("the client made no request")
    locked = play.others.get("locked", play)
    if not any(each.path.startswith(("/.well-known/", "/as/", TOLD)) for each in locked.http):
        raise NotSeen("the client does not get tokens by itself")


def _pages(play: Play) -> list[Json]:
    """What the client sends its user to the authorization server with."""
    _authorizes(play)
    found = [dict(parse_qsl(each.query)) for each in _asked(play, AUTHORIZE)]
    return seen(found, "nobody came to the authorization server: the client showed no URL")


def _forms(play: Play) -> list[Json]:
    _authorizes(play)
    found = [dict(parse_qsl(each.body.decode(errors="replace"))) for each in _asked(play, TOKEN)]
    return seen(found, "the client asked for no token")


def _registrations(play: Play) -> list[Json]:
    _authorizes(play)
    bodies = [parse(each.body.decode(errors="replace")).raw for each in _asked(play, REGISTER)]
    return seen([each for each in bodies if isinstance(each, dict)], "the client did not register")


@watched("authc-401-starts-flow", scenario="locked")
def a_challenge_is_followed(play: Play) -> Iterator[Finding]:
    """Answer with 401: a client that gets tokens by itself goes to the authorization server."""
    _authorizes(play)
    if not _asked(play, *ASM, AUTHORIZE, TOKEN):
        yield fault("the client did not go to the authorization server", [str(each) for each in play.http])


@watched("authc-prm-used", scenario="locked")
def metadata_of_the_resource_is_read(play: Play) -> Iterator[Finding]:
    """Answer with 401: the client reads the metadata of the resource to find the authorization server."""
    _authorizes(play)
    if not _asked(play, TOLD, PRM, PRM + PATH):
        yield fault("the client did not read the metadata of the resource", [str(each) for each in play.http])


@watched("authc-prm-order", scenario=("locked", "locked-untold"))
def metadata_is_looked_for_in_order(play: Play) -> Iterator[Finding]:
    """Say in the challenge where the metadata is, or not: it is read there, or below the path and then the root."""
    _authorizes(play)
    paths = [each.path for each in _asked(play, TOLD, PRM, PRM + PATH)]
    expected = [TOLD] if play.name == "locked" else [PRM + PATH, PRM]
    if list(dict.fromkeys(paths)) != expected:
        yield fault(f"the metadata was looked for at {', '.join(paths) or 'no place'}, not at {', '.join(expected)}")


@watched("authc-asm-discovery-order", scenario="locked-untold")
def server_metadata_is_looked_for_in_order(play: Play) -> Iterator[Finding]:
    """Have the metadata of the authorization server at the last of three places: the client looks at them in order."""
    _authorizes(play)
    paths = list(dict.fromkeys(each.path for each in _asked(play, *ASM)))
    if not paths:
        raise NotSeen("the client found no metadata of the resource")
    if paths != list(ASM):
        yield fault(f"the metadata was looked for at {', '.join(paths)}", hint=f"the order is {', '.join(ASM)}")


@watched("authc-asm-rfc8414", scenario="locked")
def server_metadata_is_read(play: Play) -> Iterator[Finding]:
    """Have metadata by RFC 8414: the client reads it, and uses the endpoints that it names."""
    _authorizes(play)
    if not _asked(play, ASM[0]):
        yield fault("the client did not read the metadata by RFC 8414", [str(each) for each in play.http])


@watched("authc-pkce-s256", scenario="locked")
def codes_are_protected(play: Play) -> Iterator[Finding]:
    """Look at what the user is sent with: a code_challenge, by S256."""
    for query in _pages(play):
        if "code_challenge" not in query or query.get("code_challenge_method") != "S256":
            yield fault("the authorization request has no code_challenge by S256", query)


@watched("authc-resource-parameter", scenario="locked")
def the_resource_is_named(play: Play) -> Iterator[Finding]:
    """Look at the authorization and the token request: both name the server as resource."""
    expected = play.origin + PATH
    for what, forms in (("authorization", _pages(play)), ("token", _forms(play))):
        for form in forms:
            if form.get("resource", "").rstrip("/") != expected:
                shown = {key: value for key, value in form.items() if key in ("resource", "client_id", "grant_type")}
                yield fault(f"the {what} request does not name the resource {expected}", shown)


@watched("authc-state", scenario=("locked", "locked-other-state"))
def the_state_is_compared(play: Play) -> Iterator[Finding]:
    """Send the user back with another state: the client does not use the code."""
    pages = _pages(play)
    if play.name == "locked":
        for query in pages:
            if "state" not in query:
                yield fault("the authorization request has no state", query)
    elif "gave a token" in play.moments:
        yield fault("a code was used that came with another state")


@watched("authc-redirect-uri", scenario="locked")
def users_come_back_safely(play: Play) -> Iterator[Finding]:
    """Look at where the user is sent back to: this machine or https, and as it was registered."""
    registered = [uri for each in _asked_to_register(play) for uri in each.get("redirect_uris", [])]
    for query in _pages(play):
        uri = query.get("redirect_uri", "")
        parts = urlsplit(uri)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            yield fault("the redirect URI is neither https nor on this machine", uri)
        if registered and uri not in registered:
            yield fault("the redirect URI is not one that was registered", uri)


def _asked_to_register(play: Play) -> list[Json]:
    try:
        return _registrations(play)
    except NotSeen:
        return []


@watched("authc-dcr", scenario="locked")
def clients_register(play: Play) -> Iterator[Finding]:
    """Offer a registration endpoint and know no client: the client registers."""
    _pages(play)
    if not _asked(play, REGISTER):
        yield fault("the client did not register")


@watched("authc-dcr-application-type", scenario="locked")
def registrations_say_what_kind(play: Play) -> Iterator[Finding]:
    """Look at the registration: application_type is native or web."""
    for each in _registrations(play):
        if each.get("application_type") not in ("native", "web"):
            yield fault("the registration has no application_type", each)


@watched("authc-cimd-url", scenario="locked")
def documents_about_clients_have_https_urls(play: Play) -> Iterator[Finding]:
    """Look at the client_id: one that is the URL of a document is https, and has a path. Nobody fetches it here."""
    urls = [query["client_id"] for query in _pages(play) if "://" in query.get("client_id", "")]
    for url in seen(urls, "the client_id is no URL"):
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.path.strip("/"):
            yield fault("the client_id is a URL, but not https with a path", url)


@watched("authc-token-endpoint-auth", scenario="locked")
def the_token_endpoint_is_asked_as_it_wants(play: Play) -> Iterator[Finding]:
    """Allow no secret, or one in the form: the client does not authenticate by a header."""
    _forms(play)
    for request in _asked(play, TOKEN):
        if request.header("authorization") is not None:
            yield fault("the token request has an Authorization header, which the server does not offer")


@watched("authc-bearer-header", scenario="locked")
def tokens_are_in_the_header(play: Play) -> Iterator[Finding]:
    """Give a token: it is in the Authorization header of every request from then on, and in no URL."""
    if "let in" not in play.moments:
        _forms(play)
        raise NotSeen("the client got no token")
    first = next(each.at for each in play.http if each.path == PATH and each.header("authorization"))
    for request in play.http:
        if "access_token" in dict(parse_qsl(request.query)):
            yield fault(f"{request} has a token in its URL")
        elif request.path == PATH and request.at > first and request.header("authorization") is None:
            yield fault(f"{request} has no Authorization header")


@watched("authc-scope-selection", scenario="locked")
def the_scope_of_the_challenge_is_asked_for(play: Play) -> Iterator[Finding]:
    """Name a scope in the challenge: the client asks for it."""
    for query in _pages(play):
        if "mcp:use" not in query.get("scope", "").split():
            yield fault("the scope of the challenge was not asked for", query.get("scope"))


def _refused(play: Play, what: str) -> Iterator[Finding]:
    """Findings if the client went on to the user or to a token, as it does where all is well."""
    _authorizes(play)
    if "gave a token" not in play.others["locked"].moments:
        raise NotSeen("the client got no token where all is well")
    if _asked(play, AUTHORIZE, TOKEN):
        yield fault(f"the client went on although {what}", [str(each) for each in _asked(play, AUTHORIZE, TOKEN)])


@watched("authc-prm-resource-match", scenario="locked-foreign")
def foreign_metadata_is_refused(play: Play) -> Iterator[Finding]:
    """Show the metadata of another server: the client goes no further."""
    yield from _refused(play, "the metadata is that of another resource")


@watched("authc-pkce-required-metadata", scenario="locked-without-pkce")
def servers_without_pkce_are_refused(play: Play) -> Iterator[Finding]:
    """Leave code_challenge_methods_supported out: the client goes no further."""
    yield from _refused(play, "the authorization server does not say that it knows PKCE")


@watched("authc-issuer-validated", scenario="locked-other-issuer")
def other_issuers_are_refused(play: Play) -> Iterator[Finding]:
    """Name another issuer in the metadata of the authorization server: the client goes no further."""
    yield from _refused(play, "the metadata names another issuer")


@watched("authc-iss-validated", scenario="locked-other-iss")
def other_servers_are_not_believed(play: Play) -> Iterator[Finding]:
    """Send the user back with the iss of another authorization server: the client does not use the code."""
    _pages(play)
    if "gave a token" not in play.others["locked"].moments:
        raise NotSeen("the client got no token where all is well")
    if _asked(play, TOKEN):
        yield fault("a code was used that came from another authorization server")
