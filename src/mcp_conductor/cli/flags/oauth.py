"""The flags that say how a token is got from an authorization server."""

from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.errors import UsageError

OAUTH_FLAGS = (
    Flag("--oauth", "when the server wants a token, get one: the URL to visit is shown on stderr", common=True),
    Flag("--open-browser", "with --oauth: open that URL"),
    Flag("--no-interactive", "with --oauth: wait for no user; use what needs none, or fail"),
    Flag("--token-store", "with --oauth: keep tokens in this file", "FILE"),
    Flag("--oauth-client-id", "the client, as it is registered", "ID"),
    Flag("--oauth-client-secret", "its secret, if it has one; as all secrets, it may be @FILE or env:NAME", "SECRET"),
    Flag(
        "--oauth-client-auth",
        "how the client authenticates; by default, as the authorization server says",
        "METHOD",
    ),
    Flag("--oauth-issuer", "the authorization server that may get the client's secret, at any address", "URL"),
    Flag("--oauth-allow-http", "allow plain http to authorization servers, not only on this machine"),
    Flag("--oauth-client-metadata-url", "with --oauth: a document that describes the client", "URL"),
    Flag("--oauth-scope", "scopes to request, separated by spaces (repeatable)", "SCOPES", many=True),
    Flag("--oauth-redirect-port", "with --oauth: where the browser is sent back to", "PORT"),
    Flag("--oauth-grant", "with --oauth: authorization_code (default) or client_credentials", "GRANT"),
    Flag("--oauth-private-key", "with --oauth: authenticate the client with this key", "PEM FILE"),
)
_WITH_OAUTH = (
    "--open-browser",
    "--no-interactive",
    "--token-store",
    "--oauth-client-metadata-url",
    "--oauth-redirect-port",
    "--oauth-grant",
    "--oauth-private-key",
)


def check_oauth_flags(given: Given) -> None:
    """Refuse flags that cannot be meant together."""
    for flag in _WITH_OAUTH:
        if flag in given and "--oauth" not in given:
            raise UsageError(f"{flag} has no meaning without --oauth")
    if "--no-interactive" in given and "--open-browser" in given:
        raise UsageError("--no-interactive and --open-browser exclude each other")
