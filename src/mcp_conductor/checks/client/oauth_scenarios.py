"""Servers that want a token: what they and the authorization server say, right or wrong."""

from mcp_conductor.checks.harness.oauth_server import ASM, PRM, OAuthServer
from mcp_conductor.checks.harness.scenario import HTTP, scenario
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import versions_with

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
