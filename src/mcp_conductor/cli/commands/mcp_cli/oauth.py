"""The steps of OAuth that need no browser, one by one: `oauth/discover`, `register`, `token`, `refresh` and so on.

They speak to the authorization server, not to the MCP server. An error of the authorization server is a MethodError,
so that it is printed as {"error": {"code": …, "message": …, "data": its answer}}, and ends the program with code 2.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.plan import run_time
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.shared import budgets_of
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK, PROGRAMS
from mcp_conductor.cli.process.interruptible import TimeLimit, run_interruptibly
from mcp_conductor.errors import MethodError, TimeLimitReached, TransportError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, NEWEST_HANDSHAKE
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.oauth_http import OAuthSteps

if TYPE_CHECKING:
    from mcp_conductor.protocol.oauth_requests import AuthMethod
    from mcp_conductor.protocol.oauth_trust import Trust
    from mcp_conductor.transport.authorization import Authorization, OAuth
    from mcp_conductor.transport.oauth_endpoints import OAuthDiscovery
    from mcp_conductor.transport.oauth_http import OAuthHttp


_CODES = PROGRAMS["mcp-cli"]
_SECRET = "--oauth-client-secret"
_ISSUER = "--oauth-issuer"
_ALLOW_HTTP = "--oauth-allow-http"


async def run_oauth(
    method: str,
    given: Given,
    http: HttpClient,
    *,
    show: Callable[[str], None] = lambda _: None,
    steps: OAuthSteps | None = None,
) -> Any:
    """Carry out one of the methods oauth/…: the authorization server's answer, as JSON.

    SHOW is given warnings, and STEPS is told of every request and answer.
    """
    from mcp_conductor.transport.oauth_endpoints import OAuthRefused

    try:
        return await _run(method, given, http, steps, show)
    except OAuthRefused as refused:
        error: Json = {"code": refused.refusal.error or None, "message": refused.message}
        raise MethodError(method, {**error, "data": refused.body} if refused.body else error) from refused


async def _run(
    method: str, given: Given, http: HttpClient, steps: OAuthSteps | None, show: Callable[[str], None]
) -> Any:
    from mcp_conductor.protocol.oauth_requests import registration_request
    from mcp_conductor.transport.oauth_endpoints import check_endpoints, register
    from mcp_conductor.transport.oauth_http import OAuthHttp

    web = OAuthHttp(http, _trust(given), steps)
    found = await _find(given, http, web, show)
    if method == "oauth/discover":
        if found.guessed:
            raise TransportError(f"{given.need('--server-url')} has no metadata of an authorization server")
        return found.metadata
    if method == "oauth/register":
        check_endpoints(web, found, "registration_endpoint")
        request = registration_request(
            found.metadata,
            client_name=given.need("--client-name"),
            redirect_uris=[given.need("--redirect-uri")],
            scopes=_scopes(given),
            method=_client_auth(given),
        )
        return (await register(web, request, found.metadata))[1]
    if method == "oauth/authorize-url":
        return _authorize_url(given, web, found)
    return await _token(method, given, web, found, show)


def _authorize_url(given: Given, http: "OAuthHttp", found: "OAuthDiscovery") -> Json:
    """What a user's browser must open, and what `oauth/token` needs when it comes back."""
    import secrets

    from mcp_conductor.protocol.oauth import check_pkce, choose_scopes, rules_of, with_offline_access
    from mcp_conductor.protocol.oauth_requests import OAuthClient, authorization_url
    from mcp_conductor.transport.oauth_endpoints import check_endpoints

    rules = rules_of(_version(given))
    if not found.guessed:
        check_pkce(found.metadata, rules)
    check_endpoints(http, found, "authorization_endpoint")
    chosen = choose_scopes(
        challenge=found.challenge, resource_metadata=found.resource_metadata, configured=tuple(_scopes(given))
    )
    verifier, state, redirect = secrets.token_urlsafe(48), secrets.token_urlsafe(24), given.need("--redirect-uri")
    url = authorization_url(
        found.metadata,
        OAuthClient(given.need("--oauth-client-id")),
        redirect_uri=redirect,
        verifier=verifier,
        state=state,
        scopes=with_offline_access(chosen, found.metadata, rules),
        resource=found.resource,
    )
    return {"url": url, "code_verifier": verifier, "state": state, "redirect_uri": redirect}


async def _token(
    method: str, given: Given, http: "OAuthHttp", found: "OAuthDiscovery", show: Callable[[str], None]
) -> Json:
    from mcp_conductor.protocol.oauth_requests import (
        client_credentials_grant,
        code_grant,
        known_client,
        refresh_grant,
        token_request,
    )
    from mcp_conductor.transport.oauth_endpoints import ask_for_token, check_endpoints, warn_of_guess

    # Codes and refresh tokens are the user's too, and worth as much as a secret.
    http.trust.check_secret(found.issuer, doubt=found.doubt)
    check_endpoints(http, found, "token_endpoint")
    warn_of_guess(found, show)
    match method:
        case "oauth/token":
            form = code_grant(
                given.need("--oauth-code"),
                verifier=given.need("--oauth-code-verifier"),
                redirect_uri=given.one("--redirect-uri"),
                resource=found.resource,
            )
        case "oauth/refresh":
            token, scopes = given.need("--oauth-refresh-token"), _scopes(given)
            form = refresh_grant(token, resource=found.resource, scopes=scopes)
        case _:
            form = client_credentials_grant(scopes=_scopes(given), resource=found.resource)
    who = given.need("--oauth-client-id"), given.one(_SECRET)
    client = known_client(found.metadata, *who, method=_client_auth(given))
    flags = (_SECRET, "--oauth-code", "--oauth-code-verifier", "--oauth-refresh-token")
    hiding = [secret for flag in flags if (secret := given.one(flag))]
    return await ask_for_token(http, token_request(found.metadata, client, form), hiding=hiding)


def _trust(given: Given) -> "Trust":
    from mcp_conductor.protocol.oauth_trust import Trust

    url = _url(given, "--server-url")
    assert url is not None
    return Trust(server_url=url, issuer=_url(given, _ISSUER), allow_http=_ALLOW_HTTP in given)


def _url(given: Given, flag: str) -> str | None:
    from mcp_conductor.protocol.oauth import is_web

    url = given.one(flag)
    if url is not None and not is_web(url):
        raise UsageError(f"{flag} takes a URL that starts with http:// or https://, not {url!r}")
    return url


async def _find(given: Given, http: HttpClient, web: "OAuthHttp", show: Callable[[str], None]) -> "OAuthDiscovery":
    from mcp_conductor.transport.oauth_endpoints import challenge_of, discover

    found = await discover(
        web,
        version=_version(given),
        challenge=await challenge_of(http, web.trust.server_url, web.steps),
        show=show,
        nearby=True,
    )
    # Without such metadata the URL may be the authorization server's own, for which no token is wanted.
    return found if found.resource_metadata else replace(found, resource=None)


def _version(given: Given) -> str:
    """The revision whose rules hold."""
    version = given.one("--protocol")
    return version if version in DIALECTS else NEWEST_HANDSHAKE.version


def oauth_of(given: Given, directory: str, show: Callable[[str], None]) -> "OAuth":
    """What the flags say about the automatic flow."""
    from mcp_conductor.transport.authorization import OAuth

    grant = given.one("--oauth-grant") or "authorization_code"
    if grant not in ("authorization_code", "client_credentials"):
        raise UsageError(f"--oauth-grant is authorization_code or client_credentials, not {grant!r}")
    port = given.one("--oauth-redirect-port")
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise UsageError(f"--oauth-redirect-port takes a port from 1 to 65535, not {port!r}")
    key, store = given.one("--oauth-private-key"), given.one("--token-store")
    return OAuth(
        client_id=given.one("--oauth-client-id"),
        client_secret=given.one(_SECRET),
        client_auth=_client_auth(given),
        client_metadata_url=given.one("--oauth-client-metadata-url"),
        redirect_port=int(port) if port else None,
        scopes=tuple(_scopes(given)),
        grant="client_credentials" if grant == "client_credentials" else "authorization_code",
        private_key=os.path.join(directory, key) if key else None,
        store=os.path.join(directory, os.path.expanduser(store)) if store else None,
        issuer=_url(given, _ISSUER),
        allow_http=_ALLOW_HTTP in given,
        open_browser="--open-browser" in given,
        interactive="--no-interactive" not in given,
        refresh_token=given.one("--oauth-refresh-token"),
        show=show,
    )


def authorization(spec: HttpSpec, given: Given, terminal: Terminal, http: HttpClient) -> "Authorization":
    """What gets tokens for the server of SPEC, as the flags want it."""
    from mcp_conductor.transport.authorization import Authorization

    return Authorization(
        server_url=spec.url,
        http=http,
        version=spec.protocol or NEWEST_HANDSHAKE.version,
        oauth=oauth_of(given, terminal.directory, terminal.say),
    )


def _client_auth(given: Given) -> "AuthMethod | None":
    from mcp_conductor.protocol.oauth_requests import AUTH_METHODS

    named = given.one("--oauth-client-auth")
    if named is not None and named not in AUTH_METHODS:
        raise UsageError(f"--oauth-client-auth must be one of {', '.join(AUTH_METHODS)}, not {named!r}")
    return next((method for method in AUTH_METHODS if method == named), None)


def _scopes(given: Given) -> list[str]:
    return " ".join(given.all("--oauth-scope")).split()


def run_oauth_step(given: Given, terminal: Terminal) -> int:
    """One step of OAuth, by plain HTTP: no MCP server is spoken to."""
    method = given.need("--method")
    methods.check(method, given)
    if given.words:
        raise UsageError(f"{method} takes no server but --server-url", hint=f"--server-url {given.words[0]}")

    display = Display(given, budgets_of(given), terminal)
    began = monotonic()

    def trace(text: str) -> None:
        display.transcript.add(monotonic() - began, "http", text)

    steps = OAuthSteps(trace, terminal.learn)

    async def talk() -> Any:
        http = HttpClient(cafile=given.one("--cacert"), verify="--insecure" not in given)
        try:
            async with TimeLimit(run_time(given), terminal):
                return await run_oauth(method, given, http, show=terminal.say, steps=steps)
        finally:
            await http.aclose()

    try:
        terminal.write_result(render(run_interruptibly(talk()), 2) + "\n")
    except MethodError as error:
        terminal.write_result(render({"error": error.error}, 2) + "\n")
        return _CODES.method
    except TimeoutError:
        waiting = f": {steps.waiting}" if steps.waiting else ""
        late = f"no result within {run_time(given):g} s{waiting}"
        terminal.say_error(TimeLimitReached(late, hint="--timeout TIME allows more"))
        return _CODES.timeout
    finally:
        display.close()
    return OK
